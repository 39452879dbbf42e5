"""Gains of rows as weights of a loss, the DCG of the best order, and two losses with these gains.

RoBiRank is a concave rho of the rank of a relevant row, or of the cost of a row. LambdaRank weighs
the costs of pairs by the change of ndcg if the two rows swap ranks.
"""

# Some declarations depend on a parameter and are therefore properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from podium import _check
from podium.discounts import Gain, discounts, gains
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.losses.listwise import several_grades
from podium.types import Counts, PerGroup, PerRow, RowIndex

_MAX_GAIN = 1e100  # the largest gain whose sums and products stay in the range of floats


@dataclass(frozen=True, eq=False)
class GainTarget(Lists):
    """The target of RoBiRank, which compares each row with a gain with all rows of its group.

    It is defined on groups with rows of two grades and a gain above 0.

    Attributes
    ----------
    worth : float64, (n_rows,)
        The gain of each row, by default over the ideal DCG of its group.
    """

    worth: PerRow


def row_gains(grades: PerRow, gain: Gain, groups: Groups) -> PerRow:
    """Return the gain of each row, or raise if one is so large that sums may overflow."""
    with np.errstate(over="ignore"):
        by_row = gains(grades, gain)
    if by_row.max(initial=0.0) > _MAX_GAIN:
        row = int(np.argmax(by_row))
        label = _check.label(groups.labels[groups.index[row]])
        raise ArgumentError(
            f"relevance has a gain above {_MAX_GAIN:g} with {arg.gain(gain)}, got {grades[row]:g} "
            f"in qid {label}. Scale the relevance, or pass {arg.gain('linear')}."
        )
    return by_row


def ideal_gains(by_row: PerRow, groups: Groups, k: int | None = None) -> PerGroup:
    """Return the DCG of the k top ranks, or of all ranks, of each group in the best order."""
    falling = np.lexsort((-by_row, groups.index))
    ranks = np.arange(by_row.size) - np.repeat(groups.offsets[:-1], groups.sizes)
    discounted = by_row[falling] * rank_discounts(groups, k)[ranks]
    return np.bincount(groups.index[falling], discounted, groups.n_groups).astype(np.float64)


def rank_discounts(groups: Groups, k: int | None = None) -> PerRow:
    """Return the discount of each rank of the longest group, 0 below rank k."""
    weights = discounts(int(groups.sizes.max(initial=0)))
    weights[k:] = 0.0 if k is not None else weights[k:]
    return weights


Type: TypeAlias = Literal[1, 2, "identity"]

_CODES: dict[Any, int] = {"identity": 0, 1: 1, 2: 2}


def _checked_type(value: Any, name: str) -> Type:
    if isinstance(value, bool) or not isinstance(value, str | int) or value not in _CODES:
        raise ArgumentError(f"{arg[name]} must be 1, 2 or 'identity', got {value!r}.")
    return cast("Type", value)


class Robust(GroupLoss):
    """The declarations of losses with a function rho."""

    type: Type
    smooth: ClassVar[bool] = True
    constraints: ClassVar[_check.Constraints] = {"type": _checked_type, "normalize": _check.flag}

    @property
    def convex(self) -> bool:
        """Whether the value at a midpoint is never above the mean of the values at the ends."""
        return self.type == "identity"

    @property
    def code(self) -> int:
        """The kernels' code of rho."""
        return _CODES[self.type]


