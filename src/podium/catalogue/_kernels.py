"""Compiled passes over blocks of user x item scores.

A row is read in chunks of 64 items. One vectorised test decides whether a chunk contains a score
above the current floor, so that items far below the top cost one comparison each and no branch. The
same test finds scores that are not finite. Hidden (excluded) items are looked up only if the test
is positive; their scores are never used.

All functions use the same order: decreasing score, then decreasing key of the tie rule, then
increasing item. Sparse rows (`seen`, `truth`) are `podium.catalogue.sparse.Rows`: the items of
each row are increasing and distinct. Arrays are taken out of tuples before the loops, because
each access counts a reference.

For the best items, each row is read twice. The first pass finds a floor, a score that at least k
items reach and few more: items are divided into a few sets per k, and the floor is about the k-th
greatest of the sets' maxima. The second pass collects the items that reach the floor. It tests 64
items at a time with a vectorised test, which also finds scores that are not finite.

Buffers of the length of a row are allocated once per block. After each user only the changed
entries are reset, so that the cost per user is proportional to its row and its items.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import AVERAGE, kernel, longest_group, mix, sort_falling, tie_key

CHUNK = 64
_LANES = 4  # sets of items per k: more sets give a better floor and cost more
_HALVINGS = 24  # bisections of the interval of the floor, before a selection finds it
_HALF = np.float32(0.5)
NONE = -1
ZERO = np.int64(0)  # with a literal, numba would compile the callees again

# The position of a single bit: the six highest bits of bit x _DE_BRUIJN differ for all 64
# positions.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACE[((int(_DE_BRUIJN) << _bit) % 2**64) >> 58] = _bit


class Limits(NamedTuple):
    """The limits of the scores' type: its smallest finite number, and minus infinity."""

    lowest: Any
    below: Any


class Tie(NamedTuple):
    """The order of equal scores; user u of a block uses the random stream of first_user + u."""

    rule: int
    first_user: int
    bits: Any


class Lists(NamedTuple):
    """Items and their relevances, one list after the other, best first; see `Ranking.tied`."""

    offsets: Any
    items: Any
    relevance: Any
    tied: Any


@kernel
def advance(row, start, low, high, outside):
    """Find the next chunk with a score outside [low, high], and the items outside.

    Returns the start of the following chunk, and the number of items that were written into
    `outside`. All comparisons with nan are false, so that the negated test finds nan too.
    """
    bits = np.uint64(0)
    while start + CHUNK <= row.size and bits == 0:
        part = row[start : start + CHUNK]
        for j in range(CHUNK):  # compiled to a few vector comparisons
            bits |= np.uint64(not ((part[j] <= high) & (part[j] >= low))) << np.uint64(j)
        start += CHUNK
    if bits == 0:
        part = row[start:]
        for j in range(part.size):
            bits |= np.uint64(not ((part[j] <= high) & (part[j] >= low))) << np.uint64(j)
        start += CHUNK
    n_outside = 0
    while bits:  # one iteration per set bit: few, if the floor is good
        lowest_bit = bits & (~bits + np.uint64(1))
        outside[n_outside] = start - CHUNK + _PLACE[(lowest_bit * _DE_BRUIJN) >> np.uint64(58)]
        n_outside += 1
        bits ^= lowest_bit
    return start, n_outside


