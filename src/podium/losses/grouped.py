"""Logistic losses with an optimal intercept per group: alone, or with a term for pAp@k."""

# Some declarations depend on a parameter and are therefore properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.types import Counts, Offsets, PerGroup, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class GroupLogisticTarget(Lists):
    """The target of the logistic loss of groups, defined on groups with weight on both labels.

    Attributes
    ----------
    yes, no : float64, (n_rows,)
        The weights of each row as a positive and as a negative, in the order of `rows`: the
        weight of the row in its group's value times the probability of this label.
    """

    yes: PerRow
    no: PerRow

    @property
    def labels(self) -> tuple[Any, ...]:
        """The arguments of the likelihood's kernel."""
        return self.rows, self.groups.offsets, self.defined, self.yes, self.no


@register
@dataclass(frozen=True)
class GroupLogistic(GroupLoss):
    """Log-loss of rows, with an intercept per group at its optimal value.

    The value is ``min_b sum_i [log(1 + exp(s_i + b)) - q_i (s_i + b)]``, in which q_i is 1 for
    relevance >= min_relevance, else 0. Plain logistic regression also depends on how many
    positives a group has. This loss depends only on the order and the distances within each
    group, but it uses all rows, not pairs.

    Parameters
    ----------
    min_relevance : float
        The relevance from which a row is a positive.
    soft : bool
        Whether q is the relevance itself, as a probability in [0, 1]; see
        `podium.data.pooled_relevance`. It requires min_relevance=1.

    Notes
    -----
    Every row has the same weight, as in plain logistic regression. A group's value is the sum of
    its losses over the mean group size, so that the mean over groups is the mean over rows (of
    groups that are not left out).

    The loss is convex, smooth and unchanged by a shift of a group's scores. The gradient is
    p_i - q_i at the optimal b and sums to 0 in each group. Groups whose q are all 0 or all 1 are
    left out, because their optimal b is infinite. The value is accurate for all scores below 1e290,
    and inf beyond the range of float64. The loss is no upper bound of a metric of podium, because
    it uses natural logarithms. Cost: a few passes per group, with one exponential and one logarithm
    per row (a sort, and an exponential per row and pass, if scores of a group are more than 690
    apart).

    The `curvature` is p_i (1 - p_i) at the optimal intercepts. The Hessian of a group is the
    diagonal matrix of these numbers minus a matrix of rank one, the saving due to the change of
    the intercept. The curvature is therefore an upper bound of the Hessian, also as a matrix.

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

    min_relevance: float = 1.0
    soft: bool = False

    constraints: ClassVar[_check.Constraints] = {"soft": _check.flag}

    name: ClassVar[str] = "group-logistic"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.soft and self.min_relevance != 1.0:
            raise ArgumentError(
                f"{arg.min_relevance} must be 1 with {arg.soft(True)}, got {self.min_relevance:g}: "
                f"the relevance is then a probability. Leave {arg.min_relevance} out."
            )

    @property
    def reads_grades(self) -> bool:
        """Whether the loss uses grades, as probabilities: only with soft=True."""
        return self.soft

    @property
    def validated_by(self) -> str | None:
        """None, the ranker's default metric, also with soft labels."""
        return None

    def _target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None
    ) -> GroupLogisticTarget:
        positive = (grades >= self.min_relevance).astype(np.float64)
        probability = _probabilities(grades, groups) if self.soft else positive
        weight = inputs.row_weights(weights, groups)
        return _likelihood_target(probability, weight, groups, inputs.rows_by_group(groups))

    def _run(self, scores: PerRow, target: GroupLogisticTarget, out: Out) -> None:
        from podium.losses.logistic_kernels import group_logistic

        group_logistic(scores, target.labels, count_of(target), out)

    def _needs(self) -> str:
        labels = "a relevance in (0, 1) or both 0 and 1" if self.soft else "both classes"
        return f"{labels}, on rows of weight > 0,"


@dataclass(frozen=True, eq=False)
class PApLogisticTarget(GroupLogisticTarget):
    """The target of `PApLogistic`; its `rows` hold each group's positives before its negatives.

    Attributes
    ----------
    bounds : int64, (2 n_groups + 1,)
        The positions in `rows` at which each group's positives and negatives begin.
    n_top, n_neg : int64, (n_groups,)
        The counts min(k, n_pos) and min(k, n_neg); 0 for a group that is left out.
    scale : float64, (n_groups,)
        The weight, in its group's value, of a positive's mean over the top negatives.
    """

    bounds: Offsets
    n_top: Counts
    n_neg: Counts
    scale: PerGroup

    @property
    def tops(self) -> tuple[Any, ...]:
        """The arguments of the second term's kernel."""
        return self.rows, self.bounds, self.n_top, self.n_neg, self.scale


