"""Losses that only the paper's tables need: a loose surrogate of pAp@k, and those of baselines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from podium.groups import Groups
from podium.losses import register
from podium.losses.base import Out
from podium.losses.pap import PairLoss, PApLoss, PApTarget
from podium.types import PerRow


@register
@dataclass(frozen=True)
class PApStruct(PApLoss):
    """The loose structural surrogate, from errors of the top pairs and margins of all pairs.

    The value is ``max over orderings pi of [errors of pi between its top beta positives and its
    top k negatives] / (beta k) - sum over i, j of pi_ij (s_i - t_j) / (n_pos n_neg)``. This is
    the paper's eq. (4) with only its first term replaced, as described at the end of section 3.1.

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `podium.losses.pap.PApLoss`.

    Notes
    -----
    The loss is convex and never below the risk of pAp@k. It is loose because margins of pairs far
    below the top have the same weight as margins at the top. Margins divided by beta k would also
    bound the risk. Here the margins of a group have a total weight of one. If all pairs have the
    same margin, the loss is therefore zero from a margin of n_neg / k on, not from 1. A value
    beyond the range of float64 is inf. Gradients are finite for all scores below 1e290.
    Cost: O(n log n) per group. The gradient has an entry for each row of the group.

    References
    ----------
    hiranandani2020, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PApStruct(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([1.0, 0.0, -1.0]), target)
    (array([0.5]), array([-0.5,  0.5,  0. ]))
    """

    name: ClassVar[str] = "pap-struct"
    convex: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = "pap"

    def _run(self, scores: PerRow, target: PApTarget, out: Out) -> None:
        from podium.losses.pap_kernels import ordering_hinges

        ordering_hinges(scores, target.tops, True, out)


@register
@dataclass(frozen=True)
class PAUCHinge(PairLoss):
    """Mean hinge of all positives against the top negatives: the objective of SVM-pAUC.

    The value is ``sum_i sum_{j<=k} (1 - s(i) + t(j))+ / (n_pos k)``.

    Parameters
    ----------
    k, clip, min_relevance
        The parameters of `PApLoss`.

    Notes
    -----
    The loss is convex. It is never below the risk of the partial AUC for false positive rates up to
    k / n_neg, which is the share of pairs of any positive and a top negative in the wrong order.
    That risk is never below the risk of pAp@k, which uses the best positives only. The loss
    therefore bounds both risks. It lies between `PApRamp` and `PApMax`, and equals both in groups
    with at most k positives. A value beyond the range of float64 is inf. Gradients are finite for
    all scores below 1e290.

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


@register
@dataclass(frozen=True)
class PrecisionAverage(PApLoss):
    """The average surrogate of precision at k.

    The value of a group is ``max_{k'} [K - k' - D sum_{i>k'} s(i) + sum_{j<=K-k'} t(j)] / k``.
    The maximum is over the numbers k' of positives in a list of K = min(k, n_pos) items,
    ``D = (K - k') / (n_pos - k')``, and s and t are the scores of positives and negatives in
    descending order. Each group has its own k'.

    Parameters
    ----------
    k : int
        The cutoff in items, at least 1.
    clip : bool
        Whether to train on groups with fewer than k negatives too.
    min_relevance : float
        The least relevance of a positive.

    Notes
    -----
    The loss is convex. A value beyond the range of float64 is inf. Gradients are finite for all
    scores below 1e290. The loss is K / k if all scores are equal. It is never below
    ``K / k - prec@k``, the difference between the best precision at k and the actual one, with ties
    counted as errors. The source states it for k <= n_pos, for which this difference is 1 - prec@k.

    References
    ----------
    kar2015.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PrecisionAverage(k=1)
    >>> target = loss.prepare(np.array([1.0, 0.0, 1.0]), Groups.single(3))
    >>> loss.value_and_grad(np.array([0.5, 0.0, 0.0]), target)
    (array([0.75]), array([-0.5,  1. , -0.5]))
    """

    name: ClassVar[str] = "prec-avg"
    convex: ClassVar[bool] = True
    upper_bounds: ClassVar[str | None] = None

    def _run(self, scores: PerRow, target: PApTarget, out: Out) -> None:
        from podium_studies.hiranandani2020.precision_kernels import precision_average

        values, grad, curvature = out
        precision_average(scores, target.tops, self.k, values, grad)
        if curvature.size:
            curvature[:] = 2.0 * np.abs(grad)  # kinks smoothed over one score unit, as in pAp@k
