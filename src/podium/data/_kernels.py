"""Compiled loops of the data layer: the join of a run with its truth, and the top of a run.

All are serial and visit groups in order. The join's hash table is sized by the group at hand, so
that it stays in the first-level cache, and is emptied by raising a stamp, never by clearing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel, mix

NEGATIVE, SKIP, ERROR = 0, 1, 2  # what to do with items outside the truth
DUPLICATE_RUN, DUPLICATE_TRUTH, UNJUDGED = 1, 2, 3

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
_TRUTH, _BOTH, _RUN = 0, 1, 2  # where the item of a slot was seen


@kernel
def _bits(n):
    """Return the bits of a table's slots: at least two slots for each of n items, and 8."""
    bits = 3
    while (1 << bits) < 2 * n:
        bits += 1
    return bits


@kernel
def _slot(item, generation, keys, marks, mask, shift):
    """Return the slot of an item, or the free one where it goes; probing is linear.

    Fibonacci hashing (the upper bits of a product) spreads ids that follow each other, as codes
    do. A slot that another group left is free: its mark has that group's number.
    """
    slot = np.int64((np.uint64(item) * _GOLDEN) >> shift)
    while marks[slot] >> 2 == generation and keys[slot] != item:
        slot = (slot + 1) & mask
    return slot


@kernel
def collect_distinct(codes, shift, keys, taken):
    """Enter each code in a hash table once; return whether half of its slots were enough.

    Fuller than half, linear probing gets slow, and the caller takes a larger table.
    """
    mask, room = keys.size - 1, keys.size // 2
    for code in codes:
        slot = np.int64(mix(np.uint64(code)) >> shift)
        while taken[slot] and keys[slot] != code:
            slot = (slot + 1) & mask
        if taken[slot]:
            continue
        if room == 0:
            return False
        room -= 1
        taken[slot] = True
        keys[slot] = code
    return True


class Table(NamedTuple):
    """The rows of the run or of the truth, by group.

    ``group[g]`` is the table's group that output group g is made of, -1 where it has none;
    ``order`` are its rows in group order, and empty where they stand in that order.
    """

    group: Any
    offsets: Any
    order: Any
    item: Any
    value: Any  # the run's score, the truth's relevance


class Joined(NamedTuple):
    """Output: the run's rows in group order, and counts by group."""

    offsets: Any
    score: Any  # empty where it is not wanted, as item is
    relevance: Any
    item: Any
    n_distinct: Any  # items of the run and the truth together
    n_whole: Any  # length of a list that holds all the truth's items and no others, or -1


class Ideal(NamedTuple):
    """Output: the relevances above 0 of each group, in the truth's order."""

    offsets: Any
    relevance: Any


@kernel
def join_groups(run, truth, names_negatives, unjudged, joined, ideal, problem):
    """Look up every row of the run in the truth of its group; return (rows, ideals) written.

    A hash join, group by group: the group's rows of the truth build a table, those of its run
    probe it. `names_negatives`: the truth says of some item of some group that it is not relevant.
    `problem` becomes (kind, output group, row of the run or truth) where the join ends early.
    """
    run_group, run_offsets, run_order, run_item, run_score = run
    truth_group, truth_offsets, truth_order, truth_item, truth_relevance = truth
    out_offsets, out_score, out_relevance, out_item, n_distinct, n_whole = joined
    ideal_offsets, ideal_relevance = ideal
    largest = 8
    for g in range(run_group.size):
        n = truth_offsets[truth_group[g] + 1] - truth_offsets[truth_group[g]]
        if run_group[g] >= 0:
            n += run_offsets[run_group[g] + 1] - run_offsets[run_group[g]]
        largest = max(largest, n)
    n_slots = 1 << _bits(largest)
    keys = np.empty(n_slots, np.int64)
    grades = np.empty(n_slots)
    marks = np.full(n_slots, -1, np.int64)  # 4 * group + where its item was seen
    n_rows = 0
    n_ideal = 0
    for g in range(run_group.size):
        lo, hi = truth_offsets[truth_group[g]], truth_offsets[truth_group[g] + 1]
        first, last = 0, 0
        if run_group[g] >= 0:
            first, last = run_offsets[run_group[g]], run_offsets[run_group[g] + 1]
        # A small group uses the first slots alone, which stay in the cache.
        bits = _bits(hi - lo + last - first)
        mask = (1 << bits) - 1
        shift = np.uint64(64 - bits)
        # Build: the truth's items with their grades.
        for i in range(lo, hi):
            row = truth_order[i] if truth_order.size else i
            slot = _slot(truth_item[row], g, keys, marks, mask, shift)
            if marks[slot] >> 2 == g:
                problem[0], problem[1], problem[2] = DUPLICATE_TRUTH, g, row
                return n_rows, n_ideal
            keys[slot] = truth_item[row]
            marks[slot] = 4 * g + _TRUTH
            grade = truth_relevance[row]
            grades[slot] = grade
            if grade > 0:
                ideal_relevance[n_ideal] = grade
                n_ideal += 1
        ideal_offsets[g + 1] = n_ideal
        # Probe: the run's items, which enter the table too, so that a second one is noticed.
        n_judged = 0
        start = n_rows
        for i in range(first, last):
            row = run_order[i] if run_order.size else i
            item = run_item[row]
            slot = _slot(item, g, keys, marks, mask, shift)
            grade = 0.0
            if marks[slot] >> 2 == g:
                if marks[slot] & 3 != _TRUTH:
                    problem[0], problem[1], problem[2] = DUPLICATE_RUN, g, row
                    return n_rows, n_ideal
                marks[slot] = 4 * g + _BOTH
                grade = grades[slot]
                n_judged += 1
            else:
                keys[slot] = item
                marks[slot] = 4 * g + _RUN
                if unjudged == SKIP:
                    continue
                if unjudged == ERROR:
                    problem[0], problem[1], problem[2] = UNJUDGED, g, row
                    return n_rows, n_ideal
            out_relevance[n_rows] = grade
            if out_score.size:
                out_score[n_rows] = run_score[row]
            if out_item.size:
                out_item[n_rows] = item
            n_rows += 1
        out_offsets[g + 1] = n_rows
        n_distinct[g] = (hi - lo) + (last - first) - n_judged
        # A truth that names negatives lists all that there was to rank: a list of just its items
        # is then the whole list.
        is_whole = names_negatives and n_judged == hi - lo and n_judged == n_rows - start
        n_whole[g] = n_judged if is_whole else -1
    return n_rows, n_ideal


@kernel
def top_rows(offsets, order, scores, keys, k, out_offsets, out):
    """Write the rows of each group's k best scores, best first; equal scores by rising key.

    By insertion into the k best so far. Runs mostly come best first: a row is then compared with
    the last of those and costs no more.
    """
    end = 0
    for g in range(offsets.size - 1):
        start = end
        for i in range(offsets[g], offsets[g + 1]):
            row = order[i] if order.size else i
            score = scores[row]
            if end - start == k:
                last = out[end - 1]
                if score < scores[last] or (score == scores[last] and keys[row] >= keys[last]):
                    continue
                end -= 1  # the last one falls out, and the others move into its place
            place = end
            while place > start:
                above = out[place - 1]
                if scores[above] > score or (scores[above] == score and keys[above] <= keys[row]):
                    break
                out[place] = above
                place -= 1
            out[place] = row
            end += 1
        out_offsets[g + 1] = end
