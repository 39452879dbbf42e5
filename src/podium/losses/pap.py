"""The surrogates of pAp@k and of the partial AUC: hinges of pairs, in closed form.

Let s(1) >= s(2) >= … be the scores of a group's positives, t(1) >= t(2) >= … those of its
negatives, beta = min(k, n_pos) and (x)+ = max(x, 0). The risk of pAp@k is the share of pairs
(i <= beta, j <= k) with s(i) <= t(j). The paper (hiranandani2020) defines the surrogates, which are
losses to minimise in place of this risk, as maxima over subsets and orderings. Each of them equals
a sum of hinges, because the maximum over orderings can be taken for every pair separately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium import _check
from podium._text import counted
from podium.errors import arg
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss, Lists, Out, register
from podium.types import Counts, Offsets, PerRow

_FLOOR = 1e-6  # the curvature of a row that is not selected, relative to that of a whole group


@dataclass(frozen=True, eq=False)
class PApTarget(Lists):
    """The target of a surrogate of pAp@k; `rows` hold a group's positives before its negatives.

    Attributes
    ----------
    bounds : int64, (2 n_groups + 1,)
        The positions in `rows` at which each group's positives and negatives begin.
    n_top : int64, (n_groups,)
        The number of positives that count: beta = min(k, n_pos), or all for `PAUCHinge`; 0 for a
        group that is left out.
    n_neg : int64, (n_groups,)
        The number of negatives that count: k, or all of a smaller group with clip=True.
    """

    bounds: Offsets
    n_top: Counts
    n_neg: Counts

    @property
    def tops(self) -> tuple[Any, ...]:
        """The arguments of the kernels."""
        return self.rows, self.bounds, self.n_top, self.n_neg, self.share


@dataclass(frozen=True)
class PApLoss(GroupLoss):
    """The base class of the surrogates of pAp@k.

    Parameters
    ----------
    k : int
        The cutoff in items, at least 1. For `PAUCHinge`, it counts negatives.
    clip : bool
        Whether a group with fewer than k negatives uses all of them. By default it is left out.
    min_relevance : float
        The relevance from which a row is a positive.

    Notes
    -----
    A hinge has no derivative at its kink. For a pair on the margin, the gradient of a violated pair
    is used, as in the paper. If several rows have the score of the last selected row, they share
    its gradient equally, so that the row order does not matter. The result is an element of the
    subdifferential if the loss is convex, and of Clarke's subdifferential if not.

    A hinge has no second derivative at its kink, and a second derivative of 0 elsewhere. The
    `curvature` is therefore that of the same loss with kinks rounded over one unit of score: each
    selected pair adds twice its weight to both of its rows. Rows that are not selected have a
    gradient of exactly 0 and a small positive curvature.

    With k = 1 and one positive, all surrogates are the hinge of the positive and the best negative.
    If no row is positive with a probability above 1/2, its expectation is least at equal scores
    (tewari2007), so that it does not find the most probable row.

    Cost: O(n log k) per group, in practice one pass. The tight-struct surrogate adds a binary
    search per remaining positive. The surrogates over whole orderings and `PAUCHinge` sort the
    rows that they order.
    """

    k: int
    clip: bool = False
    min_relevance: float = 1.0

    constraints: ClassVar[_check.Constraints] = {"k": _check.cutoff}
    shift_invariant: ClassVar[bool] = True
    reads_grades: ClassVar[bool] = False
    consistency: ClassVar[tuple[str, str] | None] = ("no", "tewari2007")
    _least_curvature: ClassVar[float] = _FLOOR

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> PApTarget:
        positive = grades >= self.min_relevance
        rows, bounds = inputs.positives_first(positive, groups)
        n_pos, n_neg = np.diff(bounds)[0::2], np.diff(bounds)[1::2]
        n_used = np.minimum(n_neg, self.k) if self.clip else np.where(n_neg >= self.k, self.k, 0)
        n_top = np.where(n_used > 0, np.minimum(n_pos, self.k), 0)
        share = inputs.group_shares(weights, groups, self.name, n_top > 0)
        n_neg = np.where(n_top > 0, n_used, 0)
        return PApTarget(groups, share, n_top > 0, rows, bounds, n_top, n_neg)

    def _needs(self) -> str:
        if self.clip:
            return "a positive and a negative"
        return f"a positive and {counted(self.k, 'negatives')} (1 with {arg.clip(True)})"


class PairLoss(PApLoss):
    """A sum of hinges over pairs. The attributes select the sum that the kernel computes."""

    _sign: ClassVar[float] = 1.0
    _rest: ClassVar[bool] = False

    def _run(self, scores: PerRow, target: PApTarget, out: Out) -> None:
        from podium.losses.pap_kernels import pair_hinges

        pair_hinges(scores, target.tops, self._sign, self._rest, out)


@register
@dataclass(frozen=True)
class PApRamp(PairLoss):
    """Mean hinge over pairs of a top positive and a top negative: the ramp surrogate.

    The value is ``sum_{i<=beta} sum_{j<=k} (1 - s(i) + t(j))+ / (beta k)``, the paper's eq. (6).

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `PApLoss`.

    Notes
    -----
    The loss is never below the risk of pAp@k. It is not convex if a group has more than k
    positives. For example, take two positives, k = 1 and negatives with score 0. The loss is 0 for
    the positive scores (1, 0) and (0, 1), but 1/2 at their midpoint. A value beyond the range of
    float64 is inf. Gradients are finite for all scores below 1e290.

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
class PApAverage(PApLoss):
    """Mean hinge of the average positive against the top negatives.

    The value is ``sum_{j<=k} (1 - mean(s) + t(j))+ / k``, the paper's eq. (10).

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `PApLoss`.

    Notes
    -----
    The loss is convex, and never above `PApMax`. According to the paper's proposition 3, it is an
    upper bound of the risk of pAp@k. This is not the case: with positive scores s = (100, -1, -1),
    negative scores t = (0, 0, 0) and k = 3, the risk is 2/3 and the value is 0. A value beyond the
    range of float64 is inf. Gradients are finite for all scores below 1e290.

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

    def _run(self, scores: PerRow, target: PApTarget, out: Out) -> None:
        from podium.losses.pap_kernels import mean_hinges

        mean_hinges(scores, target.tops, out)


@register
@dataclass(frozen=True)
class PApMax(PairLoss):
    """Mean hinge of the bottom positives against the top negatives.

    The value is ``sum_{i in the beta worst} sum_{j<=k} (1 - s(i) + t(j))+ / (beta k)``, the
    paper's eq. (24).

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `PApLoss`.

    Notes
    -----
    The loss is convex and never below the risk of pAp@k, but loose: it is small only if all
    positives rank above all negatives. It equals `PApRamp` in groups with at most k positives. A
    value beyond the range of float64 is inf. Gradients are finite for all scores below 1e290.

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
class PApTightStruct(PairLoss):
    """The tight-struct surrogate, as the paper's algorithm 2 computes it.

    The value is that of `PApRamp` plus a hinge without margin for the positives below the top,
    ``[sum_{i<=beta} sum_{j<=k} (1 - s(i) + t(j))+ + sum_{i>beta} sum_{j<=k} (t(j) - s(i))+]
    / (beta k)``. `PApTightStructExact` is the paper's equation.

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `PApLoss`.

    Notes
    -----
    The loss is never below `PApRamp` or the equation, and is not convex. It selects the positives
    with the highest scores. The equation selects those with the fewest errors in the ordering over
    which the maximum is taken. With at most k positives, all three are equal. A value beyond the
    range of float64 is inf. Gradients are finite for all scores below 1e290.

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
    """

    name: ClassVar[str] = "pap-tight-struct"
    upper_bounds: ClassVar[str | None] = "pap"
    _rest: ClassVar[bool] = True


@register
@dataclass(frozen=True)
class PApTightStructExact(PApLoss):
    """The tight-struct surrogate, as the paper's eq. (14) defines it.

    The value is a maximum over orderings, ``sum_i sum_{j<=k} (t(j) - u(i))+ / (beta k)``, in which
    u is the closest falling sequence (isotonic regression) to s(i) - 1 for i <= beta and s(i) for
    i > beta.

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `PApLoss`.

    Notes
    -----
    The loss is convex and never below the risk of pAp@k, but may be below `PApRamp`, contrary to
    the paper's proposition 5. A value beyond the range of float64 is inf. Gradients are finite for
    all scores below 1e290. Cost: O(n log n), for a sort of the positives.

    References
    ----------
    hiranandani2020, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApTightStructExact(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, 0.25]), target)
    (array([0.25]), array([-1.,  2., -1.]))
    """

    name: ClassVar[str] = "pap-tight-struct-exact"
    convex: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = "pap"

    def _run(self, scores: PerRow, target: PApTarget, out: Out) -> None:
        from podium.losses.pap_kernels import ordering_hinges

        ordering_hinges(scores, target.tops, False, out)
