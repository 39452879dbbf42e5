"""Compiled searches for the judgements of unjudged items that minimise a measure or a difference.

Each kernel treats a difference, candidate - base, of one user at a time. A single run is a
candidate without a base. The maximum is the negated minimum with both lists exchanged. The items
of a user are first ordered by how much they harm the candidate. Then the minimum is computed with
all items unjudged, and for each further place of `bounds_at[g]` with one more of the most harmful
items fixed as not relevant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel, longest_group, sort_falling


class Items(NamedTuple):
    """The unjudged items of each user, and where the results of the user go."""

    offsets: Any
    bounds_at: Any  # offsets of the minima in `out`
    order: Any  # out: the positions of the items of each user, most harmful first


@kernel
def sorted_items(items, keys, user, spare):
    """Order the items of a user by decreasing key, and return their positions."""
    lo, hi = items.offsets[user], items.offsets[user + 1]
    rows = items.order[lo:hi]
    for i in range(hi - lo):
        rows[i] = lo + i
    sort_falling(keys, rows, hi - lo, spare)
    return rows


@kernel
def linear_minima(items, weights, difference, counts, gains, divisors, out):
    """Minimise (start + sum of weight x gain) / ideal over the grades of the unjudged items.

    Level l of the grades adds gains[l]. counts[g, l] is the number of judged items of at least this
    level. divisors[n] is the sum of the n best weights, or what a measure divides by with n
    positives.
    """
    offsets, bounds_at, _ = items
    n_levels, most = gains.size, longest_group(offsets)
    spare, sums = np.empty(most, np.int64), np.empty(most + 1)
    best, chosen = np.empty(most + 1), np.empty((n_levels, most + 1), np.int64)
    keys = -weights
    for g in range(offsets.size - 1):
        rows = sorted_items(items, keys, g, spare)
        n, ideal = rows.size, 0.0
        for level in range(n_levels):
            ideal += gains[level] * divisors[counts[g, level]]
        start = difference[g] * ideal
        for fixed in range(bounds_at[g + 1] - bounds_at[g]):
            # sums[m]: the sum of the m smallest weights of the items that are not fixed.
            sums[0] = 0.0
            for m in range(n - fixed):
                sums[m + 1] = sums[m] + weights[rows[fixed + m]]
            place = bounds_at[g] + fixed
            if np.isnan(start):
                out[place] = start
            elif n_levels == 1:
                out[place] = _one_level(start, sums, n - fixed, counts[g, 0], gains[0], divisors)
            else:
                out[place] = _levels(
                    start, sums, n - fixed, counts[g], gains, divisors, best, chosen
                )


@kernel
def _one_level(start, sums, n, count, gain, divisors):
    """Try every number m of relevant items: those with the m smallest weights."""
    lowest = np.inf
    for m in range(n + 1):
        lowest = min(lowest, (start + gain * sums[m]) / (gain * divisors[count + m]))
    return lowest


@kernel
def _levels(start, sums, n, counts, gains, divisors, best, chosen):
    """Minimise the ratio with m[l] items of at least level l, m[0] >= m[1] >= ..., by Dinkelbach.

    A step minimises numerator - ratio x divisor, which is a sum over levels, by dynamic
    programming, and then sets the ratio to that of the minimum, until it no longer falls.
    """
    ratio = np.inf
    step = 0.0
    for level in range(gains.size):
        step += gains[level] * divisors[counts[level]]
    step = start / step
    while step < ratio:
        ratio = step
        # best[m]: the smallest sum over the levels so far with at most m items of this level.
        for level in range(gains.size - 1, -1, -1):
            for m in range(n + 1):
                value = gains[level] * (sums[m] - ratio * divisors[counts[level] + m])
                if level + 1 < gains.size:
                    value += best[m]
                if m == 0 or value < best[m - 1]:
                    best[m] = value
                    chosen[level, m] = m
                else:
                    best[m] = best[m - 1]
                    chosen[level, m] = chosen[level, m - 1]
        m = n
        numerator, divisor = start, 0.0
        for level in range(gains.size):
            m = chosen[level, m]
            numerator += gains[level] * sums[m]
            divisor += gains[level] * divisors[counts[level] + m]
        step = numerator / divisor
    return ratio


@kernel
def first_minima(items, base_gain, gain, base_value, value, out):
    """Minimise the difference of reciprocal ranks; gains are 1 / rank, 0 below the cutoff.

    In the minimum, at most one unjudged item is relevant, the first hit of the base: any further
    one could only raise the value of the candidate.
    """
    offsets, bounds_at, _ = items
    spare = np.empty(longest_group(offsets), np.int64)
    keys = np.empty(base_gain.size)
    for g in range(offsets.size - 1):
        for i in range(offsets[g], offsets[g + 1]):
            keys[i] = max(base_value[g], base_gain[i]) - max(value[g], gain[i])
        rows = sorted_items(items, keys, g, spare)
        none, n = value[g] - base_value[g], rows.size
        for fixed in range(bounds_at[g + 1] - bounds_at[g]):
            lowest = none if fixed == n else min(none, -keys[rows[fixed]])
            out[bounds_at[g] + fixed] = lowest if not np.isnan(none) else none


@kernel
def pooled_gains(offsets, gains, out):
    """Replace successive gains of each user by their mean until none is above an earlier one.

    Sorting all users' gains then keeps the order within users, and takes a small gain if a large
    one follows it.
    """
    most = longest_group(offsets)
    means, sizes = np.empty(most), np.empty(most, np.int64)
    for g in range(offsets.size - 1):
        n_blocks = 0
        for i in range(offsets[g], offsets[g + 1]):
            means[n_blocks], sizes[n_blocks] = gains[i], 1
            n_blocks += 1
            while n_blocks > 1 and means[n_blocks - 2] < means[n_blocks - 1]:
                size = sizes[n_blocks - 2] + sizes[n_blocks - 1]
                total = means[n_blocks - 2] * sizes[n_blocks - 2]
                total += means[n_blocks - 1] * sizes[n_blocks - 1]
                n_blocks -= 1
                means[n_blocks - 1], sizes[n_blocks - 1] = total / size, size
        i = offsets[g]
        for block in range(n_blocks):
            for _ in range(sizes[block]):
                out[i] = means[block]
                i += 1
