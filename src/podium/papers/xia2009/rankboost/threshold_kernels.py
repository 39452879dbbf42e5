"""Compiled search for the threshold that orders the weighted pairs best.

Thresholds of all features lie one after the other, feature f's from ``starts[f]`` up to
``starts[f + 1]``, rising. A row's code for a feature is how many of those its value exceeds.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel

_EQUAL = 1e-12  # sums closer than this count as equal: rounding decides nothing


@kernel
def scan(sums, n, start, best, place):
    """Return the better of `best` and this feature's largest sum of rows above a threshold.

    From the highest threshold down, each sum is the one before it and the rows in between. Only
    what is clearly larger replaces the best: of equal ones the first feature's highest stays.
    """
    above = 0.0
    for b in range(n, 0, -1):
        above += sums[b]
        if abs(above) > abs(best) + _EQUAL:
            best, place = above, start + b - 1
    return best, place


@kernel
def best_of_dense(codes, starts, potential):
    """Return the largest sum of potentials above a threshold, with its sign, and where it is.

    The weak ranker of freund2003 that is 1 above its threshold and 0 below: the sum is r, and
    the largest abs(r) is searched for. A histogram of the codes first, so that a feature costs one
    pass over its rows, however many thresholds it has.
    """
    n_features, n_rows = codes.shape
    sums = np.empty(_most(starts) + 1)
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


@kernel
def best_of_sparse(codes, rows, columns, zeros, starts, potential):
    """Do the same for stored entries by column; ``zeros[f]`` is the code of those not stored.

    Their potential is that of all rows less that of the stored ones: none of them is visited.
    """
    sums = np.empty(_most(starts) + 1)
    best, place = 0.0, -1
    total = 0.0
    for i in range(potential.size):
        total += potential[i]
    for f in range(zeros.size):
        n = starts[f + 1] - starts[f]
        if n == 0:
            continue
        for b in range(n + 1):
            sums[b] = 0.0
        stored = 0.0
        for e in range(columns[f], columns[f + 1]):
            sums[codes[e]] += potential[rows[e]]
            stored += potential[rows[e]]
        sums[zeros[f]] += total - stored
        best, place = scan(sums, n, starts[f], best, place)
    return best, place


@kernel
def _most(starts):
    """Return the most thresholds that a feature has."""
    most = 0
    for f in range(starts.size - 1):
        most = max(most, starts[f + 1] - starts[f])
    return most
