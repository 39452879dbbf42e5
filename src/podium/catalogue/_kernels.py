"""Compiled passes over blocks of user x item scores.

A row is read in chunks of 64 items: one vectorised test tells whether a chunk holds anything of
interest, so that the items far below the top cost a comparison each and no branch. The same
test finds scores that are not finite. Hidden (excluded) items are looked up only where the
test fires; their scores are never used, whatever they are.

One order is meant throughout: falling score, then falling key of the tie rule, then rising item.
Sparse rows (`seen`, `truth`) are `podium.catalogue.sparse.Rows`: items rise and are distinct in
each row. Arrays are taken out of a tuple before the loops: each time counts a reference.

Buffers of the length of a row are made once per block and cleaned after each user by resetting
what was set, so that a user costs no more than its row and its items.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import AVERAGE, kernel, mix, sort_falling, tie_key

CHUNK = 64
_SAMPLE = 512  # scores that the first floor of a row is guessed from
_SPREAD = 2.0  # standard deviations by which the guess errs on the safe side
NONE = -1
ZERO, _ONE = np.int64(0), np.int64(1)  # literals would compile their callees once more

# The place of a single bit: the six highest bits of bit x _DE_BRUIJN tell the 64 places apart.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACE[((int(_DE_BRUIJN) << _bit) % 2**64) >> 58] = _bit


class Limits(NamedTuple):
    """Ends of the scores' type: its least finite number, and its minus infinity."""

    lowest: Any
    below: Any


class Tie(NamedTuple):
    """How equal scores are ordered; user u of a block draws from the stream of first_user + u."""

    rule: int
    first_user: int
    bits: Any


@kernel
def advance(row, start, low, high, outside):
    """Find the next chunk in which not all low <= score <= high, and which items are outside.

    Returns where the chunk after it starts, and how many items were written into `outside`. nan
    compares false with everything, so that the negated test finds it too.
    """
    bits = np.uint64(0)
    while start + CHUNK <= row.size and bits == 0:
        part = row[start : start + CHUNK]
        for j in range(CHUNK):  # becomes a few vector comparisons
            bits |= np.uint64(not ((part[j] <= high) & (part[j] >= low))) << np.uint64(j)
        start += CHUNK
    if bits == 0:
        part = row[start:]
        for j in range(part.size):
            bits |= np.uint64(not ((part[j] <= high) & (part[j] >= low))) << np.uint64(j)
        start += CHUNK
    n_outside = 0
    while bits:  # one turn per set bit: few, where the floor is a good one
        lowest_bit = bits & (~bits + np.uint64(1))
        outside[n_outside] = start - CHUNK + _PLACE[(lowest_bit * _DE_BRUIJN) >> np.uint64(58)]
        n_outside += 1
        bits ^= lowest_bit
    return start, n_outside


@kernel
def select(values, n, k):
    """Move the k greatest of the first n values to the front; return the least of those.

    Hoare's selection (quickselect): of the two parts that a pivot leaves, only the one that holds
    the k-th place is partitioned again, so that the expected cost is linear in n.
    """
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break  # the k-th place lies between the parts: it holds the pivot's value
    return values[k - 1]


@kernel
def _scan(row, hidden, k, floor, lowest, best):
    """Find the k-th best of the visible scores above floor.

    Returns it, how many such scores were kept (fewer than k if there are fewer), and the first
    visible item whose score is not finite, or -1. `best` is longer than k: whenever it is full,
    its k best stay and the least of them becomes the floor.
    """
    outside = np.empty(CHUNK, np.int64)
    count = start = ZERO
    while start < row.size:
        start, n_outside = advance(row, start, lowest, floor, outside)
        for i in range(n_outside):
            item = outside[i]
            if hidden[item]:
                continue
            score = row[item]
            if not (score >= lowest and score <= -lowest):
                return floor, count, item
            best[count] = score
            count += score > floor  # the floor may have risen since the chunk was tested
            # A full buffer is cut to its k best. As it holds several k, this costs a constant per
            # score on average, and the floor that it raises keeps most later scores out.
            if count == best.size:
                floor = select(best, count, k)
                count = k
    return (select(best, count, k) if count >= k else floor), count, NONE


