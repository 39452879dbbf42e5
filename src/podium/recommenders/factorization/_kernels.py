"""The stochastic steps of the factorization, as a compiled kernel.

A batch is `LANES` positives that share a set of negatives, so that their scores and gradients are
products of small dense matrices. Factors are float32 and are changed in place. A pass over a block
changes only the rows of its users and items.
"""

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import inlined, kernel, prefetch, summing_kernel
from podium.recommenders.factorization._arithmetic_kernels import draw_distinct, shuffle, stream
from podium.recommenders.factorization._loss_kernels import FAR, LANES, Lanes, lane_weights, slopes
from podium.recommenders.factorization._tile_kernels import COLUMNS, ROWS, multiply

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


class Steps(NamedTuple):
    """The settings of the steps; numbers that are combined with factors are float32."""

    n_negatives: int
    only_unseen: bool
    learn_items: bool
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
    state: Any  # a number per pair that its loss keeps: see `_loss_kernels.Lanes`


class Rows(NamedTuple):
    """The factors of the users, and the factors and biases of the block's items."""

    users: Any
    items: Any
    bias: Any


class Batches(NamedTuple):
    """The order of the positives. Batch i is ``order[cuts[i] : cuts[i + 1]]``, runs likewise."""

    order: Any  # positions in the cell
    runs: Any
    cuts: Any
    draws: Any  # the number of the draw of negatives of each batch


class Matrices(NamedTuple):
    """The factors of a batch, padded with zeros, and their gradients."""

    users: Any  # (LANES, width)
    users_by_factor: Any  # (width, LANES)
    positives: Any  # (LANES, width)
    negatives: Any  # (n_rows, width)
    gaps: Any  # (n_rows, LANES), then slopes
    user_moves: Any  # (LANES, width)
    negative_moves: Any  # (n_rows, width)


@inlined
def prefetch_row(rows, row):
    """Prefetch the memory of a row that is read soon."""
    for j in range(0, rows.shape[1], 16):
        prefetch(rows, row, j)


@kernel
def shuffled_batches(n_runs, starts, seed):
    """Return the positives of a cell in random order."""
    n = starts[n_runs] - starts[0] if n_runs else 0
    order, run_of, runs = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    shuffle(order, n, stream(seed, -1))
    for run in range(n_runs):
        for i in range(starts[run] - starts[0], starts[run + 1] - starts[0]):
            run_of[i] = run
    for i in range(n):
        runs[i] = run_of[order[i]]
    n_batches = (n + LANES - 1) // LANES
    cuts = np.empty(n_batches + 1, np.int64)
    for i in range(n_batches + 1):
        cuts[i] = min(i * LANES, n)
    return Batches(order, runs, cuts, np.arange(n_batches))


