"""Compiled loops of the data layer: the join of a run with its truth, and the top of a run.

All are serial and visit groups in order. The join's hash table is sized by the group at hand, so
that it stays in the first-level cache, and is emptied by raising a stamp, never by clearing.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, mix

NEGATIVE, SKIP, ERROR = 0, 1, 2  # what to do with items outside the truth
DUPLICATE_RUN, DUPLICATE_TRUTH, UNJUDGED = 1, 2, 3

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TRUTH, _BOTH, _RUN = 0, 1, 2  # where the item of a slot was seen


@kernel
def _bits(n):
    bits = 3
    while (1 << bits) < 2 * n:
        bits += 1
    return bits


@kernel
def _slot(item, generation, keys, marks, mask, shift):
    """Return the slot of an item, or the free one where it goes; probing is linear."""
    slot = np.int64((np.uint64(item) * _GOLDEN) >> shift)
    while marks[slot] >> 2 == generation and keys[slot] != item:
        slot = (slot + 1) & mask
    return slot


@kernel
def collect_distinct(codes, shift, keys, taken):
    """Enter each code in a hash table once; return whether half of its slots were enough."""
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


@kernel
def join_groups(
    run_group,  # (n_groups,) the run's group of each output group, -1 where it has none
    run_offsets,
    run_order,  # rows of the run in group order; empty if they are
    run_item,
    run_score,
    truth_group,  # (n_groups,) the truth's group of each output group
    truth_offsets,
    truth_order,
    truth_item,
    truth_relevance,
    names_negatives,  # the truth says of some item of some group that it is one
    unjudged,
    out_offsets,  # (n_groups + 1,)
    out_score,  # these three in group order; score and item may be empty: not wanted
    out_relevance,
    out_item,
    ideal_offsets,
    ideal,
    n_distinct,  # (n_groups,) items of the run and the truth together
    n_whole,  # (n_groups,) length of a list that holds all the truth's items and no others, or -1
    problem,  # (kind, output group, row of the run or truth)
):
    """Look up every row of the run in the truth of its group; return (rows, ideals) written."""
    largest = 8
    for g in range(run_group.size):
        n = truth_offsets[truth_group[g] + 1] - truth_offsets[truth_group[g]]
        if run_group[g] >= 0:
            n += run_offsets[run_group[g] + 1] - run_offsets[run_group[g]]
        largest = max(largest, n)
    n_slots = 1 << _bits(largest)
    keys = np.empty(n_slots, np.int64)
    grades = np.empty(n_slots)
    marks = np.full(n_slots, -1, np.int64)
    out = 0
    best = 0
    for g in range(run_group.size):
        lo, hi = truth_offsets[truth_group[g]], truth_offsets[truth_group[g] + 1]
        first, last = 0, 0
        if run_group[g] >= 0:
            first, last = run_offsets[run_group[g]], run_offsets[run_group[g] + 1]
        bits = _bits(hi - lo + last - first)
        mask = (1 << bits) - 1
        shift = np.uint64(64 - bits)
        for i in range(lo, hi):
            row = truth_order[i] if truth_order.size else i
            slot = _slot(truth_item[row], g, keys, marks, mask, shift)
            if marks[slot] >> 2 == g:
                problem[0], problem[1], problem[2] = DUPLICATE_TRUTH, g, row
                return out, best
            keys[slot] = truth_item[row]
            marks[slot] = 4 * g + _TRUTH
            grade = truth_relevance[row]
            grades[slot] = grade
            if grade > 0:
                ideal[best] = grade
                best += 1
        ideal_offsets[g + 1] = best
        n_hits = 0
        start = out
        for i in range(first, last):
            row = run_order[i] if run_order.size else i
            item = run_item[row]
            slot = _slot(item, g, keys, marks, mask, shift)
            grade = 0.0
            if marks[slot] >> 2 == g:
                if marks[slot] & 3 != _TRUTH:
                    problem[0], problem[1], problem[2] = DUPLICATE_RUN, g, row
                    return out, best
                marks[slot] = 4 * g + _BOTH
                grade = grades[slot]
                n_hits += 1
            else:
                keys[slot] = item
                marks[slot] = 4 * g + _RUN
                if unjudged == SKIP:
                    continue
                if unjudged == ERROR:
                    problem[0], problem[1], problem[2] = UNJUDGED, g, row
                    return out, best
            out_relevance[out] = grade
            if out_score.size:
                out_score[out] = run_score[row]
            if out_item.size:
                out_item[out] = item
            out += 1
        out_offsets[g + 1] = out
        n_distinct[g] = (hi - lo) + (last - first) - n_hits
        is_whole = names_negatives and n_hits == hi - lo and n_hits == out - start
        n_whole[g] = n_hits if is_whole else -1
    return out, best


@kernel
def top_rows(offsets, order, scores, keys, k, out_offsets, out):
    """Write the rows of each group's k best scores, best first; equal scores by rising key."""
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
                end -= 1
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
