"""Cells of neighbouring ranks that share their mass evenly: a catalogue in some 300 numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium.metrics import Measure
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import all_rank_weights
from podium.sampled.likelihood import Likelihood

_SINGLE = 24  # ranks at either end that are cells of their own
_RATIO = 0.07  # of a cell's size to its distance from the nearer end
_DEVIATIONS = 0.5  # of the sampled rank that a cell may span
_STEP = 0.25  # the same between ranks that stand for the others of a cell
_LEAST_NODES = 4  # such ranks in a cell
_MOST_CELLS = 1024  # about, beyond which cells do not get narrower with samples of nearly all
_BLOCK = 2**20  # chances at once: 8 MiB


@dataclass(frozen=True, eq=False)
class Cells:
    """Ranks 1 .. n_items in cells: cell c holds the ranks edges[c] + 1 .. edges[c + 1]."""

    edges: Ints

    @classmethod
    def of(cls, n_items: int, n_negatives: int, left: float = 1.0) -> Cells:
        """Lay out cells that are narrow where ranks are few, and where a sample tells them apart.

        Parameters
        ----------
        n_items, n_negatives : int
        left : float
            The sampled rank's standard deviation over that under replacement; see `left_open`.
        """
        half = (n_items + 1) // 2
        least = n_items / _MOST_CELLS
        edges = [0]
        while edges[-1] < half:
            last = edges[-1]
            spread = _DEVIATIONS * np.sqrt(max(last, 1) * (n_items - last) / n_negatives)
            told = max(left * spread, min(least, spread))
            width = min(_RATIO * last, told) if last >= _SINGLE else 1
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
        """Return how likely each seen outcome is, on average, in each cell: (n_cells, n_seen)."""
        return self.outcomes(observed)[0]

    def outcomes(self, observed: Likelihood) -> tuple[Floats, Floats, Ints]:
        """Return the chances of each observed outcome, and of those that nobody had.

        Returns
        -------
        float64 (n_cells, n_seen), float64 (n_cells, n_unseen), int64 (n_seen + n_unseen,)
            The last numbers the design that each column is of, of those seen and then the others.
            Unseen neighbours that tell the same of a rank are put together: with many outcomes
            and few users, what can be expected to be known depends on them too.
        """
        seen: list[Floats] = []
        unseen: list[Floats] = [np.zeros((self.sizes.size, 0))]
        for design, places in observed.parts:
            chances = self._of_design(design)
            seen.append(chances[:, places])
            others = np.setdiff1d(np.arange(design.n_outcomes), places)
            starts = np.unique(_alike(design)[others], return_index=True)[1]
            if others.size:
                unseen.append(np.add.reduceat(chances[:, others], starts, axis=1))
            else:
                unseen.append(unseen[0])
        order = np.arange(len(seen))
        columns = [np.repeat(order, [each.shape[1] for each in of]) for of in (seen, unseen[1:])]
        return (
            np.concatenate(seen, axis=1),
            np.concatenate(unseen, axis=1),
            np.concatenate(columns),
        )

    def _of_design(self, design: Design) -> Floats:
        """Return how likely each outcome is, on average, in each cell: (n_cells, n_outcomes).

        Two places that have the mean and the variance of a cell's ranks stand for all of them.
        Without replacement there are chances at whole ranks alone, and these differ between
        neighbours where nearly all items are drawn: then every rank of a cell stands for itself.
        """
        if design.replacement:
            away = np.sqrt((self.sizes**2 - 1.0) / 12.0)
            ends = (_inside(design, self.middles + sign * away) for sign in (-1, 1))
            return sum(ends, np.zeros(())) / 2
        ranks, counts = self._whole_ranks(design.n_negatives, left_open(design))
        stops: Ints = np.cumsum(counts)
        found = np.empty((counts.size, design.n_outcomes))
        low, room = 0, _BLOCK // design.n_outcomes
        while low < counts.size:
            start = int(stops[low] - counts[low])
            high = max(low + 1, int(np.searchsorted(stops, start + room, side="right")))
            rows = _inside(design, ranks[start : stops[high - 1]])
            found[low:high] = np.add.reduceat(rows, stops[low:high] - counts[low:high] - start)
            low = high
        return found / counts[:, None]

    def _whole_ranks(self, n_negatives: int, left: float) -> tuple[Floats, Ints]:
        """Return ranks that stand for all of their cell, and how many there are in each cell.

        They are even about the cell's middle, and all ranks where samples tell these apart.
        """
        sizes = np.diff(self.edges)
        middles = self.middles
        spread = np.sqrt(middles * (self.n_items + 1 - middles) / n_negatives)
        steps = np.maximum(np.floor(_STEP * left * spread), 1.0)
        wanted = np.ceil(self.sizes / steps).astype(np.int64)
        counts = np.minimum(np.maximum(wanted, _LEAST_NODES), sizes)
        cell = np.repeat(np.arange(sizes.size), counts)
        place = np.arange(cell.size) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.minimum(place, counts[cell] - 1 - place)  # as far from the other end
        away = ((2 * first + 1) * sizes[cell]) // (2 * counts[cell])
        ranks = np.where(place == first, away, sizes[cell] - 1 - away) + self.edges[:-1][cell] + 1
        return ranks.astype(np.float64), counts

    def weights(self, measure: Measure, power: int = 1) -> Floats:
        """Return the mean of a measure's weight, or of its square, over each cell: (n_cells,)."""
        values = all_rank_weights(measure, self.n_items) ** power
        return np.add.reduceat(values, self.edges[:-1]) / self.sizes

    def spread(self, mass: Floats) -> Floats:
        """Share each cell's mass among its ranks: float64, (n_items,)."""
        return np.repeat(mass / self.sizes, np.diff(self.edges))


def left_open(design: Design) -> float:
    """Return a sampled rank's standard deviation, over that of a sample with replacement."""
    if design.replacement:
        return 1.0
    return float(np.sqrt((design.n_items - design.n_negatives) / max(design.n_items - 1, 1)))


def _inside(design: Design, ranks: Floats) -> Floats:
    """Return the chances of all outcomes at ranks, 0 beyond the user's own catalogue."""
    if ranks[-1] <= design.n_items:
        return design.probabilities(ranks)
    found = np.zeros((ranks.size, design.n_outcomes))
    inside = ranks <= design.n_items
    found[inside] = design.probabilities(ranks[inside])
    return found


def _alike(design: Design) -> Ints:
    """Number outcomes so that neighbours within half a standard deviation have the same number."""
    place = np.arange(design.n_outcomes) / design.n_negatives
    angles = np.arcsin(np.sqrt(place)) * 2 * np.sqrt(design.n_negatives)  # deviation 1
    return (angles / _DEVIATIONS).astype(np.int64)
