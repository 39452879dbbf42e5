"""Compiled robust losses, in base 2 throughout: rho of sums of sigma(d) = log2(1 + 2^-d).

d is a difference of scores. `kind` is the code of rho: 0 for the identity, 1 for log2(t + 1), 2 for
1 - 1 / log2(t + 2). `out` is (values, gradient, curvature). The curvature, unless empty, is a
bound: rho'(t) times the second derivative of sigma, because rho is concave and increasing.
"""

from __future__ import annotations

import numpy as np

from podium._kernels import kernel, lane_sum, longest_group

_LOG2_E = 1.0 / np.log(2.0)
_LN2 = np.log(2.0)
_LARGEST = 1.7e308  # the limit of sums of costs
_NEAR = 300.0  # powers of 2 of scores this far apart, and their products, keep their digits
_FOLDS = 9  # 2^9 factors of at most 2 are multiplied before each logarithm


@kernel
def rho(kind, total):
    """Return rho(total) and its derivative, both exact in all digits, for total >= 0."""
    if kind == 1:
        return np.log1p(total) * _LOG2_E, _LOG2_E / (1.0 + total)
    if kind == 2:
        above = np.log1p(0.5 * total) * _LOG2_E  # log2(total + 2) - 1
        log_total = 1.0 + above
        return above / log_total, _LOG2_E / ((2.0 + total) * log_total * log_total)
    return total, 1.0


@kernel
def _log_of_product(part):
    """Return log2 of the product of 1 + part, for parts in [0, 1], which are overwritten.

    The product is stored as its excess above 1, so that small parts lose no digits. It is computed
    by halves, which vectorises, with one logarithm per 512 parts.
    """
    n, folds = part.size, 0
    # (1 + p)(1 + q) - 1 = p + q (1 + p), first half by second half.
    while n > 1 and folds < _FOLDS:
        n_left = n - n // 2
        for q in range(n - n_left):
            part[q] += part[n_left + q] * (1.0 + part[q])
        n = n_left
        folds += 1
    total = 0.0
    for q in range(n):
        total += np.log1p(part[q])
    return total * _LOG2_E


@kernel
def _near_costs(row, list_scores, up, down, part, wrong, above):
    """Write 2^-|d| and minus the slope of sigma(d) of one row against its whole list.

    These are products of the powers of 2 of the two rows. The row itself is included. `above`
    receives the score differences to the rows above it.
    """
    up_row, down_row = up[row], down[row]
    row_score = list_scores[row]
    for q in range(list_scores.size):
        small = min(up[q] * down_row, down[q] * up_row)
        right = 1.0 / (1.0 + small)
        part[q] = small
        wrong[q] = right if list_scores[q] >= row_score else small * right
        above[q] = max(list_scores[q] - row_score, 0.0)


@kernel
def _far_costs(row, list_scores, part, wrong, above):
    """Do the work of `_near_costs` if powers of 2 would overflow: one exponential per pair."""
    row_score = list_scores[row]
    for q in range(list_scores.size):
        d = row_score - list_scores[q]
        small = np.exp2(-abs(d))
        right = 1.0 / (1.0 + small)
        part[q] = small
        wrong[q] = small * right if d > 0.0 else right
        above[q] = max(-d, 0.0)


@kernel
def _bends(part, bend):
    """Write the second derivative of sigma for each row of the list."""
    for q in range(part.size):
        right = 1.0 / (1.0 + part[q])
        bend[q] = _LN2 * part[q] * right * right


@kernel
def _powers(list_scores, up, down):
    """Write 2^(score - best) and its inverse, and return whether they keep their digits."""
    low, high = np.inf, -np.inf
    for q in range(list_scores.size):
        low, high = min(low, list_scores[q]), max(high, list_scores[q])
    if high - low >= _NEAR:
        return False
    for q in range(list_scores.size):
        up[q] = np.exp2(list_scores[q] - high)
        down[q] = np.exp2(high - list_scores[q])
    return True


@kernel
def robust_ranks(scores, rows, offsets, worth, share, kind, count, out):
    """Sum worth * rho(sum of sigma(own score - other's)) over the rows of a list with worth > 0.

    Rows are addressed through `rows`, list after list. `worth` is by row. `share` is the weight of
    a list's value; a list of share 0 is not changed. `grad` and `curvature` are zero on entry. The
    curvature adds twice the bound of a pair to both of its rows, so that it is a bound of the
    Hessian as a matrix.
    """
    values, grad, curvature = out
    longest = longest_group(offsets)
    list_scores, up, down = np.empty(longest), np.empty(longest), np.empty(longest)
    part, wrong, bend = np.empty(longest), np.empty(longest), np.empty(longest)
    slopes, bends, above = np.empty(longest), np.empty(longest), np.empty(longest)
    for g in range(share.size):
        lo, n = offsets[g], offsets[g + 1] - offsets[g]
        if share[g] == 0.0:
            continue
        for q in range(n):
            list_scores[q] = scores[rows[lo + q]]
            slopes[q], bends[q] = 0.0, 0.0
        # If powers of 2 keep their digits, that of a difference is a product of two rows' powers.
        is_close = _powers(list_scores[:n], up[:n], down[:n])
        for y in range(n):
            gain = worth[rows[lo + y]]
            if gain == 0.0:
                continue
            # T_y: sigma of this row against each other row, and minus its slopes.
            if is_close:
                _near_costs(y, list_scores[:n], up, down, part[:n], wrong, above)
            else:
                _far_costs(y, list_scores[:n], part[:n], wrong, above)
            part[y], wrong[y] = 0.0, 0.0
            if curvature.size:
                _bends(part[:n], bend[:n])
                bend[y] = 0.0
            total = lane_sum(above[:n]) + _log_of_product(part[:n])
            # gain * rho(T_y) and, by the chain rule, gain * rho'(T_y) per pair, with both signs.
            value, slope = rho(kind, min(total, _LARGEST))
            values[g] += share[g] * (gain * value)
            weight = share[g] * (gain * slope) / count
            for q in range(n):
                slopes[q] += weight * wrong[q]
            slopes[y] -= weight * lane_sum(wrong[:n])
            if curvature.size:
                weight *= 2.0
                for q in range(n):
                    bends[q] += weight * bend[q]
                bends[y] += weight * lane_sum(bend[:n])
        for q in range(n):
            grad[rows[lo + q]] = slopes[q]
            if curvature.size:
                curvature[rows[lo + q]] = bends[q]
