"""Compiled draws of candidates, and the rank of a target among them.

Each target has a stream of 64 random bits a draw, which follows from the seed, its user's key
and its item: neither order nor number of targets changes it. Items that a target's sample may not
hold (itself, and what is hidden for its user) come as `gaps`: the items, rising, minus their
places, so that the number of gaps not above i is what has to be added to the i-th item left.

`cumulative`, where not empty, makes items as likely as its steps. Items are then drawn from the
whole catalogue, and drawn again where they may not be held.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import AVERAGE, BEST, WORST, kernel, mix, tie_key

_STEP = np.uint64(0x9E3779B97F4A7C15)
_TINY = 2.0**-53
_NONE = -1


@kernel
def _fill_gaps(hidden, target, gaps):
    """Write the gaps of the hidden items, which rise, and the target; return how many."""
    n = 0
    placed = False
    for h in range(hidden.size):
        if not placed and hidden[h] >= target:
            gaps[n] = target - n
            n += 1
            placed = True
            if hidden[h] == target:
                continue
        gaps[n] = hidden[h] - n
        n += 1
    if not placed:
        gaps[n] = target - n
        n += 1
    return n


@kernel
def _places_up_to(values, n, wanted):
    """Return how many of the first n rising values are not above `wanted`."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _unit(stream, turn):
    """Return the turn-th number of a stream, in [0, 1)."""
    return (mix(stream + np.uint64(turn) * _STEP) >> np.uint64(11)) * _TINY


@kernel
def _held(item, gaps, n_gaps):
    """Return whether an item is one of the gaps."""
    low, high = 0, n_gaps  # gaps[p] + p is the p-th item left out
    while low < high:
        place = (low + high) // 2
        if gaps[place] + place < item:
            low = place + 1
        else:
            high = place
    return low < n_gaps and gaps[low] + low == item


@kernel
def _next(stream, turn, gaps, n_gaps, n_items, cumulative, marks, mark):
    """Draw the next item; return it and the stream's next turn.

    `marks`, where not empty, has `mark` for the items that were drawn before: without
    replacement they are drawn again.
    """
    while True:
        turn += 1
        unit = _unit(stream, turn)
        if cumulative.size:
            item = _places_up_to(cumulative, cumulative.size - 1, unit * cumulative[-1])
            if _held(item, gaps, n_gaps):
                continue
        else:
            index = min(np.int64(unit * (n_items - n_gaps)), n_items - n_gaps - 1)
            item = index + _places_up_to(gaps, n_gaps, index)
        if marks.size:
            if marks[item] == mark:
                continue
            marks[item] = mark
        return item, turn


@kernel
def _stream(bits, key, target):
    return mix(mix(bits ^ mix(key)) ^ np.uint64(target))


@kernel
def draw_items(
    bits, keys, rows, targets, hidden_offsets, hidden, n_items, n_negatives, replacement,
    cumulative, out,
):  # fmt: skip
    """Write the candidates of each target; targets[t] belongs to user rows[t]."""
    marks = np.full(0 if replacement else n_items, _NONE, np.int64)
    gaps = np.empty(hidden.size + 1, np.int64)
    for t in range(targets.size):
        u = rows[t]
        ours = hidden[hidden_offsets[u] : hidden_offsets[u + 1]]
        n_gaps = _fill_gaps(ours, targets[t], gaps)
        stream = _stream(bits, keys[u], targets[t])
        turn = 0
        for c in range(n_negatives):
            item, turn = _next(stream, turn, gaps, n_gaps, n_items, cumulative, marks, t)
            out[t, c] = item


@kernel
def _score(left, right, row, item):
    """Return a score: of a matrix, or of two factors where `right` is not empty."""
    if right.size == 0:
        return np.float64(left[row, item])
    total = 0.0
    for f in range(left.shape[1]):
        total += np.float64(left[row, f]) * np.float64(right[item, f])
    return total


@kernel
def _compare(score, own, item, target, rule, tie_stream):
    """Return twice what a candidate adds to the target's rank: 2 above, 1 for half a tie."""
    if score > own:
        return 2
    if score < own or rule == BEST:
        return 0
    if rule == WORST:
        return 2
    if rule == AVERAGE:
        return 1
    return 2 * (tie_key(rule, 0.0, item, tie_stream) > tie_key(rule, 0.0, target, tie_stream))


@kernel
def rank_drawn(
    left, right, bits, tie_bits, keys, rows, targets, hidden_offsets, hidden, n_items, stages,
    replacement, rule, out, sizes,
):  # fmt: skip
    """Draw candidates and write twice the number above each target, and how many were drawn.

    `rows` are places in `left`, `keys` and `hidden_offsets`. Returns the (row, item) of the first
    score that is not finite, or (-1, -1).
    """
    marks = np.full(0 if replacement else n_items, _NONE, np.int64)
    gaps = np.empty(hidden.size + 1, np.int64)
    even = np.empty(0)
    for t in range(targets.size):
        u, target = rows[t], targets[t]
        own = _score(left, right, u, target)
        if not np.isfinite(own):
            return u, target
        ours = hidden[hidden_offsets[u] : hidden_offsets[u + 1]]
        n_gaps = _fill_gaps(ours, target, gaps)
        stream, tie_stream = _stream(bits, keys[u], target), mix(tie_bits ^ mix(keys[u]))
        turn = above = drawn = 0
        for s in range(stages.size):
            while drawn < stages[s]:
                item, turn = _next(stream, turn, gaps, n_gaps, n_items, even, marks, t)
                score = _score(left, right, u, item)
                if not np.isfinite(score):
                    return u, item
                above += _compare(score, own, item, target, rule, tie_stream)
                drawn += 1
            if above > 0:
                break
        out[t] = above
        sizes[t] = drawn
    return _NONE, _NONE


@kernel
def rank_given(left, right, tie_bits, keys, rows, first, which, targets, offsets, items, rule, out):
    """Write twice the number of given candidates above some of the targets, as `rank_drawn`.

    `which` are the targets whose users have their rows here; rows[t] counts from `first`.
    """
    for w in range(which.size):
        t = which[w]
        u, target = rows[t] - first, targets[t]
        own = _score(left, right, u, target)
        if not np.isfinite(own):
            return u, target
        tie_stream = mix(tie_bits ^ mix(keys[t]))
        above = 0
        for c in range(offsets[t], offsets[t + 1]):
            score = _score(left, right, u, items[c])
            if not np.isfinite(score):
                return u, items[c]
            above += _compare(score, own, items[c], target, rule, tie_stream)
        out[t] = above
    return _NONE, _NONE


@kernel
def thin(bits, keys, rows, targets, offsets, items, weights, least, kept):
    """Write which candidates stay, each with the chance least / weight."""
    for t in range(targets.size):
        stream = _stream(bits, keys[rows[t]], targets[t])
        for c in range(offsets[t], offsets[t + 1]):
            kept[c] = _unit(stream, c - offsets[t]) * weights[items[c]] < least


@kernel
def units(bits, keys, targets, out):
    """Write a number in [0, 1) for each target that seed, user and target determine."""
    for t in range(out.size):
        out[t] = _unit(_stream(bits, keys[t], targets[t]), 1)
