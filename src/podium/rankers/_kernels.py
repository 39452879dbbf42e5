"""Compiled products of features and parameters: all rows or chosen ones, dense or CSR.

Features keep their type, float32 or float64; every sum is in float64. `rows` are positions in
the features; an empty `rows` means all of them.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, prefetch, summing_kernel

_BLOCK = 1024  # rows that are looked through at once for those with a weight
_AHEAD = 6  # rows with a weight that are asked for before they are read
_AHEAD_BYTES = 4096  # of such a row: what follows, the processor foresees
_LINE = 64  # bytes that come from memory together


@summing_kernel
def row_dots(features, rows, coef, out):
    """Write the scores X w: each row's dot product with coef, in lanes of one fixed order."""
    n_features = coef.size
    for p in range(out.size):
        i = rows[p] if rows.size else p
        total = 0.0
        for j in range(n_features):
            total += features[i, j] * coef[j]
        out[p] = total


@kernel
def add_rows(features, rows, weights, out):
    """Add X' g, the gradient in the parameters: weights[p] * row rows[p] each.

    A row of weight 0 is not read: where a loss selects few rows, most of the features stay where
    they are.
    """
    n_features = out.size
    n_ahead = min(n_features, _AHEAD_BYTES // features.itemsize)
    line = max(1, _LINE // features.itemsize)
    used = np.empty(_BLOCK, np.int64)
    for start in range(0, weights.size, _BLOCK):
        # List the rows with a weight, without a branch: one of weight 0 is overwritten. The list
        # tells which rows come next, wherever these lie.
        n_used = 0
        for p in range(start, min(start + _BLOCK, weights.size)):
            used[n_used] = p
            n_used += weights[p] != 0.0
        for q in range(n_used):
            ahead = used[min(q + _AHEAD, n_used - 1)]
            if rows.size:
                ahead = rows[ahead]
            for j in range(0, n_ahead, line):
                prefetch(features, ahead, j)
            i, weight = used[q], weights[used[q]]
            if rows.size:
                i = rows[i]
            # Each sum grows row by row, in an order that no vector width changes.
            for j in range(n_features):
                out[j] += weight * features[i, j]


@kernel
def csr_row_dots(data, indices, indptr, rows, coef, out):
    """Write the scores X w: each row's dot product with coef, over its stored values."""
    for p in range(out.size):
        i = rows[p] if rows.size else p
        total = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            total += data[q] * coef[indices[q]]
        out[p] = total


@kernel
def csr_add_rows(data, indices, indptr, rows, weights, out):
    """Add X' g, the gradient in the parameters; a row of weight 0 is not read."""
    for p in range(weights.size):
        weight = weights[p]
        if weight != 0.0:
            i = rows[p] if rows.size else p
            for q in range(indptr[i], indptr[i + 1]):
                out[indices[q]] += weight * data[q]


@kernel
def count_exponents(bits, mask):
    """Count the numbers, given as their bits, whose exponent is all ones: nan and infinity.

    One pass of integer operations, without the temporary array that np.isfinite would make.
    """
    n_found = 0
    for i in range(bits.size):
        n_found += (bits[i] & mask) == mask
    return n_found
