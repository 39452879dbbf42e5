"""Cells of neighbouring ranks that share their mass evenly: a catalogue in some 300 numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Measure
from podium.sampled._likelihood import Likelihood
from podium.sampled._measures import all_rank_weights

Floats = NDArray[np.float64]

_SINGLE = 24  # ranks at either end that are cells of their own
_RATIO = 0.07  # of a cell's size to its distance from the nearer end
_DEVIATIONS = 0.5  # of the sampled rank that a cell may span


@dataclass(frozen=True, eq=False)
class Cells:
    """Ranks 1 .. n_items in cells: cell c holds the ranks edges[c] + 1 .. edges[c + 1]."""

    edges: NDArray[np.int64]

    @classmethod
    def of(cls, n_items: int, n_negatives: int) -> Cells:
        """Lay out cells that are narrow where ranks are few, and where a sample tells them apart.

        Parameters
        ----------
        n_items, n_negatives : int
        """
        half = (n_items + 1) // 2
        edges = [0]
        while edges[-1] < half:
            last = edges[-1]
            spread = np.sqrt(max(last, 1) * (n_items - last) / n_negatives)
            width = min(_RATIO * last, _DEVIATIONS * spread) if last >= _SINGLE else 1
            edges.append(last + max(1, int(width)))
        inner = np.array(edges[:-1], dtype=np.int64)
        return cls(np.unique(np.concatenate([inner, n_items - inner])))

    @property
    def n_items(self) -> int:
        return int(self.edges[-1])

    @cached_property
    def sizes(self) -> Floats:
        return np.diff(self.edges).astype(np.float64)

    @cached_property
    def middles(self) -> Floats:
        return (self.edges[:-1] + self.edges[1:] + 1) / 2

    def chances(self, observed: Likelihood) -> Floats:
        """Return how likely each observed outcome is, on average, in each cell: (n_cells, n_seen).

        Two places that have the mean and the variance of a cell's ranks stand for all of them.
        """
        away = np.sqrt((self.sizes**2 - 1.0) / 12.0)
        return (observed.rows(self.middles - away) + observed.rows(self.middles + away)) / 2

    def weights(self, measure: Measure, power: int = 1) -> Floats:
        """Return the mean of a measure's weight, or of its square, over each cell: (n_cells,)."""
        values = all_rank_weights(measure, self.n_items) ** power
        return np.add.reduceat(values, self.edges[:-1]) / self.sizes

    def spread(self, mass: Floats) -> Floats:
        """Share each cell's mass among its ranks: float64, (n_items,)."""
        return np.repeat(mass / self.sizes, np.diff(self.edges))
