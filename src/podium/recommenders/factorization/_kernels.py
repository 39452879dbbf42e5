"""The stochastic steps of the factorization, as a compiled kernel.

A batch is `LANES` positives that share a set of negatives, so that their scores and gradients are
products of small dense matrices. Factors are float32 and are changed in place. A pass over a block
changes only the rows of its users and items.
"""

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import inlined, kernel, prefetch
from podium.recommenders.factorization._arithmetic_kernels import stream
from podium.recommenders.factorization._batch_kernels import (
    draw_negatives,
    rounds_of_users,
    shuffled_batches,
)
from podium.recommenders.factorization._loss_kernels import FAR, LANES, Lanes, lane_weights, slopes
from podium.recommenders.factorization._matrix_kernels import (
    FEW,
    dot,
    gather,
    new_matrices,
    normalise,
    pull_few,
    remove_radial,
    scale_users,
    score_few,
    score_positives,
    sum_slopes,
    to_gaps,
    transpose,
)
from podium.recommenders.factorization._tile_kernels import COLUMNS, ROWS, multiply

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


class Steps(NamedTuple):
    """The settings of the steps; numbers that are combined with factors are float32."""

    n_negatives: int
    only_unseen: bool
    learn_items: bool
    cosine: bool
    rate: Any
    decay: Any  # the share by which a step shrinks the rows of its user and its positive
    bias_rate: Any  # 1 if items have a bias, else 0
    seed: Any
    n_items: int  # in the whole catalogue, of which a block is a part


class Cell(NamedTuple):
    """The positives of some users in one block of items.

    User ``users[i]`` has ``positives[starts[i] : starts[i + 1]]``, which are places in the block.
    ``origins`` holds the position of each positive among the user's pairs in the input.
    """

    users: Any
    starts: Any
    positives: Any
    origins: Any


class WeightedPairs(NamedTuple):
    """Pairs in the order of the input; the pairs of a user begin at ``offsets``."""

    offsets: Any
    weights: Any  # s_xy
    state: Any  # see `_loss_kernels.Lanes`


class Rows(NamedTuple):
    """The factors of the users, and the factors and biases of the block's items."""

    users: Any
    items: Any
    bias: Any


class Batch(NamedTuple):
    """The rows of a batch, by lane, and what its loss needs."""

    users: Any
    positives: Any
    numbers: Any  # of the pairs in the input
    runs: Any
    slot: Any  # by place in the block: the row of a drawn item, or -1
    lanes: Any  # `_loss_kernels.Lanes`
    weights: Any  # the factor of each lane's slopes
    slope_sums: Any


@kernel
def _new_batch(n_block):
    d, f, i = np.zeros((3, LANES)), np.zeros((5, LANES), np.float32), np.zeros((4, LANES), np.int64)
    lanes = Lanes(d[0], d[1], f[0], f[1], d[2], f[2])
    return Batch(i[0], i[1], i[2], i[3], np.full(n_block, -1, np.int32), lanes, f[3], f[4])


@inlined
def _prefetch_row(rows, row):
    """Prefetch the memory of a row that is read soon."""
    for j in range(0, rows.shape[1], 16):
        prefetch(rows, row, j)


@inlined
def _prefetch_batch(cell, rows, batches, number, drawn):
    """Prefetch the rows of a batch that comes next."""
    first = cell.starts[0]
    for s in range(drawn.size):
        _prefetch_row(rows.items, drawn[s])
    for i in range(batches.cuts[number], batches.cuts[number + 1]):
        _prefetch_row(rows.users, cell.users[batches.runs[i]])
        _prefetch_row(rows.items, cell.positives[first + batches.order[i]])


