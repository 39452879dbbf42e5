"""LambdaRank: costs of pairs, weighted by the change of a metric if the two rows swap ranks."""

# Some declarations depend on a parameter and are therefore properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.discounts import Gain
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.losses.gains import ideal_gains, rank_discounts, row_gains
from podium.losses.listwise import several_grades
from podium.types import Counts, PerGroup, PerRow, RowIndex

SwapMetric: TypeAlias = Literal["ndcg", "ap", "precision", "pap"]
Marks: TypeAlias = tuple[RowIndex, PerRow, PerRow, Counts]  # see `lambda_kernels.mark_lists`

METRICS: tuple[SwapMetric, ...] = ("ndcg", "ap", "precision", "pap")


@dataclass(frozen=True, eq=False)
class LambdaTarget(Lists):
    """The target of LambdaRank; `rows` have rising worth.

    It is defined on groups with rows of different worth.

    Attributes
    ----------
    worth : float64, (n_rows,)
        The factor of each row in the metric: its gain over the ideal DCG for ndcg, else a constant
        for positives and 0 for negatives.
    ladder : float64, (size of the largest group,)
        The weight of each rank in the metric; not used for pap.
    tops : int64, (2, n_groups)
        The number of positives and of negatives that pap uses.
    marks : tuple, optional
        The weights of the pairs, if they are held fixed.
    """

    worth: PerRow
    ladder: PerRow
    tops: NDArray[np.int64]
    marks: Marks | None = None


