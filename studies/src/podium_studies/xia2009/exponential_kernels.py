"""Compiled exponential losses of pairs of rows; see `podium.losses.pairwise_kernels`."""

from __future__ import annotations

import numpy as np

from podium_studies.compiling import kernel

_MAX_GRADIENT = 1e300  # the limit of gradients, so that they are finite if values are not


@kernel
def exponential_pairs(scores, pairs, shift, out):
    """Sum exp(t - s + shift) over pairs, with s of the more relevant row, in two passes over rows.

    The sum over the rows of other levels is stored relative to its largest exponent, so that it
    overflows only if the result does. In this case the value is inf, and the gradient is limited
    to `_MAX_GRADIENT` per row.
    """
    rows, bounds, levels, scale, count = pairs
    values, grad, curvature = out
    for g in range(levels.size - 1):
        first, last = levels[g], levels[g + 1]
        if last - first < 2:
            continue
        values[g] = 0.0
        if scale[g] == 0.0:
            continue
        step = scale[g] / count
        for side in range(2):
            # In the first pass every row is the upper one of its pairs, from the lowest level
            # on. In the second pass it is the lower one, from the highest level on.
            sign = 1.0 if side == 0 else -1.0
            most, total = 0.0, 0.0  # the sum over the other levels is total * exp(most)
            for i in range(last - first):
                v = last - 1 - i if side == 0 else first + i
                peak = most if i > 0 else -np.inf
                for p in range(bounds[v], bounds[v + 1]):
                    key = sign * scores[rows[p]]
                    peak = max(peak, key)
                    if i == 0:
                        continue
                    cost = total * np.exp(most - key + shift)
                    if side == 0:
                        values[g] += scale[g] * cost
                    limited_cost = min(cost, _MAX_GRADIENT) * step
                    grad[rows[p]] -= sign * limited_cost
                    if curvature.size:
                        curvature[rows[p]] += 2.0 * limited_cost
                # Add the level to the sum, rescaled to the new largest exponent.
                total = total * np.exp(most - peak) if i > 0 else 0.0
                for p in range(bounds[v], bounds[v + 1]):
                    total += np.exp(sign * scores[rows[p]] - peak)
                most = peak


@kernel
def smallest_gap(scores, rows, bounds, levels):
    """Return the least s - t over pairs, with s of the more relevant row; inf without a pair."""
    smallest = np.inf
    for g in range(levels.size - 1):
        lowest = np.inf
        for v in range(levels[g], levels[g + 1]):
            for p in range(bounds[v], bounds[v + 1]):
                smallest = min(smallest, lowest - scores[rows[p]])
            for p in range(bounds[v], bounds[v + 1]):
                lowest = min(lowest, scores[rows[p]])
    return smallest
