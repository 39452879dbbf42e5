"""An estimator of sampled metrics, as another package would add it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Measure, parse, rank_weights
from podium.sampled import Design, LinearEstimator, register


@register
@dataclass(frozen=True)
class Stretched(LinearEstimator):
    """An estimator that maps sampled ranks to evenly spaced ranks in the catalogue."""

    shift: float = 0.0

    name: ClassVar[str] = "stretched-1"
    gives_distribution: ClassVar[bool] = False

    def values(self, design: Design, measure: str | Measure) -> NDArray[np.float64]:
        """Return the rank weight at the catalogue rank of each sampled rank."""
        step = (design.n_items - 1) / design.n_negatives
        position = np.round(np.arange(design.n_outcomes) * step + self.shift).astype(np.int64)
        top_weights = rank_weights(parse(measure), design.n_items)
        return np.where(
            position < top_weights.size,
            top_weights[np.minimum(position, top_weights.size - 1)],
            0.0,
        )
