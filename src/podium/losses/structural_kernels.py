"""Compiled surrogates that are maxima over whole orderings, in O(n log n).

They are the last line of eq. (14) of hiranandani2020, and its eq. (4) with the errors of pAp@k.

Rows are addressed as in `podium.losses.pap_kernels`. An ordering of a group is a number of errors
for each positive. This number does not decrease as the score falls, and a positive with r errors
ranks below the r best negatives. The optimal numbers maximise, over
0 <= r(1) <= r(2) <= … <= n_columns,

    sum_i [ sum_{j <= r(i)} (t(j) - s(i)) + (bonus * min(r(i), k) if i <= b) ].

Each term is concave in r(i), so that pooling adjacent violators is exact. Before pooling, the
numbers do not decrease within the top b and within the rest. The only pooled block is around b.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel
from podium.losses.pap_kernels import select, share_ties, widest


@kernel
def pool(errors, leads, b, n_pos, gaps, bonus):
    """Make `errors` nondecreasing from the top b to the rest, with one number for a block around b.

    This number lies between the two that violate the order. Both are among the first k columns:
    errors beyond them do not depend on the bonus, so that a lower positive has at least as many.
    """
    if b == n_pos or errors[b - 1] <= errors[b]:
        return
    low, high = errors[b], errors[b - 1]
    first, last = b - 1, b
    total = leads[first] + leads[last]
    while True:
        # The best number of errors of the block: as long as the gap plus the bonus, which only
        # the block's part in the top receives, is at least the mean lead.
        size = last + 1 - first
        raised = bonus * (b - first) / size
        count, end = low, high
        while count < end:
            middle = (count + end) // 2
            if gaps[middle] + raised >= total / size:
                count = middle + 1
            else:
                end = middle
        # A neighbour that violates the order with the new number joins the block.
        if first > 0 and errors[first - 1] > count:
            first -= 1
            total += leads[first]
        elif last + 1 < n_pos and errors[last + 1] < count:
            last += 1
            total += leads[last]
        else:
            break
    for i in range(first, last + 1):
        errors[i] = count


@kernel
def ordering_hinges(scores, tops, all_negatives, margin, out):
    """Maximise over the orderings of all positives and the top negatives of each group.

    With all_negatives=False, the n_neg best negatives are ordered, the weight of a pair is
    1 / (n_top n_neg) and the bonus is `margin`. With all_negatives=True, all negatives are
    ordered, the weight is 1 / (n_pos n_negatives), and the bonus is such that its weighted value
    is 1 / (n_top n_neg). Arguments and outputs are as in `pair_hinges`.
    """
    rows, bounds, n_top, n_neg, scale = tops
    values, grad, curvature = out
    n_defined, _, _, widest_pos, widest_neg = widest(tops)
    leads = np.empty(widest_pos)  # s(i) minus the best negative
    pos = np.empty(widest_pos, np.int64)
    errors = np.empty(widest_pos, np.int64)
    gaps = np.empty(widest_neg)  # t(j) minus the best negative
    neg = np.empty(widest_neg, np.int64)
    prefix = np.empty(widest_neg + 1)  # prefix sums of the best gaps
    ends = np.empty(widest_neg + 1, np.int64)  # the number of positives with j errors
    for g in range(n_top.size):
        b, k = n_top[g], n_neg[g]
        if b == 0:
            continue
        lo, mid, hi = bounds[2 * g], bounds[2 * g + 1], bounds[2 * g + 2]
        n_pos = mid - lo
        n_columns = hi - mid if all_negatives else k
        n_pairs = n_pos * n_columns if all_negatives else b * k
        bonus = n_pairs / (b * k) * margin
        select(scores, rows, lo, mid, n_pos, 1.0, leads, pos)
        select(scores, rows, mid, hi, n_columns, 1.0, gaps, neg)
        # Differences from the best negative, so that a common shift of scores loses no digits.
        zero = gaps[0]
        prefix[0] = 0.0
        ends[0] = 0
        for j in range(n_columns):
            gaps[j] -= zero
            prefix[j + 1] = prefix[j] + gaps[j]
            ends[j + 1] = 0
        # Each r(i) separately: r grows as long as one more column adds to the sum. It does not
        # decrease with i in the top and in the rest, so each search starts at the last result.
        r = 0
        for i in range(n_pos):
            leads[i] -= zero
            if i == b:
                r = 0
            while r < n_columns and gaps[r] + (bonus if i < b and r < k else 0.0) >= leads[i]:
                r += 1
            errors[i] = r
        # The order can be violated only between the top and the rest.
        pool(errors, leads, b, n_pos, gaps, bonus)
        # The maximum for these numbers. Its gradient counts errors by row and by column.
        share = scale[g] / n_pairs
        step = share / n_defined
        total = 0.0
        for i in range(n_pos):
            r = errors[i]
            total += prefix[r] - r * leads[i]
            if i < b:
                total += bonus * min(r, k)
            ends[r] += 1
            grad[rows[pos[i]]] = -r * step
        values[g] = share * max(total, 0.0)
        above = 0
        for j in range(n_columns - 1, -1, -1):
            above += ends[j + 1]
            grad[rows[neg[j]]] = above * step
        edge = scores[rows[neg[k - 1]]]
        share_ties(scores, rows, mid, hi, edge, grad)
        if curvature.size:
            for p in range(lo, mid):
                curvature[rows[p]] = 2.0 * n_columns * step
            for j in range(n_columns):
                curvature[rows[neg[j]]] = 2.0 * n_pos * step
            share_ties(scores, rows, mid, hi, edge, curvature)
