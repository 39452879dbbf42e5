"""Compiled draws of candidates.

Each target has a stream of 64 random bits per draw. It depends only on the seed, the key of the
user and the item, and not on the order or the number of targets. The items that cannot be drawn for
a target (the target itself, and items hidden for its user) are passed as `gaps`: the items in
increasing order, minus their positions. The number of gaps that are at most i is then the number to
add to i for the i-th remaining item.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, mix

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: SplitMix64's increment
_TO_UNIT = 2.0**-53
_NONE = -1


@kernel
def _fill_gaps(hidden, target, gaps):
    """Write the gaps of the sorted hidden items and the target; return the number of gaps."""
    place = np.searchsorted(hidden, target)  # the target's position among hidden items
    is_hidden = place < hidden.size and hidden[place] == target  # then the target counts once
    n = hidden.size if is_hidden else hidden.size + 1
    for g in range(n):
        item = target if g == place else hidden[g if g < place or is_hidden else g - 1]
        gaps[g] = item - g
    return n


@kernel
def _unit(stream, turn):
    """Return the turn-th number of a stream, in [0, 1): 53 bits of a SplitMix64 number."""
    return (mix(stream + np.uint64(turn) * _STEP) >> np.uint64(11)) * _TO_UNIT


@kernel
def _next(stream, turn, gaps, n_gaps, n_items, marks, mark):
    """Draw the next item; return it and the stream's turn.

    Without replacement, `marks` is not empty and has the value `mark` for the items that were
    drawn before, which are drawn again. Each target has another mark, so that `marks` need not be
    cleared between targets.
    """
    while True:
        turn += 1
        # A position among the remaining items, limited against rounding, and then the item at that
        # position.
        place = min(np.int64(_unit(stream, turn) * (n_items - n_gaps)), n_items - n_gaps - 1)
        item = place + np.searchsorted(gaps[:n_gaps], place, side="right")
        if marks.size:
            if marks[item] == mark:
                continue
            marks[item] = mark
        return item, turn


@kernel
def _stream(bits, key, target):
    """Return the first state of the stream for a seed, a user and a target or a number."""
    return mix(mix(bits ^ mix(key)) ^ np.uint64(target))


@kernel
def draw_items(bits, keys, targets, streams, rows, hidden, marks, n_items, n_negatives, out):
    """Write the candidates of each target.

    `keys` are those of the targets' users, and `rows` their rows of `hidden`, which is a
    `podium.catalogue.sparse.Rows`. Targets of a user with the same stream have the same candidates,
    if these are the same items. `marks` has an entry of -1 per item for draws without replacement,
    and is empty otherwise. Without replacement, a target that has fewer candidates gets all of
    them, followed by -1.
    """
    hidden_offsets, hidden_items, _ = hidden
    gaps = np.empty(hidden_items.size + 1, np.int64)
    for t in range(targets.size):
        excluded = hidden_items[hidden_offsets[rows[t]] : hidden_offsets[rows[t] + 1]]
        n_gaps = _fill_gaps(excluded, targets[t], gaps)
        stream = _stream(bits, keys[t], streams[t])
        turn = 0
        n_drawn = min(n_negatives, n_items - n_gaps) if marks.size else n_negatives
        for c in range(n_drawn):
            item, turn = _next(stream, turn, gaps, n_gaps, n_items, marks, t)
            out[t, c] = item
        out[t, n_drawn:] = _NONE


@kernel
def units(bits, keys, targets, out):
    """Write a number in [0, 1) per target that depends on the seed, the user and the target."""
    for t in range(out.size):
        out[t] = _unit(_stream(bits, keys[t], targets[t]), 1)
