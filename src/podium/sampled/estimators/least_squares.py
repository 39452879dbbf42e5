"""Estimators that solve a linear system for the value of each sampled rank: BV and MN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.metrics import Measure
from podium.sampled._measures import rank_weights, read_measure
from podium.sampled.design import Design
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators.base import Estimator, LinearEstimator
from podium.sampled.estimators.moments import (
    Moments,
    moments,
    project,
    refuse_impossible,
    solve,
    spread,
)
from podium.sampled.estimators.registry import get, register
from podium.sampled.ranks import SampledRanks


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

    def values(self, design: Design, measure: str | Measure) -> NDArray[np.float64]:
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


def within(prior: NDArray[np.float64], n_items: int) -> NDArray[np.float64]:
    """Return a prior for a smaller catalogue: its part there, or its last rank extended by 0."""
    kept = prior[:n_items]
    return np.pad(kept / kept.sum(), (0, n_items - kept.size))


def _trade_off(sums: Moments, gamma: float) -> NDArray[np.float64]:
    """Return the matrix of equation 11 of jin2021, before its inverse."""
    return (1.0 - gamma) * sums.gram + gamma * np.diag(sums.total)


def _fit(
    ranks: SampledRanks, gamma: float, prior: NDArray[np.float64] | None, name: str
) -> RankDistribution:
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
