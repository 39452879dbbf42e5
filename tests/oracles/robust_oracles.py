"""The robust losses by their definitions: double loops over rows, in Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

Function: TypeAlias = Callable[[float], float]


def _log2_of_one_more(t: float) -> float:
    return math.log1p(t) / math.log(2.0)


RHO: dict[int | str, Function] = {
    "identity": lambda t: t,
    1: _log2_of_one_more,
    # 1 - 1 / log2(t + 2), in a form that keeps all digits for small t
    2: lambda t: _log2_of_one_more(t / 2.0) / (1.0 + _log2_of_one_more(t / 2.0)),
}
"""The function rho of a sum of costs, by a loss's type."""

RHO_SLOPE: dict[int | str, Function] = {
    "identity": lambda t: 1.0,
    1: lambda t: 1.0 / ((t + 1.0) * math.log(2.0)),
    2: lambda t: 1.0 / ((t + 2.0) * math.log(2.0) * (1.0 + _log2_of_one_more(t / 2.0)) ** 2),
}
"""The derivative of rho."""


def sigma(d: float) -> float:
    """Return log2(1 + 2^-d), the cost of a difference of scores, or of a margin."""
    return max(-d, 0.0) + _log2_of_one_more(2.0 ** -abs(d))


def sigma_slope(d: float) -> float:
    """Return the derivative of sigma."""
    return -(2.0**-d) / (1.0 + 2.0**-d) if d > 0 else -1.0 / (1.0 + 2.0**d)


def sigma_curvature(d: float) -> float:
    """Return the second derivative of sigma."""
    return math.log(2.0) * 2.0 ** -abs(d) / (1.0 + 2.0 ** -abs(d)) ** 2


def ideal(gains: Sequence[float]) -> float:
    """Return the DCG of the best order."""
    falling = sorted(gains, reverse=True)
    return math.fsum(gain / math.log2(rank + 2) for rank, gain in enumerate(falling))


def dcg_loss(scores: Sequence[float], gains: Sequence[float], *, ties: bool) -> float:
    """Return the sum of gain * (1 - 1 / log2(rank + 2)), with ranks from 0.

    Parameters
    ----------
    scores, gains : sequences of float
        The scores and gains of the rows of one list.
    ties : bool
        Whether tied rows count as above a row, as in their worst order, or as below it.
    """
    total = 0.0
    for y, (score, gain) in enumerate(zip(scores, gains, strict=True)):
        others = [other for z, other in enumerate(scores) if z != y]
        rank = sum(other >= score if ties else other > score for other in others)
        total += gain * (1.0 - 1.0 / math.log2(rank + 2))
    return total


def robust_loss(scores: Sequence[float], gains: Sequence[float], kind: int | str) -> float:
    """Return the sum of gain * rho(sum of sigma(own score - another's)) over one list."""
    ranks = cost_sums(scores)
    return math.fsum(g * RHO[kind](t) for g, t in zip(gains, ranks, strict=True) if g > 0)


def robust_derivatives(
    scores: Sequence[float], gains: Sequence[float], kind: int | str
) -> tuple[list[float], list[float]]:
    """Return the derivatives of `robust_loss`, and twice the bounds of its curvatures, by row."""
    slope, curvature = [0.0] * len(scores), [0.0] * len(scores)
    for y, total in enumerate(cost_sums(scores)):
        weight = gains[y] * RHO_SLOPE[kind](total) if gains[y] > 0 else 0.0
        for z in range(len(scores)):
            if z != y:
                d = scores[y] - scores[z]
                slope[y] += weight * sigma_slope(d)
                slope[z] -= weight * sigma_slope(d)
                curvature[y] += 2.0 * weight * sigma_curvature(d)
                curvature[z] += 2.0 * weight * sigma_curvature(d)
    return slope, curvature


def cost_sums(scores: Sequence[float]) -> list[float]:
    """Return, for each row, the sum of the costs of its differences from all other rows."""
    return [
        math.fsum(sigma(s - t) for z, t in enumerate(scores) if z != y)
        for y, s in enumerate(scores)
    ]