@register
@dataclass(frozen=True)
class LambdaRank(GroupLoss):
    """Sum of ``log(1 + exp(-sigma d))`` over pairs, weighted by the change of a metric by a swap.

    For rows i and j of one group with relevance i > relevance j, and the difference d = s_i - s_j
    of their scores, the value is ``sum |M - M_ij| log(1 + exp(-sigma d))``, in which M is the
    metric of the current order and M_ij that of the order in which i and j have swapped ranks.

    Parameters
    ----------
    k : int, optional
        The cutoff of the metric, at least 1; required for precision. None is the whole list.
    metric : {"ndcg", "ap", "precision", "pap"}
        The metric whose change is the weight.
    sigma : float
        The slope of the logistic function, above 0.
    gain : {"exp2", "linear"}
        The gain of a row in ndcg: ``2^relevance - 1``, or the relevance itself.
    min_relevance : float
        The relevance from which a row is a positive, for ap, precision and pap. These metrics use
        pairs of a positive and a negative only.

    Notes
    -----
    The gradient holds the weights fixed, as in LambdaRank and LambdaLoss. It is not the gradient of
    the value across a change of the order, where the value jumps. The value is therefore no measure
    of progress: compare models by a metric. With fixed weights (`hold`), the loss is convex and
    smooth. It is unchanged by a shift of a group's scores. The `curvature` has twice the second
    derivative ``sigma^2 p (1 - p)`` of each pair on both of its rows, as a bound of the Hessian has
    to. LightGBM has it once, so that its steps are twice as long.

    With a cutoff, only pairs with a row among the top k ranks have a weight (pap: among the
    positions up to the k-th negative). In ndcg, ranks below k have a discount of 0. LightGBM's
    truncation level keeps their discounts, so that it equals this loss only without a cutoff. With
    metric="pap", k is also the number of negatives, and a group with fewer uses all of them.

    Ties: rows of equal score are in the worst order, as in podium's metrics. Rows of equal score
    and relevance get the mean weight over their orders. The order of rows has no effect, and at
    equal scores, with which training starts, relevant rows are pulled up.

    A group of one grade (ndcg) or one class is left out. A value beyond the range of float64 is
    inf. Cost: a sort, two exponentials per row and two divisions per pair (an exponential and a
    logarithm, if scores lie more than 300 / sigma apart). The number of pairs is O(n k) with a
    cutoff, else O(n^2).

    References
    ----------
    burges2006; burges2010; wang2018 for the value.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = LambdaRank(metric="precision", k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([1.0, 1.0, -1.0]), target)
    >>> bool(np.isclose(values[0], np.log(2.0))), grad.tolist()  # the tie is the top row's
    (True, [-0.5, 0.5, 0.0])
    """

    k: int | None = None
    metric: SwapMetric = "ndcg"
    sigma: float = 1.0
    gain: Gain = "exp2"
    min_relevance: float = 1.0

    constraints: ClassVar[_check.Constraints] = {
        "metric": partial(_check.choice, options=METRICS),
        "sigma": _check.positive,
    }

    name: ClassVar[str] = "lambdarank"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    shift_invariant: ClassVar[bool] = True
    head_cutoff: ClassVar[bool] = True
    reweights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric == "precision":
            _check.cutoff(self.k)
        if self.gain != "exp2" and not self.reads_grades:
            raise ArgumentError(
                f"{arg.gain(self.gain)} has no effect with {arg.metric(self.metric)}. Leave "
                f"{arg.gain} out."
            )

    @property
    def reads_grades(self) -> bool:
        """Whether the loss uses grades: only with metric="ndcg"."""
        return self.metric == "ndcg"

    @property
    def validated_by(self) -> str | None:
        """The metric whose changes are the weights."""
        return self.metric

    def hold(self, scores: PerRow, target: LambdaTarget) -> LambdaTarget:
        """Return the target with the weights of these scores."""
        return replace(target, marks=self._marks(inputs.scores_of(scores, target.groups), target))

    def _needs(self) -> str:
        return super()._needs() if self.reads_grades else "a positive and a negative"

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> LambdaTarget:
        positive = (grades >= self.min_relevance).astype(np.float64)
        n_pos = np.bincount(groups.index, positive, groups.n_groups).astype(np.int64)
        n_neg = groups.sizes - n_pos
        limit = np.iinfo(np.int64).max if self.k is None else self.k
        tops = np.stack([np.minimum(n_pos, limit), np.minimum(n_neg, limit)])
        if self.metric == "ndcg":
            row_worth = row_gains(grades, self.gain, groups)
            divisor = ideal_gains(row_worth, groups, self.k)
            defined = several_grades(grades, groups) & (divisor > 0.0)
        else:
            row_worth, divisor = positive, self._divisor(n_pos, tops)
            defined = (n_pos > 0) & (n_neg > 0)
        worth = row_worth / np.where(defined, divisor, 1.0)[groups.index]
        share = inputs.group_shares(weights, groups, self.name, defined)
        depth = groups.sizes if self.k is None else np.minimum(groups.sizes, self.k)
        n_pairs = float((depth.astype(np.float64) * groups.sizes).sum())
        inputs.warn_about_pairs(n_pairs, self.name, "Use a cutoff, such as 'lambdarank@30'.")
        rows = np.lexsort((worth, groups.index))
        return LambdaTarget(groups, share, defined, rows, worth, self._ladder(groups), tops)

    def _divisor(self, n_pos: Counts, tops: NDArray[np.int64]) -> PerGroup:
        if self.metric == "pap":
            return tops[0].astype(np.float64) * tops[1]
        return n_pos.astype(np.float64) if self.metric == "ap" else np.ones(n_pos.size)

    def _ladder(self, groups: Groups) -> PerRow:
        """Return the weight of each rank in the metric."""
        ladder = rank_discounts(groups, self.k)
        if self.metric == "ndcg":
            return ladder
        divisor = self.k or 1 if self.metric == "precision" else np.arange(1, ladder.size + 1)
        return (ladder > 0.0) / divisor

    def _marks(self, scores: PerRow, target: LambdaTarget) -> Marks:
        from podium.losses import lambda_kernels as kernels

        n_rows, n_groups = scores.size, target.groups.n_groups
        kind = {"ap": kernels.AP, "pap": kernels.PAP}.get(self.metric, kernels.DISCOUNTED)
        upper, lower = np.zeros(n_rows), np.zeros(n_rows)
        marks = np.empty(n_rows, np.int64), upper, lower, np.zeros(n_groups, np.int64)
        layout = target.rows, target.groups.offsets, target.worth, target.share
        kernels.mark_lists(scores, *layout, kind, target.ladder, target.tops, marks)
        return marks

    def _run(self, scores: PerRow, target: LambdaTarget, out: Out) -> None:
        from podium.losses.lambda_kernels import weighted_pairs

        marks = self._marks(scores, target) if target.marks is None else target.marks
        scaled, unit = inputs.in_units(scores)
        lists = target.groups.offsets, target.worth, target.share
        weighted_pairs(scaled, *lists, marks, self.sigma, unit, count_of(target), out)
