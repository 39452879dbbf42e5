"""The surrogates of pAp@k and of the partial AUC: hinges of pairs, in closed form.

With s(1) >= s(2) >= … the positive scores of a group, t(1) >= t(2) >= … its negative scores,
beta = min(k, n_pos) and (x)+ = max(x, 0), pAp@k's risk is the share of pairs (i <= beta, j <= k)
with s(i) <= t(j). The paper states the surrogates as maxima over subsets and orderings; each is
a plain sum of hinges, because the best ordering thresholds every pair on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss, HingeLoss, Out, register, register_as
from podium.types import Counts, Mask, Offsets, PerGroup, PerRow, RowIndex

_FLOOR = 1e-6  # curvature of a row that the scores did not select, by that of a whole group


@dataclass(frozen=True, eq=False)
class PApTarget:
    """What a pAp@k surrogate needs to know of the labels.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows by group, positives before negatives, each in the caller's order.
    bounds : int64, (2 n_groups + 1,)
        Where each group's positives and negatives begin in `rows`.
    n_top : int64, (n_groups,)
        Positives that count: beta = min(k, n_pos), or all of `PAUCHinge`; 0 for a group that is
        left out.
    n_neg : int64, (n_groups,)
        Negatives that count: k, or all of a smaller group under clip.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    rows: RowIndex
    bounds: Offsets
    n_top: Counts
    n_neg: Counts
    share: PerGroup

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.n_top > 0

    @property
    def tops(self) -> tuple[Any, ...]:
        """The arrays that the kernels take."""
        return self.rows, self.bounds, self.n_top, self.n_neg, self.share


@dataclass(frozen=True)
class PApLoss(GroupLoss):
    """What the surrogates of pAp@k share; use one of its classes.

    Parameters
    ----------
    k : int
        Cutoff in items, at least 1. Of `PAUCHinge`, in negatives.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of leaving the
        group out.
    min_relevance : float
        Relevance from which a row is a positive.

    Notes
    -----
    At a kink, a pair on the margin counts (the paper's choice). Rows of equal score at the edge
    of a selection share its gradient equally, so that row order never matters: an element of the
    subdifferential where the loss is convex, of Clarke's where it is not.

    A hinge has no second derivative at its kink and none to speak of elsewhere. The `curvature`
    is that of the same loss with its kinks rounded over one unit of score: each selected pair
    adds twice its weight to both of its rows. Rows that the scores leave unselected have a
    gradient of exactly 0 and a small positive curvature.

    Cost: O(n log k) per group, in practice one pass; the tight-struct surrogate adds a binary
    search per remaining positive, those over whole orderings and `PAUCHinge` sort what they order.
    """

    k: int
    clip: bool = False
    min_relevance: float = 1.0

    shift_invariant: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = False
    _least_curvature: ClassVar[float] = _FLOOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _check.cutoff(self.k))
        self._check_min_relevance()

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PApTarget:
        positive = grades >= self.min_relevance
        rows, bounds = inputs.positives_first(positive, groups)
        n_pos, n_neg = np.diff(bounds)[0::2], np.diff(bounds)[1::2]
        used = np.minimum(n_neg, self.k) if self.clip else np.where(n_neg >= self.k, self.k, 0)
        top = np.where(used > 0, np.minimum(n_pos, self.k), 0)
        share = inputs.group_shares(weights, groups, self.name, top > 0)
        return PApTarget(groups, rows, bounds, top, np.where(top > 0, used, 0), share)

    def why_undefined(self, target: PApTarget) -> str:
        """Say what a group needs, how many lack what, and what to do."""
        n_pos, n_neg = np.diff(target.bounds)[0::2], np.diff(target.bounds)[1::2]
        need = 1 if self.clip else self.k
        few = int(np.count_nonzero((n_pos > 0) & (n_neg < need)))
        relax = "" if self.clip else "Lower k, pass clip=True, or check"
        return (
            f"{self.name} needs a positive (relevance >= {self.min_relevance:g}) and {need} "
            f"negative{'' if need == 1 else 's'} in a group, but "
            f"{int(np.count_nonzero(n_pos == 0))} have no positive and {few} too few negatives. "
            f"{relax or 'Check'} min_relevance and qid."
        )


class PairLoss(HingeLoss, PApLoss):
    """A sum of hinges over pairs; the kernel's switches tell these losses apart."""

    _sign: ClassVar[float] = 1.0
    _rest: ClassVar[bool] = False

    def _hinges(self, scores: PerRow, unit: float, target: PApTarget, out: Out) -> None:
        from podium.losses.pap_kernels import pair_hinges

        pair_hinges(scores, target.tops, unit, self._sign, self._rest, out)


@register
@dataclass(frozen=True)
class PApRamp(PairLoss):
    """Mean hinge of the top positives against the top negatives: the tightest surrogate.

    ``sum_{i<=beta} sum_{j<=k} (1 - s(i) + t(j))+ / (beta k)``, the paper's eq. (6).

    Parameters
    ----------
    k, clip, min_relevance
        As in `PApLoss`.

    Notes
    -----
    Never below pAp@k's risk. Not convex once a group has more than k positives: raising either
    of two positives above the negatives is enough, their mean is not. A value beyond the range
    of float64 is inf; gradients are finite at any finite score.

    References
    ----------
    hiranandani2020, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApRamp(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, -9.0]), target)
    (array([0.5]), array([-1.,  1.,  0.]))
    """

    name: ClassVar[str] = "pap-ramp"
    upper_bounds: ClassVar[str | None] = "pap"


