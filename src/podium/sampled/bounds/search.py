"""The least and the largest value of a measure over distributions of ranks near what was seen.

Where seen items are left out, users have catalogues of many sizes, and users of many items rank
their targets otherwise than users of few: each size may have a distribution of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.polynomial import chebyshev

from podium.sampled.bounds.ball import Ball, Part
from podium.sampled.bounds.dual import Cloud, best_prices, distance
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.sums import at_places, cell_edges, expected, is_swept

_FEW = 16  # designs, beyond which prices are sought for those of alike sizes together
_ALIKE = 0.05  # in the log of a size
_ROUNDS = 12  # of ranks that join
_ENOUGH = 1e-6  # of the measure: by which ranks that join have to raise the bound
_WARM = 1e-3  # temperature of a search that begins where another ended
_CELLS = 2**23  # of tables of the functions' means at all ranks
_SLACK = 1e-6  # of the distance to the nearest mean, where that is outside the ball

Worth: TypeAlias = Callable[[int], Floats]
Places: TypeAlias = Callable[[Design], Ints]

_NODES = 12  # of a cell
_FACTORS = 4  # as if so many probabilities were multiplied: cells are shorter
_PLACES = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_PLACES, _NODES - 1)).T

MISSED = 1e-8
"""Error, at most, as a share of the largest value; measured: 4e-9, by values of random signs."""


def extremes(inside: Ball, worth: Worth, places: Places) -> tuple[float, float, float]:
    """Return values that no distributions in the ball fall below or exceed.

    Parameters
    ----------
    inside : Ball
    worth : callable
        From the items of a catalogue to what each rank is worth: float64, (n_items,).
    places : callable
        From a design to the ranks that a search begins with: int64.

    Returns
    -------
    low, high : float
        The prices that prove them are checked at every rank of every design: they hold whatever
        the search found.
    miss : float
        By how much the nearest distributions lie outside the ball; 0 if some are inside.
    """
    if not np.isfinite(inside.radius):
        return _least_worth(inside, worth), -_least_worth(inside, _negative(worth)), 0.0
    search = _Search(inside, places)
    far = distance(search.cloud(worth, inside.radius))
    miss = max(0.0, far - inside.radius)
    radius = far * (1.0 + _SLACK) if miss else inside.radius
    low, high = (search.least(each, radius) for each in (worth, _negative(worth)))
    return low, -high, miss


def _negative(worth: Worth) -> Worth:
    return lambda n_items: -worth(n_items)


def _least_worth(inside: Ball, worth: Worth) -> float:
    """Return the bound that holds whatever was observed."""
    return sum(part.share * float(worth(part.design.n_items).min()) for part in inside.parts)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Users by design, those of one sample size next to each other."""

    parts: tuple[Part, ...]
    sums: tuple[_Curved | _Tabled, ...]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> _Groups:
        kinds = [tuple(members) for _, members in groupby(sorted(parts, key=_kind), key=_kind)]
        return cls(
            tuple(each for members in kinds for each in members),
            tuple(_sums(members) for members in kinds),
        )

    def costs(self, prices: Floats) -> Iterator[tuple[Part, Floats, float]]:
        """Yield each part, the prices' sum of its functions' means by rank, and their error."""
        for each in self.sums:
            yield from each.costs(prices)

    def alike(self) -> _Groups:
        """Return a few groups of neighbouring sizes that stand for many designs."""
        if len(self.parts) <= _FEW:
            return self
        groups: dict[tuple[int, int], list[Part]] = {}
        for part in self.parts:
            sizes = np.array([part.design.n_negatives, part.design.n_items])
            one, other = np.rint(np.log(sizes) / _ALIKE).astype(np.int64).tolist()
            groups.setdefault((one, other), []).append(part)
        return _Groups.of([_together(members) for members in groups.values()])


@dataclass(frozen=True, eq=False)
class _Curved:
    """Users of designs that differ in the catalogue alone, whose sums are polynomials in cells."""

    parts: tuple[Part, ...]
    curves: Curves

    def costs(self, prices: Floats) -> Iterator[tuple[Part, Floats, float]]:
        """Rank by rank where a cell's nodes lie outside the catalogue, with no chances there."""
        values = self.parts[0].values @ prices
        error = MISSED * float(np.abs(values).max())
        for part, cost in zip(self.parts, self.curves.of(values), strict=True):
            finite = bool(np.isfinite(cost).all())
            yield part, cost if finite else expected(part.design, values), error


