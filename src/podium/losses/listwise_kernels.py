"""Compiled listwise losses, with one exponential per row and without loss of small terms.

Equations are those of xia2009. `out` is (values, gradient, curvature), and terms are added to it.

A sum of exponentials is stored as the largest score, `top`, and `rest`, the sum of the other terms
relative to the largest. Its logarithm is ``top + log1p(rest)``, which is exact both if one term
dominates and if all are equal. Rows are addressed through `rows`, list after list.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, lane_sum, longest_group, sort_falling

_SHORT = 64  # heads up to this length are ordered by insertion
_FULL = 1e280  # a larger product is logged before the next factor makes it overflow
_SMALL_NORM = 1e-100  # the least norm of scores in the gradient, so that it is finite
_LOWEST = -700.0  # a difference whose exponential is far from underflow
_BEND = 1.0 / np.sqrt(3.0)  # the largest eigenvalue of a half cosine's Hessian at length 1
_MAGIC = 6755399441055744.0  # 1.5 * 2**52; adding it puts the nearest integer into the low bits
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # has so few bits that its multiples are exact
_LN2_LOW = 1.90821492927058770002e-10


@kernel
def insert_head(grades, keys, rows, h, out):
    """Write the h >= 1 best rows by falling grade and key, then the other rows."""
    filled = 0
    after = h
    for i in range(rows.size):
        row = rows[i]
        grade, key = grades[row], keys[row]
        if filled < h:
            place = filled
            filled += 1
        else:
            last = out[h - 1]
            if grade < grades[last] or (grade == grades[last] and key <= keys[last]):
                out[after] = row
                after += 1
                continue
            out[after] = last
            after += 1
            place = h - 1
        # Move the row down to its place among the best rows; the last of them may have left.
        while place > 0:
            above = out[place - 1]
            if grade < grades[above] or (grade == grades[above] and key <= keys[above]):
                break
            out[place] = above
            place -= 1
        out[place] = row


@kernel
def order_heads(grades, keys, rows, offsets, n_head, out):
    """Write, for each order, the n_head best rows of each list in order, then its other rows."""
    spare = np.empty(longest_group(offsets), np.int64)
    for o in range(keys.shape[0]):
        for g in range(n_head.size):
            lo, hi = offsets[g], offsets[g + 1]
            if 0 < n_head[g] <= _SHORT:
                insert_head(grades, keys[o], rows[lo:hi], n_head[g], out[o, lo:hi])
                continue
            for i in range(lo, hi):
                out[o, i] = rows[i]
            # Sort by key, then stably by grade.
            if n_head[g] > 0:
                sort_falling(keys[o], out[o, lo:hi], hi - lo, spare)
                sort_falling(grades, out[o, lo:hi], hi - lo, spare)


@kernel
def falling_exp(part, power, bits):
    """Replace numbers in [-700, 0] by their exponentials, within 1 unit in the last place.

    exp(x) = 2**n * exp(r) with x = n log 2 + r. The loops contain no call, so that the compiler
    vectorises them, which it cannot do with np.exp. `power` and `bits` are views of the same
    memory, as floats and as integers.
    """
    # n is the integer nearest to x / log 2. r is the remainder, with log 2 in two parts.
    for i in range(part.size):
        nearest = part[i] * _LOG2_E + _MAGIC
        power[i] = nearest
        nearest -= _MAGIC
        part[i] = (part[i] - nearest * _LN2_HIGH) - nearest * _LN2_LOW
    # The low bits contain n. Shifted to the exponent, with its offset, they are 2**n.
    for i in range(part.size):
        bits[i] = (bits[i] + 1023) << 52
    # exp(r) by its series up to r**13, for |r| <= log(2) / 2.
    for i in range(part.size):
        r = part[i]
        p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        part[i] = (p * r * r + r + 1.0) * power[i]


@kernel
def tail_sum(scores, rows, h, part, power, bits):
    """Write exp(score - top) of rows[h:], and return top, its place and the rest of their sum.

    top is the largest of these scores.
    """
    lead = h
    top = scores[rows[h]]
    low = top
    for i in range(h, rows.size):
        part[i] = scores[rows[i]]
        low = min(low, part[i])
        if part[i] > top:
            top = part[i]
            lead = i
    for i in range(h, rows.size):
        part[i] -= top
    if low - top >= _LOWEST:
        n = rows.size - h
        falling_exp(part[h : rows.size], power[:n], bits[:n])
    else:
        for i in range(h, rows.size):
            part[i] = np.exp(part[i])
    # The rest excludes the leader's own term, 1.
    part[lead] = 0.0
    rest = lane_sum(part[h : rows.size])
    part[lead] = 1.0
    return top, lead, rest


@kernel
def top_likelihood(scores, rows, offsets, depth, scale, count, out):
    """Add scale * sum_{p < depth} [logsumexp of the scores from place p on - score at p].

    `rows[o]` holds all lists in their o-th order. The first depth places of each list, fewer than
    it has rows, are in order; the order of the others does not matter. A depth of 0 leaves a list
    out. `grad` receives the gradient of the sum of values over `count`, the number of the other
    lists, and `curvature`, unless empty, the sums of probabilities. Terms are added to all outputs.

    The backward loop adds the term of each place to the sum of those after it. The value of
    a place is its distance from the leader plus log1p(rest). Several factors 1 + rest are
    multiplied before one log1p is computed. In the forward loop, `before` is
    sum_{q <= p} exp(top_p - logsumexp_q), which is at most p + 1: the gradient that a row of score
    top_p receives from all places up to its own.
    """
    values, grad, curvature = out
    deepest = 1
    for g in range(depth.size):
        deepest = max(deepest, depth[g])
    part = np.empty(longest_group(offsets))
    power = np.empty(part.size)
    bits = power.view(np.int64)
    missed = np.empty(deepest)  # at each place, the probability of the rows after it
    inverse = np.empty(deepest)  # at each place, the probability of the leader
    drop = np.empty(deepest)  # exp(top of the next place - top of this place)
    for o in range(rows.shape[0]):
        for g in range(depth.size):
            h = depth[g]
            if h == 0 or scale[g] == 0.0:
                continue
            listed = rows[o, offsets[g] : offsets[g + 1]]
            top, _, rest = tail_sum(scores, listed, h, part, power, bits)
            behind = 0.0
            product = 0.0  # the product of the factors 1 + rest, minus 1
            total = 0.0
            # Eq. (9) up to k: logsumexp from each place on, backwards from the last place.
            for p in range(h - 1, -1, -1):
                gap = scores[listed[p]] - top
                small = np.exp(-abs(gap))
                others = 1.0 + rest
                if gap > 0.0:  # a new leader, relative to which the sum is rescaled
                    top = scores[listed[p]]
                    rest = others * small
                    others = rest
                    part[p] = 1.0
                    drop[p] = small
                else:
                    rest += small
                    behind -= scores[listed[p]] - top
                    part[p] = small
                    drop[p] = 1.0
                inverse[p] = 1.0 / (1.0 + rest)
                missed[p] = others * inverse[p]
                if product > _FULL:
                    total += np.log1p(product)
                    product = 0.0
                product += rest + product * rest
            total += np.log1p(product)
            values[g] += scale[g] * (total + behind)
            # The gradient of a row: its probabilities at all places up to its own, minus 1 there.
            step = scale[g] / count
            before = 0.0
            for p in range(h):
                grad[listed[p]] += step * (part[p] * before - missed[p])
                before += inverse[p]
                if curvature.size:
                    curvature[listed[p]] += step * before * part[p]
                before *= drop[p]
            before *= step
            for i in range(h, listed.size):
                grad[listed[i]] += before * part[i]
            if curvature.size:
                for i in range(h, listed.size):
                    curvature[listed[i]] += before * part[i]


@kernel
def softmax_entropy(scores, rows, offsets, truth, total, scale, count, out):
    """Add scale * sum truth * (logsumexp of the list's scores - score).

    This is eq. (12) for the first place, up to the entropy of the truth. `truth` is in the order
    of `rows`, and `total` is its sum in each list, 0 for a list to leave out. The outputs are as
    in `top_likelihood`.
    """
    values, grad, curvature = out
    part = np.empty(longest_group(offsets))
    power = np.empty(part.size)
    bits = power.view(np.int64)
    for g in range(total.size):
        if total[g] == 0.0 or scale[g] == 0.0:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        top, lead, rest = tail_sum(scores, rows[lo:hi], 0, part, power, bits)
        inverse = 1.0 / (1.0 + rest)
        step = scale[g] / count
        value = total[g] * np.log1p(rest)
        for i in range(hi - lo):
            row, weight = rows[lo + i], truth[lo + i]
            value += weight * (top - scores[row])
            # total * probability - weight, from terms of the same sign, so that nothing cancels.
            others = rest if i == lead else 1.0 + max(rest - part[i], 0.0)
            slope = (total[g] - weight) * part[i] - weight * others
            grad[row] += step * slope * inverse
        if curvature.size:
            for i in range(hi - lo):
                curvature[rows[lo + i]] += step * total[g] * part[i] * inverse
        values[g] += scale[g] * value


@kernel
def half_cosine(scores, rows, offsets, truth, short, scale, defined, count, out):
    """Add scale * (1 - truth . scores / |scores|) / 2, eq. (10).

    1 - u . v is computed as (|u - v|^2 + 1 - |u|^2) / 2, which loses no digits near 0. `short` is
    1 - |truth|^2. The outputs are as in `softmax_entropy`.
    """
    values, grad, curvature = out
    unit = np.empty(longest_group(offsets))
    for g in range(defined.size):
        if not defined[g] or scale[g] == 0.0:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        n = hi - lo
        # Scores are divided by their largest value, then by their norm, so no square overflows.
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(scores[rows[lo + i]]))
        length = 0.0
        for i in range(n):
            unit[i] = scores[rows[lo + i]] / largest if largest > 0.0 else 0.0
            length += unit[i] * unit[i]
        length = np.sqrt(length)
        distance = short[g]
        for i in range(n):
            unit[i] = unit[i] / length if largest > 0.0 else 0.0
            distance += (truth[lo + i] - unit[i]) ** 2
        value = min(distance / 4.0, 1.0) if largest > 0.0 else 0.5
        values[g] += scale[g] * value
        # The derivative of u . s / |s| is (u - (u . v) v) / |s| with v = s / |s|.
        norm = max(largest * length, _SMALL_NORM) if largest > 0.0 else 1.0
        step = scale[g] / count / norm
        for i in range(n):
            slope = truth[lo + i] - unit[i] + 2.0 * value * unit[i]
            grad[rows[lo + i]] -= 0.5 * step * slope
            if curvature.size:
                curvature[rows[lo + i]] += step * _BEND / norm
