"""Compiled loops of the data layer: the join of a run with its truth, and the top of a run.

All are serial and visit groups in order. The join's hash table has the size that the current
group needs, so that it stays in the first-level cache. Each group has its own number in the marks
of the slots, so that the table need not be cleared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel, prefetch

NEGATIVE, SKIP, ERROR, BOUNDS = 0, 1, 2, 3  # the treatment of items that are not in the truth
DUPLICATE_RUN, DUPLICATE_TRUTH, UNJUDGED = 1, 2, 3

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
_AHEAD = 24  # rows between a prefetch and its use
_TRUTH, _BOTH, _RUN = 0, 1, 2  # the tables that contain the item of a slot


@kernel
def _bits(n):
    """Return log2 of the table size: at least 8 slots, and at least two for each of n items."""
    bits = 3
    while (1 << bits) < 2 * n:
        bits += 1
    return bits


@kernel
def _slot(item, generation, keys, marks, mask, shift):
    """Return the slot of an item, or the free slot for it, by linear probing.

    Fibonacci hashing (the upper bits of a product) distributes consecutive ids, such as codes,
    well. A slot that another group used is free, because its mark contains another group number.
    """
    slot = np.int64((np.uint64(item) * _GOLDEN) >> shift)
    while marks[slot] >> 2 == generation and keys[slot] != item:
        slot = (slot + 1) & mask
    return slot


class Table(NamedTuple):
    """The rows of the run or of the truth, by group.

    ``group[g]`` is the table's group for output group g, -1 if there is none. `order` contains the
    rows in group order; it is empty if the rows are already in this order.
    """

    group: Any
    offsets: Any
    order: Any
    item: Any
    value: Any  # the run's score, the truth's relevance


class Joined(NamedTuple):
    """The output of a join: the run's rows in group order, counts by group, and the ideal lists."""

    offsets: Any
    score: Any  # empty if not needed, like item
    relevance: Any
    item: Any
    n_distinct: Any  # number of distinct items in the run and the truth
    n_whole: Any  # length of a list with exactly the truth's items, or -1
    judged: Any  # whether the truth has the item; empty if not needed
    ideal_offsets: Any
    ideal: Any  # the relevances above 0 of each group, in the truth's order


@kernel
def join_groups(run, truth, names_negatives, unjudged, joined, problem):
    """Look up every row of the run in the truth of its group; return (rows, ideals) written.

    This is a hash join, one group at a time: the group's rows of the truth are inserted into a
    table, and its rows of the run are looked up in it. `names_negatives` states whether the truth
    contains an item that is not relevant. If the join ends early, `problem` becomes (kind, output
    group, row of the run or truth).
    """
    run_group, run_offsets, run_order, run_item, run_score = run
    truth_group, truth_offsets, truth_order, truth_item, truth_relevance = truth
    out_offsets, out_score, out_relevance, out_item, n_distinct, n_whole, out_judged = joined[:7]
    ideal_offsets, ideal_relevance = joined[7:]
    largest = 8
    for g in range(run_group.size):
        n = truth_offsets[truth_group[g] + 1] - truth_offsets[truth_group[g]]
        if run_group[g] >= 0:
            n += run_offsets[run_group[g] + 1] - run_offsets[run_group[g]]
        largest = max(largest, n)
    n_slots = 1 << _bits(largest)
    keys = np.empty(n_slots, np.int64)
    grades = np.empty(n_slots)
    marks = np.full(n_slots, -1, np.int64)  # 4 * group + the tables that contain the item
    n_rows = 0
    n_ideal = 0
    for g in range(run_group.size):
        lo, hi = truth_offsets[truth_group[g]], truth_offsets[truth_group[g] + 1]
        first, last = 0, 0
        if run_group[g] >= 0:
            first, last = run_offsets[run_group[g]], run_offsets[run_group[g] + 1]
        # A small group uses only the first slots, which stay in the cache.
        bits = _bits(hi - lo + last - first)
        mask = (1 << bits) - 1
        shift = np.uint64(64 - bits)
        # Build the table from the truth's items with their grades.
        for i in range(lo, hi):
            if i + _AHEAD < truth_order.size:
                prefetch(truth_item, truth_order[i + _AHEAD], 0)
                prefetch(truth_relevance, truth_order[i + _AHEAD], 0)
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
        # Look up the run's items. They are also inserted, so that duplicates are found.
        n_judged = 0
        start = n_rows
        for i in range(first, last):
            if i + _AHEAD < run_order.size:
                prefetch(run_item, run_order[i + _AHEAD], 0)
                prefetch(run_score, run_order[i + _AHEAD], 0)
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
            if out_judged.size:
                out_judged[n_rows] = marks[slot] & 3 == _BOTH
            n_rows += 1
        out_offsets[g + 1] = n_rows
        n_distinct[g] = (hi - lo) + (last - first) - n_judged
        # If the truth contains negatives, it lists all items to rank. A list of exactly its items
        # is then the whole list.
        is_whole = names_negatives and n_judged == hi - lo and n_judged == n_rows - start
        n_whole[g] = n_judged if is_whole else -1
    return n_rows, n_ideal


@kernel
def top_rows(offsets, order, scores, keys, k, out_offsets, out):
    """Write the rows of each group's k best scores, best first, equal scores by increasing key.

    Each row is inserted into the k best so far. Most runs are sorted, best first. A row is then
    only compared with the last of the k best.
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
                end -= 1  # the last row is dropped, and the others move
            position = end
            while position > start:
                previous = out[position - 1]
                if scores[previous] > score or (
                    scores[previous] == score and keys[previous] <= keys[row]
                ):
                    break
                out[position] = previous
                position -= 1
            out[position] = row
            end += 1
        out_offsets[g + 1] = end