@register
@dataclass(frozen=True)
class RoBiRank(Robust):
    """Ranking as robust classification: an upper bound of the loss of DCG, a sum over pairs.

    The value is ``sum_y gain_y rho(T_y)`` over the rows y of a group, with
    ``T_y = sum_{z != y} log2(1 + 2^(s_z - s_y))`` and scores s. T_y is an upper bound of the number
    of rows that rank above y, because a tie costs 1, and a pair in the wrong order more.

    Parameters
    ----------
    type : {1, 2, "identity"}
        The function rho: ``log2(t + 1)`` for RoBiRank; ``1 - 1 / log2(t + 2)``, one minus the
        discount of DCG, a closer bound whose gradient vanishes; or ``t``, without robustness.
    gain : {"exp2", "linear"}
        The weight of a row: ``2^relevance - 1``, or the relevance itself, which allows arbitrary
        weights.
    normalize : bool
        Whether to divide by the group's ideal DCG with the same gain, so that groups are weighted
        as in NDCG. With False, the sum is not divided, as in the paper, and groups with more and
        better rows weigh more.

    Notes
    -----
    With ranks from 0, ``rank_y <= T_y``. DCG's loss ``sum_y gain_y (1 - 1 / log2(rank_y + 2))`` is
    therefore at most the loss of type 2, which is at most that of type 1. With normalize=True,
    DCG's loss is ``(sum of gains) / ideal - NDCG``, over the whole list. The bound holds for all
    orders of tied rows, because a tied pair costs 1. The loss is not 0 at the best order, because
    rows of equal grade also form pairs.

    The loss is smooth, convex only with type="identity", and unchanged by a shift of a group's
    scores. A group of one grade is left out, because all its orders have the same DCG. So is a
    group whose gains are all 0. Scores are in bits: a score s here corresponds to s log 2 in a loss
    with natural logarithms.

    The `curvature` leaves out the second derivative of rho, which is never positive. It is
    therefore an upper bound of the Hessian, as a matrix. The loss is accurate for all scores below
    1e290. A row's sum of costs is limited to 1.7e308. A value beyond the range of float64 is inf.

    Cost: every row with a gain is compared with all rows of its group, with one division per pair
    and two exponentials per row (one exponential per pair if scores lie more than 300 apart).

    References
    ----------
    yun2014, which takes the identity from Buffoni et al. (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = RoBiRank()
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.zeros(3), target)  # log2(1 + 2): two tied rows
    >>> bool(np.isclose(values[0], np.log2(3.0))), grad.round(4)
    (True, array([-0.4809,  0.2404,  0.2404]))
    """

    type: Type = 1
    gain: Gain = "exp2"
    normalize: bool = True

    name: ClassVar[str] = "robirank"
    upper_bounds: ClassVar[str | None] = "ndcg"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    shift_invariant: ClassVar[bool] = True

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> GainTarget:
        worth = row_gains(grades, self.gain, groups)
        ideal = ideal_gains(worth, groups)
        defined = several_grades(grades, groups) & (ideal > 0.0)
        if self.normalize:
            worth = worth / np.where(defined, ideal, 1.0)[groups.index]
        share = inputs.group_shares(weights, groups, self.name, defined)
        return GainTarget(groups, share, defined, inputs.rows_by_group(groups), worth)

    def _needs(self) -> str:
        return "rows of two grades, one with a gain above 0,"

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.robust_kernels import robust_ranks

        lists = (target.rows, target.groups.offsets, target.worth, target.share)
        robust_ranks(scores, *lists, self.code, count_of(target), out)


Marks: TypeAlias = tuple[RowIndex, PerRow, Counts]  # see `lambda_kernels.mark_lists`


@dataclass(frozen=True, eq=False)
class LambdaTarget(Lists):
    """The target of LambdaRank; `rows` have rising worth.

    It is defined on groups with rows of different worth.

    Attributes
    ----------
    worth : float64, (n_rows,)
        The gain of each row over the ideal DCG of its group.
    ladder : float64, (size of the largest group,)
        The discount of each rank, 0 below the cutoff.
    marks : tuple, optional
        The weights of the pairs, if they are held fixed.
    """

    worth: PerRow
    ladder: PerRow
    marks: Marks | None = None


