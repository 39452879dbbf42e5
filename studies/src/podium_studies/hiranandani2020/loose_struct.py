"""The loose structural surrogate of pAp@k, from which the paper derives the others."""

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
    same margin, the loss is therefore zero from a margin of n_neg / k on, not from 1.
    A value beyond the range of float64 is inf. Gradients are finite at all finite scores.
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

    def _hinges(self, scores: PerRow, unit: float, target: PApTarget, out: Out) -> None:
        from podium.losses.structural_kernels import ordering_hinges

        ordering_hinges(scores, target.tops, True, unit, out)
