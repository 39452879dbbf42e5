"""The likelihood of sampled ranks as a function of the distribution of ranks in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.sampled.design import Design
from podium.sampled.grid import Grid, grid
from podium.sampled.ranks import SampledRanks
from podium.sampled.sweep import expected

Floats = NDArray[np.float64]
Part = tuple[Design, NDArray[np.int64]]


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


def _chances(design: Design, seen: NDArray[np.int64], ranks: Floats) -> Floats:
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
