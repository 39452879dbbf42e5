"""Estimators that solve least squares for the value of each sampled rank: BV, MN and CLS."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.optimize import lsq_linear

from podium import _check
from podium.errors import ConvergenceWarning
from podium.metrics import Measure
from podium.sampled.design import Design, Floats
from podium.sampled.distribution import (
    RankDistribution,
    all_rank_weights,
    rank_weights,
    read_measure,
)
from podium.sampled.estimators import Estimator, LinearEstimator, get, register
from podium.sampled.estimators.moments import (
    Moments,
    moments,
    project,
    refuse_impossible,
    solve,
    spread,
)
from podium.sampled.ranks import SampledRanks

_SLACK = 1e-12  # of the optimality test, as a share of the gradient's terms


@register
@dataclass(frozen=True)
class BV(LinearEstimator):
    """Trade-off of bias and variance: least squares with a share of the variance added.

    It minimises, over ranks that are taken to be equally likely, (1 - gamma) times the squared
    bias given the rank plus gamma times the mean squared error. gamma = 1 is the posterior mean
    of the measure under that prior.

    Parameters
    ----------
    gamma : float
        Weight of the variance, above 0 and at most 1. Smaller is less biased and noisier; at 0
        the equations would have no stable solution.

    Notes
    -----
    `fit` gives the distribution whose expectations are the estimates: the difference of the
    estimated recall at neighbouring ranks. It sums to 1, and has negative probabilities.
    Samples that grow are read by the chances of their outcomes, as all others.
    Cost: n_items n_outcomes ** 2 once a design, then n_items n_outcomes.

    References
    ----------
    krichene2020; jin2021, equations 10, 11 and 15.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 5], 9, 100)
    >>> estimator = BV(gamma=0.1)
    >>> round(estimator.estimate(ranks, "recall@5"), 6)
    0.549975
    >>> round(estimator.fit(ranks).expect("recall@5"), 6)
    0.549975
    """

    name: ClassVar[str] = "bv"
    label: ClassVar[str] = "BV"
    grows: ClassVar[bool] = True

    gamma: float = 0.1

    def __post_init__(self) -> None:
        gamma = _check.number(self.gamma, "gamma", low=0.0, high=1.0, strict=True)
        object.__setattr__(self, "gamma", gamma)

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Solve for what each outcome counts for; see `LinearEstimator.values`."""
        wanted = rank_weights(read_measure(measure), design.n_items)
        return solve(_trade_off(moments(design, None), self.gamma), project(design, wanted, None))

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Solve for the chance of each rank; see `Estimator.fit`."""
        return _fit(self.check(ranks), self.gamma, None, self.name)


@register
@dataclass(frozen=True)
class BVPrior(Estimator):
    """BV under a prior distribution of ranks that another estimator finds, instead of uniform.

    Parameters
    ----------
    gamma : float
        As in `BV`.
    prior : str, Estimator or RankDistribution
        What gives the prior: an estimator, or its text, is fitted to the same ranks.

    References
    ----------
    li2023.

    Examples
    --------
    >>> ranks = SampledRanks([1, 1, 5], 9, 100)
    >>> flat = RankDistribution(np.full(100, 0.01))
    >>> same = BV(gamma=0.1).fit(ranks).probabilities
    >>> np.allclose(BVPrior(gamma=0.1, prior=flat).fit(ranks).probabilities, same)
    True
    """

    name: ClassVar[str] = "bv-prior"
    label: ClassVar[str] = "BV, estimated prior"
    grows: ClassVar[bool] = True

    gamma: float = 0.01
    prior: str | Estimator | RankDistribution = "mle"

    def __post_init__(self) -> None:
        gamma = _check.number(self.gamma, "gamma", low=0.0, high=1.0, strict=True)
        object.__setattr__(self, "gamma", gamma)

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Fit the prior, then solve for the chance of each rank; see `Estimator.fit`."""
        found = fit_prior(self.prior, self.check(ranks))
        return _fit(ranks, self.gamma, found.probabilities, self.name)