@kernel
def rounds_of_users(n_runs, starts, seed):
    """Return batches of different users: round j has the j-th positive of each user.

    The order of a user's positives and the draws of a round do not depend on the other users.
    """
    n = starts[n_runs] - starts[0] if n_runs else 0
    order, runs = np.empty(n, np.int32), np.empty(n, np.int32)
    longest = np.diff(starts).max() if n_runs else 0
    shuffled = np.empty(n, np.int32)
    for run in range(n_runs):
        lo = starts[run] - starts[0]
        shuffle(shuffled[lo:], starts[run + 1] - starts[run], stream(seed, -1))
    cuts, draws = np.zeros(n // LANES + longest + 1, np.int64), np.empty(n // LANES + longest, np.int64)
    active = np.arange(n_runs)
    n_active, n_batches, done = n_runs, 0, 0
    for j in range(longest):
        n_kept = 0
        for a in range(n_active):
            run = active[a]
            lo = starts[run] - starts[0]
            if starts[run] + j < starts[run + 1]:
                active[n_kept] = run
                order[done + n_kept], runs[done + n_kept] = lo + shuffled[lo + j], run
                n_kept += 1
        n_active = n_kept
        for first in range(0, n_kept, LANES):
            n_batches += 1
            cuts[n_batches], draws[n_batches - 1] = done + min(first + LANES, n_kept), j
        done += n_kept
    return Batches(order, runs, cuts[: n_batches + 1], draws[:n_batches])


@kernel
def _gather(steps, block, users, positives, n, drawn, m):
    """Copy the rows of a batch; the lanes from n on are zero."""
    U, V, _ = block
    d = V.shape[1]
    for b in range(n):
        u, v = U[users[b]], V[positives[b]]
        for j in range(d):
            m.users[b, j] = u[j]
            m.positives[b, j] = v[j]
    for b in range(n, LANES):
        m.users[b], m.positives[b] = _ZERO, _ZERO
    for j in range(d):
        for b in range(LANES):
            m.users_by_factor[j, b] = m.users[b, j]
    for s in range(drawn.size):
        v = V[drawn[s]]
        for j in range(d):
            m.negatives[s, j] = v[j]


@summing_kernel
def _score_positives(bias, positives, n, m, score):
    for b in range(LANES):
        total = _ZERO
        for j in range(m.users.shape[1]):
            total += m.users[b, j] * m.positives[b, j]
        score[b] = total + (bias[positives[b]] if b < n else _ZERO)


@kernel
def _to_gaps(bias, drawn, score, gaps, n_rows):
    """Turn products into gaps; the rows from drawn.size on are not compared."""
    for s in range(drawn.size):
        own = bias[drawn[s]]
        for b in range(LANES):
            gaps[s, b] += own - score[b]
    gaps[drawn.size :] = FAR


@kernel
def _mask(steps, cell, run, positive, slot, lane, gaps, value):
    """Set the pairs of a lane that are not compared to a value; return their number."""
    n = 0
    if not steps.only_unseen:
        if slot[positive] >= 0:
            gaps[slot[positive], lane] = value
            n = 1
        return n
    for i in range(cell.starts[run], cell.starts[run + 1]):
        s = slot[cell.positives[i]]
        if s >= 0:
            gaps[s, lane] = value
            n += 1
    return n


@summing_kernel
def _move_users(U, users, n, weights, slope_sums, shrink, m):
    """Move each user towards its positive and away from the negatives."""
    for b in range(n):
        if weights[b] == _ZERO:
            continue
        u, weight, total = U[users[b]], weights[b], slope_sums[b]
        for j in range(U.shape[1]):
            move = total * m.positives[b, j] - m.user_moves[b, j]
            u[j] = shrink * u[j] + weight * move


@summing_kernel
def _move_items(steps, block, positives, n, drawn, weights, slope_sums, m):
    """Move the negatives, from their copies, and then the positives in place."""
    _, V, bias = block
    d = V.shape[1]
    # All negatives of a positive together shrink as much as the positive itself.
    decay = steps.decay * np.float32(n) / np.float32(drawn.size)
    kept = _ONE - decay
    for s in range(drawn.size):
        v, move = V[drawn[s]], _ZERO
        for j in range(d):
            v[j] = kept * m.negatives[s, j] - m.negative_moves[s, j]
        for b in range(LANES):
            move += m.gaps[s, b] * weights[b]
        bias[drawn[s]] -= steps.bias_rate * (move + decay * bias[drawn[s]])
    for b in range(n):
        if weights[b] == _ZERO:
            continue
        v, move = V[positives[b]], weights[b] * slope_sums[b]
        for j in range(d):
            v[j] += move * m.users[b, j] - steps.decay * v[j]
        y = positives[b]
        bias[y] += steps.bias_rate * (move - steps.decay * bias[y])


@kernel
def _sum_slopes(gaps, n_rows, slope_sums):
    slope_sums[:] = _ZERO
    for s in range(n_rows):
        for b in range(LANES):
            slope_sums[b] += gaps[s, b]


@kernel
def descend(steps, loss, cell, pairs, rows, sums):
    """Take a step for each batch of positives of a block; add costs and steps to `sums`.

    A step follows the gradient of the poster's linearised objective ("Latent Collaborative
    Retrieval") at some positives (x, y) and a set of negatives y' drawn from the block.
    """
    U, V, bias = rows
    n_block, d = V.shape
    n_drawn = min(steps.n_negatives, n_block)
    n_rows, width = -(-n_drawn // ROWS) * ROWS, -(-d // COLUMNS) * COLUMNS
    first = cell.starts[0]
    if steps.learn_items:
        batches = shuffled_batches(cell.users.size, cell.starts, steps.seed)
    else:
        batches = rounds_of_users(cell.users.size, cell.starts, steps.seed)
    m = Matrices(
        np.zeros((LANES, width), np.float32),
        np.zeros((width, LANES), np.float32),
        np.zeros((LANES, width), np.float32),
        np.zeros((n_rows, width), np.float32),
        np.zeros((n_rows, LANES), np.float32),
        np.zeros((LANES, width), np.float32),
        np.zeros((n_rows, width), np.float32),
    )
    lanes = Lanes(
        np.zeros(LANES, np.float32),
        np.zeros(LANES, np.float64),
        np.zeros(LANES, np.float32),
        np.zeros(LANES, np.float32),
        np.zeros(LANES, np.float64),
        np.zeros(LANES, np.float32),
        np.zeros(LANES, np.float32),
        np.zeros(LANES, np.float32),
    )
    weights, slope_sums = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
    users, positives = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    numbers = np.zeros(LANES, np.int64)
    deck, swapped = np.arange(n_block).astype(np.int32), np.empty(n_drawn, np.int32)
    drawn, coming = np.empty(n_drawn, np.int32), np.empty(n_drawn, np.int32)
    slot = np.full(n_block, -1, np.int32)
    shrink = _ONE - steps.decay
    n_batches = batches.draws.size
    if n_batches:
        draw_distinct(deck, swapped, coming, n_drawn, stream(steps.seed, batches.draws[0]))
    for batch in range(n_batches):
        drawn[:] = coming
        start, n = batches.cuts[batch], batches.cuts[batch + 1] - batches.cuts[batch]
        if batch + 1 < n_batches:
            draw_distinct(deck, swapped, coming, n_drawn, stream(steps.seed, batches.draws[batch + 1]))
            for s in range(n_drawn):
                prefetch_row(V, coming[s])
            for i in range(batches.cuts[batch + 1], batches.cuts[batch + 2]):
                prefetch_row(U, cell.users[batches.runs[i]])
                prefetch_row(V, cell.positives[first + batches.order[i]])
        for s in range(n_drawn):
            slot[drawn[s]] = s
        lanes.weight[:] = _ZERO
        for b in range(n):
            run, i = batches.runs[start + b], first + batches.order[start + b]
            x = cell.users[run]
            users[b], positives[b] = x, cell.positives[i]
            numbers[b] = pairs.offsets[x] + cell.origins[i]
            n_excluded = pairs.offsets[x + 1] - pairs.offsets[x] if steps.only_unseen else 1
            lanes.n_others[b] = steps.n_items - n_excluded
            lanes.weight[b] = steps.rate * pairs.weights[numbers[b]]
            lanes.state[b] = pairs.state[numbers[b]]
        _gather(steps, rows, users, positives, n, drawn, m)
        multiply(m.negatives, width, 1, m.users_by_factor, m.gaps, n_rows, d, LANES)
        _score_positives(bias, positives, n, m, lanes.score)
        _to_gaps(bias, drawn, lanes.score, m.gaps, n_rows)
        for b in range(n):
            run = batches.runs[start + b]
            n_masked = _mask(steps, cell, run, positives[b], slot, b, m.gaps, FAR)
            lanes.n_compared[b] = n_drawn - n_masked
        slopes(loss, m.gaps, n_rows, lanes)
        for b in range(n):
            _mask(steps, cell, batches.runs[start + b], positives[b], slot, b, m.gaps, _ZERO)
        m.gaps[n_drawn:] = _ZERO
        sums[0] += lane_weights(loss, lanes, weights)
        for b in range(n):
            if weights[b] != _ZERO:
                pairs.state[numbers[b]] = lanes.state[b]
                sums[1] += 1.0
        _sum_slopes(m.gaps, n_drawn, slope_sums)
        multiply(m.gaps, 1, LANES, m.negatives, m.user_moves, LANES, n_rows, width)
        _move_users(U, users, n, weights, slope_sums, shrink, m)
        if steps.learn_items:
            weighted = m.positives  # no longer needed after the users have moved
            for b in range(LANES):
                for j in range(d):
                    weighted[b, j] = weights[b] * m.users[b, j]
            multiply(m.gaps, LANES, 1, weighted, m.negative_moves, n_rows, LANES, width)
            _move_items(steps, rows, positives, n, drawn, weights, slope_sums, m)
        for s in range(n_drawn):
            slot[drawn[s]] = -1
