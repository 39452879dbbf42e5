"""The compiled average surrogate of precision at k: one pass over groups."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel
from podium.losses.pap_kernels import select, share_ties

_EQUAL = 1e-12  # values closer than this, by their size, count as equal: rounding decides nothing


@kernel
def precision_average(scores, tops, k, values, grad):
    """Write each group's max over k' of Delta(k') / k, and the gradient of their mean.

    Delta(k') = K - k' - D sum_{i>k'} s(i) + sum_{j<=K-k'} t(j) with D = (K - k') / (n_pos - k'),
    for k' positives in a list of K (kar2015). `tops` is `PApTarget.tops`; `grad` is zero on entry.
    """
    rows, bounds, n_top, n_neg, share = tops
    n_groups = n_top.size
    widest_top = 1
    n_defined = 0
    for g in range(n_groups):
        if n_top[g] > 0:
            n_defined += 1
            widest_top = max(widest_top, n_top[g])
    keys = np.empty(widest_top)
    top = np.empty(widest_top, np.int64)
    neg_keys = np.empty(widest_top)
    neg = np.empty(widest_top, np.int64)
    for g in range(n_groups):
        n_list = n_top[g]
        if n_list == 0:
            continue
        lo, mid, hi = bounds[2 * g], bounds[2 * g + 1], bounds[2 * g + 2]
        n_pos, m = mid - lo, min(n_list, n_neg[g])
        select(scores, rows, lo, mid, n_list, 1.0, keys, top)
        select(scores, rows, mid, hi, m, 1.0, neg_keys, neg)
        # Differences from the best negative, so that a common shift of scores costs no digits.
        zero = neg_keys[0]
        pos_sum = 0.0  # sum_{i>k'} s(i)
        for p in range(lo, mid):
            pos_sum += scores[rows[p]] - zero
        neg_sum = 0.0  # sum_{j<=K-k'} t(j)
        for j in range(m):
            neg_sum += neg_keys[j] - zero
        # From the smallest k' (as many negatives as there are) to a list of positives: a step
        # takes one score out of each sum, so that all k' cost no more than the sums did.
        for i in range(n_list - m):
            pos_sum -= keys[i] - zero
        hits, best, value = n_list - m, 0, -np.inf
        largest = -np.inf
        while hits <= n_list:
            wrong = n_list - hits
            ratio = wrong / (n_pos - hits) if wrong > 0 else 0.0  # D, 0 / 0 for a list of all
            delta = wrong - ratio * pos_sum + neg_sum
            largest = max(largest, delta)
            # The first of equal ones gives the gradient, where rounding must not choose it.
            if delta > value + _EQUAL * (1.0 + abs(value)) or hits == n_list - m:
                best, value = hits, delta
            if wrong > 0:
                pos_sum -= keys[hits] - zero
                neg_sum -= neg_keys[wrong - 1] - zero
            hits += 1
        wrong = n_list - best
        values[g] = share[g] * largest / k
        if wrong == 0:
            continue
        # The subgradient at the best k': -D for the positives below it, 1 for its negatives.
        step = share[g] / k / n_defined
        for p in range(lo, mid):
            grad[rows[p]] = -step * wrong / (n_pos - best)
        for i in range(best):
            grad[rows[top[i]]] = 0.0
        for j in range(wrong):
            grad[rows[neg[j]]] = step
        # Rows of equal score at an edge share their gradient: no order of rows may decide.
        if best > 0:
            share_ties(scores, rows, lo, mid, scores[rows[top[best - 1]]], grad)
        share_ties(scores, rows, mid, hi, scores[rows[neg[wrong - 1]]], grad)
