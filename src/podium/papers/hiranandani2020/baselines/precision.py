"""The average surrogate of precision at k, in score space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.losses import PApTarget
from podium.losses.base import Out
from podium.losses.pap import PApLoss
from podium.types import PerRow


@dataclass(frozen=True)
class PrecisionAverage(PApLoss):
    """The average surrogate of precision at k.

    ``max_{k'} [K - k' - D sum_{i>k'} s(i) + sum_{j<=K-k'} t(j)] / k`` over the numbers k' of
    positives in a list of K = min(k, n_pos), with ``D = (K - k') / (n_pos - k')``, falling
    positive scores s and falling negative scores t. Every group has a k' of its own.

    Parameters
    ----------
    k : int
        Cutoff in items, at least 1.
    clip : bool
        Also train on groups with fewer than k negatives.
    min_relevance : float
        Relevance from which a row is a positive.

    Notes
    -----
    Convex; K / k where all scores are equal. Never below ``K / k - prec@k``, what precision at k
    falls short of its best, ties counted as errors. The source states it for k <= n_pos, where
    that is one less precision.

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
        from podium.papers.hiranandani2020.baselines.precision_kernels import precision_average

        values, grad, curvature = out
        precision_average(scores, target.tops, self.k, values, grad)
        if curvature.size:
            curvature[:] = 2.0 * np.abs(grad)  # kinks rounded over one unit of score, as in pAp@k
