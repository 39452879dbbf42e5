"""LambdaRank: costs of pairs, weighted by the change of ndcg if the two rows swap ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from podium import _check
from podium.discounts import Gain
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.losses.gains import ideal_gains, rank_discounts, row_gains
from podium.losses.listwise import several_grades
from podium.types import Counts, PerRow, RowIndex

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
