"""Compiled passes over the pairs of items of each list."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel


@kernel
def cosine_distances(offsets, items, features, is_known, out):
    """Write the mean of 1 - cosine over the pairs of known items of each list.

    The rows of `features` have length 1. The cosines of all pairs then sum to
    (|sum of rows|^2 - n) / 2, so that a list of n items takes n steps.
    """
    total = np.empty(features.shape[1])
    for g in range(offsets.size - 1):
        total[:] = 0.0
        n = 0
        for row in range(offsets[g], offsets[g + 1]):
            item = items[row]
            if item >= 0 and is_known[item]:
                total += features[item]
                n += 1
        if n < 2:
            out[g] = np.nan
        else:
            mean_cosine = ((total * total).sum() - n) / (n * (n - 1))
            out[g] = min(max(1.0 - mean_cosine, 0.0), 2.0)


@kernel
def _shared(codes, a, a_end, b, b_end):
    """Return the number of codes in both of two increasing parts of `codes`."""
    n = 0
    while a < a_end and b < b_end:
        if codes[a] == codes[b]:
            n += 1
            a += 1
            b += 1
        elif codes[a] < codes[b]:
            a += 1
        else:
            b += 1
    return n


@kernel
def jaccard_distances(offsets, items, starts, codes, out):
    """Write the mean Jaccard distance over the pairs of known items of each list.

    Item i has the categories ``codes[starts[i]:starts[i + 1]]``; it is unknown if it has none.
    """
    for g in range(offsets.size - 1):
        total = 0.0
        n = 0
        for row in range(offsets[g], offsets[g + 1]):
            i = items[row]
            if i < 0 or starts[i] == starts[i + 1]:
                continue
            for other in range(row + 1, offsets[g + 1]):
                j = items[other]
                if j < 0 or starts[j] == starts[j + 1]:
                    continue
                both = _shared(codes, starts[i], starts[i + 1], starts[j], starts[j + 1])
                either = starts[i + 1] - starts[i] + starts[j + 1] - starts[j] - both
                total += 1.0 - both / either
                n += 1
        out[g] = total / n if n else np.nan
