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

SIGMA: dict[str, Function] = {
    "logistic": lambda d: max(-d, 0.0) + _log2_of_one_more(2.0 ** -abs(d)),
    "hinge": lambda d: max(1.0 - d, 0.0),
}
"""The cost of a difference of scores, or of a margin."""

SIGMA_SLOPE: dict[str, Function] = {
    "logistic": lambda d: -(2.0**-d) / (1.0 + 2.0**-d) if d > 0 else -1.0 / (1.0 + 2.0**d),
    "hinge": lambda d: -1.0 if 1.0 - d >= 0.0 else 0.0,
}
"""The derivative of sigma. At its kink, a hinge has that of a pair on the margin, which counts."""

SIGMA_CURVATURE: dict[str, Function] = {
    "logistic": lambda d: math.log(2.0) * 2.0 ** -abs(d) / (1.0 + 2.0 ** -abs(d)) ** 2,
    "hinge": lambda d: 1.0,
}
"""The second derivative of sigma, for the hinge that of a hinge rounded over one unit."""


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


def robust_loss(
    scores: Sequence[float], gains: Sequence[float], kind: int | str, sigma: str
) -> float:
    """Return the sum of gain * rho(sum of sigma(own score - another's)) over one list."""
    ranks = cost_sums(scores, sigma)
    return math.fsum(g * RHO[kind](t) for g, t in zip(gains, ranks, strict=True) if g > 0)


def robust_derivatives(
    scores: Sequence[float], gains: Sequence[float], kind: int | str, sigma: str
) -> tuple[list[float], list[float]]:
    """Return the derivatives of `robust_loss`, and twice the bounds of its curvatures, by row."""
    slope, curvature = [0.0] * len(scores), [0.0] * len(scores)
    for y, total in enumerate(cost_sums(scores, sigma)):
        weight = gains[y] * RHO_SLOPE[kind](total) if gains[y] > 0 else 0.0
        for z in range(len(scores)):
            if z != y:
                d = scores[y] - scores[z]
                slope[y] += weight * SIGMA_SLOPE[sigma](d)
                slope[z] -= weight * SIGMA_SLOPE[sigma](d)
                curvature[y] += 2.0 * weight * SIGMA_CURVATURE[sigma](d)
                curvature[z] += 2.0 * weight * SIGMA_CURVATURE[sigma](d)
    return slope, curvature


def cost_sums(scores: Sequence[float], sigma: str) -> list[float]:
    """Return, for each row, the sum of the costs of its differences from all other rows."""
    return [
        math.fsum(SIGMA[sigma](s - t) for z, t in enumerate(scores) if z != y)
        for y, s in enumerate(scores)
    ]
