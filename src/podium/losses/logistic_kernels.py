"""Compiled logistic losses: of rows, of groups with intercepts, and of pairs at the top.

Losses of groups address rows through `rows`, group after group: those of group g are
``rows[offsets[g]:offsets[g + 1]]``. `out` is (values, gradient, curvature), zero on entry.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, longest_group, sort_falling
from podium.losses.pap_kernels import select, share_ties, widest

_FAR = 690.0  # exp(+-_FAR), and products up to exp(709), neither overflow nor lose digits
_APART = 1500.0  # scores this far apart never affect the same intercept, for any weights
_CLOSE = 1e-8  # the square of a Newton step this short, its error, is negligible


@kernel
def logistic_rows(scores, positive, index, scale, count, out):
    """Add scale * log(1 + exp(-y s)) of each row to its group's value; write the derivatives."""
    values, grad, curvature = out
    for i in range(scores.size):
        y = 1.0 if positive[i] else -1.0
        margin = y * scores[i]
        small = np.exp(-abs(margin))  # at most 1, so that no score overflows
        values[index[i]] += scale[i] * (max(-margin, 0.0) + np.log1p(small))
        wrong = small / (1.0 + small) if margin > 0 else 1.0 / (1.0 + small)
        grad[i] = -y * wrong * scale[i] / count
        if curvature.size:
            curvature[i] = scale[i] / count * small / (1.0 + small) ** 2


@kernel
def fill_odds(depth, n, intercept, odds):
    """Write exp(depth + intercept), clipped so that it and its inverse are finite."""
    for i in range(n):
        odds[i] = np.exp(min(max(depth[i] + intercept, -_FAR), _FAR))


@kernel
def first_guess(depth, n, yes, no, log_odds):
    """Return the optimal intercept for normally distributed scores, as a first guess."""
    weight = 0.0
    mean = 0.0
    square = 0.0
    for i in range(n):
        w = yes[i] + no[i]
        weight += w
        mean += w * depth[i]
        square += w * depth[i] * depth[i]
    mean /= weight
    variance = max(square / weight - mean * mean, 0.0)
    return log_odds * np.sqrt(1.0 + np.pi / 8.0 * variance) - mean


@kernel
def balance(depth, n, intercept, yes, no, odds):
    """Return sum no * sigmoid(depth + b), sum yes * sigmoid(-depth - b), and their slopes in b.

    exp(depth + b) is given as `odds` times `intercept`, which is a factor here.
    """
    above, below, above_slope, below_slope = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        o = odds[i] * intercept
        q = 1.0 / (1.0 + o)
        p = o * q
        up = no[i] * p
        down = yes[i] * q
        above += up
        below += down
        above_slope += up * q
        below_slope += down * p
    return above, below, above_slope, below_slope


@kernel
def best_intercept(depth, n, yes, no, near, bracket, odds):
    """Return b with sum no * sigmoid(depth + b) = sum yes * sigmoid(-depth - b).

    Newton's method is applied to h, the logarithm of the ratio of the two sides. Each side keeps
    its digits even if it is tiny, and |h''| <= 2 h', so that a step d leaves an error of about
    d * d. b is bracketed, and the bracket is halved if Newton's step leaves it or shrinks slowly.
    On return, `odds` times the second result is exp(depth + b).
    """
    guess, low, high = bracket
    b = min(max(guess, low), high)
    if near:
        fill_odds(depth, n, 0.0, odds)
    factor = np.exp(b) if near else 1.0
    last = high - low
    before = last
    done = False
    for _ in range(200):
        if near:
            factor = np.exp(b)
        else:
            fill_odds(depth, n, b, odds)
        if done:
            break
        above, below, above_slope, below_slope = balance(depth, n, factor, yes, no, odds)
        if above == below:
            break
        # The sides are equal at the optimal b. The larger one determines its direction.
        if above > below:
            high = b
        else:
            low = b
        step = -np.log(above / below) / (above_slope / above + below_slope / below)
        # The condition is false for nan, from sides that vanish, which also halves the bracket.
        if low <= b + step <= high and abs(step) <= 0.5 * before:
            done = abs(step) <= _CLOSE
        else:
            step = 0.5 * (low + high) - b
            done = abs(step) <= 1e-15 * abs(b)
        before, last = last, abs(step)
        b += step
    return b, factor


@kernel
def too_high(keys, anchor, n, intercept, yes, no, depth, odds):
    """Write depths relative to the anchor; return whether the optimal intercept is lower."""
    for i in range(n):
        depth[i] = keys[i] - anchor
    fill_odds(depth, n, intercept, odds)
    above, below, _, _ = balance(depth, n, 1.0, yes, no, odds)
    return above > below


@kernel
def far_bracket(keys, order, n, yes, no, log_odds, depth, odds):
    """Return (anchor, low, high): the optimal intercept for depths from anchor is in [low, high].

    If scores lie far apart, their exponentials carry no information. The kernel therefore finds
    the two neighbouring scores between which the balance changes sign, and measures b from the
    one that it is close to. If b lies between them and far from both, every such b is optimal.
    """
    # Bisect over the rows by falling score.
    first, last = 0, n - 1
    while last - first > 1:
        middle = (first + last) // 2
        if too_high(keys, keys[order[middle]], n, log_odds, yes, no, depth, odds):
            last = middle
        else:
            first = middle
    # If the two are close together, they bracket b from the upper one. Otherwise b is near one.
    upper, lower = keys[order[first]], keys[order[last]]
    if upper - lower <= 2.0 * _APART:
        return upper, log_odds, log_odds + (upper - lower)
    if not too_high(keys, lower, n, log_odds - _APART, yes, no, depth, odds):
        return lower, log_odds - _APART, log_odds
    return upper, log_odds, log_odds + _APART


