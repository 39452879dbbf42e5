"""Compiled passes over blocks of user x item scores.

A row is read in chunks of 64 items. One vectorised test decides whether a chunk contains a score
above the current floor, so that items far below the top cost one comparison each and no branch. The
same test finds scores that are not finite. Hidden (excluded) items are looked up only if the test
is positive; their scores are never used.

The best items are in the order of decreasing score, then increasing item. Sparse rows (`seen`,
`truth`) are `podium.catalogue.sparse.Rows`: the items of each row are increasing and distinct.
Arrays are taken out of tuples before the loops, because each access counts a reference.

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

from podium._kernels import kernel, sort_falling

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
    """The order of equal scores; user u of a block uses the random stream of first_user + u.

    With "average", `share` is the share of the equal items that counts as above a target.
    """

    rule: int
    first_user: int
    bits: Any
    share: float = 0.5


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
    return np.partition(values, values.size - k)[values.size - k]
