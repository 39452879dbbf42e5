"""Pointwise losses: each row contributes on its own, with the same weight in every group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Out, Target, count_of, register
from podium.types import PerRow


@dataclass(frozen=True, eq=False)
class RowTarget(Target):
    """The target of a loss of single rows, defined on groups with a row.

    `share`, (n_rows,), is the factor of a row's loss in its group's value.

    Attributes
    ----------
    labels : (n_rows,)
        The mask of positive rows, or the relevance of each row.
    """

    labels: NDArray[Any]


class RowLoss(GroupLoss):
    """The base class of the losses of single rows.

    Every row has the same weight, as in plain logistic regression. A group's value is the sum of
    its losses over the mean group size, so that the mean over groups is the mean over rows. For
    groups of equal weight, pass weights of one over the size of the row's group.
    """

    reads_groups: ClassVar[bool] = False

    def _needs(self) -> str:
        return "a row with weight > 0"

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> RowTarget:
        labels = grades if self.reads_grades else grades >= self.min_relevance
        by_row, defined = inputs.row_weights(weights, groups), groups.sizes > 0
        share = by_row * (np.count_nonzero(defined) / max(by_row.sum(), inputs.TINY))
        return RowTarget(groups, share, defined, labels)


@register
@dataclass(frozen=True)
class Logistic(RowLoss):
    """Log-loss of single rows: logistic regression on the rows of all groups together.

    The loss of a row is ``log(1 + exp(-y s))``, with y = 1 for relevance >= min_relevance, else
    -1.

    Parameters
    ----------
    min_relevance : float
        The relevance from which a row is a positive.

    Notes
    -----
    The loss is convex and smooth. It is no upper bound of a metric of podium: it uses natural
    logarithms, so that a score of 0 costs log 2, which is below 1. It is accurate for all scores
    below 1e290. Cost: one exponential and one logarithm per row.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = Logistic()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([0.0, 0.0]), target)
    >>> bool(np.isclose(values[0], np.log(2.0))), grad.tolist()
    (True, [-0.25, 0.25])
    """

    min_relevance: float = 1.0

    name: ClassVar[str] = "logistic"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = False

    def _run(self, scores: PerRow, target: RowTarget, out: Out) -> None:
        from podium.losses.logistic_kernels import logistic_rows

        rows = target.labels, target.groups.index, target.share, count_of(target)
        logistic_rows(scores, *rows, out)


@register
@dataclass(frozen=True)
class Squared(RowLoss):
    """Squared error of single rows: regression of the relevance on the rows of all groups together.

    The loss of a row is ``(s - relevance)^2``, without a factor of 1/2. A group's value is
    therefore a mean squared error.

    Notes
    -----
    The loss is convex and smooth. It is no upper bound of a metric of podium: with labels 0 and 1,
    a score of 1/2 costs 1/4, which is below 1. If a square exceeds the range of float64 (a score
    beyond about 1e154), the value is inf and not nan, and the gradient is finite. Cost: one pass
    over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = Squared()
    >>> target = loss.prepare(np.array([2.0, 0.0]), Groups.single(2))
    >>> loss.value_and_grad(np.array([1.0, 3.0]), target)
    (array([5.]), array([-1.,  3.]))
    """

    name: ClassVar[str] = "squared"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def _run(self, scores: PerRow, target: RowTarget, out: Out) -> None:
        values, grad, curvature = out
        error, n_defined = scores - target.labels, count_of(target)
        np.multiply(target.share, error, out=grad)
        with np.errstate(over="ignore"):
            values += np.bincount(target.groups.index, grad * error, values.size)
        grad *= 2.0 / n_defined
        if curvature.size:
            np.divide(2.0 * target.share, n_defined, out=curvature)