@kernel
def group_logistic(scores, labels, count, out):
    """Compute the log-loss of each group at its optimal intercept, and its derivatives.

    The value is min_b sum no f(s + b) + yes f(-s - b) with f(x) = log(1 + exp(x)). `labels` is
    `GroupLogisticTarget.labels`; `yes` and `no`, in the order of `rows`, are the weights of each
    row's two labels. The gradient is that of sum(values * defined) / count. The curvature,
    unless empty, contains its second derivatives at fixed intercepts.
    """
    rows, offsets, defined, yes, no = labels
    values, grad, curvature = out
    longest = longest_group(offsets)
    keys, depth, odds = np.empty(longest), np.empty(longest), np.empty(longest)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for g in range(defined.size):
        if not defined[g]:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        n = hi - lo
        y_sum, z_sum = 0.0, 0.0
        # Differences from the best score, so that a common shift of scores loses no digits.
        anchor, worst = scores[rows[lo]], scores[rows[lo]]
        for i in range(n):
            keys[i], order[i] = scores[rows[lo + i]], i
            anchor, worst = max(anchor, keys[i]), min(worst, keys[i])
            y_sum += yes[lo + i]
            z_sum += no[lo + i]
        # The optimal b if all scores were the anchor. Lower scores raise it by at most their range.
        log_odds = np.log(y_sum) - np.log(z_sum)
        near = anchor - worst + abs(log_odds) < _FAR
        if near:
            for i in range(n):
                depth[i] = keys[i] - anchor
            low, high = log_odds, log_odds + (anchor - worst)
            guess = first_guess(depth, n, yes[lo:hi], no[lo:hi], log_odds)
        else:
            sort_falling(keys, order, n, spare)
            anchor, low, high = far_bracket(
                keys, order, n, yes[lo:hi], no[lo:hi], log_odds, depth, odds
            )
            for i in range(n):
                depth[i] = keys[i] - anchor
            guess = 0.5 * (low + high)
        bracket = guess, low, high
        b, factor = best_intercept(depth, n, yes[lo:hi], no[lo:hi], near, bracket, odds)
        # b is fixed at its optimum, where the derivative with respect to b is 0.
        total = 0.0
        for i in range(n):
            x = 0.5 * keys[i] - 0.5 * anchor + 0.5 * b  # half, because the full sum may overflow
            o = odds[i] * factor
            wrong = 1.0 / (1.0 + o)
            probability = o * wrong
            y, z = yes[lo + i], no[lo + i]
            if x > 0.0:
                total += 2.0 * (z * x) + (y + z) * np.log1p(1.0 / o)
            else:
                total += -2.0 * (y * x) + (y + z) * np.log1p(o)
            grad[rows[lo + i]] = (z * probability - y * wrong) / count
            if curvature.size:
                curvature[rows[lo + i]] = (y + z) * probability * wrong / count
        values[g] = total


@kernel
def top_sigmoids(scores, tops, temperature, out):
    """Add scale * sum over the top positives s of the mean of the sigmoids of the top negatives t.

    The sigmoid of a pair is sigmoid((t - s) / temperature). `tops` is as in
    `podium.losses.pap_kernels`.
    """
    rows, bounds, n_top, n_neg, scale = tops
    values, grad, curvature = out
    n_defined, widest_top, widest_neg, _, _ = widest(tops)
    top_keys, top = np.empty(widest_top), np.empty(widest_top, np.int64)
    neg_keys, neg = np.empty(widest_neg), np.empty(widest_neg, np.int64)
    neg_odds = np.empty(widest_neg)
    slopes = np.empty(widest_neg)
    for g in range(n_top.size):
        b, k = n_top[g], n_neg[g]
        if b == 0:
            continue
        lo, mid, hi = bounds[2 * g], bounds[2 * g + 1], bounds[2 * g + 2]
        select(scores, rows, lo, mid, b, 1.0, top_keys, top)
        select(scores, rows, mid, hi, k, 1.0, neg_keys, neg)
        # If exponentials keep their digits, the odds of a pair are a product of two rows' factors.
        zero = neg_keys[0]
        reach = max(top_keys[0], zero) - min(top_keys[b - 1], neg_keys[k - 1])
        near = reach < _FAR * temperature
        for j in range(k):
            slopes[j] = 0.0
            if near:
                neg_odds[j] = np.exp((neg_keys[j] - zero) / temperature)
        unit = scale[g] / k
        step = unit / temperature / n_defined
        bend = 2.0 * step / temperature
        total = 0.0
        for i in range(b):
            factor = np.exp((zero - top_keys[i]) / temperature) if near else 1.0
            if not near:
                for j in range(k):
                    lead = (neg_keys[j] - top_keys[i]) / temperature
                    neg_odds[j] = np.exp(min(max(lead, -_FAR), _FAR))
            # p = sigmoid((t(j) - s(i)) / temperature), whose derivative is p q / temperature.
            slope = 0.0
            for j in range(k):
                o = neg_odds[j] * factor
                q = 1.0 / (1.0 + o)
                p = o * q
                total += p
                slope += p * q
                slopes[j] += p * q
            grad[rows[top[i]]] -= slope * step
            if curvature.size:
                curvature[rows[top[i]]] += slope * bend
        values[g] += unit * total
        for j in range(k):
            grad[rows[neg[j]]] += slopes[j] * step
            if curvature.size:
                curvature[rows[neg[j]]] += slopes[j] * bend
        share_ties(scores, rows, lo, mid, top_keys[b - 1], (grad, curvature))
        share_ties(scores, rows, mid, hi, neg_keys[k - 1], (grad, curvature))
