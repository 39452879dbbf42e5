"""Compiled passes over blocks of user x item scores.

A row is read in chunks of 64 items: one vectorised test tells whether a chunk holds anything of
interest, so that the items far below the top cost a comparison each and no branch. The same
test finds scores that are not finite. Hidden (excluded) items are looked up only where the
test fires; their scores are never used, whatever they are.

One order is meant throughout: falling score, then falling key of the tie rule, then rising item.
`lowest` is the least finite number of the scores' type, `below` its minus infinity. Sparse rows
come as offsets and items, distinct in each row.
"""

from __future__ import annotations

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


@kernel
def advance(row, start, low, high, found):
    """Find the next chunk in which not all low <= score <= high, and which items those are.

    Returns where the chunk after it starts, and how many items were written into `found`.
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
    n_found = 0
    while bits:
        first = bits & (~bits + np.uint64(1))
        found[n_found] = start - CHUNK + _PLACE[(first * _DE_BRUIJN) >> np.uint64(58)]
        n_found += 1
        bits ^= first
    return start, n_found


@kernel
def select(values, n, k):
    """Move the k greatest of the first n values to the front; return the least of those."""
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
            break
    return values[k - 1]


@kernel
def _scan(row, hidden, k, floor, lowest, best):
    """Find the k-th best of the visible scores above floor.

    Returns it, how many such scores were kept (fewer than k if there are fewer), and the first
    visible item whose score is not finite, or -1. `best` is longer than k: whenever it is full,
    its k best stay and the least of them becomes the floor.
    """
    found = np.empty(CHUNK, np.int64)
    count = start = ZERO
    while start < row.size:
        start, n_found = advance(row, start, lowest, floor, found)
        for f in range(n_found):
            item = found[f]
            if hidden[item]:
                continue
            score = row[item]
            if not (score >= lowest and score <= -lowest):
                return floor, count, item
            best[count] = score
            count += score > floor
            if count == best.size:
                floor = select(best, count, k)
                count = k
    return (select(best, count, k) if count >= k else floor), count, NONE


@kernel
def _guess_floor(row, hidden, k, lowest, below, sample, nothing, best):
    """Return a score that likely has k visible items, and few more, above it.

    From evenly spaced items: the expected place of the k-th score among them, and some standard
    deviations more. A bad guess costs time, not correctness.
    """
    step = row.size // sample.size
    if step < 8:
        return below
    n = 0
    for s in range(sample.size):
        sample[n] = row[s * step]
        n += not hidden[s * step]
    expected = k / step
    place = int(np.ceil(expected + _SPREAD * np.sqrt(expected) + _SPREAD))
    if 3 * place > n:
        return below
    floor, _, bad = _scan(sample[:n], nothing, place, below, lowest, best[: 3 * place])
    return floor if bad == NONE else below


@kernel
def _set(values, places, value):
    for p in range(places.size):
        values[places[p]] = value


@kernel
def kth_best(scores, lowest, below, seen_offsets, seen, k, out):
    """Write each user's k-th best visible score, or `below` where no more than k are visible.

    Returns the (user, item) of the first visible score that is not finite, or (-1, -1).
    """
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    best = np.empty(4 * min(k, n_items) + CHUNK, scores.dtype)
    sample = np.empty(_SAMPLE, scores.dtype)
    sample_best = np.empty(_SAMPLE, scores.dtype)
    nothing = np.zeros(_SAMPLE, np.bool_)
    for u in range(n_users):
        row = scores[u]
        ours = seen[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, ours, True)
        every = n_items - ours.size <= k  # then the scan only looks for scores that are not finite
        floor = -lowest
        if not every:
            floor = _guess_floor(row, hidden, k, lowest, below, sample, nothing, sample_best)
        value, count, bad = _scan(row, hidden, k, floor, lowest, best)
        if count < k and bad == NONE and not every:
            value, count, bad = _scan(row, hidden, k, below, lowest, best)
        out[u] = below if every else value
        if bad != NONE:
            return u, bad
        _set(hidden, ours, False)
    return NONE, NONE


@kernel
def _count(row, seen, score):
    """Return how many visible scores are above this one, and how many equal it."""
    above = 0
    equal = 0
    for i in range(row.size):
        above += row[i] > score
        equal += row[i] == score
    for s in range(seen.size):
        above -= row[seen[s]] > score
        equal -= row[seen[s]] == score
    return above, equal


@kernel
def count_reaching(scores, seen_offsets, seen, floors, out):
    """Write how many visible items of each user have a score of at least the user's floor."""
    for u in range(scores.shape[0]):
        ours = seen[seen_offsets[u] : seen_offsets[u + 1]]
        above, equal = _count(scores[u], ours, floors[u])
        out[u] = above + equal


