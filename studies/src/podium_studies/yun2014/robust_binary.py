"""The robust loss of single rows, from which the paper derives RoBiRank."""

# `convex` depends on a parameter and is therefore a property.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.losses import inputs, register
from podium.losses.base import Out, count_of
from podium.losses.gains import Robust, Type
from podium.losses.pointwise import RowLoss, RowTarget
from podium.types import PerRow


@register
@dataclass(frozen=True)
class RobustBinary(Robust, RowLoss):
    """Robust loss of single rows, in which outliers add little to the cost.

    The loss of a row is ``rho(log2(1 + 2^(-y s)))``, with y = 1 for relevance >= min_relevance,
    else -1, and s the row's score.

    Parameters
    ----------
    type : {1, 2, "identity"}
        The function rho: ``log2(t + 1)``, which grows without bound, but slowly;
        ``1 - 1 / log2(t + 2)``, which stays below 1; or ``t``, for plain classification.
    min_relevance : float
        The relevance from which a row is a positive.

    Notes
    -----
    The loss is smooth, and convex only with the identity. Types "identity" and 1 are never below
    the share of rows on the wrong side of 0, ties included: a tie costs 1. Type 2 can be below it,
    because a tie costs 1 - 1 / log2(3) = 0.369. The gradient of a row far on the wrong side
    decreases, as 1 / t with type 1 and as 1 / (t log2(t)^2) with type 2, so that descent may not
    bring it back. The identity is `Logistic` with scores in bits: the value of ``Logistic`` at
    s log 2, divided by log 2.

    The `curvature` leaves out the second derivative of rho, which is never positive. It is
    therefore never below the second derivative of the loss. The loss is exact for all scores below
    1e290. Cost: one exponential and two logarithms per row.

    References
    ----------
    yun2014, which takes types I and II from the thesis of N. Ding.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = RobustBinary(type=1)
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.zeros(2), target)
    >>> values.tolist(), grad.round(4).tolist()  # log2(1 + 1): a tie costs one bit
    ([1.0], [-0.1803, 0.1803])
    """

    type: Type = 1
    min_relevance: float = 1.0

    name: ClassVar[str] = "robust-binary"
    reads_grades: ClassVar[bool] = False

    def _run(self, scores: PerRow, target: RowTarget, out: Out) -> None:
        from podium_studies.yun2014.robust_kernels import robust_rows

        rows, count = (target.labels, target.groups.index, target.share), count_of(target)
        robust_rows(scores, *rows, self.code, count, inputs.LEAST_CURVATURE, out)
