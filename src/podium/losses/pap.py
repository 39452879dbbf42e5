"""Sums of hinges over pairs: surrogates of pAp@k and of the partial AUC, in closed form.

With s(1) >= s(2) >= … the positive scores of a group, t(1) >= t(2) >= … its negative scores,
beta = min(k, n_pos) and (x)+ = max(x, 0), pAp@k's risk is the share of pairs (i <= beta, j <= k)
with s(i) <= t(j). The paper states the surrogates as maxima over subsets and orderings; each is
a plain sum of hinges, because the best ordering thresholds every pair on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.losses import inputs
from podium.losses._registry import register
from podium.losses.pap_base import PairLoss, PApLoss, PApTarget
from podium.types import Counts, PerGroup, PerRow


@register
@dataclass(frozen=True)
class PApRamp(PairLoss):
    """Mean hinge of the top positives against the top negatives: the tightest surrogate.

    ``sum_{i<=beta} sum_{j<=k} (1 - s(i) + t(j))+ / (beta k)``, the paper's eq. (6).

    Parameters
    ----------
    k : int
        Cutoff in items, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of leaving the
        group out.
    min_relevance : float
        Relevance from which a row is a positive.

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
    convex: ClassVar[bool] = False
    upper_bounds: ClassVar[str | None] = "pap"


@register
@dataclass(frozen=True)
class PApAverage(PApLoss):
    """Mean hinge of the average positive against the top negatives.

    ``sum_{j<=k} (1 - mean(s) + t(j))+ / k``, the paper's eq. (10).

    Parameters
    ----------
    k : int
        Cutoff in items, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of leaving the
        group out.
    min_relevance : float
        Relevance from which a row is a positive.

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
    upper_bounds: ClassVar[str | None] = None

    def _run(
        self, scores: PerRow, target: PApTarget, values: PerGroup, grad: PerRow, curvature: PerRow
    ) -> None:
        from podium.losses.pap_kernels import mean_hinges

        layout = (target.rows, target.bounds, target.n_top, target.n_neg, target.share)
        scaled, unit = inputs.in_units(scores)
        mean_hinges(scaled, *layout, unit, values, grad, curvature)
        inputs.out_of_units(values, unit)


@register
@dataclass(frozen=True)
class PApMax(PairLoss):
    """Mean hinge of the bottom positives against the top negatives.

    ``sum_{i in the beta worst} sum_{j<=k} (1 - s(i) + t(j))+ / (beta k)``, the paper's eq. (24).

    Parameters
    ----------
    k : int
        Cutoff in items, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of leaving the
        group out.
    min_relevance : float
        Relevance from which a row is a positive.

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
    k : int
        Cutoff in negatives, at least 1.
    clip : bool
        Use the n_neg negatives there are in a group with fewer than k, instead of leaving the
        group out.
    min_relevance : float
        Relevance from which a row is a positive.

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

    def _n_positives(self, target: PApTarget) -> Counts:
        return np.where(target.defined, np.diff(target.bounds)[0::2], 0)