@register
@dataclass(frozen=True)
class PApLogistic(GroupLoss):
    """`GroupLogistic` plus the risk of pAp@k with sigmoids in place of steps.

    Over all groups: ``[GroupLogistic summed over rows + weight * sum_{i<=beta} mean_{j<=m}
    sigmoid((t(j) - s(i)) / temperature)] / n_rows``, in which s(1) >= s(2) >= … are the scores of
    a group's positives, t(1) >= … those of its negatives, beta = min(k, n_pos) and
    m = min(k, n_neg). The first term uses every row. The second term corrects the order of the
    rows that pAp@k depends on.

    Parameters
    ----------
    k : int, optional
        The cutoff in items, at least 1. With None, it is the whole list, and the gradient has no
        jumps. Groups with fewer than k negatives use all of them. Use a larger k than for the
        measure, so that more rows contribute to the gradient.
    weight : float
        The weight of the second term, at least 0. Groups count in this term in proportion to
        their beta. With weight 0, the loss is bitwise equal to `GroupLogistic`.
    temperature : float
        The scale of the sigmoid in units of score, above 0. With a larger scale, pairs with larger
        score differences also contribute to the gradient.
    min_relevance : float
        The relevance from which a row is a positive.

    Notes
    -----
    The loss is unchanged by a shift of a group's scores. It is not convex if weight > 0: start
    from the solution of `GroupLogistic`, or of weight=0. It is continuous, and smooth as long as
    the sets of top rows do not change. If a row replaces another one among the top rows, the
    gradient jumps: the new row takes over the gradient of the other row in the second term. The
    loss is nevertheless declared smooth, because L-BFGS is the right solver for it. If several rows
    have the score of the last top row, they share its gradient. The loss is no upper bound of the
    risk of pAp@k. A value beyond the range of float64 is inf; gradients are finite.

    In the `curvature`, each pair at the top whose sigmoid is e adds
    2 e (1 - e) / temperature ** 2 times its weight to both of its rows, in addition to the
    curvature of `GroupLogistic`. The sum is an upper bound of the Hessian, as a matrix, and limits
    the Newton step of a single pair to half a temperature.

    Cost: that of `GroupLogistic`, plus O(n log k) per group to find the tops, and beta m
    divisions. For long lists, set k to a few hundred.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApLogistic(k=1, weight=4.0)
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([5.0, 5.0]), target)
    >>> bool(np.isclose(values[0], (2 * np.log(2.0) + 4 * 0.5) / 2)), grad.tolist()
    (True, [-0.75, 0.75])
    """

    k: int | None = None
    weight: float = 20.0
    temperature: float = 1.0
    min_relevance: float = 1.0

    constraints: ClassVar[_check.Constraints] = {"weight": partial(_check.number, low=0.0)}

    name: ClassVar[str] = "pap-logistic"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    smooth: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    @property
    def convex(self) -> bool:
        """Whether the loss is convex: only without the second term."""
        return self.weight == 0.0

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PApLogisticTarget:
        positive = grades >= self.min_relevance
        rows, bounds = inputs.positives_first(positive, groups)
        group_weights = inputs.group_weights(weights, groups, self.name)
        weight = np.ones(positive.size) if weights is None else group_weights[groups.index]
        likelihood = _likelihood_target(positive.astype(np.float64), weight, groups, rows)
        used = likelihood.defined
        counts = np.diff(bounds)
        capped = counts if self.k is None else np.minimum(counts, self.k)
        n_top, n_neg = np.where(used, capped[0::2], 0), np.where(used, capped[1::2], 0)
        tops = bounds, n_top, n_neg
        n_rows = float((group_weights * groups.sizes)[used].sum())
        scale = self.weight * group_weights * (np.count_nonzero(used) / n_rows if n_rows else 0.0)
        return PApLogisticTarget(
            groups, likelihood.share, used, rows, likelihood.yes, likelihood.no, *tops, scale
        )

    def _needs(self) -> str:
        return "both classes, on rows of weight > 0,"

    def _run(self, scores: PerRow, target: PApLogisticTarget, out: Out) -> None:
        from podium.losses.logistic_kernels import group_logistic, top_sigmoids

        group_logistic(scores, target.labels, count_of(target), out)
        if self.weight > 0.0:
            top_sigmoids(scores, target.tops, self.temperature, out)


def _likelihood_target(
    probability: PerRow, weight: PerRow, groups: Groups, rows: RowIndex
) -> GroupLogisticTarget:
    """Return the target of rows with these probabilities of being positive."""
    index, n_groups = groups.index, groups.n_groups
    yes, no = weight * probability, weight * (1.0 - probability)
    group_totals = np.bincount(index, weight, n_groups)
    defined = (np.bincount(index, yes, n_groups) > 0) & (np.bincount(index, no, n_groups) > 0)
    total = max(float(group_totals[defined].sum()), inputs.TINY)
    share = np.where(defined, np.count_nonzero(defined) / total, 0.0)
    yes, no = share[index] * yes, share[index] * no
    return GroupLogisticTarget(groups, share, defined, rows, yes[rows], no[rows])


def _probabilities(grades: PerRow, groups: Groups) -> PerRow:
    rows_above_one = np.flatnonzero(grades > 1.0)
    if rows_above_one.size:
        row = int(rows_above_one[0])
        qid = _check.label(inputs.RowLabels(groups)[row])
        raise ArgumentError(
            f"{arg.relevance} must lie in [0, 1] with {arg.soft(True)}, got {grades[row]:g} at row "
            f"{row} (qid {qid}). Divide it by the highest grade, or leave {arg.soft} out."
        )
    return grades
