"""The likelihood of sampled ranks under a distribution of ranks, and its maximisation by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.sampled.design import Design, Floats, Ints
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import Grid, expected, grid

Part = tuple[Design, Ints]

_MIN_FACTORS = 50  # the smallest number of steps that a grid is made for
_SUM_TOLERANCE = 1e-9  # the tolerance of the sum of the probabilities
_REFINEMENT = 4  # the growth of the number of factors, which doubles the number of nodes
_NEGLIGIBLE_LOG = 690.0  # logs lower than the largest by this much are 0 in doubles


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The observed outcomes, and their probabilities for a target of each rank.

    Attributes
    ----------
    parts : tuple of (Design, int64 array)
        Each design with its observed outcomes. Other outcomes do not enter the likelihood.
    shares : float64, (n_seen,)
        The share of users with each observed outcome, for all parts in sequence; > 0.
    n_items : int
        The number of ranks, which is the number of items of the largest catalogue.
    """

    parts: tuple[Part, ...]
    shares: Floats
    n_items: int

    def chances(self, ranks: Floats) -> Floats:
        """Return the chance of each observed outcome at ranks, or between ranks: (n, n_seen).

        A target has no rank beyond its own catalogue: there the chance is 0.
        """
        if len(self.parts) == 1:
            design, observed = self.parts[0]
            chances = design.probabilities(ranks)
            return chances if observed.size == design.n_outcomes else chances[:, observed]
        all_chances, first = np.zeros((ranks.size, self.shares.size)), 0
        for design, observed in self.parts:
            inside, columns = ranks <= design.n_items, slice(first, first + observed.size)
            all_chances[inside, columns] = _chances(design, observed, ranks[inside])
            first += observed.size
        return all_chances

    def expected(self, values: Floats) -> Floats:
        """Return the sum of chances times the values of observed outcomes: float64, (n_items,)."""
        total, first_outcome = np.zeros(self.n_items), 0
        for design, observed in self.parts:
            of_outcomes = np.zeros(design.n_outcomes)
            of_outcomes[observed] = values[first_outcome : first_outcome + observed.size]
            total[: design.n_items] += expected(design, of_outcomes)
            first_outcome += observed.size
        return total

    def grid(self, n_factors: int) -> Grid:
        """Return nodes for sums of products of `n_factors` probabilities."""
        sizes = [design.n_negatives for design, _ in self.parts]
        margins = [0 if design.replacement else design.n_negatives for design, _ in self.parts]
        smallest = min(design.n_items for design, _ in self.parts)
        size_range = self.n_items - smallest  # chances drop to 0 at the end of each catalogue
        return grid(self.n_items, max(sizes), n_factors, max(*margins, size_range, 0))

    @property
    def is_exact(self) -> bool:
        """Whether the samples are the whole catalogue, so that the ranks are exact."""
        return all(design.is_whole for design, _ in self.parts)

    @property
    def known(self) -> Floats:
        """The distribution of exact ranks: float64, (n_items,)."""
        all_ranks = np.concatenate([outcomes for _, outcomes in self.parts])
        return np.bincount(all_ranks, self.shares, self.n_items).astype(np.float64)


def _chances(design: Design, outcomes: Ints, ranks: Floats) -> Floats:
    """Return the chances of some outcomes, without computing those of the others.

    If users have separate catalogues, a design has only one or two observed outcomes.
    """
    if not design.replacement:
        return design.probabilities(ranks)[:, outcomes]
    above, below = outcomes, design.n_negatives - outcomes
    with np.errstate(divide="ignore", invalid="ignore"):
        log_above = np.where(above > 0, np.log(ranks - 1.0)[:, None] * above, 0.0)
        log_below = np.where(below > 0, np.log(design.n_items - ranks)[:, None] * below, 0.0)
    log_total = design.n_negatives * np.log(design.n_items - 1.0)
    return np.exp(log_above + log_below + (design.log_ways[outcomes] - log_total))


