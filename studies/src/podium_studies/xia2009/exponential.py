"""The exponential loss of pairs, which RankBoost minimises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.losses import register
from podium.losses.base import Out
from podium.losses.pairwise import PairTarget, PairwiseLoss
from podium.types import PerRow


@register
@dataclass(frozen=True)
class PairwiseExponential(PairwiseLoss):
    """Mean exponential ``exp(-d)`` over pairs of different relevance: the loss of RankBoost.

    Notes
    -----
    The loss is convex and smooth, and never below the share of pairs in the wrong order, ties
    included. If a sum exceeds the range of float64 (a pair in the wrong order by more than about
    709), the value is inf and each row's contribution to the gradient is limited to 1e300. It is
    never nan, so that a solver stops there as diverged. In all other cases, it is exact.

    Cost: two exponentials per row and side. No pair is visited, because the exponential of a
    difference is a product.

    References
    ----------
    freund2003.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = PairwiseExponential()
    >>> target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    >>> values, grad = loss.value_and_grad(np.array([0.0, 0.0, -np.log(2.0)]), target)
    >>> values, grad
    (array([0.75]), array([-0.75,  0.5 ,  0.25]))
    """

    name: ClassVar[str] = "pairwise-exponential"
    smooth: ClassVar[bool] = True

    def _run(self, scores: PerRow, target: PairTarget, out: Out) -> None:
        from podium_studies.xia2009.exponential_kernels import exponential_pairs

        exponential_pairs(scores, target.pairs, 0.0, out)
