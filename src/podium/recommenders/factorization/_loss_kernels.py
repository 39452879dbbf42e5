"""The losses of the factorization on a batch: the slope of each pair, and the weight of each lane.

A lane is a positive. The gaps ``score of the negative - score of the positive`` of a batch are an
array with a row per negative and a column per lane. Each loss is ``rho(sum of sigma(gap))``
over the negatives. `slopes` replaces the gaps by the derivatives of sigma, and `lane_weights`
returns the factors that depend on the sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._kernels import kernel
from podium.recommenders.factorization._arithmetic_kernels import logarithm, power

TYPE_1, TYPE_2, IDENTITY, BPR, SOFTMAX = range(5)
"""The numbers of the losses in the kernels."""

LANES = 32
"""The number of positives that share negatives."""

FAR = np.float32(-1e30)
"""The gap of a pair that is not compared; its slope is set to 0."""

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


class Loss(NamedTuple):
    """The loss in the form of the kernels."""

    kind: int
    scale: Any  # the factor of the gaps, which are then exponents of 2
    memory: Any  # the weight of the newest sample in the running mean of a positive


class Lanes(NamedTuple):
    """The numbers of each positive of a batch that the losses read, by lane.

    Functions read only the first lanes, `n_lanes`: all, or those of a batch with few positives.

    The state is the running mean cost of the positive, which all losses but softmax read.
    """

    n_compared: Any  # negatives of the batch that the positive is compared with, by weight
    n_others: Any  # all items that it may be compared with
    score: Any
    weight: Any  # of the pair times the rate; 0 for an empty lane
    state: Any
    cost: Any  # the sum over the negatives


@kernel
def slopes(loss, gaps, n_rows, n_lanes, drawn_weights, lanes):
    """Replace gaps by slopes of sigma, and add up sigma per lane in `lanes.cost`."""
    lanes.cost[:] = _ZERO
    n_weighted = 0
    for s in range(drawn_weights.size):
        n_weighted += drawn_weights[s] != _ONE
    if loss.kind == SOFTMAX:
        _powers(gaps, n_lanes, drawn_weights, loss.scale, lanes.cost)
    elif n_weighted:
        _weighted_steps(gaps, n_lanes, drawn_weights, loss.scale, lanes.cost)
    else:
        _soft_steps(gaps, n_rows, n_lanes, loss.scale, lanes.cost)


@kernel
def _soft_steps(gaps, n_rows, n_lanes, scale, cost):
    """sigma(g) = log2(1 + 2**g), with the derivative 2**g / (1 + 2**g)."""
    product = np.empty(LANES, np.float32)
    for first in range(0, n_rows, 4):  # one logarithm for four negatives
        product[:] = _ONE
        for row in range(first, first + 4):
            for b in range(n_lanes):
                odds = power(scale * gaps[row, b])
                gaps[row, b] = odds / (_ONE + odds)
                product[b] *= _ONE + odds
        for b in range(n_lanes):
            cost[b] += logarithm(product[b])


@kernel
def _weighted_steps(gaps, n_lanes, drawn_weights, scale, cost):
    """As `_soft_steps`, with a weight for each negative."""
    for row in range(drawn_weights.size):
        weight = drawn_weights[row]
        for b in range(n_lanes):
            odds = power(scale * gaps[row, b])
            gaps[row, b] = weight * odds / (_ONE + odds)
            cost[b] += weight * logarithm(_ONE + odds)


@kernel
def _powers(gaps, n_lanes, drawn_weights, scale, cost):
    """sigma(g) = exp(g / temperature), its own derivative up to a factor."""
    for row in range(drawn_weights.size):
        weight = drawn_weights[row]
        for b in range(n_lanes):
            odds = weight * power(scale * gaps[row, b])
            gaps[row, b] = odds
            cost[b] += odds


@kernel
def rho_slope(kind, total, n_others):
    """Return n_others times the derivative of rho at T = total, the weight of a sampled negative.

    For rho_1(T) = log2(T + 1) it is n_others times the poster's xi = 1 / (T + 1), divided by log 2,
    which the poster omits. It is 1 for the losses that are a mean over negatives.
    """
    if kind == TYPE_1:
        return n_others / ((total + 1.0) * np.log(2.0))
    if kind == TYPE_2:  # rho_2(T) = 1 - 1 / log2(T + 2)
        log = np.log2(total + 2.0)
        return n_others / ((total + 2.0) * np.log(2.0) * log * log)
    return 1.0


@kernel
def lane_weights(loss, lanes, weights):
    """Write the factor of the slopes of each lane, update its state, and return the sum of costs.

    The cost of a lane is 1 if all scores are equal.
    """
    total_cost = 0.0
    for b in range(LANES):
        n_compared, n_others = np.float64(lanes.n_compared[b]), np.float64(lanes.n_others[b])
        if lanes.weight[b] == _ZERO or n_compared == 0.0:
            weights[b] = _ZERO
            continue
        cost = np.float64(lanes.cost[b])
        if loss.kind != SOFTMAX:
            mean = cost / n_compared
            total_cost += mean
            mean = lanes.state[b] + loss.memory * (mean - lanes.state[b])
            lanes.state[b] = mean
            factor = rho_slope(loss.kind, n_others * mean, n_others) / n_compared
        else:
            multiple = n_others / n_compared
            factor = loss.scale * np.log(2.0) * multiple / (1.0 + multiple * cost)
            total_cost += np.log1p(multiple * cost) / np.log1p(multiple * n_compared)
        weights[b] = np.float32(factor) * lanes.weight[b]
    return total_cost
