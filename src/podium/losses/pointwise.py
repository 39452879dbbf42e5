"""Pointwise losses: every row on its own, the group only in how rows are weighed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses._registry import register
from podium.types import Mask, PerGroup, PerRow, RowIndex


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


@register
@dataclass(frozen=True)
class Logistic:
    """Log-likelihood loss of each row by itself: logistic regression on pooled rows.

    ``log(1 + exp(-y s))`` with y = 1 for relevance >= min_relevance, else -1.

    Parameters
    ----------
    per : {"row", "group"}
        "row": every row weighs the same, as in plain logistic regression. A group's value is
        its sum of losses by the mean group size, so that the mean over groups is the mean over
        rows. "group": every group weighs the same, its value is the mean of its rows.
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
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.choice(self.per, "per", ("row", "group"))
        low = _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True)
        object.__setattr__(self, "min_relevance", low)

    @property
    def reads_groups(self) -> bool:
        """Whether it matters which rows are a group: only to weigh groups alike."""
        return self.per == "group"

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> BinaryTarget:
        """Mark the positives and weigh the rows; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            Weight of each row: over all rows with per="row", inside its group with per="group".
        rng : numpy.random.Generator, optional
            Not drawn from.

        Raises
        ------
        ArgumentError
            For lengths that differ, or a negative relevance or weight.
        """
        positive = inputs.relevance_of(relevance, groups) >= self.min_relevance
        share, defined = inputs.row_shares(weights, groups, self.per)
        return BinaryTarget(groups, positive, groups.index, share, defined)

    def value_and_grad(self, scores: PerRow, target: BinaryTarget) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite log-odds, in the caller's row order.
        target : BinaryTarget
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            In nats; nan for a group without rows, or, with per="group", without weight.
        grad : float64, (n_rows,)
        """
        from podium.losses.pap_kernels import logistic_rows

        checked = inputs.scores_of(scores, target.groups)
        values = np.where(target.defined, 0.0, np.nan)
        grad = np.empty(checked.size)
        logistic_rows(checked, target.positive, target.index, target.share, values, grad)
        grad /= max(1, int(np.count_nonzero(target.defined)))
        return values, grad

    def curvature(self, scores: PerRow, target: BinaryTarget) -> PerRow:
        """Return the second derivative of the mean value by each row's score, kept above 0."""
        from podium.losses.pap_kernels import logistic_curvature

        checked = inputs.scores_of(scores, target.groups)
        n_defined = max(1, int(np.count_nonzero(target.defined)))
        out = np.empty(checked.size)
        logistic_curvature(
            checked, target.share / n_defined, inputs.LEAST_CURVATURE / n_defined, out
        )
        return out

    def why_undefined(self, target: BinaryTarget) -> str:
        """Say what a group needs."""
        return f"{self.name} needs a row with weight > 0: none of the groups has one."


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
class Squared:
    """Squared error of each row by itself: regression of the relevance on pooled rows.

    ``(s - relevance)^2``, without a factor of 1/2: a group's value is a mean squared error.

    Parameters
    ----------
    per : {"row", "group"}
        "row": every row weighs the same, as in plain regression. A group's value is its sum of
        losses by the mean group size, so that the mean over groups is the mean over rows.
        "group": every group weighs the same, its value is the mean of its rows.

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
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check.choice(self.per, "per", ("row", "group"))

    @property
    def reads_groups(self) -> bool:
        """Whether it matters which rows are a group: only to weigh groups alike."""
        return self.per == "group"

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> SquaredTarget:
        """Weigh the rows; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            Weight of each row: over all rows with per="row", inside its group with per="group".
        rng : numpy.random.Generator, optional
            Not drawn from.

        Raises
        ------
        ArgumentError
            For lengths that differ, or a negative relevance or weight.
        """
        grades = inputs.relevance_of(relevance, groups)
        return SquaredTarget(groups, grades, *inputs.row_shares(weights, groups, self.per))

    def value_and_grad(self, scores: PerRow, target: SquaredTarget) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite, on the scale of the relevance, in the caller's row order.
        target : SquaredTarget
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            In squared units of relevance; nan for a group without rows, or, with per="group",
            without weight.
        grad : float64, (n_rows,)
        """
        checked = inputs.scores_of(scores, target.groups)
        error = checked - target.relevance
        slope = target.share * error
        with np.errstate(over="ignore"):
            sums = np.bincount(target.groups.index, slope * error, target.groups.n_groups)
        values = np.where(target.defined, sums, np.nan)
        return values, slope * (2.0 / max(1, int(np.count_nonzero(target.defined))))

    def curvature(self, scores: PerRow, target: SquaredTarget) -> PerRow:
        """Return the second derivative by each row's score, the same at all, kept above 0."""
        inputs.scores_of(scores, target.groups)
        share = np.maximum(2.0 * target.share, inputs.LEAST_CURVATURE)
        return share / max(1, int(np.count_nonzero(target.defined)))

    def value_grad_and_curvature(
        self, scores: PerRow, target: SquaredTarget
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three, for boosting."""
        return *self.value_and_grad(scores, target), self.curvature(scores, target)

    def why_undefined(self, target: SquaredTarget) -> str:
        """Say what a group needs."""
        return f"{self.name} needs a row with weight > 0: none of the groups has one."
