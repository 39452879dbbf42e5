"""Expectation maximisation from the uniform distribution, on a few ranks that stand for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.sampled.grid import Grid
from podium.sampled.likelihood import Likelihood

_FEWEST = 50  # steps that the grid is made for, at least
_FAR = 1e-9  # by which the probabilities' sum may miss 1
_FINER = 4  # times as many factors: twice as many nodes
_EMPTY = 690.0  # logs below the largest: probabilities that are 0 to a double

Floats = NDArray[np.float64]


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

    Parameters
    ----------
    likelihood : Likelihood
    n_steps : int

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