@kernel
def _guess_floor(row, hidden, k, limits, sample, nothing, best):
    """Return a score that likely has k visible items, and few more, above it.

    From evenly spaced items: the expected place of the k-th score among them, and some standard
    deviations more. A bad guess costs time, not correctness: the row is then scanned again.
    """
    lowest, below = limits
    step = row.size // sample.size
    if step < 8:  # the sample would cost as much as it saves
        return below
    n = 0
    for s in range(sample.size):
        sample[n] = row[s * step]
        n += not hidden[s * step]
    # How many of the k best are in the sample is about Poisson: its deviation is the root of its
    # mean. A lower place gives a lower floor, which errs on the safe side.
    expected = k / step
    place = int(np.ceil(expected + _SPREAD * np.sqrt(expected) + _SPREAD))
    if 3 * place > n:  # k is too large a part of the row for a floor to leave out much
        return below
    floor, _, bad = _scan(sample[:n], nothing, place, below, lowest, best[: 3 * place])
    return floor if bad == NONE else below


@kernel
def _set(values, places, value):
    for p in range(places.size):
        values[places[p]] = value


@kernel
def kth_best(scores, limits, seen, k, out):
    """Write each user's k-th best visible score, or `below` where no more than k are visible.

    Returns the (user, item) of the first visible score that is not finite, or (-1, -1).
    """
    lowest, below = limits
    seen_offsets, seen_items, _ = seen
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    best = np.empty(4 * min(k, n_items) + CHUNK, scores.dtype)
    sample = np.empty(_SAMPLE, scores.dtype)
    sample_best = np.empty(_SAMPLE, scores.dtype)
    nothing = np.zeros(_SAMPLE, np.bool_)
    for u in range(n_users):
        row = scores[u]
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, excluded, True)
        # Where all visible items are listed, the scan only looks for scores that are not finite.
        lists_all = n_items - excluded.size <= k
        floor = -lowest
        if not lists_all:
            floor = _guess_floor(row, hidden, k, limits, sample, nothing, sample_best)
        value, count, bad = _scan(row, hidden, k, floor, lowest, best)
        if count < k and bad == NONE and not lists_all:  # the guess was too high
            value, count, bad = _scan(row, hidden, k, below, lowest, best)
        out[u] = below if lists_all else value
        if bad != NONE:
            return u, bad
        _set(hidden, excluded, False)
    return NONE, NONE


@kernel
def _count(row, excluded, score):
    """Return how many visible scores are above this one, and how many equal it.

    All are counted and the excluded ones subtracted: the first loop then has no branch and
    vectorises.
    """
    above = 0
    equal = 0
    for i in range(row.size):
        above += row[i] > score
        equal += row[i] == score
    for s in range(excluded.size):
        above -= row[excluded[s]] > score
        equal -= row[excluded[s]] == score
    return above, equal


@kernel
def count_reaching(scores, seen, floors, out):
    """Write how many visible items of each user have a score of at least the user's floor."""
    seen_offsets, seen_items, _ = seen
    for u in range(scores.shape[0]):
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        above, equal = _count(scores[u], excluded, floors[u])
        out[u] = above + equal


@kernel
def _list(row, hidden, floor, limits, items, spare):
    """Write the visible items with score >= floor by falling score, equal ones rising.

    Returns how many there are.
    """
    lowest, below = limits
    outside = np.empty(CHUNK, np.int64)
    under = np.nextafter(floor, below)  # "above the number before the floor" is ">= floor"
    count = start = ZERO
    while start < row.size:
        start, n_outside = advance(row, start, lowest, under, outside)
        for i in range(n_outside):
            items[count] = outside[i]  # a hidden one is overwritten by the next, without a branch
            count += not hidden[outside[i]]
    sort_falling(row, items, count, spare)
    return count


@kernel
def _order_ties(row, items, count, rule, grade, stream, spare):
    """Put each run of equal scores among the first `count` items in the order of the tie rule."""
    start = 0
    for i in range(1, count + 1):
        if i == count or row[items[i]] != row[items[start]]:
            if i - start > 1:
                _order_run(items[start:i], rule, grade, stream, spare)
            start = i


@kernel
def _order_run(tied, rule, grade, stream, spare):
    """Put items of equal score, which rise, in the order of the tie rule.

    The sort is stable: items of equal key stay in rising order, as the one order has it.
    """
    keys = np.empty(tied.size)
    order = np.empty(tied.size, np.int64)
    for i in range(tied.size):
        keys[i] = tie_key(rule, grade[tied[i]], tied[i], stream)
        order[i] = i
    sort_falling(keys, order, tied.size, spare)
    for i in range(tied.size):
        spare[i] = tied[i]
    for i in range(tied.size):
        tied[i] = spare[order[i]]


