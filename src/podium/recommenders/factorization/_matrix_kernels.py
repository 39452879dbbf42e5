"""The dense matrices of a batch: the factors of its rows, their gaps, and their gradients.

Sums have an order that the source fixes, without reordering by the compiler. The bits therefore do
not depend on which kernels a process has compiled together and which it has read from its cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import fused_kernel, inlined, kernel
from podium.recommenders.factorization._loss_kernels import FAR, LANES
from podium.recommenders.factorization._tile_kernels import COLUMNS, ROWS

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
FEW = 8
"""The number of lanes up to which single products take less time than tiles."""

_SHORT = np.float32(1e-12)  # the least length of a vector that is divided by its length


class Matrices(NamedTuple):
    """The factors of a batch, padded with zeros, and their gradients.

    With cosines the vectors have length 1, and their lengths are in the last three arrays.
    """

    users: Any  # (LANES, width)
    users_by_factor: Any  # (width, LANES)
    positives: Any  # (LANES, width)
    negatives: Any  # (n_rows, width)
    gaps: Any  # (n_rows, LANES), then slopes
    user_moves: Any  # (LANES, width)
    negative_moves: Any  # (n_rows, width)
    user_length: Any
    positive_length: Any
    negative_length: Any


@kernel
def new_matrices(n_negatives, d):
    """Return the matrices for batches with up to `n_negatives` negatives and d factors."""
    n_rows, width = -(-n_negatives // ROWS) * ROWS, -(-d // COLUMNS) * COLUMNS
    return Matrices(
        np.zeros((LANES, width), np.float32),
        np.zeros((width, LANES), np.float32),
        np.zeros((LANES, width), np.float32),
        np.zeros((n_rows, width), np.float32),
        np.zeros((n_rows, LANES), np.float32),
        np.zeros((LANES, width), np.float32),
        np.zeros((n_rows, width), np.float32),
        np.ones(LANES, np.float32),
        np.ones(LANES, np.float32),
        np.ones(n_rows, np.float32),
    )


@kernel
def gather(rows, batch, n, drawn, m):
    """Copy the rows of a batch; the lanes from n on are zero."""
    U, V, d = rows.users, rows.items, rows.items.shape[1]
    for b in range(n):
        u, v = U[batch.users[b]], V[batch.positives[b]]
        for j in range(d):
            m.users[b, j] = u[j]
            m.positives[b, j] = v[j]
    for b in range(n, LANES):
        m.users[b], m.positives[b] = _ZERO, _ZERO
    for s in range(drawn.size):
        v = V[drawn[s]]
        for j in range(d):
            m.negatives[s, j] = v[j]
    m.negatives[drawn.size :] = _ZERO


@inlined
def dot(a, b, sums):
    """Return the product of two padded vectors, added up in columns that can be vectorised."""
    sums[:] = _ZERO
    for first in range(0, a.size, sums.size):
        for c in range(sums.size):
            sums[c] += a[first + c] * b[first + c]
    total = _ZERO
    for c in range(sums.size):
        total += sums[c]
    return total


@kernel
def normalise(vectors, length, n):
    """Divide the first n vectors by their lengths, which are written to `length`."""
    sums = np.empty(COLUMNS, np.float32)
    for i in range(n):
        length[i] = max(np.sqrt(dot(vectors[i], vectors[i], sums)), _SHORT)
        inverse = _ONE / length[i]
        for j in range(vectors.shape[1]):
            vectors[i, j] *= inverse


@kernel
def transpose(users, users_by_factor):
    """Write the users with a row per factor."""
    for j in range(users.shape[1]):
        for b in range(LANES):
            users_by_factor[j, b] = users[b, j]


@kernel
def score_positives(bias, positives, n, m, score):
    """Write the score of each positive for its user."""
    sums = np.empty(COLUMNS, np.float32)
    for b in range(LANES):
        product = dot(m.users[b], m.positives[b], sums)
        score[b] = product + (bias[positives[b]] if b < n else _ZERO)


@kernel
def to_gaps(bias, drawn, score, gaps, n_lanes):
    """Turn products into gaps; the rows from drawn.size on are not compared."""
    for s in range(drawn.size):
        item_bias = bias[drawn[s]]
        for b in range(n_lanes):
            gaps[s, b] += item_bias - score[b]
    gaps[drawn.size :] = FAR


@kernel
def sum_slopes(gaps, n_rows, n_lanes, slope_sums):
    """Add up the slopes of each lane."""
    slope_sums[:] = _ZERO
    for s in range(n_rows):
        for b in range(n_lanes):
            slope_sums[b] += gaps[s, b]


@kernel
def remove_radial(moves, vectors, length, n):
    """Replace gradients by unit vectors with those by the vectors before the normalisation."""
    sums = np.empty(COLUMNS, np.float32)
    for i in range(n):
        radial = dot(moves[i], vectors[i], sums)
        inverse = _ONE / length[i]
        for j in range(moves.shape[1]):
            moves[i, j] = (moves[i, j] - radial * vectors[i, j]) * inverse


@kernel
def scale_users(batch, m):
    """Write the users times the weights of their lanes over the moves, which have been used."""
    weighted = m.user_moves
    for b in range(LANES):
        for j in range(weighted.shape[1]):
            weighted[b, j] = batch.weights[b] * m.users[b, j]


@fused_kernel
def score_few(m, n, n_drawn):
    """Write the products of the first n users with the negatives, to the bits of `multiply`."""
    for b in range(n):
        for s in range(n_drawn):
            total = _ZERO
            for j in range(m.users.shape[1]):
                total += m.negatives[s, j] * m.users[b, j]
            m.gaps[s, b] = total


@fused_kernel
def pull_few(m, n, n_drawn):
    """Write the sums of negatives times slopes of the first n users, to the bits of `multiply`."""
    for b in range(n):
        m.user_moves[b] = _ZERO
        for s in range(n_drawn):
            slope = m.gaps[s, b]
            for j in range(m.users.shape[1]):
                m.user_moves[b, j] += slope * m.negatives[s, j]
