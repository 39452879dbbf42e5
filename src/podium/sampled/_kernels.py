"""Compiled draws of candidates, and the rank of a target among them.

Each target has a stream of 64 random bits per draw. It depends only on the seed, the key of the
user and the item, and not on the order or the number of targets. The items that cannot be drawn for
a target (the target itself, and items hidden for its user) are passed as `gaps`: the items in
increasing order, minus their positions. The number of gaps that are at most i is then the number to
add to i for the i-th remaining item.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import BEST, WORST, kernel, mix, tie_key

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: SplitMix64's increment
_TO_UNIT = 2.0**-53
_NONE = -1


class Targets(NamedTuple):
    """Held-out items, with the key of each user and the user's row in scores and hidden items.

    Targets of a user with the same stream have the same candidates, if these are the same items.
    """

    keys: Any
    rows: Any
    items: Any
    streams: Any


class Draws(NamedTuple):
    """The way candidates are drawn."""

    bits: Any
    n_items: int
    replacement: bool


class CandidateLists(NamedTuple):
    """The candidates of each target t: ``items[offsets[t] : offsets[t + 1]]``."""

    offsets: Any
    items: Any


class Scores(NamedTuple):
    """The scores of rows x items, or two factors if `right` is not empty."""

    left: Any
    right: Any


class Tie(NamedTuple):
    """The order of equal scores, and the bits of random orders."""

    rule: int
    bits: Any


@kernel
def _fill_gaps(hidden, target, gaps):
    """Write the gaps of the sorted hidden items and the target; return the number of gaps."""
    n = 0
    has_target = False
    for h in range(hidden.size):
        if not has_target and hidden[h] >= target:  # the target's position among hidden items
            gaps[n] = target - n
            n += 1
            has_target = True
            if hidden[h] == target:  # the target is also hidden and counts once
                continue
        gaps[n] = hidden[h] - n
        n += 1
    if not has_target:
        gaps[n] = target - n
        n += 1
    return n


@kernel
def _count_up_to(values, n, limit):
    """Return the number of the first n sorted values that are at most `limit`, by bisection."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


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
        item = place + _count_up_to(gaps, n_gaps, place)
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
def draw_items(draws, targets, hidden, n_negatives, out):
    """Write the candidates of each target; `hidden` is a `podium.catalogue.sparse.Rows`.

    Without replacement, a target that has fewer candidates gets all of them, followed by -1.
    """
    bits, n_items, replacement = draws
    keys, rows, target_items, streams = targets
    hidden_offsets, hidden_items, _ = hidden
    marks = np.full(0 if replacement else n_items, _NONE, np.int64)
    gaps = np.empty(hidden_items.size + 1, np.int64)
    for t in range(target_items.size):
        excluded = hidden_items[hidden_offsets[rows[t]] : hidden_offsets[rows[t] + 1]]
        n_gaps = _fill_gaps(excluded, target_items[t], gaps)
        stream = _stream(bits, keys[t], streams[t])
        turn = 0
        n_drawn = n_negatives if replacement else min(n_negatives, n_items - n_gaps)
        for c in range(n_drawn):
            item, turn = _next(stream, turn, gaps, n_gaps, n_items, marks, t)
            out[t, c] = item
        out[t, n_drawn:] = _NONE


@kernel
def _score(left, right, row, item):
    """Return a score; factors are multiplied in one order, so that equal items tie exactly."""
    if right.size == 0:
        return np.float64(left[row, item])
    total = 0.0
    for f in range(left.shape[1]):
        total += np.float64(left[row, f]) * np.float64(right[item, f])
    return total


@kernel
def _compare(score, target_score, item, target, rule, tie_stream):
    """Return whether a candidate is above the target, as 1 or 0."""
    if score > target_score:
        return 1
    if score < target_score or rule == BEST:
        return 0
    if rule == WORST:
        return 1
    return int(tie_key(rule, 0.0, item, tie_stream) > tie_key(rule, 0.0, target, tie_stream))


@kernel
def rank_drawn(scores, draws, tie, targets, hidden, stages, n_above, sizes):
    """Draw candidates; write the number above each target and the number drawn.

    A target's sample grows from one of the increasing `stages` to the next while the target comes
    first in it (li2023). Returns the (row, item) of the first score that is not finite, or
    (-1, -1).
    """
    left, right = scores
    bits, n_items, replacement = draws
    keys, rows, target_items, streams = targets
    hidden_offsets, hidden_items, _ = hidden
    marks = np.full(0 if replacement else n_items, _NONE, np.int64)
    gaps = np.empty(hidden_items.size + 1, np.int64)
    for t in range(target_items.size):
        row, target = rows[t], target_items[t]
        target_score = _score(left, right, row, target)
        if not np.isfinite(target_score):
            return row, target
        excluded = hidden_items[hidden_offsets[row] : hidden_offsets[row + 1]]
        n_gaps = _fill_gaps(excluded, target, gaps)
        # Random ties depend only on the user and the item, as in the catalogue. A target ranked
        # among all items therefore has the same rank here and there.
        stream, tie_stream = _stream(bits, keys[t], streams[t]), mix(tie.bits ^ mix(keys[t]))
        turn = above = n_drawn = 0
        for s in range(stages.size):
            while n_drawn < stages[s]:
                item, turn = _next(stream, turn, gaps, n_gaps, n_items, marks, t)
                score = _score(left, right, row, item)
                if not np.isfinite(score):
                    return row, item
                above += _compare(score, target_score, item, target, tie.rule, tie_stream)
                n_drawn += 1
            if above > 0:
                break
        n_above[t] = above
        sizes[t] = n_drawn
    return _NONE, _NONE


@kernel
def rank_listed(scores, tie, targets, first_row, target_numbers, candidates, n_above):
    """Write the number of given candidates above some of the targets, as `rank_drawn` does.

    `target_numbers` contains the targets whose users have their rows here. Rows are counted from
    `first_row`.
    """
    left, right = scores
    keys, rows, target_items, _ = targets
    offsets, items = candidates
    for w in range(target_numbers.size):
        t = target_numbers[w]
        row, target = rows[t] - first_row, target_items[t]
        target_score = _score(left, right, row, target)
        if not np.isfinite(target_score):
            return row, target
        tie_stream = mix(tie.bits ^ mix(keys[t]))
        above = 0
        for c in range(offsets[t], offsets[t + 1]):
            score = _score(left, right, row, items[c])
            if not np.isfinite(score):
                return row, items[c]
            above += _compare(score, target_score, items[c], target, tie.rule, tie_stream)
        n_above[t] = above
    return _NONE, _NONE


@kernel
def units(bits, keys, targets, out):
    """Write a number in [0, 1) per target that depends on the seed, the user and the target."""
    for t in range(out.size):
        out[t] = _unit(_stream(bits, keys[t], targets[t]), 1)
