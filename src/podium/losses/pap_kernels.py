"""Compiled surrogates of pAp@k, in one pass over groups, with no more work than the tops need.

Line and equation numbers are those of hiranandani2020, whose algorithm 2 gives the pairs in error
and the gradient. `tops` is `PApTarget.tops`. `out` is (values, gradient, curvature), zero on
entry. Rows are addressed through `rows`, which lists each group's positives and then its negatives
in the caller's order. A group's positives begin at `bounds[2g]`, its negatives begin at
`bounds[2g + 1]` and end at `bounds[2g + 2]`.

Surrogates that are maxima over whole orderings take O(n log n). They are the last line of eq. (14)
of hiranandani2020, and its eq. (4) with the errors of pAp@k. An ordering of a group is a number of
errors for each positive. This number does not decrease as the score falls, and a positive with r
errors ranks below the r best negatives. The optimal numbers maximise, over
0 <= r(1) <= r(2) <= … <= n_columns,

    sum_i [ sum_{j <= r(i)} (t(j) - s(i)) + (bonus * min(r(i), k) if i <= b) ].

Each term is concave in r(i), so that pooling adjacent violators is exact. Before pooling, the
numbers do not decrease within the top b and within the rest. The only pooled block is around b.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel


@kernel
def sift_down(keys, heap, size):
    """Restore a heap with the smallest key at the root, after the root was replaced."""
    i = 0
    key, item = keys[0], heap[0]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and keys[right] < keys[child]:
            child = right
        if keys[child] >= key:
            break
        keys[i], heap[i] = keys[child], heap[child]
        i = child
    keys[i], heap[i] = key, item


@kernel
def insert_best(scores, rows, lo, hi, m, sign, keys, places):
    """Do the work of `select` by insertion: O(n m) at worst, but fastest for a short top."""
    filled = 0
    floor = -np.inf  # the largest key that is not inserted
    for p in range(lo, hi):
        key = sign * scores[rows[p]]
        if filled < m:
            i = filled
            filled += 1
        elif key > floor:
            i = m - 1
        else:
            continue
        while i > 0 and keys[i - 1] < key:
            keys[i], places[i] = keys[i - 1], places[i - 1]
            i -= 1
        keys[i], places[i] = key, p
        if filled == m:
            floor = keys[m - 1]


@kernel
def select(scores, rows, lo, hi, m, sign, keys, heap):
    """Write the m places in lo..hi with the largest sign * score into heap, falling; O(n log m).

    The choice among equal scores at the end is arbitrary. `share_ties` removes its effect.
    """
    if m <= 64:
        insert_best(scores, rows, lo, hi, m, sign, keys, heap)
        return
    # The first m places form a heap whose root has the smallest key.
    for filled in range(m):
        p = lo + filled
        key = sign * scores[rows[p]]
        i = filled
        while i > 0:
            parent = (i - 1) // 2
            if keys[parent] <= key:
                break
            keys[i], heap[i] = keys[parent], heap[parent]
            i = parent
        keys[i], heap[i] = key, p
    # A larger key replaces the root.
    floor = keys[0]
    for p in range(lo + m, hi):
        key = sign * scores[rows[p]]
        if key > floor:
            keys[0], heap[0] = key, p
            sift_down(keys, heap, m)
            floor = keys[0]
    # Heap sort: move each root in turn to the end.
    for end in range(m - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        heap[0], heap[end] = heap[end], heap[0]
        sift_down(keys, heap, end)


@kernel
def share_ties(scores, rows, lo, hi, edge, outs):
    """Replace the outputs of all rows in lo..hi with score `edge` by their mean, unless empty."""
    for out in outs:
        total = 0.0
        count = 0
        for p in range(lo, hi if out.size else lo):
            if scores[rows[p]] == edge:
                total += out[rows[p]]
                count += 1
        if count > 1:
            for p in range(lo, hi):
                if scores[rows[p]] == edge:
                    out[rows[p]] = total / count


@kernel
def widest(tops):
    """Return the number of defined groups, and the most rows among them of four kinds.

    The kinds are the top positives, the top negatives, all positives and all negatives.
    """
    _, bounds, n_top, n_neg, _ = tops
    n_defined, top, neg, pos, all_neg = 0, 1, 1, 1, 1
    for g in range(n_top.size):
        if n_top[g] > 0:
            n_defined += 1
            top, neg = max(top, n_top[g]), max(neg, n_neg[g])
            pos = max(pos, bounds[2 * g + 1] - bounds[2 * g])
            all_neg = max(all_neg, bounds[2 * g + 2] - bounds[2 * g + 1])
    return n_defined, top, neg, pos, all_neg


@kernel
def pair_hinges(scores, tops, sign, rest, out):
    """Sum (1 - s + t)+ over selected positives and top negatives of each group.

    sign=1 selects the n_top best positives, eq. (6), and sign=-1 the n_top worst, eq. (24). `rest`
    adds (t - s)+ of the other positives, as in the tight-struct surrogate of algorithm 2. The
    gradient is that of sum(values * defined) / n_defined. The curvature, unless empty, is the
    bound of `PApLoss.curvature`.
    """
    rows, bounds, n_top, n_neg, scale = tops
    values, grad, curvature = out
    n_defined, widest_top, widest_neg, widest_pos, _ = widest(tops)
    top_keys = np.empty(widest_top)
    top = np.empty(widest_top, np.int64)
    neg_keys = np.empty(widest_neg)
    neg = np.empty(widest_neg, np.int64)
    prefix = np.empty(widest_neg + 1)  # prefix sums of the best negative scores
    ends = np.empty(widest_neg + 1, np.int64)  # the number of positives with j errors
    is_selected = np.zeros(widest_pos if rest else 1, np.bool_)
    for g in range(n_top.size):
        b, k = n_top[g], n_neg[g]
        if b == 0:
            continue
        lo, mid, hi = bounds[2 * g], bounds[2 * g + 1], bounds[2 * g + 2]
        # Lines 1, 6 and 10: the top negatives, and the top or the bottom positives.
        select(scores, rows, lo, mid, b, sign, top_keys, top)
        select(scores, rows, mid, hi, k, 1.0, neg_keys, neg)
        edge_pos = scores[rows[top[b - 1]]]
        edge_neg = scores[rows[neg[k - 1]]]
        # Differences from the best negative, so that a common shift of scores loses no digits.
        zero = neg_keys[0]
        prefix[0] = 0.0
        for j in range(k):
            prefix[j + 1] = prefix[j] + (neg_keys[j] - zero)
            ends[j] = 0
        ends[k] = 0
        share = scale[g] / (b * k)
        step = share / n_defined
        total = 0.0
        # Lines 7 and 11: pi_ij = 1 if 1 - s(i) + t(j) >= 0. This holds for the r best
        # negatives, and r does not decrease as the positives' scores fall.
        r = 0
        for i in range(b):
            row = rows[top[i if sign > 0 else b - 1 - i]]
            while r < k and 1.0 - (scores[row] - neg_keys[r]) >= 0.0:
                r += 1
            total += max(r * (1.0 - (scores[row] - zero)) + prefix[r], 0.0)
            grad[row] = -r * step
            ends[r] += 1
            if rest:
                is_selected[top[i] - lo] = True
        n_rest = 0
        if rest and b < mid - lo:
            # Line 11 for i > beta, without a margin: r by bisection, as these are not sorted.
            n_rest = mid - lo - b
            for p in range(lo, mid):
                if is_selected[p - lo]:
                    continue
                row = rows[p]
                left, right = 0, k
                while left < right:
                    middle = (left + right) // 2
                    if neg_keys[middle] >= scores[row]:
                        left = middle + 1
                    else:
                        right = middle
                total += max(prefix[left] - left * (scores[row] - zero), 0.0)
                grad[row] = -left * step
                ends[left] += 1
        values[g] = share * total
        # Lines 8 and 12: a negative's gradient is the number of positives in error against it.
        errors = 0
        for j in range(k - 1, -1, -1):
            errors += ends[j + 1]
            grad[rows[neg[j]]] = errors * step
        if rest:
            for i in range(b):
                is_selected[top[i] - lo] = False
        if curvature.size:
            for i in range(b):
                curvature[rows[top[i]]] = 2.0 * k * step
            if n_rest:
                for p in range(lo, mid):
                    curvature[rows[p]] = 2.0 * k * step
            for j in range(k):
                curvature[rows[neg[j]]] = 2.0 * (b + n_rest) * step
        share_ties(scores, rows, lo, mid, edge_pos, (grad, curvature))
        share_ties(scores, rows, mid, hi, edge_neg, (grad, curvature))


@kernel
def mean_hinges(scores, tops, out):
    """Compute mean (1 - mean(s) + t)+ over the top negatives t of each group, eq. (10).

    Outputs are as in `pair_hinges`.
    """
    rows, bounds, n_top, n_neg, scale = tops
    values, grad, curvature = out
    n_defined, _, widest_neg, _, _ = widest(tops)
    neg_keys = np.empty(widest_neg)
    neg = np.empty(widest_neg, np.int64)
    for g in range(n_top.size):
        k = n_neg[g]
        if n_top[g] == 0:
            continue
        lo, mid, hi = bounds[2 * g], bounds[2 * g + 1], bounds[2 * g + 2]
        select(scores, rows, mid, hi, k, 1.0, neg_keys, neg)
        n_pos = mid - lo
        zero = neg_keys[0]
        mean = 0.0
        for p in range(lo, mid):
            mean += scores[rows[p]] - zero
        mean /= n_pos
        step = scale[g] / k / n_defined
        total = 0.0
        # Line 3: negatives are sorted, so that none has an error below the first without one.
        r = 0
        for j in range(k):
            hinge = 1.0 - (mean - (neg_keys[j] - zero))
            if hinge < 0.0:
                break
            total += hinge
            grad[rows[neg[j]]] = step
            r += 1
        values[g] = scale[g] * total / k
        # Line 4: the mean depends equally on all positives.
        for p in range(lo, mid):
            grad[rows[p]] = -r * step / n_pos
        if curvature.size:
            for p in range(lo, mid):
                curvature[rows[p]] = 2.0 * k * step / n_pos
            for j in range(k):
                curvature[rows[neg[j]]] = 2.0 * step
        share_ties(scores, rows, mid, hi, neg_keys[k - 1], (grad, curvature))


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
def ordering_hinges(scores, tops, all_negatives, out):
    """Maximise over the orderings of all positives and the top negatives of each group.

    With all_negatives=False, the n_neg best negatives are ordered, the weight of a pair is
    1 / (n_top n_neg) and the bonus is 1. With all_negatives=True, all negatives are
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
        bonus = n_pairs / (b * k)
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
        if curvature.size:
            for p in range(lo, mid):
                curvature[rows[p]] = 2.0 * n_columns * step
            for j in range(n_columns):
                curvature[rows[neg[j]]] = 2.0 * n_pos * step
        share_ties(scores, rows, mid, hi, scores[rows[neg[k - 1]]], (grad, curvature))
