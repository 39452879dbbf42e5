"""Pointwise losses: every row on its own, the group only in how rows are weighed."""

# Some declarations depend on a parameter, and are properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss, Out, count_of, register
from podium.types import Mask, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class BinaryTarget:
    """What losses of single rows need to know of binary labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    positive : bool, (n_rows,)
    index : int64, (n_rows,)
        Group number of each row.
    share : float64, (n_rows,)
        What a row's loss is multiplied by in its group's value.
    defined : bool, (n_groups,)
        Groups with a row of weight > 0.
    """

    groups: Groups
    positive: Mask
    index: RowIndex
    share: PerRow
    defined: Mask


class RowLoss(GroupLoss):
    """What the losses of single rows share; use one of its classes.

    Parameters
    ----------
    per : {"row", "group"}
        "row": every row weighs the same, as in plain logistic regression. A group's value is
        its sum of losses by the mean group size, so that the mean over groups is the mean over
        rows. "group": every group weighs the same, its value is the mean of its rows.
    """

    per: Literal["row", "group"]

    @property
    def reads_groups(self) -> bool:
        """Whether it matters which rows are a group: only to weigh groups alike."""
        return self.per == "group"

    def why_undefined(self, target: Any) -> str:
        """Say what a group needs."""
        return f"{self.name} needs a row with weight > 0: none of the groups has one."


@register
@dataclass(frozen=True)
class Logistic(RowLoss):
    """Log-likelihood loss of each row by itself: logistic regression on pooled rows.

    ``log(1 + exp(-y s))`` with y = 1 for relevance >= min_relevance, else -1.

    Parameters
    ----------
    per : {"row", "group"}
        As in `RowLoss`.
    min_relevance : float
        Relevance from which a row is a positive.

    Notes
    -----
    Convex and smooth. In natural logarithms it bounds no metric of podium: a tie costs
    log 2 < 1. Exact at any finite score. Cost: one exponential and one logarithm per row.

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

    per: Literal["row", "group"] = "row"
    min_relevance: float = 1.0

    name: ClassVar[str] = "logistic"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.choice(self.per, "per", ("row", "group"))
        self._check_min_relevance()

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> BinaryTarget:
        positive = grades >= self.min_relevance
        share, defined = inputs.row_shares(weights, groups, self.per)
        return BinaryTarget(groups, positive, groups.index, share, defined)

    def _run(self, scores: PerRow, target: BinaryTarget, out: Out) -> None:
        from podium.losses.logistic_kernels import logistic_curvature, logistic_rows

        values, grad, curvature = out
        n_defined = count_of(target)
        logistic_rows(scores, target.positive, target.index, target.share, values, grad)
        grad /= n_defined
        if curvature.size:
            logistic_curvature(scores, target.share / n_defined, 0.0, curvature)


@dataclass(frozen=True, eq=False)
class SquaredTarget:
    """What the squared loss needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    relevance : float64, (n_rows,)
    share : float64, (n_rows,)
        What a row's loss is multiplied by in its group's value.
    defined : bool, (n_groups,)
        Groups with a row of weight > 0.
    """

    groups: Groups
    relevance: PerRow
    share: PerRow
    defined: Mask


@register
@dataclass(frozen=True)
class Squared(RowLoss):
    """Squared error of each row by itself: regression of the relevance on pooled rows.

    ``(s - relevance)^2``, without a factor of 1/2: a group's value is a mean squared error.

    Parameters
    ----------
    per : {"row", "group"}
        As in `RowLoss`.

    Notes
    -----
    Convex and smooth; bounds no metric of podium: a tie halfway costs 1/4 < 1. Where a square
    exceeds the range of float64 (a score beyond about 1e154) its value is inf, never nan; the
    gradient stays finite. Cost: one pass over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = Squared()
    >>> target = loss.prepare(np.array([2.0, 0.0]), Groups.single(2))
    >>> loss.value_and_grad(np.array([1.0, 3.0]), target)
    (array([5.]), array([-1.,  3.]))
    """

    per: Literal["row", "group"] = "row"

    name: ClassVar[str] = "squared"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.choice(self.per, "per", ("row", "group"))

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> SquaredTarget:
        return SquaredTarget(groups, grades, *inputs.row_shares(weights, groups, self.per))

    def _run(self, scores: PerRow, target: SquaredTarget, out: Out) -> None:
        values, grad, curvature = out
        error, n_defined = scores - target.relevance, count_of(target)
        np.multiply(target.share, error, out=grad)
        with np.errstate(over="ignore"):
            values += np.bincount(target.groups.index, grad * error, values.size)
        grad *= 2.0 / n_defined
        if curvature.size:
            np.divide(2.0 * target.share, n_defined, out=curvature)
