"""Compiled approximate NDCG: discounts of smooth ranks, which are sums of sigmoids."""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, lane_sum, longest_group

_NEAR = 300.0  # exponentials of scores this far apart, and their products, keep their digits
_LN2 = np.log(2.0)


@kernel
def _near_steps(own, powers, step, slope):
    """Write the sigmoids of all rows against one row and their derivatives, without exponentials.

    `powers` are the exponentials of the scores, and `own` is that of the row.
    """
    for q in range(powers.size):
        inverse = 1.0 / (own + powers[q])
        step[q] = powers[q] * inverse
        slope[q] = step[q] * own * inverse


@kernel
def _far_steps(own, scores, temperature, step, slope):
    """Do the work of `_near_steps` from scores, with one exponential per row."""
    for q in range(scores.size):
        d = (scores[q] - own) / temperature
        small = np.exp(-abs(d))
        inverse = 1.0 / (1.0 + small)
        step[q] = inverse if d > 0.0 else small * inverse
        slope[q] = small * inverse * inverse


@kernel
def _discount(rank, k, temperature):
    """Return 1 / log2(1 + rank) and its two derivatives, times sigmoid((k + 1/2 - rank) / T).

    There is no second factor if k is 0.
    """
    log = np.log1p(rank)
    value = _LN2 / log
    first = -value / ((1.0 + rank) * log)
    second = value * (log + 2.0) / ((1.0 + rank) * (1.0 + rank) * log * log)
    if k == 0:
        return value, first, second
    d = (k + 0.5 - rank) / temperature
    small = np.exp(-abs(d))
    inverse = 1.0 / (1.0 + small)
    cut = inverse if d > 0.0 else small * inverse
    cut_first = -small * inverse * inverse / temperature
    cut_second = cut_first * (2.0 * cut - 1.0) / temperature
    return (
        value * cut,
        first * cut + value * cut_first,
        second * cut + 2.0 * first * cut_first + value * cut_second,
    )


@kernel
def approx_ndcg(scores, rows, offsets, worth, share, k, temperature, count, out):
    """Write share * (1 - sum worth * discount(smooth rank)) for each list of share > 0.

    `out` is (values, gradient of their sum over count, curvature), zero on entry.
    """
    values, grad, curvature = out
    longest = longest_group(offsets)
    s, powers = np.empty(longest), np.empty(longest)
    step, slope = np.empty(longest), np.empty(longest)
    slopes, bends = np.empty(longest), np.empty(longest)
    for g in range(share.size):
        if share[g] == 0.0:
            continue
        lo, n = offsets[g], offsets[g + 1] - offsets[g]
        low, high = np.inf, -np.inf
        for q in range(n):
            s[q] = scores[rows[lo + q]]
            low, high = min(low, s[q]), max(high, s[q])
            slopes[q], bends[q] = 0.0, 0.0
        is_close = high - low < _NEAR * temperature
        if is_close:
            for q in range(n):
                powers[q] = np.exp((s[q] - high) / temperature)
        total = 0.0
        for p in range(n):
            weight = worth[rows[lo + p]]
            if weight == 0.0:
                continue
            # The smooth rank is 1/2 + the sum of sigmoids, which includes the row's own 1/2.
            if is_close:
                _near_steps(powers[p], powers[:n], step, slope)
            else:
                _far_steps(s[p], s[:n], temperature, step, slope)
            above, steep = lane_sum(step[:n]), max(lane_sum(slope[:n]) - 0.25, 0.0)
            slope[p] = 0.0
            value, first, second = _discount(0.5 + above, k, temperature)
            total += weight * value
            # The chain rule: each row above pushes the rank up, and the row itself pulls it down.
            change = -weight * first / temperature
            for q in range(n):
                slopes[q] += change * slope[q]
            slopes[p] -= change * steep
            if curvature.size:
                # Twice the slope bounds a sigmoid's Hessian; |g| sum |g| bounds that of g g^T.
                bend = 2.0 * change / temperature
                bend += 2.0 * weight * max(-second, 0.0) * steep / (temperature * temperature)
                for q in range(n):
                    bends[q] += bend * slope[q]
                bends[p] += bend * steep
        values[g] = share[g] * (1.0 - total)
        if k == 0:
            values[g] = max(values[g], 0.0)
        for q in range(n):
            grad[rows[lo + q]] = share[g] / count * slopes[q]
            if curvature.size:
                curvature[rows[lo + q]] = share[g] / count * bends[q]