@inlined
def _fill_lanes(steps, cell, pairs, batches, number, batch):
    """Write the pairs of a batch into its lanes; return their number."""
    start, n = batches.cuts[number], batches.cuts[number + 1] - batches.cuts[number]
    lanes = batch.lanes
    lanes.weight[:] = _ZERO
    for b in range(n):
        run, i = batches.runs[start + b], cell.starts[0] + batches.order[start + b]
        x = cell.users[run]
        pair = pairs.offsets[x] + cell.origins[i]
        batch.runs[b], batch.users[b], batch.positives[b] = run, x, cell.positives[i]
        batch.numbers[b] = pair
        n_excluded = pairs.offsets[x + 1] - pairs.offsets[x] if steps.only_unseen else 1
        lanes.n_others[b] = steps.n_items - n_excluded
        lanes.weight[b] = steps.rate * pairs.weights[pair]
        lanes.state[b] = pairs.state[pair]
    return n


@kernel
def _mask(steps, cell, batch, n, drawn_weights, gaps, value):
    """Set the gaps of pairs that are not compared; return by lane what is compared in all."""
    all_weights = 0.0
    for s in range(drawn_weights.size):
        all_weights += drawn_weights[s]
    for b in range(n):
        batch.lanes.n_compared[b] = all_weights
        if not steps.only_unseen:
            s = batch.slot[batch.positives[b]]
            if s >= 0:
                gaps[s, b] = value
                batch.lanes.n_compared[b] -= drawn_weights[s]
            continue
        for i in range(cell.starts[batch.runs[b]], cell.starts[batch.runs[b] + 1]):
            s = batch.slot[cell.positives[i]]
            if s >= 0:
                gaps[s, b] = value
                batch.lanes.n_compared[b] -= drawn_weights[s]


@inlined
def _move_users(steps, rows, batch, n, m):
    """Move each user towards its positive and away from the negatives."""
    moves = m.user_moves
    for b in range(LANES):
        weight, total = batch.weights[b], batch.slope_sums[b]
        for j in range(moves.shape[1]):
            moves[b, j] = weight * (total * m.positives[b, j] - moves[b, j])
    if steps.cosine:
        remove_radial(moves, m.users, m.user_length, n)
    for b in range(n):
        if batch.weights[b] == _ZERO:
            continue
        u = rows.users[batch.users[b]]
        for j in range(u.size):
            u[j] = (_ONE - steps.decay) * u[j] + moves[b, j]


@inlined
def _move_negatives(steps, rows, batch, n, drawn, m):
    """Move the negatives away from the users, from their copies."""
    bias = rows.bias
    if steps.cosine:
        remove_radial(m.negative_moves, m.negatives, m.negative_length, drawn.size)
    # All negatives of a positive together shrink as much as the positive itself.
    decay = steps.decay * np.float32(n) / np.float32(drawn.size)
    sums = np.empty(COLUMNS, np.float32)
    for s in range(drawn.size):
        y = drawn[s]
        v = rows.items[y]
        remaining = (_ONE - decay) * m.negative_length[s]
        for j in range(v.size):
            v[j] = remaining * m.negatives[s, j] - m.negative_moves[s, j]
        move = dot(m.gaps[s], batch.weights, sums)
        bias[y] -= steps.bias_rate * (move + decay * bias[y])


@inlined
def _move_positives(steps, rows, batch, n, m):
    """Move the positives towards their users, in place: a negative may be among them."""
    bias, moves = rows.bias, m.user_moves  # which the users have used by now
    for b in range(n):
        weight = batch.weights[b] * batch.slope_sums[b]
        for j in range(moves.shape[1]):
            moves[b, j] = weight * m.users[b, j]
    if steps.cosine:
        remove_radial(moves, m.positives, m.positive_length, n)
    for b in range(n):
        if batch.weights[b] == _ZERO:
            continue
        y = batch.positives[b]
        v = rows.items[y]
        for j in range(v.size):
            v[j] += moves[b, j] - steps.decay * v[j]
        move = batch.weights[b] * batch.slope_sums[b]
        bias[y] += steps.bias_rate * (move - steps.decay * bias[y])


