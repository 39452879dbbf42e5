"""Compiled searches for the judgements that minimise a difference of average precisions.

With y[i] = 1 if unjudged item i is relevant, and gain[i] = 1 / rank (0 below the cutoff), the sum
of precisions of a list is

    start + sum of y[i] x single[i] + sum over i < j of y[i] x y[j] x min(gain[i], gain[j]),

where single[i] is what item i adds if it is the only relevant one. For a given number of relevant
items, a sum is largest if they have the largest gains, and smallest if they have the smallest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel, longest_group, sort_falling
from podium.evaluation._unjudged_kernels import sorted_items

ENUMERATED = 10  # with at most so many unjudged items, a difference is minimised by enumeration
_PAIRED = 64  # with at most so many, its bound uses the items of both lists jointly


class Sums(NamedTuple):
    """The sum of precisions of one list per user, as a function of the judgements."""

    gain: Any
    single: Any
    start: Any  # by user
    n_hits: Any  # by user: the judged positives up to the cutoff


class Divisors(NamedTuple):
    """What sums are divided by: values[n] with n positives, or the hits if `of_hits`."""

    of_hits: Any
    n_pos: Any  # by user
    values: Any


@kernel
def hit_sums(offsets, group, rank, lists, relevance, min_relevance, depth, single, n_hits):
    """Write what each item adds to its list's sum of precisions, and count the judged hits.

    `offsets` bounds the items of each user, whose list is lists[group[g]] to lists[group[g] + 1].
    """
    longest = longest_group(lists)
    before, below = np.zeros(longest + 1, np.int64), np.empty(longest + 1)
    for g in range(offsets.size - 1):
        lo = lists[group[g]]
        n = min(depth, lists[group[g] + 1] - lo)
        for i in range(n):  # before[r]: the hits at ranks 1 to r
            before[i + 1] = before[i] + (relevance[lo + i] >= min_relevance)
        below[n] = 0.0
        for i in range(n - 1, -1, -1):  # below[r]: the sum of 1 / rank over the hits after r
            is_hit = relevance[lo + i] >= min_relevance
            below[i] = below[i + 1] + (1.0 / (i + 1) if is_hit else 0.0)
        n_hits[g] = before[n]
        for i in range(offsets[g], offsets[g + 1]):
            r = rank[i]
            single[i] = (1.0 + before[r]) / r + below[r] if 1 <= r <= n else 0.0


@kernel
def precision_minima(items, base, candidate, one_list, divisors, out):
    """Minimise the difference of average precisions, or bound its minimum from below.

    With `one_list`, one of the lists is empty, and the result is exact.
    """
    offsets, bounds_at, _ = items
    most = longest_group(offsets)
    spare, by_gain = np.empty(most, np.int64), np.empty(most, np.int64)
    is_relevant = np.empty(most, np.int64)
    keys = base.single - candidate.single
    gains, singles = np.empty((2, most)), np.empty((2, most))
    work, pairs = np.empty((4, most + 1)), np.empty((min(most, _PAIRED), _PAIRED + 1))
    for g in range(offsets.size - 1):
        rows = sorted_items(items, keys, g, spare)
        n = rows.size
        for i in range(n):
            gains[0, i], gains[1, i] = base.gain[rows[i]], candidate.gain[rows[i]]
            singles[0, i], singles[1, i] = base.single[rows[i]], candidate.single[rows[i]]
        start = (base.start[g], candidate.start[g])
        hits = (base.n_hits[g], candidate.n_hits[g])
        by_count = divisors.values[divisors.n_pos[g] :]
        for fixed in range(bounds_at[g + 1] - bounds_at[g]):
            free_gains, free_singles = gains[:, fixed:n], singles[:, fixed:n]
            if np.isnan(start[0] + start[1]):
                lowest = np.nan
            elif not one_list and n - fixed <= ENUMERATED:
                lowest = _enumerated(
                    free_gains, free_singles, start, hits, divisors.of_hits, by_count, is_relevant
                )
            elif divisors.of_hits:
                lowest = _per_hit(free_gains[1], free_singles[1], start[1], hits[1], 1.0, by_gain,
                                  spare, work)  # fmt: skip
                lowest += _per_hit(free_gains[0], free_singles[0], start[0], hits[0], -1.0, by_gain,
                                   spare, work)  # fmt: skip
            else:
                _fill_extremes(free_gains, free_singles, by_gain, spare, work)
                if not one_list and n - fixed <= _PAIRED:
                    _use_pairs(free_gains, free_singles, by_gain, spare, work, pairs)
                lowest = np.inf
                for s in range(n - fixed + 1):
                    total = start[1] - start[0] + work[0, s]
                    lowest = min(lowest, total / by_count[s])
            out[bounds_at[g] + fixed] = lowest


@kernel
def _enumerated(gains, singles, start, hits, of_hits, by_count, is_relevant):
    """Try all judgements, each of which differs in one item from the previous one (Gray code)."""
    n = gains.shape[1]
    base, other = start
    base_hits, other_hits = hits
    n_relevant = 0
    for i in range(n):
        is_relevant[i] = 0
    lowest = np.inf
    for code in range(1 << n):
        if code:
            i = 0
            while not (code >> i) & 1:
                i += 1
            base_change, other_change = singles[0, i], singles[1, i]
            for j in range(n):
                if is_relevant[j] and j != i:
                    base_change += min(gains[0, i], gains[0, j])
                    other_change += min(gains[1, i], gains[1, j])
            sign = 1 - 2 * is_relevant[i]
            is_relevant[i] = 1 - is_relevant[i]
            base += sign * base_change
            other += sign * other_change
            base_hits += sign * (gains[0, i] > 0)
            other_hits += sign * (gains[1, i] > 0)
            n_relevant += sign
        if of_hits:
            value = other / max(other_hits, 1) - base / max(base_hits, 1)
        else:
            value = (other - base) / by_count[n_relevant]
        lowest = min(lowest, value)
    return lowest


@kernel
def _by_gain(gains, sign, order, spare, keys):
    """Order positions by decreasing sign x gain."""
    n = gains.size
    for i in range(n):
        order[i] = i
        keys[i] = sign * gains[i]
    sort_falling(keys, order, n, spare)


@kernel
def _per_hit(gains, singles, start, n_hits, sign, order, spare, work):
    """Minimise sign x the sum of precisions over the number of hits."""
    n = gains.size
    _by_gain(gains, -sign, order, spare, work[3])
    lowest = sign * start / max(n_hits, 1)
    total, chosen, n_chosen = start, 0.0, 0
    for place in range(n):
        i = order[place]
        if gains[i] > 0:
            total += singles[i] + (chosen if sign > 0 else n_chosen * gains[i])
            chosen += gains[i]
            n_chosen += 1
            lowest = min(lowest, sign * total / (n_hits + n_chosen))
    return lowest


@kernel
def _fill_extremes(gains, singles, order, spare, work):
    """Write into work[0, s] the smallest change of the candidate minus the largest of the base.

    Each is the extreme over all s relevant items.
    """
    n = gains.shape[1]
    _by_gain(gains[1], -1.0, order, spare, work[3])
    work[0, 0] = 0.0
    chosen = 0.0
    for s in range(n):
        i = order[s]
        work[0, s + 1] = work[0, s] + singles[1, i] + chosen
        chosen += gains[1, i]
    _by_gain(gains[0], 1.0, order, spare, work[3])
    largest = 0.0
    for s in range(n):
        i = order[s]
        largest += singles[0, i] + s * gains[0, i]
        work[0, s + 1] -= largest


@kernel
def _use_pairs(gains, singles, order, spare, work, pairs):
    """Raise work[0, s] to the bound in which each item has its s - 1 most harmful partners.

    Each pair counts half for each of its two items.
    """
    n = gains.shape[1]
    for i in range(n):
        for j in range(n):
            order[j] = j
            shared = min(gains[1, i], gains[1, j]) - min(gains[0, i], gains[0, j])
            work[3, j] = -shared if j != i else -np.inf
        sort_falling(work[3], order, n, spare)
        pairs[i, 0] = 0.0
        for t in range(n - 1):
            pairs[i, t + 1] = pairs[i, t] - work[3, order[t]]
    for s in range(1, n + 1):
        for i in range(n):
            order[i] = i
            work[3, i] = singles[0, i] - singles[1, i] - 0.5 * pairs[i, s - 1]
        sort_falling(work[3], order, n, spare)
        total = 0.0
        for t in range(s):
            total -= work[3, order[t]]
        work[0, s] = max(work[0, s], total)
