"""ApproxNDCG: one minus NDCG with smooth ranks."""

# Some declarations depend on a parameter and are therefore properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.discounts import Gain
from podium.groups import Groups
from podium.losses.base import GroupLoss, Out, count_of, register
from podium.losses.gains import GainTarget, gain_target
from podium.types import PerRow


@register
@dataclass(frozen=True)
class ApproxNDCG(GroupLoss):
    """One minus NDCG with smooth ranks, ``1 - sum_i gain_i / log2(1 + rank_i) / ideal DCG``.

    The smooth rank is ``rank_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / temperature)`` for scores
    s. With k, each term is multiplied by ``sigmoid((k + 1/2 - rank_i) / temperature)``, a smooth
    form of rank_i <= k, and the ideal DCG is that of the first k ranks.

    Parameters
    ----------
    k : int, optional
        The cutoff of NDCG, at least 1. None is the whole list.
    temperature : float
        The scale of the sigmoids in units of score, above 0. With a smaller scale the ranks are
        closer to the true ones, and fewer pairs contribute to the gradient.
    gain : {"exp2", "linear"}
        The gain of a row: ``2^relevance - 1``, or the relevance itself.

    Notes
    -----
    The value is 1 + Rax's ``approx_ndcg_loss``, which is minus the metric. Without k, it lies in
    [0, 1], because smooth ranks are a mean of orders and 1 / log2 is convex. With k, it can be
    below 0 if many rows tie. The loss is smooth and not convex. It is unchanged by a shift of a
    group's scores. Its gradient vanishes for rows whose score is far from all others. A group of
    one grade is left out.

    The `curvature` is an upper bound of the Hessian, as a matrix. It leaves out the second
    derivative of the discount, which never adds to the Hessian without k. With k, the bound
    includes it where it adds.

    Cost: every row with a gain is compared with all rows of its group, with one division per pair
    and one exponential per row (per pair, if scores lie more than 300 temperatures apart).

    References
    ----------
    qin2010approx.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.groups import Groups
    >>> loss = ApproxNDCG()
    >>> target = loss.prepare(np.array([1.0, 0.0]), Groups.single(2))
    >>> values, grad = loss.value_and_grad(np.zeros(2), target)  # both have the rank 1.5
    >>> bool(np.isclose(values[0], 1 - 1 / np.log2(2.5))), grad.round(4).tolist()
    (True, [-0.0826, 0.0826])
    """

    k: int | None = None
    temperature: float = 1.0
    gain: Gain = "exp2"

    name: ClassVar[str] = "approx-ndcg"
    consistency: ClassVar[tuple[str, str] | None] = ("no", "podium-studies, topk-consistency")
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    head_cutoff: ClassVar[bool] = True

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of a group's value; with a cutoff, it has no simple lower end."""
        return (0.0, 1.0) if self.k is None else (-np.inf, 1.0)

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> GainTarget:
        return gain_target(self.name, self.gain, grades, groups, weights, k=self.k)

    def _run(self, scores: PerRow, target: GainTarget, out: Out) -> None:
        from podium.losses.smooth_ranks_kernels import approx_ndcg

        lists = target.rows, target.groups.offsets, target.worth, target.share
        form = self.k or 0, self.temperature, count_of(target)
        approx_ndcg(scores, *lists, *form, out)
