"""Losses of pairs: a hinge (Ranking SVM) and a logistic (RankNet).

For rows i and j of one group with relevance i > relevance j, and the difference d = s_i - s_j of
their scores, the value of a group is the mean of ``phi(d)`` over all such pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import WITH_TOP_GRADES, GroupLoss, Lists, Out, count_of, register
from podium.types import Offsets, PerGroup, PerRow


@dataclass(frozen=True, eq=False)
class PairTarget(Lists):
    """The target of a loss of pairs, in which no pair is stored; `rows` have falling relevance.

    Attributes
    ----------
    bounds : int64, (n_levels + 1,)
        The position in `rows` at which each level begins. A level is the set of rows of one group
        with the same relevance.
    levels : int64, (n_groups + 1,)
        The first level of each group.
    n_pairs : float64, (n_groups,)
        The number of pairs of rows of different relevance.
    """

    bounds: Offsets
    levels: Offsets
    n_pairs: PerGroup

    @property
    def scale(self) -> PerGroup:
        """The weight of each pair in its group's value."""
        return self.share / np.maximum(self.n_pairs, 1.0)

    @property
    def pairs(self) -> tuple[Any, ...]:
        """The arguments of the kernels."""
        return self.rows, self.bounds, self.levels, self.scale, count_of(self)


@dataclass(frozen=True)
class PairwiseLoss(GroupLoss):
    """The base class of the losses of pairs.

    All pairs of different relevance have the same weight.
    """

    convex: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PairTarget:
        rows = np.lexsort((-grades, groups.index))
        bounds, levels = _levels(grades[rows], groups)
        n_pairs = _n_pairs(bounds, levels)
        share = inputs.group_shares(weights, groups, self.name, n_pairs > 0)
        return PairTarget(groups, share, n_pairs > 0, rows, bounds, levels, n_pairs)


@register
@dataclass(frozen=True)
class PairwiseHinge(PairwiseLoss):
    """Mean hinge ``max(0, 1 - d)`` over pairs of different relevance: the loss of Ranking SVM.

    Notes
    -----
    The loss is convex, and never below the share of pairs in the wrong order, ties included. At a
    kink, a pair on the margin counts as within it. Rows of equal score and relevance get equal
    gradients, independent of the row order. The `curvature` is that of the hinge rounded over one
    unit of score. Value and gradient are sums without cancellation, exact for all scores below
    1e290. A value beyond the range of float64 is inf.

    Cost: O(n log n) per group, for a sort and a sweep; no pair is visited.

    References
    ----------
    herbrich1999; joachims2002.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PairwiseHinge()
    >>> target = loss.prepare(np.array([2.0, 1.0, 0.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([1.5, 0.0, 0.0]), target)
    >>> values.round(4), grad.round(4)  # the lower two tie: one pair of three costs 1
    (array([0.3333]), array([ 0.    , -0.3333,  0.3333]))
    """

    name: ClassVar[str] = "pairwise-hinge"
    upper_bounds: ClassVar[str | None] = "auc"
    consistency: ClassVar[tuple[str, str] | None] = ("no", "podium-studies, topk-consistency")

    def _run(self, scores: PerRow, target: PairTarget, out: Out) -> None:
        from podium.losses.pairwise_kernels import hinge_pairs

        hinge_pairs(scores, target.pairs, out)


@register
@dataclass(frozen=True)
class PairwiseLogistic(PairwiseLoss):
    """Mean log-loss ``log(1 + exp(-d))`` over pairs of different relevance: the loss of RankNet.

    Notes
    -----
    The loss is convex and smooth. It is no upper bound of the share of pairs in the wrong order: it
    uses natural logarithms, so that a tied pair costs log 2, which is below 1. It is accurate for
    all scores below 1e290. A value beyond the range of float64 is inf.

    Cost: one division per pair, and an exponential and a logarithm per row (per pair, if scores of
    a group lie more than 300 apart). A group of a million rows, half of them positive, has 2.5e11
    pairs, which take some minutes at each evaluation. `PairwiseHinge` and `softmax` visit no pair.

    References
    ----------
    burges2005.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PairwiseLogistic()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.array([40.0, 0.0]), target)
    >>> bool(np.isclose(values[0], np.exp(-40.0), rtol=1e-12)), bool(grad[0] < 0)
    (True, True)
    """

    name: ClassVar[str] = "pairwise-logistic"
    consistency: ClassVar[tuple[str, str] | None] = WITH_TOP_GRADES
    smooth: ClassVar[bool] = True

    def _run(self, scores: PerRow, target: PairTarget, out: Out) -> None:
        from podium.losses.pairwise_kernels import logistic_pairs

        logistic_pairs(scores, target.pairs, out)


def _levels(falling: PerRow, groups: Groups) -> tuple[Offsets, Offsets]:
    """Return the bounds of the levels in the sorted rows, and the first level of each group."""
    begins = np.ones(falling.size, np.bool_)
    begins[1:] = falling[1:] != falling[:-1]
    begins[groups.offsets[:-1][groups.sizes > 0]] = True
    starts = np.flatnonzero(begins)
    return np.append(starts, falling.size), np.searchsorted(starts, groups.offsets)


def _n_pairs(bounds: Offsets, levels: Offsets) -> PerGroup:
    sizes = np.diff(bounds).astype(np.float64)
    level_groups = np.repeat(np.arange(levels.size - 1), np.diff(levels))
    group_sizes = np.bincount(level_groups, sizes, levels.size - 1)
    return (group_sizes**2 - np.bincount(level_groups, sizes**2, levels.size - 1)) / 2
