"""Logistic losses with an intercept for each group, at its best: alone, and with pAp@k on top."""

# Some declarations depend on a parameter, and are properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss, Out, register
from podium.types import Counts, Mask, Offsets, PerGroup, PerRow, RowIndex


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

    @property
    def labels(self) -> tuple[Any, ...]:
        """The arrays that the kernel of the likelihood takes."""
        return self.rows, self.offsets, self.defined, self.yes, self.no


@register
@dataclass(frozen=True)
class GroupLogistic(GroupLoss):
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

    The `curvature` is p_i (1 - p_i) at the best intercepts. The Hessian of a group is the diagonal
    matrix of these less one of rank one, which is the saving by moving the intercept along: so
    this bounds it, as a matrix too.

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
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check.choice(self.per, "per", ("row", "group"))
        self._check_min_relevance()
        if _check.flag(self.soft, "soft") and self.min_relevance != 1.0:
            raise ArgumentError(
                f"min_relevance must be 1 with soft=True, got {self.min_relevance:g}: the "
                "relevance is then a probability. Leave min_relevance out."
            )

    @property
    def reads_grades(self) -> bool:
        """Whether grades count as such: as probabilities."""
        return self.soft

    @property
    def validated_by(self) -> str | None:
        """None: the ranker's own metric, for soft labels too."""
        return None

    def _target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None
    ) -> GroupLogisticTarget:
        positive = (grades >= self.min_relevance).astype(np.float64)
        chance = _probabilities(grades, groups) if self.soft else positive
        weight = inputs.row_weights(weights, groups)
        return _weighed(chance, weight, groups, inputs.rows_by_group(groups), self.per)

    def _run(self, scores: PerRow, target: GroupLogisticTarget, out: Out) -> None:
        from podium.losses.logistic_kernels import group_logistic

        group_logistic(scores, target.labels, out)

    def why_undefined(self, target: GroupLogisticTarget) -> str:
        """Say what a group needs, how many lack what, and what to do."""
        what = "0 < relevance < 1 or both" if self.soft else "a positive and a negative"
        return f"{self.name} needs {what} {_lacking(target)}"


@dataclass(frozen=True, eq=False)
class PApLogisticTarget:
    """What `PApLogistic` needs to know of the labels.

    Attributes
    ----------
    likelihood : GroupLogisticTarget
        For the first term; its `rows` have each group's positives before its negatives.
    bounds : int64, (2 n_groups + 1,)
        Where each group's positives and negatives begin in `rows`.
    n_top, n_neg : int64, (n_groups,)
        min(k, n_pos) and min(k, n_neg); 0 for a group that is left out.
    scale : float64, (n_groups,)
        Weight of a positive's mean over the top negatives in its group's value.
    """

    likelihood: GroupLogisticTarget
    bounds: Offsets
    n_top: Counts
    n_neg: Counts
    scale: PerGroup

    @property
    def groups(self) -> Groups:
        """The groups it was prepared for."""
        return self.likelihood.groups

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.likelihood.defined

    @property
    def tops(self) -> tuple[Any, ...]:
        """The arrays that the kernel of the second term takes."""
        return self.likelihood.rows, self.bounds, self.n_top, self.n_neg, self.scale


@register
@dataclass(frozen=True)
class PApLogistic(GroupLoss):
    """`GroupLogistic` plus the risk of pAp@k with sigmoids for its steps.

    Over all groups: ``[GroupLogistic summed over rows + weight * sum_{i<=beta} mean_{j<=m}
    sigmoid((t(j) - s(i)) / temperature)] / n_rows``, with s(1) >= s(2) >= … a group's positive
    scores, t(1) >= … its negative ones, beta = min(k, n_pos) and m = min(k, n_neg). The first
    term learns from every row, the second turns the order where pAp@k looks.

    Parameters
    ----------
    k : int, optional
        Cutoff in items, at least 1; None is the whole list, where nothing has an edge to jump
        at. Groups with fewer than k negatives use all of them. Learning wants a larger k than
        measuring: its lists are longer, and more rows teach more.
    weight : float
        Of the second term, at least 0. A group's counts as its beta rows; 0 leaves
        `GroupLogistic` to the bit.
    temperature : float
        Score difference over which a pair's error fades, above 0.
    min_relevance : float
        Relevance from which a row is a positive.

    Notes
    -----
    Unchanged by a shift of a group's scores. Not convex (for weight > 0): start from the
    solution of `GroupLogistic`, or of weight=0. Continuous, and smooth wherever the sets of top
    rows stay the same; where one row takes another's place at the edge of a top, the gradient
    jumps, by no more than that pair's share. It declares to be smooth, since L-BFGS is the
    right solver for it. Rows of equal score at an edge share its gradient. No upper bound of
    pAp@k's risk. A value beyond the range of float64 is inf; gradients are finite.
    To the `curvature` of `GroupLogistic`, each pair at the top with error e adds twice
    e (1 - e) / temperature ** 2 by its weight, on both of its rows. That is never below the
    Hessian, as a matrix, and makes a pair's own Newton step at most half a temperature.
    Cost: that of `GroupLogistic`, O(n log k) per group for the tops, and beta m divisions:
    for long lists, set k to a few hundred.

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

    name: ClassVar[str] = "pap-logistic"
    smooth: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for param, value in (
            ("k", None if self.k is None else _check.cutoff(self.k)),
            ("weight", _check.number(self.weight, "weight", low=0.0)),
            ("temperature", _check.number(self.temperature, "temperature", low=0.0, strict=True)),
        ):
            object.__setattr__(self, param, value)
        self._check_min_relevance()

    @property
    def convex(self) -> bool:
        """Only without the second term."""
        return self.weight == 0.0

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PApLogisticTarget:
        positive = grades >= self.min_relevance
        rows, bounds = inputs.positives_first(positive, groups)
        per_group = inputs.group_weights(weights, groups, self.name)
        weight = np.ones(positive.size) if weights is None else per_group[groups.index]
        likelihood = _weighed(positive.astype(np.float64), weight, groups, rows, "row")
        used = likelihood.defined
        counts = np.diff(bounds)
        capped = counts if self.k is None else np.minimum(counts, self.k)
        n_top, n_neg = np.where(used, capped[0::2], 0), np.where(used, capped[1::2], 0)
        n_pairs = float((n_top.astype(np.float64) * n_neg).sum()) if self.weight > 0.0 else 0.0
        inputs.tell_pairs(n_pairs, self.name, "Set k to a few hundred.")
        n_rows = float((per_group * groups.sizes)[used].sum())
        scale = self.weight * per_group * (np.count_nonzero(used) / n_rows if n_rows else 0.0)
        return PApLogisticTarget(likelihood, bounds, n_top, n_neg, scale)

    def why_undefined(self, target: PApLogisticTarget) -> str:
        """Say what a group needs, how many lack it, and what to do."""
        return f"{self.name} needs a positive and a negative {_lacking(target.likelihood)}"

    def _run(self, scores: PerRow, target: PApLogisticTarget, out: Out) -> None:
        from podium.losses.logistic_kernels import group_logistic, top_sigmoids

        group_logistic(scores, target.likelihood.labels, out)
        if self.weight > 0.0:
            top_sigmoids(scores, target.tops, self.temperature, out)


def _weighed(
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


def _lacking(target: GroupLogisticTarget) -> str:
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