@kernel
def select(values, n, k):
    """Move the k greatest of the first n values to the front; return the smallest of these.

    Hoare's selection (quickselect) continues only in the part that contains the k-th position, so
    that the expected cost is linear in n.
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
            break  # the k-th position is between the parts and has the pivot's value
    return values[k - 1]


class _Space(NamedTuple):
    """Memory that all rows share."""

    lanes: Any  # the maximum score of each set of items
    hidden: Any
    chosen: Any
    spare: Any


@kernel
def best_items(scores, limits, seen, k, items, best):
    """Write at most k visible items per user, by decreasing score, then increasing item.

    If a user has fewer than k items, the rest of `items` and `best` is unchanged. Returns the
    (user, item) of the first visible score that is not finite, or (-1, -1).
    """
    seen_offsets, seen_items, _ = seen
    n_users, n_items = scores.shape
    space = _Space(
        np.empty(CHUNK * (_LANES * min(k, n_items) // CHUNK + 1), scores.dtype),
        np.zeros(n_items, np.bool_),
        np.empty(n_items + 1, np.int64),
        np.empty(n_items, np.int64),
    )
    copy = np.empty(n_items, scores.dtype)
    for u in range(n_users):
        row = scores[u]
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        if excluded.size:  # in a copy of the caller's row, hidden items get the lowest score
            for i in range(n_items):
                copy[i] = row[i]
            for s in range(excluded.size):
                copy[excluded[s]] = limits.lowest
            bad_item = _best_of_row(copy, excluded, limits, k, space, items[u], best[u])
        else:
            bad_item = _best_of_row(row, excluded, limits, k, space, items[u], best[u])
        if bad_item != NONE:
            return u, bad_item
    return NONE, NONE


@kernel
def _best_of_row(row, excluded, limits, k, space, items, best):
    """Write one user's best items; return an item whose score is not finite, or -1."""
    lowest, below = limits
    lanes, hidden, chosen, spare = space
    n_best = min(k, row.size - excluded.size)
    under = below
    if n_best == k:  # the number before the floor: scores above it reach the floor
        under = np.nextafter(_floor(row, k, lowest, lanes), below)
    # Hidden items have the lowest score. They pass the test only if the floor is equally low, so
    # they are looked up only in this case.
    if under < lowest:
        for s in range(excluded.size):
            hidden[excluded[s]] = True
    outside = np.empty(CHUNK, np.int64)
    count = start = ZERO
    while start < row.size:
        start, n_outside = advance(row, start, lowest, under, outside)
        for i in range(n_outside):
            score = row[outside[i]]
            if not (score >= lowest and score <= -lowest):
                return outside[i]
            chosen[count] = outside[i]  # the next item overwrites a hidden one
            count += not hidden[outside[i]]
    if under < lowest:
        for s in range(excluded.size):
            hidden[excluded[s]] = False
    # The items are increasing and the sort is stable: of equal scores, the lower item comes first.
    sort_falling(row, chosen, count, spare)
    for i in range(n_best):
        items[i] = chosen[i]
        best[i] = row[chosen[i]]
    return NONE


