"""Compiled products of features and parameters, for all or selected rows, dense or CSR.

Features keep their type, float32 or float64; every sum is in float64. `rows` are positions in
the features; an empty `rows` selects all of them. The products of a network layer give equal rows
the same bits at any position.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, prefetch, summing_kernel

_BLOCK = 1024  # rows that are searched at a time for nonzero weights
_AHEAD = 6  # rows between the one that is read and the one that is prefetched
_AHEAD_BYTES = 4096  # prefetched bytes of a row; the hardware prefetcher reads on from there
_LINE = 64  # bytes of a cache line


@summing_kernel
def row_dots(features, rows, coef, out):
    """Write the scores X w: the dot product of each row with coef, in lanes of a fixed order."""
    n_features = coef.size
    for p in range(out.size):
        i = rows[p] if rows.size else p
        total = 0.0
        for j in range(n_features):
            total += features[i, j] * coef[j]
        out[p] = total


@kernel
def add_rows(features, rows, weights, out):
    """Add X' g, the gradient in the parameters: the sum of weights[p] times row rows[p].

    A row of weight 0 is not read: if a loss selects few rows, most features stay in memory unread.
    """
    n_features = out.size
    n_ahead = min(n_features, _AHEAD_BYTES // features.itemsize)
    line = max(1, _LINE // features.itemsize)
    used = np.empty(_BLOCK, np.int64)
    for start in range(0, weights.size, _BLOCK):
        # List the rows with a weight, without a branch: a row of weight 0 is overwritten. The
        # list gives the next rows to prefetch, wherever they are in memory.
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
            # Each sum grows row by row, so the order of additions is independent of vector width.
            for j in range(n_features):
                out[j] += weight * features[i, j]


@kernel
def csr_row_dots(data, indices, indptr, rows, coef, out):
    """Write the scores X w: the dot product of each row's stored values with coef."""
    for p in range(out.size):
        i = rows[p] if rows.size else p
        total = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            total += data[q] * coef[indices[q]]
        out[p] = total


@kernel
def csr_add_rows(data, indices, indptr, rows, weights, out):
    """Add X' g, the gradient in the parameters; rows of weight 0 are not read."""
    for p in range(weights.size):
        weight = weights[p]
        if weight != 0.0:
            i = rows[p] if rows.size else p
            for q in range(indptr[i], indptr[i + 1]):
                out[indices[q]] += weight * data[q]


@kernel
def layer(inputs, weights, biases, out):
    """Write inputs @ weights + biases; each row is summed in the order of its columns.

    BLAS would sum the last rows of a block in another order, so that the scores of equal rows
    could differ in the last digit. The innermost loop runs over the outputs, so it vectorises
    without changing the order of any sum.
    """
    n_out = biases.size
    for i in range(inputs.shape[0]):
        for h in range(n_out):
            out[i, h] = biases[h]
        for j in range(inputs.shape[1]):
            x = inputs[i, j]
            for h in range(n_out):
                out[i, h] += x * weights[j, h]
