"""The surrogate that the paper starts from, to compare the others with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.losses import register
from podium.losses.base import HingeLoss, Out
from podium.losses.pap import PApLoss, PApTarget
from podium.types import PerRow


@register
@dataclass(frozen=True)
class PApStruct(HingeLoss, PApLoss):
    """The loose structural surrogate: errors of the top pairs, margins of all pairs.

    ``max over orderings pi of [errors of pi between its top beta positives and its top k
    negatives] / (beta k) - sum over i, j of pi_ij (s_i - t_j) / (n_pos n_neg)``: the paper's
    eq. (4) with its first term replaced as the end of section 3.1 says, and nothing else.

    Parameters
    ----------
    k, clip, min_relevance
        As in `podium.losses.pap.PApLoss`.

    Notes
    -----
    Convex, and never below pAp@k's risk; the paper starts from it to do better, since margins
    of pairs far below the top weigh as much as those at the top. Dividing the margins by
    beta k instead would bound the risk as well. Here a group's margins have weight one in all,
    so that equal margins of all pairs cost nothing from n_neg / k on, not from 1.
    A value beyond the range of float64 is inf; gradients are finite at any finite score.
    Cost: O(n log n) per group, and a gradient on all its rows.

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

    def _hinges(self, scores: PerRow, unit: float, target: PApTarget, out: Out) -> None:
        from podium.losses.structural_kernels import ordering_hinges

        ordering_hinges(scores, target.tops, True, unit, out)