@dataclass(frozen=True, eq=False)
class _Tabled:
    """Users of designs whose sums take long, and the functions' means at every rank."""

    parts: tuple[Part, ...]
    tables: tuple[Floats, ...]

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> _Tabled:
        tables = tuple(
            np.concatenate([chances @ part.values for _, chances in part.design.blocks()])
            for part in parts
        )
        return cls(parts, tables)

    def costs(self, prices: Floats) -> Iterator[tuple[Part, Floats, float]]:
        error = MISSED * float(np.abs(self.parts[0].values @ prices).max())
        for part, table in zip(self.parts, self.tables, strict=True):
            yield part, table @ prices, error


def _sums(parts: tuple[Part, ...]) -> _Curved | _Tabled:
    """Return what sums over the outcomes of parts of one sample size."""
    cells = sum(part.design.n_items for part in parts) * parts[0].values.shape[1]
    if cells <= _CELLS and not any(is_swept(part.design) for part in parts):
        return _Tabled.of(parts)
    return _Curved(parts, Curves.over([part.design for part in parts]))


def _kind(part: Part) -> tuple[int, ...]:
    return part.design.stages


def _together(parts: Sequence[Part]) -> Part:
    """Return users of alike designs as if all had the most frequent size of samples."""
    share = sum(each.share for each in parts)
    mean = sum(each.share * each.design.n_items for each in parts) / share
    design = max(parts, key=lambda each: each.share).design
    values = next(each.values for each in parts if each.design == design)
    size = max(round(mean), design.n_negatives + 1)
    return Part(replace(design, n_items=size), share, values)


class _Search:
    """Ranks of a few groups of users, on which prices are sought."""

    def __init__(self, inside: Ball, places: Places) -> None:
        self.ball = inside
        self.everyone = _Groups.of(inside.parts)
        self.groups = self.everyone.alike()
        self.ranks = [places(part.design) for part in self.groups.parts]
        pairs = zip(self.groups.parts, self.ranks, strict=True)
        self.points = [self._points(part, ranks) for part, ranks in pairs]

    def _points(self, part: Part, ranks: Ints) -> Floats:
        return part.design.probabilities(ranks) @ part.values - self.ball.means

    def cloud(self, worth: Worth, radius: float) -> Cloud:
        pairs = zip(self.groups.parts, self.ranks, strict=True)
        return Cloud(
            np.concatenate(self.points),
            np.concatenate([worth(part.design.n_items)[ranks - 1] for part, ranks in pairs]),
            np.cumsum([0, *(ranks.size for ranks in self.ranks[:-1])]),
            np.array([part.share for part in self.groups.parts]),
            radius,
        )

    def least(self, worth: Worth, radius: float) -> float:
        """Seek prices until no rank of the groups raises the bound, and prove it for everyone."""
        prices = best = np.zeros(self.ball.means.size)
        proved, start = -np.inf, 1.0
        for _ in range(_ROUNDS):
            prices = best_prices(self.cloud(worth, radius), prices, start)
            better = self._look(worth, prices, radius)
            if better > proved:
                best = prices
            if better <= proved + _ENOUGH:
                break
            proved, start = better, _WARM
        found = self._constant(best, radius) + sum(
            part.share * (float((worth(part.design.n_items) - cost).min()) - error)
            for part, cost, error in self.everyone.costs(best)
        )
        return float(np.fmax(found, _least_worth(self.ball, worth)))  # nan is no proof

    def _constant(self, prices: Floats, radius: float) -> float:
        return float(prices @ self.ball.means) - radius * float(np.linalg.norm(prices))

    def _look(self, worth: Worth, prices: Floats, radius: float) -> float:
        """Return what prices prove for the groups, and take in the ranks that keep it low."""
        found = self._constant(prices, radius)
        for i, (part, cost, _) in enumerate(self.groups.costs(prices)):
            left = worth(part.design.n_items) - cost
            found += part.share * float(left.min())
            lower = _dips(left, float(left[self.ranks[i] - 1].min()))
            new = np.setdiff1d(lower, self.ranks[i])
            self.ranks[i] = np.concatenate([self.ranks[i], new])
            self.points[i] = np.concatenate([self.points[i], self._points(part, new)])
        return found


def _dips(left: Floats, below: float) -> Ints:
    """Return the ranks of local minima below a value."""
    before = np.concatenate([[True], left[1:] < left[:-1]])
    after = np.concatenate([left[:-1] <= left[1:], [True]])
    return np.flatnonzero(before & after & (left < below - 1e-12)) + 1


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
        """Lay out the cells of designs that have n_negatives, replacement and stages in common."""
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

    sizes: Ints
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
