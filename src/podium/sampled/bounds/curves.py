"""Sums over outcomes as functions of the rank, for designs that differ in the catalogue alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from podium.sampled.design import Design
from podium.sampled.sums import at_places, cell_edges, expected, is_swept

_NODES = 12  # of a cell
_FACTORS = 4  # as if so many probabilities were multiplied: cells are shorter
_PLACES = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_PLACES, _NODES - 1)).T

MISSED = 1e-8
"""Error, at most, as a share of the largest value; measured: 4e-9, by values of random signs."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curves:
    """Designs of one sample size, and the cells of ranks in which their sums are polynomials.

    A sum over outcomes of value times probability is a polynomial in the rank. In each cell of
    the catalogue it is found at Chebyshev's nodes, and carried to the ranks by the polynomial
    through these, which misses by less than `MISSED` of the largest value, whatever the values.
    Large samples without replacement, whose chances end at a rank, are summed rank by rank.
    """

    designs: tuple[Design, ...]
    cells: tuple[_Cells | None, ...]

    @classmethod
    def over(cls, designs: Sequence[Design]) -> Curves:
        """Lay out the cells of designs that have n_negatives, replacement and stages in common.

        Parameters
        ----------
        designs : sequence of Design
        """
        return cls(
            tuple(designs),
            tuple(_Cells.of(d) if d.replacement or is_swept(d) else None for d in designs),
        )

    def of(self, values: Floats) -> Iterator[Floats]:
        """Yield for each design the sum at every rank: float64, (n_items,).

        Parameters
        ----------
        values : float64, (n_outcomes,)
            Of the outcomes, the same for all designs.
        """
        pairs = list(zip(self.designs, self.cells, strict=True))
        swept = [(design, cells) for design, cells in pairs if cells and is_swept(design)]
        ready = iter(_swept(swept, values))
        for design, cells in pairs:
            if cells is None:
                yield expected(design, values)
            elif is_swept(design):
                yield cells.curve(next(ready))
            else:
                yield cells.curve(design.probabilities(cells.nodes) @ values)


def _swept(pairs: list[tuple[Design, _Cells]], values: Floats) -> list[Floats]:
    """Return the sums at the nodes of several designs, all taken in one go."""
    if not pairs:
        return []
    better = np.concatenate([cells.nodes - 1.0 for _, cells in pairs])
    worse = np.concatenate([design.n_items - cells.nodes for design, cells in pairs])
    sums = at_places(better, worse, values, replacement=pairs[0][0].replacement)
    return np.split(sums, np.cumsum([cells.nodes.size for _, cells in pairs])[:-1])


@dataclass(frozen=True, eq=False)
class _Cells:
    """A catalogue in cells of neighbouring ranks."""

    sizes: NDArray[np.int64]
    middles: Floats
    halves: Floats

    @classmethod
    def of(cls, design: Design) -> _Cells:
        edges = cell_edges(design.n_items, design.n_negatives * _FACTORS, 0)
        sizes = np.diff(edges)
        return cls(sizes, (edges[:-1] + 1 + edges[1:]) / 2, np.maximum(sizes - 1, 1) / 2)

    @cached_property
    def nodes(self) -> Floats:
        return (self.middles[:, None] + self.halves[:, None] * _PLACES).ravel()

    def curve(self, sums: Floats) -> Floats:
        """Carry sums at the nodes to all ranks, as Chebyshev series added up from the last term."""
        series = sums.reshape(-1, _NODES) @ _TO_SERIES
        ranks = np.arange(1.0, self.sizes.sum() + 1)
        place = (ranks - np.repeat(self.middles, self.sizes)) / np.repeat(self.halves, self.sizes)
        double = place + place
        last, before = np.zeros(place.size), np.zeros(place.size)
        for terms in series.T[:0:-1]:
            now = double * last
            now -= before
            now += np.repeat(terms, self.sizes)
            last, before = now, last
        return np.repeat(series[:, 0], self.sizes) + place * last - before