@kernel
def _list(row, hidden, floor, lowest, below, rule, grade, stream, items, spare):
    """Write the visible items with score >= floor in order; return how many."""
    found = np.empty(CHUNK, np.int64)
    under = np.nextafter(floor, below)
    count = start = ZERO
    while start < row.size:
        start, n_found = advance(row, start, lowest, under, found)
        for f in range(n_found):
            items[count] = found[f]
            count += not hidden[found[f]]
    sort_falling(row, items, count, spare)
    if rule == AVERAGE:
        return count
    start = 0
    for i in range(1, count + 1):
        if i == count or row[items[i]] != row[items[start]]:
            if i - start > 1:
                _settle(items[start:i], rule, grade, stream, spare)
            start = i
    return count


@kernel
def _settle(tied, rule, grade, stream, spare):
    """Put items of equal score, which rise, in the order of the tie rule."""
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
def fill_lists(
    scores, lowest, below, seen_offsets, seen, true_offsets, true_items, grades,
    floors, rule, first_user, seed, offsets, listed, relevance, tied,
):  # fmt: skip
    """Write the items of each list and their relevances, as many as offsets has room for.

    `tied`, where not empty, becomes True for a rank whose score the next rank shares.
    """
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    grade = np.zeros(n_items)
    items = np.empty(n_items + 1, np.int64)
    spare = np.empty(n_items, np.int64)
    for u in range(n_users):
        row = scores[u]
        ours = seen[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, ours, True)
        for t in range(true_offsets[u], true_offsets[u + 1]):
            grade[true_items[t]] = grades[t]
        stream = mix(seed ^ mix(np.uint64(first_user + u)))
        _list(row, hidden, floors[u], lowest, below, rule, grade, stream, items, spare)
        lo, hi = offsets[u], offsets[u + 1]
        for i in range(hi - lo):
            listed[lo + i] = items[i]
            relevance[lo + i] = grade[items[i]]
        if tied.size:
            for i in range(hi - lo - 1):
                tied[lo + i] = row[items[i]] == row[items[i + 1]]
        _set(hidden, ours, False)
        _set(grade, true_items[true_offsets[u] : true_offsets[u + 1]], 0.0)


@kernel
def _tied_before(row, hidden, target, rule, grade, stream):
    """Return how many visible items with the target's score come before it."""
    own = tie_key(rule, grade[target], target, stream)
    before = 0
    for item in range(row.size):
        if row[item] == row[target] and not hidden[item]:
            key = tie_key(rule, grade[item], item, stream)
            before += key > own or (key == own and item < target)
    return before


@kernel
def target_ranks(
    scores, lowest, seen_offsets, seen, true_offsets, true_items, grades,
    rule, first_user, seed, out,
):  # fmt: skip
    """Write each target's rank among the user's visible items; nan for a hidden target.

    Returns the (user, item) of the first visible score that is not finite, or (-1, -1).
    """
    n_users, n_items = scores.shape
    hidden = np.zeros(n_items, np.bool_)
    grade = np.zeros(n_items)
    nothing = np.empty(2, scores.dtype)
    for u in range(n_users):
        row = scores[u]
        ours = seen[seen_offsets[u] : seen_offsets[u + 1]]
        _set(hidden, ours, True)
        for t in range(true_offsets[u], true_offsets[u + 1]):
            grade[true_items[t]] = grades[t]
        _, _, bad = _scan(row, hidden, _ONE, -lowest, lowest, nothing)
        if bad != NONE:
            return u, bad
        stream = mix(seed ^ mix(np.uint64(first_user + u)))
        for t in range(true_offsets[u], true_offsets[u + 1]):
            target = true_items[t]
            if hidden[target]:
                out[t] = np.nan
                continue
            above, equal = _count(row, ours, row[target])
            out[t] = above + 1.0
            if rule == AVERAGE:
                out[t] += (equal - 1) / 2.0
            elif equal > 1:
                out[t] += _tied_before(row, hidden, target, rule, grade, stream)
        _set(hidden, ours, False)
        _set(grade, true_items[true_offsets[u] : true_offsets[u + 1]], 0.0)
    return NONE, NONE


@kernel
def common_items(seen_offsets, seen, true_offsets, true_items, out):
    """Write which true items are among the user's seen ones; both rise within a row."""
    for u in range(seen_offsets.size - 1):
        s, s_end = seen_offsets[u], seen_offsets[u + 1]
        for t in range(true_offsets[u], true_offsets[u + 1]):
            while s < s_end and seen[s] < true_items[t]:
                s += 1
            out[t] = s < s_end and seen[s] == true_items[t]