@inlined
def _step(steps, loss, cell, pairs, rows, sums, batch, n, drawn, drawn_weights, m):
    """Take the step of a batch."""
    n_rows, width = -(-drawn.size // ROWS) * ROWS, m.users.shape[1]
    gather(rows, batch, n, drawn, m)
    if steps.cosine:
        normalise(m.users, m.user_length, n)
        normalise(m.positives, m.positive_length, n)
        normalise(m.negatives, m.negative_length, drawn.size)
    few = n <= FEW and not steps.learn_items
    n_lanes = n if few else LANES
    if few:
        score_few(m, n, drawn.size)
    else:
        transpose(m.users, m.users_by_factor)
        multiply(m.negatives, width, 1, m.users_by_factor, m.gaps, n_rows, width, LANES)
    score_positives(rows.bias, batch.positives, n, m, batch.lanes.score)
    to_gaps(rows.bias, drawn, batch.lanes.score, m.gaps, n_lanes)
    _mask(steps, cell, batch, n, drawn_weights, m.gaps, FAR)
    slopes(loss, m.gaps, n_rows, n_lanes, drawn_weights, batch.lanes)
    _mask(steps, cell, batch, n, drawn_weights, m.gaps, _ZERO)
    m.gaps[drawn.size :] = _ZERO
    sums[0] += lane_weights(loss, batch.lanes, batch.weights)
    for b in range(n):
        if batch.weights[b] != _ZERO:
            pairs.state[batch.numbers[b]] = batch.lanes.state[b]
            sums[1] += 1.0
    sum_slopes(m.gaps, drawn.size, n_lanes, batch.slope_sums)
    if few:
        pull_few(m, n, drawn.size)
    else:
        multiply(m.gaps, 1, LANES, m.negatives, m.user_moves, LANES, n_rows, width)
    _move_users(steps, rows, batch, n, m)
    if steps.learn_items:
        scale_users(batch, m)
        multiply(m.gaps, LANES, 1, m.user_moves, m.negative_moves, n_rows, LANES, width)
        _move_negatives(steps, rows, batch, n, drawn, m)
        _move_positives(steps, rows, batch, n, m)


@kernel
def descend(steps, loss, cell, pairs, rows, sampling, sums):
    """Take a step for each batch of positives of a block; add costs and steps to `sums`.

    A step follows the gradient of the linearised objective ("Latent Collaborative Retrieval" on
    the poster) at some positives (x, y) and a set of negatives y' drawn from the block. All moves
    use the values before the step.
    """
    n_block = rows.items.shape[0]
    n_negatives = min(steps.n_negatives, n_block)
    if steps.learn_items:
        batches = shuffled_batches(cell, steps.seed)
    else:
        batches = rounds_of_users(cell, steps.seed)
    m, batch = new_matrices(n_negatives, rows.items.shape[1]), _new_batch(n_block)
    deck = np.arange(n_block).astype(np.int32)
    drawn, coming = np.empty(n_negatives, np.int32), np.empty(n_negatives, np.int32)
    weights = np.ones(n_negatives, np.float32)
    n_coming = 0
    for number in range(-1, batches.draws.size):
        n_drawn = n_coming
        drawn, coming = coming, drawn
        if number + 1 < batches.draws.size:
            state = stream(steps.seed, batches.draws[number + 1])
            n_coming = draw_negatives(sampling, deck, coming, state)
            _prefetch_batch(cell, rows, batches, number + 1, coming[:n_coming])
        if number < 0:
            continue
        for s in range(n_drawn):
            batch.slot[drawn[s]] = s
            if sampling.weights.size:
                weights[s] = sampling.weights[drawn[s]]
        n = _fill_lanes(steps, cell, pairs, batches, number, batch)
        this = drawn[:n_drawn], weights[:n_drawn]
        _step(steps, loss, cell, pairs, rows, sums, batch, n, this[0], this[1], m)
        for s in range(n_drawn):
            batch.slot[drawn[s]] = -1
