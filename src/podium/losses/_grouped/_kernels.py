"""Compiled losses whose groups have intercepts of their own, and smooth pairs at the top.

Rows are addressed through `rows`, group after group: group g's are `rows[offsets[g]]` up to
`rows[offsets[g + 1]]`.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel
from podium.losses._kernels import select, share_ties

_FAR = 690.0  # exp(+-_FAR) and what is left of 709 neither overflow nor lose digits
_CLOSE = 1e-8  # a Newton step this short leaves its square: nothing


@kernel
def fill_odds(depth, n, intercept, odds):
    """Write exp(depth + intercept), held where it is a number and has an inverse."""
    for i in range(n):
        odds[i] = np.exp(min(max(depth[i] + intercept, -_FAR), _FAR))


@kernel
def first_guess(depth, n, yes, no, log_odds):
    """Return the intercept that would be best if the scores were normal (Gauss's error curve)."""
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
def best_intercept(depth, n, yes, no, odds):
    """Return b with sum no * sigmoid(depth + b) = sum yes * sigmoid(-depth - b).

    Newton's method on the logarithm of the two sides' ratio, h. Each side keeps its digits
    however small it is, and |h''| <= 2 h', so a step d leaves an error of about d * d. Between
    them b is bracketed, and halved where Newton's step leaves the bracket or is slow to shrink.
    On return `odds` times the second result are exp(depth + b).
    """
    total_yes = 0.0
    total_no = 0.0
    low = 0.0
    high = 0.0
    for i in range(n):
        total_yes += yes[i]
        total_no += no[i]
        low = min(low, depth[i])
        high = max(high, depth[i])
    log_odds = np.log(total_yes) - np.log(total_no)
    near = high - low + abs(log_odds) < _FAR
    low, high = log_odds - high, log_odds - low
    b = min(max(first_guess(depth, n, yes, no, log_odds), low), high)
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
        above = 0.0
        below = 0.0
        above_slope = 0.0
        below_slope = 0.0
        for i in range(n):
            o = odds[i] * factor
            q = 1.0 / (1.0 + o)
            p = o * q
            up = no[i] * p
            down = yes[i] * q
            above += up
            below += down
            above_slope += up * q
            below_slope += down * p
        if above == below:
            break
        if above > below:
            high = b
        else:
            low = b
        step = -np.log(above / below) / (above_slope / above + below_slope / below)
        # Written so that nan, from sides that vanish, halves too.
        if low <= b + step <= high and abs(step) <= 0.5 * before:
            done = abs(step) <= _CLOSE
        else:
            step = 0.5 * (low + high) - b
            done = abs(step) <= 1e-15 * abs(b)
        before, last = last, abs(step)
        b += step
    return b, factor


@kernel
def group_logistic(scores, rows, offsets, defined, yes, no, values, grad, curvature):
    """Log-loss of each group at its best intercept: min_b sum no f(s + b) + yes f(-s - b).

    f(x) = log(1 + exp(x)). `yes` and `no`, in the order of `rows`, weigh each row's two labels.
    `grad` receives the gradient of sum(values * defined) / n_defined, `curvature`, where not
    empty, its second derivatives with the intercepts held; both are zero on entry.
    """
    n_defined = 0
    longest = 1
    for g in range(defined.size):
        if defined[g]:
            n_defined += 1
            longest = max(longest, offsets[g + 1] - offsets[g])
    depth = np.empty(longest)
    odds = np.empty(longest)
    for g in range(defined.size):
        if not defined[g]:
            continue
        lo, hi = offsets[g], offsets[g + 1]
        n = hi - lo
        # Differences from the best score, so that a common shift of scores costs no digits.
        best = scores[rows[lo]]
        for p in range(lo + 1, hi):
            best = max(best, scores[rows[p]])
        for i in range(n):
            depth[i] = scores[rows[lo + i]] - best
        b, factor = best_intercept(depth, n, yes[lo:hi], no[lo:hi], odds)
        total = 0.0
        for i in range(n):
            x = depth[i] + b
            o = odds[i] * factor
            wrong = 1.0 / (1.0 + o)
            chance = o * wrong
            y, z = yes[lo + i], no[lo + i]
            if x > 0.0:
                total += z * x + (y + z) * np.log1p(1.0 / o)
            else:
                total += -y * x + (y + z) * np.log1p(o)
            grad[rows[lo + i]] = (z * chance - y * wrong) / n_defined
            if curvature.size:
                curvature[rows[lo + i]] = (y + z) * chance * wrong / n_defined
        values[g] = total


@kernel
def top_sigmoids(scores, rows, bounds, n_top, n_neg, scale, temperature, values, grad, curvature):
    """Add scale * sum over top positives s of the mean sigmoid((t - s) / temperature) over the
    top negatives t; outputs are added to, otherwise as of `group_logistic`.

    `bounds[2g]`, `bounds[2g + 1]`, `bounds[2g + 2]` are where a group's positives begin, its
    negatives begin, and its negatives end.
    """
    n_groups = n_top.size
    widest_top = 1
    widest_neg = 1
    n_defined = 0
    for g in range(n_groups):
        if n_top[g] > 0:
            n_defined += 1
            widest_top = max(widest_top, n_top[g])
            widest_neg = max(widest_neg, n_neg[g])
    top_keys, top = np.empty(widest_top), np.empty(widest_top, np.int64)
    neg_keys, neg = np.empty(widest_neg), np.empty(widest_neg, np.int64)
    neg_odds = np.empty(widest_neg)
    slopes = np.empty(widest_neg)
    for g in range(n_groups):
        b, k = n_top[g], n_neg[g]
        if b == 0:
            continue
        lo, mid, hi = bounds[2 * g], bounds[2 * g + 1], bounds[2 * g + 2]
        select(scores, rows, lo, mid, b, 1.0, top_keys, top)
        select(scores, rows, mid, hi, k, 1.0, neg_keys, neg)
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
        share_ties(scores, rows, lo, mid, top_keys[b - 1], grad)
        share_ties(scores, rows, mid, hi, neg_keys[k - 1], grad)
        if curvature.size:
            share_ties(scores, rows, lo, mid, top_keys[b - 1], curvature)
            share_ties(scores, rows, mid, hi, neg_keys[k - 1], curvature)
