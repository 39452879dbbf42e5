"""Estimators of the distribution of ranks by its likelihood: MLE and WMLE, and by entropy: MES."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from podium import _check
from podium.errors import warn
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators import Estimator, register
from podium.sampled.likelihood import Likelihood, em, likelihood
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import Grid, normalised

_FACTORS = 16  # the number of factors in a product that the first grid is made for
_SUM_TOLERANCE = 1e-8  # the tolerance of the sum over the grid
_REFINEMENT = 4
_MOST_STEPS = 100
_TINY = 1e-100  # products of smaller chances are subnormal numbers, which are 100 times slower
_GAP = 1e-14  # the rounding error of the objective
_RISE = 1e-4  # the share of the expected gain that a step must reach
_SCALE = 10.0  # of sampled ranks in the weights of users


@register
@dataclass(frozen=True)
class MLE(Estimator):
    """The distribution of ranks that maximises the likelihood of the observed sampled ranks.

    Parameters
    ----------
    n_steps : int
        The number of steps of expectation maximisation from the uniform distribution. After few
        steps the distribution is still smooth, so that a limited number keeps the estimate from
        following noise.

    Notes
    -----
    The maximum, the limit for a growing number of steps, has all its mass on a few ranks: at most
    (n_negatives + 2) / 2 places of one rank or two neighbours. The value of a measure depends on
    which of the few places lie above its cutoff. The maximum is nearly unbiased, but its spread is
    two to four times that of 100 steps.

    If all items are sampled without replacement, the ranks are exact and are returned.

    Cost: n_steps times n_outcomes times about 600 nodes that represent all ranks (times
    sqrt(n_steps / 100)), and the memory of the result, for any n_items. The probabilities differ by
    less than 1e-7 in total from those with sums over every rank.

    References
    ----------
    jin2021, equation 21; lindsay1983.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> round(MLE().estimate(ranks, "recall@100"), 2)
    0.73
    """

    name: ClassVar[str] = "mle"
    constraints: ClassVar[_check.Constraints] = {"n_steps": _check.cutoff}

    n_steps: int = 100

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps; see `Estimator.fit`."""
        probabilities = em(likelihood(ranks), self.n_steps)
        return RankDistribution(probabilities, fewest_items=ranks.fewest_items)


