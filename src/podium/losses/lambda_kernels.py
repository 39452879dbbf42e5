"""Compiled LambdaRank: logistic costs of pairs, weighted by the change of ndcg by a swap.

Rows of a list are ordered by falling score, equal scores by rising worth. The swap of the rows at
two positions p < q changes ndcg by ``|worth_p - worth_q| * (mark_p - mark_q)``: `mark` is the
discount of a position and `worth` the gain of a row over the ideal DCG. `depth` is the number of
positions that may be the upper row.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import fused_kernel, inlined, kernel, lane_sum, longest_group, sort_falling
from podium.losses.pairwise_kernels import add_terms

_NEAR = 300.0  # exponentials of scores this far apart, and their products, keep their digits


@kernel
def _share_discounts(scores, worth, ladder, mark):
    """Give rows of equal score and worth their mean discount as mark, and return the depth."""
    start, depth, n = 0, 0, mark.size
    for p in range(n):
        if p + 1 < n and scores[p + 1] == scores[p] and worth[p + 1] == worth[p]:
            continue
        total = 0.0
        for i in range(start, p + 1):
            total += ladder[i]
        for i in range(start, p + 1):
            mark[i] = total / (p + 1 - start)
        if total > 0.0:
            depth = p + 1
        start = p + 1
    return depth


@kernel
def mark_lists(scores, rows, offsets, worth, share, ladder, marks):
    """Order the rows of each list by score and write their marks.

    `rows` lists each group's rows by rising worth. `marks` is (order of the rows, mark, depth).
    """
    order, mark, depth = marks
    longest = longest_group(offsets)
    places, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    keys, list_scores, list_worth = np.empty(longest), np.empty(longest), np.empty(longest)
    for g in range(share.size):
        lo, hi = offsets[g], offsets[g + 1]
        n = hi - lo
        for i in range(n):
            keys[i], places[i] = scores[rows[lo + i]], i
        sort_falling(keys, places, n, spare)
        for p in range(n):
            row = rows[lo + places[p]]
            order[lo + p], list_scores[p], list_worth[p] = row, scores[row], worth[row]
        if share[g] > 0.0:
            depth[g] = _share_discounts(list_scores[:n], list_worth[:n], ladder, mark[lo:hi])


@kernel
def _powers(list_scores, scale, up, down):
    """Write exp(scale * (score - best)) and its inverse; return whether they keep their digits."""
    low, high = np.inf, -np.inf
    for q in range(list_scores.size):
        low, high = min(low, list_scores[q]), max(high, list_scores[q])
    if not scale * (high - low) < _NEAR:
        return False
    for q in range(list_scores.size):
        up[q] = np.exp(scale * (list_scores[q] - high))
        down[q] = np.exp(scale * (high - list_scores[q]))
    return True


@inlined
def _log1p(x):
    """Return log(1 + x) for x in [0, 1], by the series of 2 atanh(x / (2 + x)), without a call."""
    z = x / (2.0 + x)
    y = z * z
    p = y * (1.0 / 33.0) + 1.0 / 31.0
    p = p * y + 1.0 / 29.0
    p = p * y + 1.0 / 27.0
    p = p * y + 1.0 / 25.0
    p = p * y + 1.0 / 23.0
    p = p * y + 1.0 / 21.0
    p = p * y + 1.0 / 19.0
    p = p * y + 1.0 / 17.0
    p = p * y + 1.0 / 15.0
    p = p * y + 1.0 / 13.0
    p = p * y + 1.0 / 11.0
    p = p * y + 1.0 / 9.0
    p = p * y + 1.0 / 7.0
    p = p * y + 1.0 / 5.0
    p = p * y + 1.0 / 3.0
    return 2.0 * (z + z * y * p)


@kernel
def _signed_weights(upper, row_worth, w, mark, signed):
    """Write the weight of each pair of one upper row, below 0 if the upper row is the worse one."""
    for q in range(w.size):
        signed[q] = (row_worth - w[q]) * max(upper - mark[q], 0.0)


@fused_kernel
def _near_costs(own, sigma, s, up, down, signed, curve, cost):
    """Replace signed weights by slopes, and write the curvature and the cost of each pair.

    `own` is the row's (score, power, inverse power). The loop has few arrays, no call and no sum,
    so that the compiler vectorises it.
    """
    score, power, inverse = own
    for q in range(s.size):
        weight = abs(signed[q])
        margin = score - s[q] if signed[q] > 0.0 else s[q] - score
        small = min(power * down[q], inverse * up[q])
        right = 1.0 / (1.0 + small)
        wrong = small * right if margin > 0.0 else right
        cost[q] = weight * (_log1p(small) + sigma * max(-margin, 0.0))
        signed[q] *= wrong
        curve[q] = weight * small * right * right


@kernel
def _far_costs(own, sigma, s, signed, curve, cost):
    """Do the work of `_near_costs` if powers would overflow, with one exponential per pair."""
    for q in range(s.size):
        weight = abs(signed[q])
        margin = own[0] - s[q] if signed[q] > 0.0 else s[q] - own[0]
        small = np.exp(-sigma * abs(margin))
        right = 1.0 / (1.0 + small)
        cost[q] = weight * (np.log1p(small) + sigma * max(-margin, 0.0))
        signed[q] *= small * right if margin > 0.0 else right
        curve[q] = weight * small * right * right


@kernel
def weighted_pairs(scores, offsets, worth, share, marks, sigma, count, out):
    """Sum weight * log(1 + exp(-sigma * d)) over pairs, with d > 0 if the better row is above.

    The scores may differ from those of the marks. `out` is (values,
    gradient of their sum over count, curvature), zero on entry. The curvature, unless empty, has
    twice the second derivative of each pair on both of its rows.
    """
    order, mark, depth = marks
    values, grad, curvature = out
    longest = longest_group(offsets)
    s, w = np.empty(longest), np.empty(longest)
    up, down = np.empty(longest), np.empty(longest)
    slopes, bends = np.empty(longest), np.empty(longest)
    signed, curve, cost = np.empty(longest), np.empty(longest), np.empty(longest)
    for g in range(share.size):
        if share[g] == 0.0:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        n = hi - lo
        for p in range(n):
            s[p], w[p] = scores[order[lo + p]], worth[order[lo + p]]
            slopes[p], bends[p] = 0.0, 0.0
        is_close = _powers(s[:n], sigma, up, down)
        total = 0.0
        for p in range(depth[g]):
            r, m = p + 1, n - p - 1  # the first row below, and the number of these rows
            _signed_weights(mark[lo + p], w[p], w[r:n], mark[lo + r : hi], signed[:m])
            row = s[p], up[p], down[p]
            if is_close:
                _near_costs(row, sigma, s[r:n], up[r:n], down[r:n], signed[:m], curve[:m], cost[:m])
            else:
                _far_costs(row, sigma, s[r:n], signed[:m], curve[:m], cost[:m])
            total += lane_sum(cost[:m])
            slopes[p] -= add_terms(signed[:m], slopes[r:n])
            bends[p] += add_terms(curve[:m], bends[r:n])
        values[g] = share[g] * total
        step = sigma * share[g] / count
        for p in range(n):
            grad[order[lo + p]] = slopes[p] * step
            if curvature.size:
                curvature[order[lo + p]] = 2.0 * sigma * bends[p] * step