def likelihood(ranks: SampledRanks, weight: Floats | None = None) -> Likelihood:
    """Collect the observed outcomes; each user counts once.

    Parameters
    ----------
    ranks : SampledRanks
    weight : float64, (n_outcomes,), optional
        The weight of each outcome of the largest samples. Shares are multiplied by it and then
        divided by their sum.
    """
    parts: list[Part] = []
    shares: list[Floats] = []
    for design, counts in ranks.designs:
        weighted_counts = counts if weight is None else counts * weight[: counts.size]
        observed = np.flatnonzero(weighted_counts > 0)
        parts.append((design, observed))
        shares.append(weighted_counts[observed])
    all_shares = np.concatenate(shares)
    return Likelihood(tuple(parts), all_shares / all_shares.sum(), ranks.most_items)


def em(likelihood: Likelihood, n_steps: int) -> Floats:
    """Return the probabilities after a number of EM steps from the uniform distribution.

    If the ranks are exact, their distribution is returned.

    Notes
    -----
    After t steps, the probability of a rank is a product of t polynomials in the rank, so that
    sums over ranks can be computed as sums over the nodes of a grid. At the end, the logs at the
    nodes are interpolated to all ranks. The sum over all ranks shows whether the grid was fine
    enough. If it was not, a finer grid is used, and finally every rank.

    References
    ----------
    jin2021, equation 21.
    """
    if likelihood.is_exact:
        return likelihood.known
    n_factors = max(n_steps, _MIN_FACTORS)
    while True:
        nodes = likelihood.grid(n_factors)
        probabilities = _on_grid(likelihood, n_steps, nodes)
        total = float(probabilities.sum())
        if abs(total - 1.0) <= _SUM_TOLERANCE or nodes.has_all_ranks:
            return probabilities / total
        n_factors *= _REFINEMENT


def _on_grid(likelihood: Likelihood, n_steps: int, grid: Grid) -> Floats:
    chances = likelihood.chances(grid.ranks)
    transposed = np.ascontiguousarray(chances.T)
    mass = grid.weights / grid.n_items
    initial_mass = mass.copy()
    for _ in range(n_steps):
        # Equation 21: the chance of each outcome under the distribution (18), and the new mass. A
        # transposed copy of the chances exists so that both products read their matrix row by row.
        outcome_chances = transposed @ mass
        mass *= chances @ (likelihood.shares / outcome_chances)
    return _at_all_ranks(likelihood, n_steps, grid, mass / initial_mass)


def _at_all_ranks(likelihood: Likelihood, n_steps: int, grid: Grid, growth: Floats) -> Floats:
    """Interpolate the growth of the mass from the nodes to all ranks."""
    if grid.has_all_ranks:
        return growth / grid.n_items
    # No polynomial can follow in logs the zeros of the mass at the first and the last rank, which a
    # factor has. The order of a zero is the number of steps times the number of sampled items that
    # are above the target in every outcome (first rank), or below it (last rank).
    parts, n_items = likelihood.parts, likelihood.n_items
    above = n_steps * min(int(observed.min()) for _, observed in parts)
    below = n_steps * min(d.n_negatives - int(observed.max()) for d, observed in parts)

    def log_factor(ranks: Floats) -> Floats:
        log_above = np.log(np.maximum(ranks - 1.0, 0.5) / n_items)
        return above * log_above + below * np.log(np.maximum(n_items - ranks, 0.5) / n_items)

    logs = np.log(np.maximum(growth, np.finfo(np.float64).tiny))
    is_nonzero = grid.cells_above(logs, float(logs.max()) - _NEGLIGIBLE_LOG)
    logs = grid.interpolate(logs - log_factor(grid.ranks))
    logs += log_factor(np.arange(1.0, grid.n_items + 1))
    return np.where(is_nonzero, np.exp(np.minimum(logs, _NEGLIGIBLE_LOG)), 0.0) / grid.n_items
