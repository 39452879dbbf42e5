"""The likelihood of sampled ranks under a distribution of ranks, and its maximisation by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.sampled.design import Design, Floats, Ints
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import Grid, expected, grid

Part = tuple[Design, Ints]

_FEWEST = 50  # steps that the grid is made for, at least
_FAR = 1e-9  # by which the probabilities' sum may miss 1
_FINER = 4  # times as many factors: twice as many nodes
_EMPTY = 690.0  # logs below the largest: probabilities that are 0 to a double


@dataclass(frozen=True, eq=False)
class Likelihood:
    """What was observed, and how likely it is for a target of each rank.

    Attributes
    ----------
    parts : tuple of (Design, int64 array)
        Each design and its outcomes that were observed; an outcome that nobody had does not
        enter the likelihood.
    shares : float64, (n_seen,)
        The users' share of each observed outcome, of all parts one after the other; > 0.
    n_items : int
        Ranks go from 1 to it: the items of the largest catalogue.
    """

    parts: tuple[Part, ...]
    shares: Floats
    n_items: int

    def rows(self, ranks: Floats) -> Floats:
        """Return how likely each observed outcome is at ranks, or between: (n, n_seen).

        A target has no rank beyond its own catalogue: where that is smaller, the chance is 0.
        """
        if len(self.parts) == 1:
            design, seen = self.parts[0]
            chances = design.probabilities(ranks)
            return chances if seen.size == design.n_outcomes else chances[:, seen]
        found = np.zeros((ranks.size, self.shares.size))
        place = 0
        for design, seen in self.parts:
            inside = ranks <= design.n_items
            found[inside, place : place + seen.size] = _chances(design, seen, ranks[inside])
            place += seen.size
        return found

    def slope(self, mixed: Floats) -> Floats:
        """Return the gain in mean log likelihood of moving mass to each rank: (n_items,).

        The sum over observed outcomes of share / mixed times the outcome's chance at the rank.
        Its mean under the distribution is 1; at the maximum of the likelihood it is 1 wherever
        there is mass, and nowhere above.

        Parameters
        ----------
        mixed : float64, (n_seen,)
            The distribution's chance of each observed outcome.
        """
        total = np.zeros(self.n_items)
        ratios, place = self.shares / mixed, 0
        for design, seen in self.parts:
            values = np.zeros(design.n_outcomes)
            values[seen] = ratios[place : place + seen.size]
            total[: design.n_items] += expected(design, values)
            place += seen.size
        return total

    def grid(self, n_factors: int) -> Grid:
        """Return nodes on which products of so many probabilities can be summed."""
        sizes = [design.n_negatives for design, _ in self.parts]
        exact = [0 if design.replacement else design.n_negatives for design, _ in self.parts]
        smallest = min(design.n_items for design, _ in self.parts)
        ends = self.n_items - smallest  # chances break off at the end of each catalogue
        return grid(self.n_items, max(sizes), n_factors, max(*exact, ends, 0))

    @property
    def is_exact(self) -> bool:
        """Whether samples are the whole catalogue: ranks are then known."""
        return all(
            not design.replacement
            and not design.grows
            and design.n_negatives == design.n_items - 1 == self.n_items - 1
            for design, _ in self.parts
        )


def _chances(design: Design, seen: Ints, ranks: Floats) -> Floats:
    """Return the chances of some outcomes: where every user has a catalogue, of one or two."""
    if design.grows or not design.replacement:
        return design.probabilities(ranks)[:, seen]
    above = design.above[seen]
    below = design.n_negatives - above
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(above > 0, np.log(ranks - 1.0)[:, None] * above, 0.0)
        last = np.where(below > 0, np.log(design.n_items - ranks)[:, None] * below, 0.0)
    total = design.n_negatives * np.log(design.n_items - 1.0)
    return np.exp(first + last + (design.log_ways[seen] - total))


def likelihood(ranks: SampledRanks, weight: Floats | None = None) -> Likelihood:
    """Gather what was observed, every user counting once.

    Parameters
    ----------
    ranks : SampledRanks
    weight : float64, optional
        What each outcome counts, for samples of one design: shares are multiplied by it and then
        divided by their sum.
    """
    parts: list[Part] = []
    shares: list[Floats] = []
    for design, counts in ranks.designs:
        counted = counts if weight is None else counts * weight
        seen = np.flatnonzero(counted > 0)
        parts.append((design, seen))
        shares.append(counted[seen])
    together = np.concatenate(shares)
    return Likelihood(tuple(parts), together / together.sum(), ranks.most_items)


@dataclass(frozen=True, eq=False)
class Steps:
    """What a number of steps came to.

    Attributes
    ----------
    probabilities : float64, (n_items,)
    log_likelihood : float64, (n_steps,)
        The mean over users before each step; it never falls.
    defect : float
        By how much the probabilities missed a sum of 1, which they have if every sum over ranks
        was exact. They were divided by it.
    """

    probabilities: Floats
    log_likelihood: Floats
    defect: float


def em(likelihood: Likelihood, n_steps: int) -> Steps:
    """Make a number of steps from the uniform distribution.

    Notes
    -----
    After t steps the probability of a rank is a product of t polynomials in the rank, so that
    sums over ranks are sums over the nodes of a grid. The logs at the nodes are carried to all
    ranks at the end. A sum over all ranks shows whether the grid was fine enough; otherwise a
    finer one is taken, at last every rank.

    References
    ----------
    jin2021, equation 21.
    """
    n_factors = max(n_steps, _FEWEST)
    while True:
        found = _on_grid(likelihood, n_steps, likelihood.grid(n_factors))
        if found.defect <= _FAR or likelihood.grid(n_factors).is_whole:
            return found
        n_factors *= _FINER


def _on_grid(likelihood: Likelihood, n_steps: int, grid: Grid) -> Steps:
    chances = likelihood.rows(grid.ranks)
    back = np.ascontiguousarray(chances.T)
    mass = grid.weights / grid.n_items
    start = mass.copy()
    values = np.empty(n_steps)
    for step in range(n_steps):
        # Equation 21: the chance of each outcome under the distribution (18), its share in the
        # log likelihood (19), and the new mass. Chances are transposed once, as both products
        # then read them row by row.
        mixed = back @ mass
        values[step] = likelihood.shares @ np.log(mixed)
        mass *= chances @ (likelihood.shares / mixed)
    probabilities = _everywhere(likelihood, n_steps, grid, mass / start)
    total = float(probabilities.sum())
    return Steps(probabilities / total, values, abs(total - 1.0))


def _everywhere(likelihood: Likelihood, n_steps: int, grid: Grid, growth: Floats) -> Floats:
    """Carry the growth of the mass at the nodes to all ranks."""
    if grid.is_whole:
        return growth / grid.n_items
    edge = _Edge.of(likelihood, n_steps)
    logs = np.log(np.maximum(growth, np.finfo(np.float64).tiny))
    alive = grid.cells_above(logs, float(logs.max()) - _EMPTY)
    found = grid.spread(logs - edge.at(grid.ranks)) + edge.at(np.arange(1.0, grid.n_items + 1))
    return np.where(alive, np.exp(np.minimum(found, _EMPTY)), 0.0) / grid.n_items


@dataclass(frozen=True)
class _Edge:
    """The mass's zeros at the first and the last rank, which no polynomial's log can follow.

    One a step for each sampled item that is above the target in every outcome, or below it.
    """

    above: int
    below: int
    n_items: int

    @classmethod
    def of(cls, likelihood: Likelihood, n_steps: int) -> _Edge:
        above = [int(design.above[seen].min()) for design, seen in likelihood.parts]
        below = [
            int((design.sizes - design.above)[seen].min()) for design, seen in likelihood.parts
        ]
        return cls(min(above) * n_steps, min(below) * n_steps, likelihood.n_items)

    def at(self, ranks: Floats) -> Floats:
        """Return the log of the factor: (n,)."""
        near, far = np.maximum(ranks - 1.0, 0.5), np.maximum(self.n_items - ranks, 0.5)
        return self.above * np.log(near / self.n_items) + self.below * np.log(far / self.n_items)
