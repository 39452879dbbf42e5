"""Cross entropies with a softmax, such as ListNet, and RankCosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.losses.listwise import ListwiseLoss, Places, heads, several_grades
from podium.types import PerGroup, PerRow


@dataclass(frozen=True, eq=False)
class SoftmaxTarget(Lists):
    """The target of a cross entropy with a softmax.

    Attributes
    ----------
    truth : float64, (n_rows,)
        The weight of each row's log-probability, in the order of `rows`.
    total : float64, (n_groups,)
        The sum of these weights; 0 for a group that is left out.
    """

    truth: PerRow
    total: PerGroup


class SoftmaxLoss(ListwiseLoss):
    """The base class of the cross entropies with a softmax."""

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import softmax_entropy

        layout = (target.rows, target.groups.offsets, target.truth, target.total, target.share)
        softmax_entropy(scores, *layout, count_of(target), out)


@register
@dataclass(frozen=True)
class ListNet(SoftmaxLoss):
    """Cross entropy between the top-one probabilities of the grades and those of the scores.

    The value is ``sum_j P_j (log sum_i exp(s_i) - s_j)``, in which P is the softmax of scale times
    the ground-truth scores. These are the grades with ties broken. P is the exact mean over all
    orders of tied rows. With k, all rows below the first k places share one ground-truth score that
    is lower than all others, as in the paper.

    Parameters
    ----------
    k : int, optional
        The number of places that keep their order, at least 1. None, and any k beyond the list,
        keeps all.
    scale : float
        The factor of the grades in the softmax, above 0.

    Notes
    -----
    Within a tie of grade g, exp(scale * ground truth) is exp(scale * g) times evenly spaced
    numbers of mean 1, which lie within half the distance to the nearest grade. Without k, P is
    therefore the softmax of the grades, which is ListNet as other libraries define it. All rows
    below the head get the mean of what the whole list has there. Consequently, a k one less than
    the length of the list is equivalent to the whole list, and so is every k that reaches the
    lowest grade.

    The loss is convex, smooth, unchanged by a shift of a group's scores, and exact for all scores
    below 1e290. Probabilities more than e^700 times smaller than the largest one are 0. The
    smallest possible value is the entropy of P, not 0. A group of one grade is left out. A value
    beyond the range of float64 is inf.

    Cost: one exponential per row. `prepare` sorts each list.

    References
    ----------
    xia2009, section 4.3.3; cao2007 for the top-one probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = ListNet()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([1.0, 0.0]), target)
    >>> bool(np.isclose(values[0], np.log1p(np.e) - np.e / (1 + np.e))), np.abs(grad).max() < 1e-15
    (True, np.True_)
    """

    k: int | None = None
    scale: float = 1.0

    constraints: ClassVar[_check.Constraints] = {"scale": _check.positive}

    name: ClassVar[str] = "listnet"
    consistency: ClassVar[tuple[str, str] | None] = ("with k", "xia2009, theorem 7")
    head_cutoff: ClassVar[bool] = True

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> SoftmaxTarget:
        places = Places.of(grades, groups)
        truth = places.with_tail(self._weights(places), heads(self.k, groups.sizes))
        truth = places.averaged(truth)
        defined = places.gap > 0.0
        truth = truth / np.where(defined, places.sums(truth), np.inf)[places.index]
        share = inputs.group_shares(weights, groups, self.name, defined)
        total = defined.astype(np.float64)
        return SoftmaxTarget(groups, share, defined, places.rows, truth, total)

    def _weights(self, places: Places) -> PerRow:
        """Return exp(scale * ground truth) by place, relative to the mean of the best grade."""
        with np.errstate(over="ignore", under="ignore"):
            best_exponent = np.minimum(self.scale * places.best, np.finfo(np.float64).max)
            spread = -np.expm1(-best_exponent * places.gap / 2.0)[places.index]
            level = np.exp(best_exponent[places.index] * (places.grades - 1.0))
        return level * (1.0 + 2.0 * places.tie_position * spread)


@register
@dataclass(frozen=True)
class SoftmaxCrossEntropy(SoftmaxLoss):
    """Softmax cross entropy, with the grades of the rows as weights.

    The value is ``sum_j y_j (log sum_i exp(s_i) - s_j)``, in which y is the relevance. Rax and
    TensorFlow Ranking call it the softmax loss.

    Notes
    -----
    A group's value grows with the sum of its grades: groups with more relevant rows weigh more, and
    grades act as counts. The loss is convex, smooth, unchanged by a shift of a group's scores, and
    exact for all scores below 1e290. A value beyond the largest float is inf. A group of one grade
    is left out. With labels 0 and 1, the value is never below 1 - NDCG: -log softmax of a row is at
    least the logarithm of its rank. Cost: one exponential per row.

    References
    ----------
    jagerman2022 for the software; cao2007; bruch2019 for the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = SoftmaxCrossEntropy()
    >>> target = loss.prepare(np.array([2.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([5.0, 5.0]), target)
    >>> bool(np.isclose(values[0], 2 * np.log(2.0))), grad.tolist()
    (True, [-1.0, 1.0])
    """

    name: ClassVar[str] = "softmax"
    upper_bounds: ClassVar[str | None] = "ndcg"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> SoftmaxTarget:
        defined = several_grades(grades, groups)
        total = np.where(defined, np.bincount(groups.index, grades, groups.n_groups), 0.0)
        rows = inputs.rows_by_group(groups)
        share = inputs.group_shares(weights, groups, self.name, defined)
        return SoftmaxTarget(groups, share, total > 0.0, rows, grades[rows], total)


@dataclass(frozen=True, eq=False)
class CosineTarget(Lists):
    """The target of RankCosine; `rows` have falling grades.

    Attributes
    ----------
    truth : float64, (n_rows,)
        The mean ground-truth scores over the orders of tied rows, in the order of `rows`. They are
        divided by the norm of the scores of one order, which is larger than their own norm.
    short : float64, (n_groups,)
        One minus the squared norm of `truth`.
    """

    truth: PerRow
    short: PerGroup


@register
@dataclass(frozen=True)
class RankCosine(GroupLoss):
    """Half of one minus the cosine of the angle between ground-truth scores and scores.

    The value is ``(1 - t . s / (|t| |s|)) / 2``, in which t are the grades with ties broken. It is
    the exact mean over all orders of tied rows. With k, all rows below the first k places share one
    ground-truth score that is lower than all others, as in the paper.

    Parameters
    ----------
    k : int, optional
        The number of places that keep their order, at least 1. None, and any k beyond the list,
        keeps all.

    Notes
    -----
    Within a tie of grade g, the ground-truth scores are evenly spaced around g, within half the
    distance to the nearest grade. Their means over orders are the grades, but the norm ``|t|``
    stays that of one order. No scores fit all orders, so that the value stays above 0. All rows
    below the head get the mean of what the whole list has there. Consequently, a k one less than
    the length of the list is equivalent to the whole list.

    The loss is not convex. A positive factor of the scores does not change it, so that a penalty
    on coefficients only shrinks them: train without a penalty, and stop by validation. A shift of
    the scores does change the loss. If all scores of a group are 0, the value is 1/2 and the
    gradient is computed with norm 1, so that it is a descent direction. The norm in the gradient
    is at least 1e-100. The curvature is the largest possible eigenvalue of the Hessian at ``|s|``.

    A group of one grade is left out. Cost: a few passes; `prepare` sorts each list.

    References
    ----------
    xia2009, section 4.3.2; qin2008.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = RankCosine()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> loss.value_and_grad(np.array([0.0, 2.0]), target)
    (array([0.5]), array([-0.25,  0.  ]))
    """

    k: int | None = None

    name: ClassVar[str] = "rankcosine"
    consistency: ClassVar[tuple[str, str] | None] = ("with k", "xia2009, theorem 7")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    smooth: ClassVar[bool] = True
    head_cutoff: ClassVar[bool] = True

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> CosineTarget:
        places = Places.of(grades, groups)
        broken = places.grades + places.gap[places.index] * places.tie_position
        broken = places.with_tail(broken, heads(self.k, groups.sizes))
        truth = places.averaged(broken)
        defined = places.gap > 0.0
        squared_norms = np.where(defined, places.sums(broken**2), 1.0)
        short = places.sums((broken - truth) ** 2) / squared_norms
        share = inputs.group_shares(weights, groups, self.name, defined)
        truth = truth / np.sqrt(squared_norms)[places.index]
        return CosineTarget(groups, share, defined, places.rows, truth, short)

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import half_cosine

        layout = (target.rows, target.groups.offsets, target.truth, target.short)
        half_cosine(scores, *layout, target.share, target.defined, count_of(target), out)
