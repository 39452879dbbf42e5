"""The compiled average surrogate of precision at k: one pass over groups."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel
from podium.losses.pap_kernels import select, share_ties

_EQUAL = 1e-12  # values closer than this, by their size, count as equal: rounding decides nothing


@kernel
def precision_average(scores, rows, bounds, n_top, n_neg, scale, k, values, grad):
    """Write each group's largest value over k', and the gradient of their mean.

    Rows and bounds as in the kernels of `podium.losses`; `grad` is zero on entry.
    """
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
        below = 0.0
        for p in range(lo, mid):
            below += scores[rows[p]] - zero
        above = 0.0
        for j in range(m):
            above += neg_keys[j] - zero
        # From the fewest true positives (as many negatives as there are) to a list of positives.
        for i in range(n_list - m):
            below -= keys[i] - zero
        hits, best, value = n_list - m, 0, -np.inf
        largest = -np.inf
        while hits <= n_list:
            wrong = n_list - hits
            ratio = wrong / (n_pos - hits) if wrong > 0 else 0.0
            here = wrong - ratio * below + above
            largest = max(largest, here)
            if here > value + _EQUAL * (1.0 + abs(value)) or hits == n_list - m:
                best, value = hits, here
            if wrong > 0:
                below -= keys[hits] - zero
                above -= neg_keys[wrong - 1] - zero
            hits += 1
        wrong = n_list - best
        values[g] = scale[g] * largest / k
        if wrong == 0:
            continue
        step = scale[g] / k / n_defined
        for p in range(lo, mid):
            grad[rows[p]] = -step * wrong / (n_pos - best)
        for i in range(best):
            grad[rows[top[i]]] = 0.0
        for j in range(wrong):
            grad[rows[neg[j]]] = step
        if best > 0:
            share_ties(scores, rows, lo, mid, scores[rows[top[best - 1]]], grad)
        share_ties(scores, rows, mid, hi, scores[rows[neg[wrong - 1]]], grad)
