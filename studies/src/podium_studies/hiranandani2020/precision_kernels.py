"""The compiled average surrogate of precision at k: one pass over groups."""

from __future__ import annotations

import numpy as np

from podium.losses.pap_kernels import select, share_ties
from podium_studies.compiling import kernel

_EQUAL = 1e-12  # relative difference up to which values count as equal despite rounding


@kernel
def precision_average(scores, tops, k, values, grad):
    """Write the maximum over k' of Delta(k') / k of each group, and the gradient of their mean.

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
        # Sum differences from the best negative, so that large scores do not cost precision.
        best_negative = neg_keys[0]
        pos_sum = 0.0  # sum_{i>k'} s(i)
        for p in range(lo, mid):
            pos_sum += scores[rows[p]] - best_negative
        neg_sum = 0.0  # sum_{j<=K-k'} t(j)
        for j in range(m):
            neg_sum += neg_keys[j] - best_negative
        # Go from the smallest k' (as many negatives as possible) to k' = K. Each step removes one
        # score from each sum, so that all k' together cost as much as the sums.
        for i in range(n_list - m):
            pos_sum -= keys[i] - best_negative
        n_hits, best_n_hits, best_value = n_list - m, 0, -np.inf
        largest = -np.inf
        while n_hits <= n_list:
            n_errors = n_list - n_hits
            ratio = n_errors / (n_pos - n_hits) if n_errors > 0 else 0.0  # D; 0 / 0 if k' = n_pos
            delta = n_errors - ratio * pos_sum + neg_sum
            largest = max(largest, delta)
            # The first of equal values determines the gradient, independently of rounding.
            if delta > best_value + _EQUAL * (1.0 + abs(best_value)) or n_hits == n_list - m:
                best_n_hits, best_value = n_hits, delta
            if n_errors > 0:
                pos_sum -= keys[n_hits] - best_negative
                neg_sum -= neg_keys[n_errors - 1] - best_negative
            n_hits += 1
        n_errors = n_list - best_n_hits
        values[g] = share[g] * largest / k
        if n_errors == 0:
            continue
        # The subgradient at the best k' is -D for positives outside the list, 1 for its negatives.
        step = share[g] / k / n_defined
        for p in range(lo, mid):
            grad[rows[p]] = -step * n_errors / (n_pos - best_n_hits)
        for i in range(best_n_hits):
            grad[rows[top[i]]] = 0.0
        for j in range(n_errors):
            grad[rows[neg[j]]] = step
        # Rows with equal scores at an edge share their gradient, independently of row order.
        if best_n_hits > 0:
            share_ties(scores, rows, lo, mid, scores[rows[top[best_n_hits - 1]]], (grad,))
        share_ties(scores, rows, mid, hi, scores[rows[neg[n_errors - 1]]], (grad,))
