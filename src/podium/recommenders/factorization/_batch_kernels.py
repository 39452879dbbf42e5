"""Batches of positives, and the draws of their negatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel
from podium.recommenders.factorization._arithmetic_kernels import (
    next_bits,
    random_below,
    shuffle,
    stream,
)
from podium.recommenders.factorization._loss_kernels import LANES

_UNIT = 2.0**-53


class Sampling(NamedTuple):
    """How the negatives of a block are drawn: both arrays are empty for uniform draws."""

    cumulative: Any  # (n_block,) the chances of the items, added up
    weights: Any  # (n_block,) the weight of a drawn item, 1 in uniform draws


class Batches(NamedTuple):
    """The order of the positives. Batch i is ``order[cuts[i] : cuts[i + 1]]``, runs likewise."""

    order: Any  # positions in the cell
    runs: Any
    cuts: Any
    draws: Any  # the number of the draw of negatives of each batch


@kernel
def shuffled_batches(cell, seed):
    """Return the positives of a cell in random order."""
    n_runs, first = cell.users.size, cell.starts[0]
    n = cell.starts[n_runs] - first
    order, run_of, runs = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    shuffle(order, n, stream(seed, -1))
    for run in range(n_runs):
        for i in range(cell.starts[run] - first, cell.starts[run + 1] - first):
            run_of[i] = run
    for i in range(n):
        runs[i] = run_of[order[i]]
    n_batches = (n + LANES - 1) // LANES
    cuts = np.empty(n_batches + 1, np.int64)
    for i in range(n_batches + 1):
        cuts[i] = min(i * LANES, n)
    return Batches(order, runs, cuts, np.arange(n_batches))


@kernel
def rounds_of_users(cell, seed):
    """Return batches of different users: round j has the j-th positive of each user.

    The order of a user's positives and the draws of a round do not depend on the other users.
    """
    n_runs, starts = cell.users.size, cell.starts - cell.starts[0]
    n, longest = starts[n_runs], 0
    order, runs, shuffled = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for run in range(n_runs):
        size = starts[run + 1] - starts[run]
        shuffle(shuffled[starts[run] :], size, stream(seed, -1))
        longest = max(longest, size)
    most = n // LANES + longest
    cuts, draws = np.zeros(most + 1, np.int64), np.empty(most, np.int64)
    n_batches, done = 0, 0
    active, n_active = np.arange(n_runs), n_runs
    for j in range(longest):
        n_left, start = 0, done
        for a in range(n_active):
            run = active[a]
            if starts[run] + j >= starts[run + 1]:
                continue
            active[n_left] = run
            n_left += 1
            order[done], runs[done] = starts[run] + shuffled[starts[run] + j], run
            done += 1
        n_active = n_left
        for first in range(start, done, LANES):
            draws[n_batches] = j
            n_batches += 1
            cuts[n_batches] = min(first + LANES, done)
    return Batches(order, runs, cuts[: n_batches + 1], draws[:n_batches])


@kernel
def draw_negatives(sampling, deck, drawn, state):
    """Write distinct places of a block to `drawn`, and return their number.

    `deck` holds all places in order, and does so again at the end.
    """
    if sampling.cumulative.size:
        return _draw_by_chance(sampling.cumulative, deck, drawn, state)
    draw_distinct(deck, drawn, state)
    return drawn.size


@kernel
def draw_distinct(deck, drawn, state):
    """Fill `drawn` with distinct entries of `deck`, drawn uniformly.

    These are the first steps of a shuffle, which are then taken back in reverse order.
    """
    n = drawn.size
    for i in range(n):
        j = i + random_below(state, deck.size - i)
        state = next_bits(state)
        deck[i], deck[j] = deck[j], deck[i]
        drawn[i] = j
    for i in range(n - 1, -1, -1):
        j = drawn[i]
        drawn[i] = deck[i]
        deck[i], deck[j] = deck[j], deck[i]


@kernel
def _draw_by_chance(cumulative, deck, drawn, state):
    """Draw with replacement and keep each place once; `deck` marks what was drawn."""
    n = 0
    for _ in range(drawn.size):
        target = np.float64(state >> np.uint64(11)) * _UNIT * cumulative[-1]
        state = next_bits(state)
        place = min(np.searchsorted(cumulative, target, side="right"), cumulative.size - 1)
        if deck[place] >= 0:
            drawn[n] = place
            deck[place] = -1
            n += 1
    for i in range(n):
        deck[drawn[i]] = drawn[i]
    return n