@register
@dataclass(frozen=True)
class PApAverage(HingeLoss, PApLoss):
    """Mean hinge of the average positive against the top negatives.

    ``sum_{j<=k} (1 - mean(s) + t(j))+ / k``, the paper's eq. (10).

    Parameters
    ----------
    k, clip, min_relevance
        As in `PApLoss`.

    Notes
    -----
    Convex, and never above `PApMax`. The paper's proposition 3 calls it an upper bound of
    pAp@k's risk; it is not: s = (100, -1, -1) against t = (0, 0, 0) at k = 3 has risk 2/3 and
    value 0. A value beyond the range of float64 is inf; gradients are finite at any finite score.

    References
    ----------
    hiranandani2020, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApAverage(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([1.0, 0.0, 0.0]), target)
    (array([0.5]), array([-0.5,  1. , -0.5]))
    """

    name: ClassVar[str] = "pap-avg"
    convex: ClassVar[bool] = True

    def _hinges(self, scores: PerRow, unit: float, target: PApTarget, out: Out) -> None:
        from podium.losses.pap_kernels import mean_hinges

        mean_hinges(scores, target.tops, unit, out)


@register
@dataclass(frozen=True)
class PApMax(PairLoss):
    """Mean hinge of the bottom positives against the top negatives.

    ``sum_{i in the beta worst} sum_{j<=k} (1 - s(i) + t(j))+ / (beta k)``, the paper's eq. (24).

    Parameters
    ----------
    k, clip, min_relevance
        As in `PApLoss`.

    Notes
    -----
    Convex and never below pAp@k's risk, but loose: it asks all positives to lie above all
    negatives. Equal to `PApRamp` in groups with at most k positives. A value beyond the range of
    float64 is inf; gradients are finite at any finite score.

    References
    ----------
    hiranandani2020, appendix C.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApMax(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, -9.0]), target)
    (array([10.]), array([ 0.,  1., -1.]))
    """

    name: ClassVar[str] = "pap-max"
    convex: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = "pap"
    _sign: ClassVar[float] = -1.0


@register
@dataclass(frozen=True)
class PAUCHinge(PairLoss):
    """Mean hinge of all positives against the top negatives: what SVM-pAUC minimises.

    ``sum_i sum_{j<=k} (1 - s(i) + t(j))+ / (n_pos k)``.

    Parameters
    ----------
    k, clip, min_relevance
        As in `PApLoss`.

    Notes
    -----
    Convex, and never below the risk of the partial AUC over false positive rates up to
    k / n_neg: the share of pairs of any positive and a top negative in error. That risk is
    never below pAp@k's, whose positives are the best ones; so this bounds both. It lies between
    `PApRamp` and `PApMax`, and equals both in groups with at most k positives. A value beyond
    the range of float64 is inf; gradients are finite at any finite score.

    References
    ----------
    narasimhan2017; hiranandani2020, section 7.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PAUCHinge(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([2.0, 0.0, 0.0]), target)
    (array([0.5]), array([ 0. ,  0.5, -0.5]))
    """

    name: ClassVar[str] = "pauc-hinge"
    convex: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = "pauc"

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PApTarget:
        target = super()._target(grades, groups, weights)
        n_pos = np.where(target.defined, np.diff(target.bounds)[0::2], 0)
        return replace(target, n_top=n_pos)


@register_as("pap-tight-struct-exact", exact=True)
@register_as("pap-tight-struct")
@dataclass(frozen=True)
class PApTightStruct(PairLoss):
    """The tight-struct surrogate, as the paper computes it or as its equation reads.

    exact=False, "pap-tight-struct": `PApRamp` plus a hinge without margin for the positives
    below the top,
    ``[sum_{i<=beta} sum_{j<=k} (1 - s(i) + t(j))+ + sum_{i>beta} sum_{j<=k} (t(j) - s(i))+]
    / (beta k)``: what the paper's algorithm 2 descends on.

    exact=True, "pap-tight-struct-exact": the literal eq. (14), a maximum over orderings. It is
    ``sum_i sum_{j<=k} (t(j) - u(i))+ / (beta k)``, where u is the closest sequence that falls
    (isotonic regression) to s(i) - 1 for i <= beta and s(i) below.

    Parameters
    ----------
    k, clip, min_relevance
        As in `PApLoss`.
    exact : bool
        Take the equation instead of the algorithm.

    Notes
    -----
    The equation is convex and never below pAp@k's risk, but may lie below `PApRamp`, against
    the paper's proposition 5. The algorithm's sum is never below `PApRamp` nor below the
    equation, and not convex: it takes the top positives by score, the equation by the ordering
    that it maximises over, which spares the most. With at most k positives all three are equal.
    A value beyond the range of float64 is inf; gradients are finite at any finite score.
    Cost of exact=True: O(n log n), a sort of the positives.

    References
    ----------
    hiranandani2020, section 4.3 and algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApTightStruct(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, -9.0]), target)
    (array([9.5]), array([-1.,  2., -1.]))
    >>> exact = PApTightStruct(k=1, exact=True)
    >>> exact.value_and_grad(np.array([0.5, 0.0, 0.25]), target)
    (array([0.25]), array([-1.,  2., -1.]))
    """

    exact: bool = False

    upper_bounds: ClassVar[str | None] = "pap"
    _rest: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exact", _check.flag(self.exact, "exact"))

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Name in the registry: "pap-tight-struct", or "pap-tight-struct-exact"."""
        return "pap-tight-struct-exact" if self.exact else "pap-tight-struct"

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it is convex: the equation is, what the algorithm computes is not."""
        return self.exact

    def _hinges(self, scores: PerRow, unit: float, target: PApTarget, out: Out) -> None:
        from podium.losses.structural_kernels import ordering_hinges

        if self.exact:
            ordering_hinges(scores, target.tops, False, unit, out)
        else:
            super()._hinges(scores, unit, target, out)
