"""Compiled losses of the pairs of rows of one group with different relevance.

A pair is in order if the more relevant row has the higher score. Rows are addressed through
`rows`, which lists each group's rows by falling relevance. Rows of a group with the same relevance
are a level: level v holds ``rows[bounds[v]:bounds[v + 1]]``, and group g holds the levels from
``levels[g]`` up to ``levels[g + 1]``, the most relevant first. `scale` is the weight of a pair of
each group in its value, and `count` the number of groups that the mean is over. `pairs` is the
tuple of all these from `PairTarget.pairs`. `out` is (values, gradient of sum(values) / count,
curvature). The curvature, unless empty, contains twice the second derivative of each pair on both
of its rows. All outputs are zero on entry. Groups with one level or without weight are not changed.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, lane_sum, longest_group, sort_falling

_NEAR = 300.0  # exponentials of scores this far apart, and their products, keep their digits
_FULL = 650.0  # the largest logarithm of a product of factors 1 + odds


@kernel
def _add_at(tree, n, place, amount):
    """Add an amount to one of the n places of a Fenwick tree."""
    i = place + 1
    while i <= n:
        tree[i] += amount
        i += i & -i


@kernel
def _sum_before(tree, place):
    """Return the sum of the places before `place`."""
    total = 0
    i = place
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@kernel
def hinge_pairs(scores, pairs, out):
    """Sum (1 - s + t)+ over pairs, with s of the more relevant row, in O(n log n) per group.

    The sweep visits positions p from low to high. A row enters as the upper one of its pairs at
    p = score - 1, and leaves as the lower one at p = score. The cost of a pair is the length
    of this interval. Counts are integers and no length is negative, so that nothing cancels.
    """
    rows, bounds, levels, scale, count = pairs
    values, grad, curvature = out
    longest, most = longest_group(bounds[levels]), longest_group(levels)
    keys = np.empty(longest)
    level = np.empty(longest, np.int64)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    entered, remaining = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    for g in range(levels.size - 1):
        first, n_levels = levels[g], levels[g + 1] - levels[g]
        if n_levels < 2 or scale[g] == 0.0:
            continue
        lo = bounds[first]
        n = bounds[first + n_levels] - lo
        for v in range(n_levels + 1):
            entered[v] = 0
            remaining[v] = 0
        for v in range(n_levels):
            _add_at(remaining, n_levels, v, bounds[first + v + 1] - bounds[first + v])
            for p in range(bounds[first + v], bounds[first + v + 1]):
                keys[p - lo], level[p - lo], order[p - lo] = scores[rows[p]], v, p - lo
        sort_falling(keys, order, n, spare)
        step = scale[g] / count
        total = 0.0
        active = 0  # pairs whose upper row has entered and whose lower one has not left
        a, b = n - 1, n - 1  # the next rows to enter and to leave
        last, from_entry = 0.0, False
        while b >= 0:
            current = order[b]
            enters = a >= 0 and 1.0 - (keys[order[a]] - keys[current]) >= 0.0
            if enters:
                current = order[a]
            # The cost of all active pairs is the length from the last position to this one.
            # Positions are compared without computing score - 1, which would lose digits.
            if active > 0:
                gap = keys[current] - last
                if enters != from_entry:
                    gap = gap - 1.0 if enters else 1.0 + gap
                total += active * gap
            last, from_entry = keys[current], enters
            # The active pairs of a row are those with less relevant rows that have not left, or
            # with more relevant rows that have entered. Each adds its step to the gradient.
            if enters:
                lower = b + 1 - _sum_before(remaining, level[current] + 1)
                active += lower
                grad[rows[lo + current]] -= lower * step
                _add_at(entered, n_levels, level[current], 1)
                a -= 1
            else:
                higher = _sum_before(entered, level[current])
                active -= higher
                grad[rows[lo + current]] += higher * step
                _add_at(remaining, n_levels, level[current], -1)
                b -= 1
        values[g] = scale[g] * total
        if curvature.size:
            for i in range(n):
                same = bounds[first + level[i] + 1] - bounds[first + level[i]]
                curvature[rows[lo + i]] = 2.0 * (n - same) * step


@kernel
def _near_pairs(odds, factor, excess, wrong, bent):
    """Write the slopes and the second derivatives of the pairs of one upper row with lower rows.

    The odds of a pair are odds * factor. `excess` is the product of 1 + odds of each lower row,
    minus 1. In this form, small odds lose no digits, and one logarithm serves many pairs.
    """
    for q in range(odds.size):  # with more arrays, the compiler would not vectorise the loop
        o = odds[q] * factor
        right = 1.0 / (1.0 + o)
        wrong[q] = o * right
        bent[q] = o * right * right
        excess[q] += o + excess[q] * o


@kernel
def add_terms(terms, totals):
    """Add each term to its total, and return the sum of the terms."""
    for q in range(terms.size):
        totals[q] += terms[q]
    return lane_sum(terms)


@kernel
def _far_pairs(s, scores, rows, slopes, bends):
    """Do the work of `_near_pairs` if exponentials would overflow; return also the sum of costs."""
    total, slope, bend = 0.0, 0.0, 0.0
    for q in range(rows.size):
        gap = s - scores[rows[q]]
        small = np.exp(-abs(gap))
        total += max(-gap, 0.0) + np.log1p(small)
        less, more = small / (1.0 + small), 1.0 / (1.0 + small)
        wrong = less if gap > 0.0 else more
        slopes[q] += wrong
        bends[q] += less * more
        slope += wrong
        bend += less * more
    return total, slope, bend


@kernel
def _take_logs(excess):
    total = 0.0
    for q in range(excess.size):
        total += np.log1p(excess[q])
        excess[q] = 0.0
    return total


@kernel
def logistic_pairs(scores, pairs, out):
    """Sum log(1 + exp(t - s)) over pairs, with s of the more relevant row.

    This needs one division per pair.
    """
    rows, bounds, levels, scale, count = pairs
    values, grad, curvature = out
    longest = longest_group(bounds[levels])
    odds, excess = np.empty(longest), np.zeros(longest)
    slopes, bends = np.empty(longest), np.empty(longest)
    wrong, bent = np.empty(longest), np.empty(longest)
    for g in range(levels.size - 1):
        first, last = levels[g], levels[g + 1]
        if last - first < 2 or scale[g] == 0.0:
            continue
        lo, hi = bounds[first], bounds[last]
        n = hi - lo
        low, high = np.inf, -np.inf
        for p in range(lo, hi):
            low, high = min(low, scores[rows[p]]), max(high, scores[rows[p]])
        near = high - low < _NEAR
        for i in range(n):
            slopes[i], bends[i] = 0.0, 0.0
            if near:
                odds[i] = np.exp(scores[rows[lo + i]] - high)
        total, growth = 0.0, 0.0
        for v in range(first, last - 1):
            below = bounds[v + 1] - lo  # the position of the first row of a lower level
            for i in range(bounds[v] - lo, below):
                s = scores[rows[lo + i]]
                if near:
                    lead = high - s
                    growth += lead + 1.0  # odds are at most exp(high - s)
                    if growth > _FULL:
                        total += _take_logs(excess[:n])
                        growth = lead + 1.0
                    m, bend = n - below, 0.0
                    _near_pairs(odds[below:n], np.exp(lead), excess[below:n], wrong[:m], bent[:m])
                    slope = add_terms(wrong[:m], slopes[below:n])
                    if curvature.size:
                        bend = add_terms(bent[:m], bends[below:n])
                else:
                    cost, slope, bend = _far_pairs(
                        s, scores, rows[lo + below : hi], slopes[below:n], bends[below:n]
                    )
                    total += cost
                slopes[i] -= slope
                bends[i] += bend
        values[g] = scale[g] * (total + _take_logs(excess[:n]))
        step = scale[g] / count
        for i in range(n):
            grad[rows[lo + i]] = slopes[i] * step
            if curvature.size:
                curvature[rows[lo + i]] = 2.0 * bends[i] * step