@kernel
def fill_lists(scores, limits, seen, truth, floors, tie, lists):
    """Write the items of each list and their relevances, as many as the offsets have room for.

    `lists` are `podium.catalogue.passes.Lists`; `tied`, where not empty, becomes True for a rank
    whose score the next rank shares.
    """
    seen_offsets, seen_items, _ = seen
    true_offsets, true_items, grades = truth
    offsets, listed, relevance, tied = lists
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    grade = np.zeros(n_items)
    items = np.empty(n_items + 1, np.int64)
    spare = np.empty(n_items, np.int64)
    for u in range(n_users):
        row = scores[u]
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, excluded, True)
        for t in range(true_offsets[u], true_offsets[u + 1]):
            grade[true_items[t]] = grades[t]
        count = _list(row, hidden, floors[u], limits, items, spare)
        if tie.rule != AVERAGE:  # then the metrics average over the orders of a tie
            stream = mix(tie.bits ^ mix(np.uint64(tie.first_user + u)))
            _order_ties(row, items, count, tie.rule, grade, stream, spare)
        lo, hi = offsets[u], offsets[u + 1]
        for i in range(hi - lo):
            listed[lo + i] = items[i]
            relevance[lo + i] = grade[items[i]]
        if tied.size:
            for i in range(hi - lo - 1):
                tied[lo + i] = row[items[i]] == row[items[i + 1]]
        _set(hidden, excluded, False)
        _set(grade, true_items[true_offsets[u] : true_offsets[u + 1]], 0.0)


@kernel
def _tied_before(row, hidden, target, rule, grade, stream):
    """Return how many visible items with the target's score come before it."""
    target_key = tie_key(rule, grade[target], target, stream)
    before = 0
    for item in range(row.size):
        if row[item] == row[target] and not hidden[item]:
            key = tie_key(rule, grade[item], item, stream)
            before += key > target_key or (key == target_key and item < target)
    return before


@kernel
def target_ranks(scores, lowest, seen, truth, tie, out):
    """Write each target's rank among the user's visible items; nan for a hidden target.

    By counting: 1 + the number of scores above + the tied ones before it (under "average", half of
    the other tied ones). Returns the (user, item) of the first visible score that is not finite,
    or (-1, -1).
    """
    seen_offsets, seen_items, _ = seen
    true_offsets, true_items, grades = truth
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    grade = np.zeros(n_items)
    nothing = np.empty(2, scores.dtype)
    for u in range(n_users):
        row = scores[u]
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, excluded, True)
        for t in range(true_offsets[u], true_offsets[u + 1]):
            grade[true_items[t]] = grades[t]
        # No finite score is above this floor: the scan stops at scores that are not finite alone.
        _, _, bad = _scan(row, hidden, _ONE, -lowest, lowest, nothing)
        if bad != NONE:
            return u, bad
        stream = mix(tie.bits ^ mix(np.uint64(tie.first_user + u)))
        for t in range(true_offsets[u], true_offsets[u + 1]):
            target = true_items[t]
            if hidden[target]:
                out[t] = np.nan
                continue
            above, equal = _count(row, excluded, row[target])
            out[t] = above + 1.0
            if tie.rule == AVERAGE:  # the target is one of those equal to it
                out[t] += (equal - 1) / 2.0
            elif equal > 1:  # a second pass over the row, only where something is tied
                out[t] += _tied_before(row, hidden, target, tie.rule, grade, stream)
        _set(hidden, excluded, False)
        _set(grade, true_items[true_offsets[u] : true_offsets[u + 1]], 0.0)
    return NONE, NONE


@kernel
def common_items(seen, truth, out):
    """Write which true items are among the user's seen ones.

    Both rise within a row, so that one walk along the two rows finds what they share.
    """
    seen_offsets, seen_items, _ = seen
    true_offsets, true_items, _ = truth
    for u in range(seen_offsets.size - 1):
        s, s_end = seen_offsets[u], seen_offsets[u + 1]
        for t in range(true_offsets[u], true_offsets[u + 1]):
            while s < s_end and seen_items[s] < true_items[t]:
                s += 1
            out[t] = s < s_end and seen_items[s] == true_items[t]