@kernel
def floors_of_rows(scores, limits, seen, k, floors):
    """Write a score per user that at least k visible items reach, and few more; `below` for all."""
    seen_offsets, _, _ = seen
    n_users, n_items = scores.shape
    most = min(k + longest_group(seen_offsets), n_items)
    lanes = np.empty(CHUNK * (_LANES * most // CHUNK + 1), scores.dtype)
    for u in range(n_users):
        n_reaching = k + seen_offsets[u + 1] - seen_offsets[u]  # hidden items may be among them
        floors[u] = limits.below
        if n_reaching < n_items:
            floors[u] = _floor(scores[u], n_reaching, limits.lowest, lanes)


@kernel
def _floor(row, k, lowest, lanes):
    """Return a score that at least k items reach, and few more; `lowest` in unclear cases.

    Item i belongs to lane i % lanes.size. Each lane whose maximum reaches the floor contains an
    item that reaches it.
    """
    n_lanes = lanes.size
    for j in range(n_lanes):
        lanes[j] = lowest
    for start in range(0, row.size, n_lanes):
        part = row[start : start + n_lanes]
        for j in range(part.size):
            lanes[j] = part[j] if part[j] > lanes[j] else lanes[j]
    return _about_kth(lanes, k)


@kernel
def _about_kth(values, k):
    """Return a number that k to 1.25 k of the values reach, or the k-th greatest value.

    Bisection is used because it has no branch per value, unlike a selection. At least k values are
    >= `low` at all times.
    """
    low, high = values[0], values[0]
    for j in range(values.size):
        low = min(low, values[j])
        high = max(high, values[j])
    for _ in range(_HALVINGS):
        middle = low * _HALF + high * _HALF  # (low + high) / 2 could overflow
        n_reaching = 0
        for j in range(values.size):
            n_reaching += values[j] >= middle
        if n_reaching < k:
            high = middle
        else:
            low = middle
            if 4 * n_reaching <= 5 * k:
                return low
    # No such number was found: many values are equal, or they differ greatly in size.
    return select(values, values.size, k)


@kernel
def _not_finite(row, hidden, lowest):
    """Return the first visible item whose score is not finite, or -1."""
    outside = np.empty(CHUNK, np.int64)
    start = ZERO
    while start < row.size:
        start, n_outside = advance(row, start, lowest, -lowest, outside)
        for i in range(n_outside):
            if not hidden[outside[i]]:
                return outside[i]
    return NONE


@kernel
def _set(values, places, value):
    for p in range(places.size):
        values[places[p]] = value


@kernel
def _count(row, excluded, score):
    """Return the number of visible scores above a score, and the number equal to it.

    All items are counted and the excluded ones subtracted, so that the first loop has no branch and
    is vectorised.
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
    """Write the number of visible items of each user whose score is at least the user's floor."""
    seen_offsets, seen_items, _ = seen
    for u in range(scores.shape[0]):
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        above, equal = _count(scores[u], excluded, floors[u])
        out[u] = above + equal


@kernel
def _list(row, hidden, floor, limits, items, spare):
    """Write the visible items with score >= floor by decreasing score, equal ones increasing.

    Returns their number, and an item whose score is not finite or -1.
    """
    lowest, below = limits
    outside = np.empty(CHUNK, np.int64)
    under = np.nextafter(floor, below)  # "> the number before the floor" means ">= floor"
    count = start = ZERO
    while start < row.size:
        start, n_outside = advance(row, start, lowest, under, outside)
        for i in range(n_outside):
            item = outside[i]
            if not (row[item] >= lowest and row[item] <= -lowest) and not hidden[item]:
                return count, item
            items[count] = item  # the next item overwrites a hidden one, without a branch
            count += not hidden[item]
    sort_falling(row, items, count, spare)
    return count, NONE


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
    """Put items of equal score, which are increasing, in the order of the tie rule.

    The sort is stable: items of equal key stay in increasing order.
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
    """Write the items of each list and their relevances, up to the length given by the offsets.

    `lists` are `podium.catalogue.lists.Lists`. If `tied` is not empty, it becomes True for a rank
    whose score equals that of the next rank.
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
        count, bad_item = _list(row, hidden, floors[u], limits, items, spare)
        if bad_item != NONE:
            return u, bad_item
        if tie.rule != AVERAGE:  # with "average", the metrics average over all orders
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
    return NONE, NONE


@kernel
def _tied_before(row, hidden, target, rule, grade, stream):
    """Return the number of visible items with the target's score that rank before it."""
    target_key = tie_key(rule, grade[target], target, stream)
    before = 0
    for item in range(row.size):
        if row[item] == row[target] and not hidden[item]:
            key = tie_key(rule, grade[item], item, stream)
            before += key > target_key or (key == target_key and item < target)
    return before


@kernel
def target_ranks(scores, lowest, seen, truth, tie, out):
    """Write each target's rank among the user's visible items, to which it belongs.

    The rank is 1 + the number of higher scores + the number of items of equal score that rank
    before the target (with "average", half of the other items of equal score). Returns the (user,
    item) of the first visible score that is not finite, or (-1, -1).
    """
    seen_offsets, seen_items, _ = seen
    true_offsets, true_items, grades = truth
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    grade = np.zeros(n_items)
    for u in range(n_users):
        row = scores[u]
        excluded = seen_items[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, excluded, True)
        for t in range(true_offsets[u], true_offsets[u + 1]):
            grade[true_items[t]] = grades[t]
        bad_item = _not_finite(row, hidden, lowest)
        if bad_item != NONE:
            return u, bad_item
        stream = mix(tie.bits ^ mix(np.uint64(tie.first_user + u)))
        for t in range(true_offsets[u], true_offsets[u + 1]):
            target = true_items[t]
            above, equal = _count(row, excluded, row[target])
            out[t] = above + 1.0
            if tie.rule == AVERAGE:  # `equal` includes the target itself
                out[t] += (equal - 1) / 2.0
            elif equal > 1:  # only ties need a second pass over the row
                out[t] += _tied_before(row, hidden, target, tie.rule, grade, stream)
        _set(hidden, excluded, False)
        _set(grade, true_items[true_offsets[u] : true_offsets[u + 1]], 0.0)
    return NONE, NONE


@kernel
def common_items(seen, truth, out):
    """Write for each true item whether it is among the user's seen items.

    Both are increasing within a row, so that one pass along the two rows finds the common items.
    """
    seen_offsets, seen_items, _ = seen
    true_offsets, true_items, _ = truth
    for u in range(seen_offsets.size - 1):
        s, s_end = seen_offsets[u], seen_offsets[u + 1]
        for t in range(true_offsets[u], true_offsets[u + 1]):
            while s < s_end and seen_items[s] < true_items[t]:
                s += 1
            out[t] = s < s_end and seen_items[s] == true_items[t]