@register
@dataclass(frozen=True)
class LambdaRank(GroupLoss):
    """Sum of ``log(1 + exp(-sigma d))`` over pairs, weighted by the change of ndcg by a swap.

    For rows i and j of one group with relevance i > relevance j, and the difference d = s_i - s_j
    of their scores, the value is ``sum |M - M_ij| log(1 + exp(-sigma d))``, in which M is the
    ndcg of the current order and M_ij that of the order in which i and j have swapped ranks.

    Parameters
    ----------
    k : int, optional
        The cutoff of ndcg, at least 1. None is the whole list.
    sigma : float
        The slope of the logistic function, above 0.
    gain : {"exp2", "linear"}
        The gain of a row: ``2^relevance - 1``, or the relevance itself.

    Notes
    -----
    The gradient holds the weights fixed, as in LambdaRank and LambdaLoss. It is not the gradient of
    the value across a change of the order, where the value jumps. The value is therefore no measure
    of progress: compare models by a metric. With fixed weights (`hold`), the loss is convex and
    smooth. It is unchanged by a shift of a group's scores. The `curvature` has twice the second
    derivative ``sigma^2 p (1 - p)`` of each pair on both of its rows, as a bound of the Hessian has
    to. LightGBM has it once, so that its steps are twice as long.

    With a cutoff, only pairs with a row among the top k ranks have a weight, because ranks below k
    have a discount of 0. LightGBM's truncation level keeps their discounts, so that it equals this
    loss only without a cutoff.

    Ties: rows of equal score are in the worst order, as in podium's metrics. Rows of equal score
    and relevance get the mean weight over their orders. The order of rows has no effect, and at
    equal scores, with which training starts, relevant rows are pulled up.

    A group of one grade is left out. A value beyond the range of float64 is inf. Cost: a sort, two
    exponentials per row and two divisions per pair (an exponential and a logarithm, if scores lie
    more than 300 / sigma apart). The number of pairs is O(n k) with a cutoff, else O(n^2).

    References
    ----------
    burges2006; burges2010; wang2018 for the value.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = LambdaRank(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([1.0, 1.0, -1.0]), target)
    >>> bool(np.isclose(values[0], np.log(2.0))), grad.tolist()  # the tie is the top row's
    (True, [-0.5, 0.5, 0.0])
    """

    k: int | None = None
    sigma: float = 1.0
    gain: Gain = "exp2"

    constraints: ClassVar[_check.Constraints] = {"sigma": _check.positive}

    name: ClassVar[str] = "lambdarank"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    shift_invariant: ClassVar[bool] = True
    head_cutoff: ClassVar[bool] = True
    reweights: ClassVar[bool] = True

    def hold(self, scores: PerRow, target: LambdaTarget) -> LambdaTarget:
        """Return the target with the weights of these scores."""
        return replace(target, marks=self._marks(inputs.scores_of(scores, target.groups), target))

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> LambdaTarget:
        worth = row_gains(grades, self.gain, groups)
        ideal = ideal_gains(worth, groups, self.k)
        defined = several_grades(grades, groups) & (ideal > 0.0)
        worth = worth / np.where(defined, ideal, 1.0)[groups.index]
        share = inputs.group_shares(weights, groups, self.name, defined)
        rows = np.lexsort((worth, groups.index))
        ladder = rank_discounts(groups, self.k)
        return LambdaTarget(groups, share, defined, rows, worth, ladder)

    def _marks(self, scores: PerRow, target: LambdaTarget) -> Marks:
        from podium.losses.lambda_kernels import mark_lists

        n_rows, n_groups = scores.size, target.groups.n_groups
        marks = np.empty(n_rows, np.int64), np.zeros(n_rows), np.zeros(n_groups, np.int64)
        layout = target.rows, target.groups.offsets, target.worth, target.share
        mark_lists(scores, *layout, target.ladder, marks)
        return marks

    def _run(self, scores: PerRow, target: LambdaTarget, out: Out) -> None:
        from podium.losses.lambda_kernels import weighted_pairs

        marks = self._marks(scores, target) if target.marks is None else target.marks
        lists = target.groups.offsets, target.worth, target.share
        weighted_pairs(scores, *lists, marks, self.sigma, count_of(target), out)
