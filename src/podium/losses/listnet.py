"""Cross entropies of one softmax: ListNet, its top-k form, and the grades as they are."""

# Some declarations depend on a parameter, and are properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Out, register
from podium.losses.listwise import (
    TIES,
    DrawnLoss,
    GradeTies,
    ListwiseLoss,
    Places,
    heads,
    several_grades,
)
from podium.types import Keys, Mask, PerGroup, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class SoftmaxTarget:
    """What a cross entropy with a softmax needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows group after group.
    truth : float64, (n_rows,)
        Weight of each row's log-probability, in the order of `rows`.
    total : float64, (n_groups,)
        Sum of these; 0 for a group that is left out.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    rows: RowIndex
    truth: PerRow
    total: PerGroup
    share: PerGroup

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.total > 0.0


class SoftmaxLoss(ListwiseLoss):
    """What the cross entropies share; use one of its classes."""

    def _run(self, scores: PerRow, target: Any, out: Out) -> None:
        from podium.losses.listwise_kernels import softmax_entropy

        layout = (target.rows, target.groups.offsets, target.truth, target.total, target.share)
        softmax_entropy(scores, *layout, out)


@register
@dataclass(frozen=True)
class ListNet(DrawnLoss, SoftmaxLoss):
    """Cross entropy of the chances to come first: by the grades, and by the scores.

    ``sum_j P_j (log sum_i exp(s_i) - s_j)`` with P the softmax of scale times the ground-truth
    scores, which are the grades with ties broken. With k, all rows below the first k places share
    one ground-truth score, lower than any above: the paper's modification.

    Parameters
    ----------
    k : int, optional
        Places that keep their order, at least 1; None, and any k beyond the list, keeps all.
    ties : {"fixed", "redrawn", "averaged"}
        As in `DrawnLoss`; the mean is over all orders, exact and nothing but another P.
    scale : float
        What the grades are multiplied by before the softmax, above 0.

    Notes
    -----
    Inside a tie of grade g, exp(scale * ground truth) is exp(scale * g) times evenly spaced
    numbers of mean 1, no further apart than half way to the nearest grade. So with
    ties="averaged" and without k, P is the softmax of the grades: ListNet as other libraries
    have it. Below the head stands the mean of what the whole list has there; so k one less than
    the list is the whole list too, and with ties="averaged" any k that reaches the lowest grade.
    Convex, smooth, unchanged by a shift of a group's scores, exact at any finite score. Chances
    more than e^700 times smaller than the best are 0. At best the entropy of P, not 0. A group
    of one grade is left out. A value beyond the range of float64 is inf. Cost: one exponential per
    row; preparing sorts each list.

    References
    ----------
    xia2009, section 4.3.3; cao2007, for its top-one probabilities.

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
    ties: GradeTies = "averaged"
    scale: float = 1.0

    name: ClassVar[str] = "listnet"
    head_cutoff: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check.cutoff(self.k, required=False))
        _check.choice(self.ties, "ties", TIES)
        scale = _check.number(self.scale, "scale", low=0.0, strict=True)
        object.__setattr__(self, "scale", scale)

    def _drawn_target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Keys
    ) -> SoftmaxTarget:
        places = Places.of(grades, keys, groups)
        truth = places.with_tail(self._weights(places), heads(self.k, groups.sizes))
        if self.ties == "averaged":
            truth = places.averaged(truth)
        defined = places.gap > 0.0
        truth = truth / np.where(defined, places.sums(truth), np.inf)[places.index]
        share = inputs.group_shares(weights, groups, self.name, defined)
        return SoftmaxTarget(groups, places.rows, truth, defined.astype(np.float64), share)

    def _weights(self, places: Places) -> PerRow:
        """Return exp(scale * ground truth) by place, 1 for the mean of the best grade."""
        with np.errstate(over="ignore", under="ignore"):
            unit = np.minimum(self.scale * places.best, np.finfo(np.float64).max)
            spread = -np.expm1(-unit * places.gap / 2.0)[places.index]
            level = np.exp(unit[places.index] * (places.grades - 1.0))
        return level * (1.0 + 2.0 * places.inside * spread)


@register
@dataclass(frozen=True)
class SoftmaxCrossEntropy(SoftmaxLoss):
    """Log-loss of coming first, summed over the rows by their grades.

    ``sum_j y_j (log sum_i exp(s_i) - s_j)`` with y the relevance as it is: what Rax and
    TensorFlow Ranking call the softmax loss.

    Notes
    -----
    A group's value grows with its grades' sum: groups with more relevant rows weigh more, and
    grades are to be read as counts. Convex, smooth, unchanged by a shift of a group's scores,
    exact at any finite score; a cost beyond the largest float is inf. A group of one grade is
    left out. Cost: one exponential per row.

    References
    ----------
    jagerman2022, for its software; cao2007.

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

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> SoftmaxTarget:
        defined = several_grades(grades, groups)
        with np.errstate(over="ignore"):
            total = np.where(defined, np.bincount(groups.index, grades, groups.n_groups), 0.0)
        _require_finite(total, groups)
        rows = inputs.rows_by_group(groups)
        share = inputs.group_shares(weights, groups, self.name, defined)
        return SoftmaxTarget(groups, rows, grades[rows], total, share)


def _require_finite(total: PerGroup, groups: Groups) -> None:
    wrong = np.flatnonzero(np.isinf(total))
    if wrong.size:
        qid = _check.label(groups.labels[wrong[0]])
        raise ArgumentError(
            f"relevance of {wrong.size} groups, first qid {qid}, sums to infinity. Divide it by "
            "the highest grade."
        )