@register
@dataclass(frozen=True)
class MN(Estimator):
    """Least squares whose variance is that of a multinomial sample of users.

    Where `BV` weighs the variance of a single user's value by gamma, this takes the variance of
    the mean over the users there are, so that nothing is left to choose but the prior.

    Parameters
    ----------
    prior : str, Estimator or RankDistribution
        As in `BVPrior`.

    References
    ----------
    li2023.

    Examples
    --------
    >>> flat = RankDistribution(np.full(100, 0.01))
    >>> found = MN(prior=flat).fit(SampledRanks([1, 1, 5], 9, 100))
    >>> round(found.expect("recall@100"), 9)
    1.0
    """

    name: ClassVar[str] = "mn"
    label: ClassVar[str] = "MN, estimated prior"
    grows: ClassVar[bool] = True

    prior: str | Estimator | RankDistribution = "mle"

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Fit the prior, then solve for the chance of each rank; see `Estimator.fit`."""
        prior = fit_prior(self.prior, self.check(ranks)).probabilities
        total = np.zeros(ranks.most_items)
        for design, counts in ranks.designs:
            ours = within(prior, design.n_items)
            weighted, plain = moments(design, ours), moments(design, None)
            refuse_impossible(counts, weighted.total, self.name)
            share = design.n_items / counts.sum()  # plain sums are means over ranks
            matrix = weighted.gram + share * (np.diag(plain.total) - plain.gram)
            total[: design.n_items] += spread(design, solve(matrix, counts), ours)
        return RankDistribution(total / ranks.n_users)


def fit_prior(prior: str | Estimator | RankDistribution, ranks: SampledRanks) -> RankDistribution:
    """Return a proper distribution of ranks: negative probabilities become 0."""
    found = prior if isinstance(prior, RankDistribution) else get(prior).fit(ranks)
    kept = np.maximum(found.probabilities, 0.0)
    return RankDistribution(kept / kept.sum())


def within(prior: Floats, n_items: int) -> Floats:
    """Return a prior for a smaller catalogue: its part there, or its last rank extended by 0."""
    kept = prior[:n_items]
    return np.pad(kept / kept.sum(), (0, n_items - kept.size))


def _trade_off(sums: Moments, gamma: float) -> Floats:
    """Return the matrix of equation 11 of jin2021, before its inverse."""
    return (1.0 - gamma) * sums.gram + gamma * np.diag(sums.total)


def _fit(ranks: SampledRanks, gamma: float, prior: Floats | None, name: str) -> RankDistribution:
    total = np.zeros(ranks.most_items)
    for design, counts in ranks.designs:
        ours = None if prior is None else within(prior, design.n_items)
        sums = moments(design, ours)
        refuse_impossible(counts, sums.total, name)
        # Equation 15 of jin2021 for all ranks at once: the matrix is symmetric, so that it is
        # solved for the one row of counts.
        values = solve(_trade_off(sums, gamma), counts)
        total[: design.n_items] += spread(design, values, ours)
    return RankDistribution(total / ranks.n_users)


@register
@dataclass(frozen=True)
class CLS(LinearEstimator):
    """Least bias over equally likely ranks, by values that never rise with the sampled rank.

    The values may be negative.

    Notes
    -----
    For a measure of the top few ranks of a catalogue much larger than the sample, the solution
    has two values: one for rank 1, and one, slightly negative, for all others. The estimate then
    tells nothing but how often the target came first among the sampled items. That solution is
    known in closed form, and taken where it meets the conditions of optimality; otherwise the
    bounded-variable problem is solved.

    References
    ----------
    krichene2020.

    Examples
    --------
    >>> CLS().values(Design(99, 3706), "recall@10").round(5)[:3].tolist()
    [0.467, -0.00205, -0.00205]
    """

    name: ClassVar[str] = "cls"
    label: ClassVar[str] = "CLS"
    gives_distribution: ClassVar[bool] = False

    def values(self, design: Design, measure: str | Measure) -> Floats:
        """Solve for what each sampled rank counts for; see `LinearEstimator.values`."""
        wanted = read_measure(measure)
        found = _two_values(design, rank_weights(wanted, design.n_items))
        return _bounded(design, wanted) if found is None else found


def _two_values(design: Design, wanted: Floats) -> Floats | None:
    """Return the best values that are equal from rank 2 on, unless others are better still.

    The gradient by the drop after each rank must not be negative, as every drop there is 0.
    """
    # Normal equations in the two unknowns: the drop after rank 1, and the value of all others.
    gram, right = moments(design, None).gram, project(design, wanted, None)
    small = np.array([[gram[0, 0], gram[0].sum()], [gram[0].sum(), gram.sum()]])
    first, others = np.linalg.solve(small, np.array([right[0], right.sum()]))
    values = np.concatenate([[first + others], np.full(design.n_outcomes - 1, others)])
    # A drop raises all values up to its rank by as much: its gradient is a running sum.
    by_drop = np.cumsum(gram @ values - right)
    slack = _SLACK * np.cumsum(np.abs(gram @ values) + np.abs(right))
    return values if first >= 0 and (by_drop >= -slack).all() else None


def _bounded(design: Design, wanted: Measure) -> Floats:
    """Solve for the drops after each rank, at least 0, and the last value, of any sign."""
    n = design.n_outcomes
    left = _triangle(design, wanted)
    low = np.concatenate([np.zeros(n - 1), [-np.inf]])
    found = lsq_linear(left[:, :n], left[:, n], (low, np.inf), method="bvls", max_iter=20 * n)
    if not found.success:
        warnings.warn(
            f"CLS stopped after {found.nit} steps before the values of {wanted} were optimal: "
            f"{found.message}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return np.cumsum(found.x[::-1])[::-1]


@lru_cache(maxsize=32)
def _triangle(design: Design, wanted: Measure) -> Floats:
    """Return the triangular factor of all ranks' equations in the drops, right side last.

    Orthogonal steps block by block: the normal equations would lose half of the digits.
    """
    values = all_rank_weights(wanted, design.n_items)
    left = np.empty((0, design.n_outcomes + 1))
    for part, block in design.blocks():
        rows = np.column_stack([np.cumsum(block, axis=1), values[part]])
        left = np.asarray(np.linalg.qr(np.concatenate([left, rows]), mode="r"))
    return left