@register
@dataclass(frozen=True)
class WMLE(MLE):
    """Maximum likelihood in which users with small sampled ranks have larger weights.

    A user with sampled rank r has the weight 1 / log2(r / 10 + 1), which is ndcg's discount with
    the constant C = 10 of the paper. The weights do not make the estimate of the top more precise.
    They give the likelihood of a different population, in which small ranks are more frequent, and
    estimates of measures of the top are too large for any number of users, by a factor of about 8:
    for MultiVAE on ml-1m, recall@10 is 178e-3, `MLE` gives 22e-3, and the exact value is 18e-3. A
    `PodiumWarning` reports this.

    Parameters
    ----------
    n_steps : int
        The number of steps, as in `MLE`.

    References
    ----------
    jin2021, equation 23.

    Examples
    --------
    >>> import warnings
    >>> ranks = SampledRanks([1, 1, 2, 5], 9, 1000)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tilted = WMLE().estimate(ranks, "recall@100")
    >>> tilted > MLE().estimate(ranks, "recall@100")
    True
    """

    name: ClassVar[str] = "wmle"
    consistent: ClassVar[bool] = False

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Make the steps with weighted shares; see `Estimator.fit`.

        Warns
        -----
        PodiumWarning
            Always, because the estimate is that of a different population.
        """
        warn(
            "wmle gives users with small sampled ranks larger weights. It therefore overestimates "
            "the share of users at the top, for any number of users. Use mle."
        )
        largest = int(np.max(ranks.n_negatives))
        weights = 1.0 / np.log2(np.arange(1.0, largest + 2) / _SCALE + 1.0)
        probabilities = em(likelihood(ranks, weights), self.n_steps)
        return RankDistribution(probabilities, fewest_items=ranks.fewest_items)


@register
@dataclass(frozen=True)
class MES(Estimator):
    """The flattest distribution of ranks that approximately gives the observed sampled ranks.

    It minimises ``n E - eta H``. E is the squared error of the probabilities q of the sampled
    ranks, weighted by their observed shares p, ``sum_r p_r (q_r - p_r)**2``. H is the entropy, and
    n is the number of outcomes, n_negatives + 1.

    Parameters
    ----------
    eta : float
        The weight of the entropy, above 0. The paper's text has no factor n; its eta is this one
        divided by n. Its printed figures follow from the factor and 0.01.

    Notes
    -----
    If samples have several sizes, their errors are added, weighted by the share of users.
    Cost: about ten Newton steps in n_outcomes variables, each over about 200 nodes that represent
    all ranks. A fit takes milliseconds, and the memory of the result, for any n_items.

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
    consistent: ClassVar[bool] = False
    constraints: ClassVar[_check.Constraints] = {"eta": _check.positive}

    eta: float = 0.01

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Solve for the probability of each rank; see `Estimator.fit`."""
        probabilities = flattest(likelihood(ranks), self.eta)
        return RankDistribution(probabilities, fewest_items=ranks.fewest_items)


def flattest(likelihood: Likelihood, eta: float) -> Floats:
    """Minimise n_outcomes times the squared error, minus eta times the entropy.

    Parameters
    ----------
    likelihood : Likelihood
    eta : float
        The weight of the entropy, above 0.

    Returns
    -------
    float64, (n_items,)
        The probability of each rank.

    Notes
    -----
    The dual problem has one variable l per observed outcome. The solution is proportional to
    exp(-(A l) / eta), which is a smooth function of the rank. Its sums are computed on a grid,
    which is refined until the sum over it equals the sum over all ranks.
    """
    n_factors, forces = _FACTORS, np.zeros(likelihood.shares.size)
    while True:
        grid = likelihood.grid(n_factors)
        dual = _Dual(likelihood, eta, grid)
        forces = _newton(dual, forces)
        logs = -likelihood.expected(forces) / eta
        top = float(logs.max())
        total = top + np.log(np.exp(logs - top).sum())
        if grid.has_all_ranks or abs(total - dual.log_total(forces)) <= _SUM_TOLERANCE:
            return np.exp(logs - total)
        n_factors *= _REFINEMENT


class _Dual:
    """The dual objective on a grid, which is concave and has one force per observed outcome."""

    def __init__(self, likelihood: Likelihood, eta: float, grid: Grid) -> None:
        part_indices = [
            np.full(observed.size, i) for i, (_, observed) in enumerate(likelihood.parts)
        ]
        part_of_outcome = np.concatenate(part_indices)
        n_outcomes = np.array([design.n_outcomes for design, _ in likelihood.parts])
        part_shares = np.bincount(part_of_outcome, likelihood.shares)
        self.eta = eta
        # With p the observed shares, the error is sum_r stiffness_r (p(r | pi) - p_r)**2: equation
        # 25 of jin2021, times the number of outcomes as in its authors' code.
        self.target = likelihood.shares / part_shares[part_of_outcome]
        self.stiffness = n_outcomes[part_of_outcome] * likelihood.shares
        chances = likelihood.chances(grid.ranks)
        self.chances = np.where(chances < _TINY, 0.0, chances)
        self.log_weights = np.log(grid.weights)

    def log_total(self, forces: Floats) -> float:
        """Return the log of the sum over ranks of exp(-(A forces) / eta)."""
        logs = self.log_weights - self.chances @ forces / self.eta
        top = float(logs.max())
        return top + float(np.log(np.exp(logs - top).sum()))

    def masses(self, forces: Floats) -> Floats:
        """Return the probability of the ranks that each node represents: (n_nodes,)."""
        return normalised(self.log_weights - self.chances @ forces / self.eta)

    def value(self, forces: Floats) -> float:
        """Return -eta log sum_R exp(-(A l)_R / eta) - sum_r (l_r**2 / (4 stiffness_r) + l_r p_r).

        This is the Lagrange dual of equation 26 of jin2021. The force l_r is the multiplier of the
        error of outcome r.
        """
        conjugate = forces @ (forces / (4.0 * self.stiffness) + self.target)
        return -self.eta * self.log_total(forces) - float(conjugate)

    def newton_step(self, forces: Floats) -> tuple[Floats, float]:
        """Return the step to the maximum of the quadratic model, and twice its gain."""
        masses = self.masses(forces)
        outcome_chances = masses @ self.chances  # p(r | pi), equation 18
        gradient = outcome_chances - forces / (2.0 * self.stiffness) - self.target
        # Minus the second derivative: the covariance of the chances over eta, and a ridge.
        curvature = (self.chances.T * masses) @ self.chances - np.outer(
            outcome_chances, outcome_chances
        )
        curvature /= self.eta
        curvature[np.diag_indices_from(curvature)] += 1.0 / (2.0 * self.stiffness)
        step = cho_solve(cho_factor(curvature), gradient)
        return step, float(step @ gradient)


def _newton(dual: _Dual, forces: Floats) -> Floats:
    value = dual.value(forces)
    for _ in range(_MOST_STEPS):
        step, expected_gain = dual.newton_step(forces)
        if expected_gain <= _GAP:
            return forces
        # The step is halved until it gains a share of the expected gain (Armijo's rule).
        length = 1.0
        new_value = dual.value(forces + step)
        while new_value < value + _RISE * length * expected_gain - _GAP and length > 1e-12:
            length /= 2.0
            new_value = dual.value(forces + length * step)
        forces, value = forces + length * step, new_value
    return forces
