"""The compiled search for the threshold that orders the weighted pairs best.

The thresholds of all features are in one array. Those of feature f are from ``starts[f]`` to
``starts[f + 1]``, in ascending order. The code of a row for a feature is the number of thresholds
that its value exceeds.
"""

from __future__ import annotations

import numpy as np

from podium_studies.compiling import kernel

_EQUAL = 1e-12  # difference up to which sums count as equal despite rounding


@kernel
def scan(sums, n, start, best, place):
    """Return the larger of `best` and this feature's largest sum of rows above a threshold.

    The scan is from the highest threshold down, so that each sum adds the rows between two
    thresholds. Only a sum that is larger beyond rounding replaces the best one. Of equal sums, the
    highest threshold of the first feature therefore remains.
    """
    above = 0.0
    for b in range(n, 0, -1):
        above += sums[b]
        if abs(above) > abs(best) + _EQUAL:
            best, place = above, start + b - 1
    return best, place


@kernel
def best_of_dense(codes, starts, potential):
    """Return the signed sum of potentials above the best threshold, and the threshold's position.

    The weak ranker of freund2003 is 1 above its threshold and 0 below. The sum is r, and the best
    threshold has the largest abs(r). The potentials are first summed by code, so that a feature
    costs one pass over its rows for any number of thresholds.
    """
    n_features, n_rows = codes.shape
    sums = np.empty(np.diff(starts).max() + 1)
    best, place = 0.0, -1
    for f in range(n_features):
        n = starts[f + 1] - starts[f]
        if n == 0:
            continue
        for b in range(n + 1):
            sums[b] = 0.0
        for i in range(n_rows):
            sums[codes[f, i]] += potential[i]
        best, place = scan(sums, n, starts[f], best, place)
    return best, place
