"""Maximal entropy with minimal squared error, by Newton's method in the dual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from podium import _check
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.likelihood import Likelihood, likelihood
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import Grid, expected

_FACTORS = 16  # probabilities in a product that the first grid is made for
_FAR = 1e-8  # by which the sum over the grid may miss the sum over all ranks
_FINER = 4
_MOST_STEPS = 100
_TINY = 1e-100  # chances whose products are subnormal numbers, a hundred times as slow
_GAP = 1e-14  # of the objective: what rounding leaves
_RISE = 1e-4  # of the promised gain that a step has to make


@register
@dataclass(frozen=True)
class MES(Estimator):
    """The flattest distribution of ranks that gives about the observed sampled ranks.

    It minimises ``n E - eta H``: E is the squared error of the probabilities of the sampled
    ranks, each weighted by its observed share p, ``sum_r p_r (q_r - p_r)**2``; H is the entropy;
    n is the number of outcomes, n_negatives + 1.

    Parameters
    ----------
    eta : float
        Weight of the entropy, above 0. The paper's text has no factor n, and its eta is this one
        over n; its printed figures need the factor and 0.01.

    Notes
    -----
    Samples of several sizes add their errors, weighted by the share of users.
    Cost: some ten Newton steps in n_outcomes variables, each of some 200 ranks that stand for
    all: milliseconds, and memory for the result, whatever n_items.

    References
    ----------
    jin2021, equation 26.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> [round(MES(eta).estimate(ranks, "recall@10"), 3) for eta in (0.01, 1.0, 100.0)]
    [0.046, 0.054, 0.01]
    """

    name: ClassVar[str] = "mes"
    label: ClassVar[str] = "MES"
    consistent: ClassVar[bool] = False

    eta: float = 0.01

    def __post_init__(self) -> None:
        _check.number(self.eta, "eta", low=0.0, strict=True)

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Solve for the chance of each rank; see `Estimator.fit`."""
        found = flattest(likelihood(self.check(ranks)), float(self.eta))
        return RankDistribution(found.probabilities)


@dataclass(frozen=True, eq=False)
class Flattest:
    """The solution.

    Attributes
    ----------
    probabilities : float64, (n_items,)
    gap : float
        By how much the objective can exceed its least value: the duality gap.
    n_steps : int
    """

    probabilities: Floats
    gap: float
    n_steps: int


def flattest(likelihood: Likelihood, eta: float) -> Flattest:
    """Minimise n_outcomes times the squared error, less eta times the entropy.

    Parameters
    ----------
    likelihood : Likelihood
    eta : float
        Above 0.

    Notes
    -----
    The dual has one variable l for each observed outcome, and the solution is proportional to
    exp(-(A l) / eta), a smooth function of the rank: its sums are taken on a grid, which is made
    finer until the sum over it is the sum over all ranks.
    """
    n_factors, n_steps, forces = _FACTORS, 0, np.zeros(likelihood.shares.size)
    while True:
        grid = likelihood.grid(n_factors)
        dual = _Dual(likelihood, eta, grid)
        forces, more = _newton(dual, forces)
        n_steps += more
        logs = -_everywhere(likelihood, forces) / eta
        top = float(logs.max())
        total = top + np.log(np.exp(logs - top).sum())
        if grid.is_whole or abs(total - dual.log_total(forces)) <= _FAR:
            return Flattest(np.exp(logs - total), dual.gap(forces), n_steps)
        n_factors *= _FINER


def _everywhere(likelihood: Likelihood, forces: Floats) -> Floats:
    """Return the forces' sum at every rank, weighted by the outcomes' chances: (n_items,)."""
    found, place = np.zeros(likelihood.n_items), 0
    for design, seen in likelihood.parts:
        values = np.zeros(design.n_outcomes)
        values[seen] = forces[place : place + seen.size]
        found[: design.n_items] += expected(design, values)
        place += seen.size
    return found


class _Dual:
    """The dual objective on a grid: concave, with one force for each observed outcome."""

    def __init__(self, likelihood: Likelihood, eta: float, grid: Grid) -> None:
        parts = [np.full(seen.size, i) for i, (_, seen) in enumerate(likelihood.parts)]
        part = np.concatenate(parts)
        outcomes = np.array([design.n_outcomes for design, _ in likelihood.parts])
        users = np.bincount(part, likelihood.shares)
        self.eta = eta
        # With p the observed shares, the error is sum_r stiffness_r (p(r | pi) - p_r)**2: equation
        # 25 of jin2021, times the number of outcomes as in its authors' code.
        self.target = likelihood.shares / users[part]
        self.stiffness = outcomes[part] * likelihood.shares
        chances = likelihood.rows(grid.ranks)
        self.chances = np.where(chances < _TINY, 0.0, chances)
        self.log_weights = np.log(grid.weights)

    def log_total(self, forces: Floats) -> float:
        """Return the log of the sum over ranks of exp(-(A forces) / eta)."""
        logs = self.log_weights - self.chances @ forces / self.eta
        top = float(logs.max())
        return top + float(np.log(np.exp(logs - top).sum()))

    def masses(self, forces: Floats) -> Floats:
        """Return the probability of the ranks that each node stands for: (n_nodes,)."""
        logs = self.log_weights - self.chances @ forces / self.eta
        masses = np.exp(logs - logs.max())
        return masses / masses.sum()

    def value(self, forces: Floats) -> float:
        """Return -eta log sum_R exp(-(A l)_R / eta) - sum_r (l_r**2 / (4 stiffness_r) + l_r p_r).

        The Lagrange dual of equation 26 of jin2021: the force l_r is the multiplier of outcome r's
        error.
        """
        conjugate = forces @ (forces / (4.0 * self.stiffness) + self.target)
        return -self.eta * self.log_total(forces) - float(conjugate)

    def gap(self, forces: Floats) -> float:
        """Return the primal objective less the dual one."""
        masses = self.masses(forces)
        miss = masses @ self.chances - self.target
        used = masses > 0
        entropy = -float(masses[used] @ (np.log(masses[used]) - self.log_weights[used]))
        return float(self.stiffness @ miss**2) - self.eta * entropy - self.value(forces)

    def newton_step(self, forces: Floats) -> tuple[Floats, float]:
        """Return the step to the maximum of the quadratic model, and twice the gain there."""
        masses = self.masses(forces)
        mixed = masses @ self.chances  # p(r | pi), equation 18
        slope = mixed - forces / (2.0 * self.stiffness) - self.target
        # Minus the second derivative: the covariance of the chances over eta, and a ridge.
        bend = (self.chances.T * masses) @ self.chances - np.outer(mixed, mixed)
        bend /= self.eta
        bend[np.diag_indices_from(bend)] += 1.0 / (2.0 * self.stiffness)
        step = cho_solve(cho_factor(bend), slope)
        return step, float(step @ slope)


def _newton(dual: _Dual, forces: Floats) -> tuple[Floats, int]:
    value = dual.value(forces)
    for n_steps in range(_MOST_STEPS):
        step, promised = dual.newton_step(forces)
        if promised <= _GAP:
            return forces, n_steps
        # The step is halved until the gain is a share of the promised one (Armijo's rule).
        length = 1.0
        after = dual.value(forces + step)
        while after < value + _RISE * length * promised - _GAP and length > 1e-12:
            length /= 2.0
            after = dual.value(forces + length * step)
        forces, value = forces + length * step, after
    return forces, _MOST_STEPS
