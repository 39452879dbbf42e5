"""The logistic loss with an intercept for each group, at its best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses._registry import register
from podium.types import Mask, Offsets, PerGroup, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class GroupLogisticTarget:
    """What the logistic loss of groups needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows, group after group.
    offsets : int64, (n_groups + 1,)
        Where each group begins in `rows`.
    yes, no : float64, (n_rows,)
        Weights of a row's two labels, in the order of `rows`: its share of its group's value
        times the probability of either.
    defined : bool, (n_groups,)
        Groups with weight on both labels.
    """

    groups: Groups
    rows: RowIndex
    offsets: Offsets
    yes: PerRow
    no: PerRow
    defined: Mask


@register
@dataclass(frozen=True)
class GroupLogistic:
    """Log-likelihood loss of rows whose group has an intercept of its own, at its best.

    ``min_b sum_i [log(1 + exp(s_i + b)) - q_i (s_i + b)]``, where q_i is 1 for
    relevance >= min_relevance, else 0. Logistic regression pays for how much a user likes in
    all; this pays for nothing but the order and the distances inside a group, and yet weighs
    all rows, not pairs.

    Parameters
    ----------
    per : {"row", "group"}
        "row": every row weighs the same, as in plain logistic regression. A group's value is
        its sum of losses by the mean group size, so that the mean over groups is the mean over
        rows, all of groups that are not left out. "group": every group weighs the same, its
        value is the mean of its rows.
    min_relevance : float
        Relevance from which a row is a positive.
    soft : bool
        The relevance itself is q, a probability in [0, 1]; see
        `podium.data.pooled_relevance`. min_relevance stays 1.

    Notes
    -----
    Convex, smooth and unchanged by a shift of a group's scores. The gradient is p_i - q_i at
    the best b, so it sums to 0 in each group. Groups whose q are all 0 or all 1 are left out:
    their best b is infinite. Exact at any finite score; a value beyond the range of float64 is
    inf. In natural logarithms it bounds no metric of podium. Cost: a few passes per group, with
    one exponential and one logarithm per row (a sort, and an exponential per pass, where scores
    of a group lie more than 690 apart).

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = GroupLogistic()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([5.0, 5.0]), target)
    >>> bool(np.isclose(values[0], np.log(2.0))), grad.tolist()
    (True, [-0.25, 0.25])
    """

    per: Literal["row", "group"] = "row"
    min_relevance: float = 1.0
    soft: bool = False

    name: ClassVar[str] = "group-logistic"
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.choice(self.per, "per", ("row", "group"))
        low = _check.number(self.min_relevance, "min_relevance", low=0.0, strict=True)
        object.__setattr__(self, "min_relevance", low)
        if _check.flag(self.soft, "soft") and low != 1.0:
            raise ArgumentError(
                f"min_relevance must be 1 with soft=True, got {low:g}: the relevance is then a "
                "probability. Leave min_relevance out."
            )

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> GroupLogisticTarget:
        """Weigh each row's two labels; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, or with soft=True in [0, 1], in the order of the rows that `groups`
            was made from.
        groups : Groups
        weights : float64, (n_rows,), optional
            Weight of each row: over all rows with per="row", inside its group with per="group".
        rng : numpy.random.Generator, optional
            Not drawn from.

        Raises
        ------
        ArgumentError
            For lengths that differ, a negative relevance or weight, or with soft=True a
            relevance above 1.
        """
        grades = inputs.relevance_of(relevance, groups)
        positive = (grades >= self.min_relevance).astype(np.float64)
        chance = _probabilities(grades, groups) if self.soft else positive
        rows = np.arange(grades.size) if groups.order is None else groups.order
        weight = inputs.row_weights(weights, groups)
        return target_of(chance, weight, groups, rows, self.per)

    def value_and_grad(
        self, scores: PerRow, target: GroupLogisticTarget
    ) -> tuple[PerGroup, PerRow]:
        """Return each group's value, and the gradient of their mean by each row's score.

        Parameters
        ----------
        scores : float64, (n_rows,)
            Finite log-odds up to a constant of each group, in the caller's row order.
        target : GroupLogisticTarget
            From `prepare`.

        Returns
        -------
        values : float64, (n_groups,)
            In nats; nan for a group that is left out.
        grad : float64, (n_rows,)
            0 on rows of a group that is left out.
        """
        checked = inputs.scores_of(scores, target.groups)
        values = np.full(target.groups.n_groups, np.nan)
        grad = np.zeros(checked.size)
        run(checked, target, values, grad, np.empty(0))
        return values, grad

    def curvature(self, scores: PerRow, target: GroupLogisticTarget) -> PerRow:
        """Return p_i (1 - p_i) of each row at the best intercepts, kept above 0.

        The Hessian of a group is the diagonal matrix of these less one of rank one, which is
        what moving the intercept along saves: so this bounds it, as a matrix too.
        """
        return self.value_grad_and_curvature(scores, target)[2]

    def value_grad_and_curvature(
        self, scores: PerRow, target: GroupLogisticTarget
    ) -> tuple[PerGroup, PerRow, PerRow]:
        """Return all three from one pass, for boosting."""
        checked = inputs.scores_of(scores, target.groups)
        values = np.full(target.groups.n_groups, np.nan)
        grad, bound = np.zeros(checked.size), np.zeros(checked.size)
        run(checked, target, values, grad, bound)
        return values, grad, kept_positive(bound, target.defined)

    def why_undefined(self, target: GroupLogisticTarget) -> str:
        """Say what a group needs, how many lack what, and what to do."""
        what = "0 < relevance < 1 or both" if self.soft else "a positive and a negative"
        return f"{self.name} needs {what} {lacking(target)}"


def target_of(
    chance: PerRow, weight: PerRow, groups: Groups, rows: RowIndex, per: str
) -> GroupLogisticTarget:
    """Return the target of rows that are positive with these probabilities."""
    if weight.size and not weight.any():
        raise ArgumentError("weights are all zero. Give at least one row a weight > 0.")
    index, n_groups = groups.index, groups.n_groups
    yes, no = weight * chance, weight * (1.0 - chance)
    in_group = np.bincount(index, weight, n_groups)
    defined = (np.bincount(index, yes, n_groups) > 0) & (np.bincount(index, no, n_groups) > 0)
    if per == "row":
        total = max(float(in_group[defined].sum()), inputs.TINY)
        share = np.full(n_groups, np.count_nonzero(defined) / total)
    else:
        share = 1.0 / np.maximum(in_group, inputs.TINY)
    by_row = np.where(defined, share, 0.0)[index]
    return GroupLogisticTarget(
        groups, rows, groups.offsets, (by_row * yes)[rows], (by_row * no)[rows], defined
    )


def run(
    scores: PerRow, target: GroupLogisticTarget, values: PerGroup, grad: PerRow, curvature: PerRow
) -> None:
    """Fill values and gradient, and the second derivatives where that array is not empty."""
    from podium.losses._grouped_kernels import group_logistic

    layout = (target.rows, target.offsets, target.defined, target.yes, target.no)
    group_logistic(scores, *layout, values, grad, curvature)


def kept_positive(bound: PerRow, defined: Mask) -> PerRow:
    """Return the bound, at least so large that a step can be divided by it."""
    return np.maximum(bound, inputs.LEAST_CURVATURE / max(1, int(np.count_nonzero(defined))))


def lacking(target: GroupLogisticTarget) -> str:
    """Return the end of a message on groups with one class."""
    one_class = int(np.count_nonzero(~target.defined & (target.groups.sizes > 0)))
    return (
        f"in a group, with weight > 0, and {one_class} of {target.groups.n_groups} groups have "
        "rows of one class. Check min_relevance and qid."
    )


def _probabilities(grades: PerRow, groups: Groups) -> PerRow:
    high = np.flatnonzero(grades > 1.0)
    if high.size:
        row = int(high[0])
        qid = _check.label(inputs.RowLabels(groups)[row])
        raise ArgumentError(
            f"relevance must lie in [0, 1] with soft=True, got {grades[row]:g} at row {row} "
            f"(qid {qid}). Divide it by the highest grade, or leave soft out."
        )
    return grades
