"""The default estimator: a smooth density of log-ranks, as rough as the data make likely."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.metrics import Measure
from podium.sampled._base import Estimator
from podium.sampled._likelihood import likelihood
from podium.sampled._measures import rank_weights, read_measure
from podium.sampled._registry import register
from podium.sampled._smooth_cells import Cells
from podium.sampled._smooth_data import by_history, few_designs, group_counts, read_history, relax
from podium.sampled._smooth_fit import Mode, modes
from podium.sampled._smooth_prior import Prior, plain, with_history
from podium.sampled.distribution import RankDistribution
from podium.sampled.mle import climb
from podium.sampled.ranks import SampledRanks

Floats = NDArray[np.float64]

_TINY = 1e-300


@register
@dataclass(frozen=True)
class Smooth(Estimator):
    """A smooth density of log-ranks, with the roughness that makes the data likely.

    A sample of n of N items cannot tell ranks below about N / n apart. What a cutoff of 10 needs
    there is taken from the shape above it: the log density is a spline in log rank whose bends
    are penalised, so that it goes on as the power law that the data end in, and flattens towards
    rank 1. The strength of the penalty is averaged over, each weighted with the likelihood that
    it gives the data. Where no smooth density fits the ranks (chi-square, p < 0.0001), steps of
    expectation maximisation add freedom until one does, at most 200: what is left then is `MLE`
    with a better start. Samples of several designs are not tested.

    Notes
    -----
    Trained recommenders rank a user's own (training) items first, if these stay in the catalogue.
    If `fit` is told their numbers, it learns from users of many items what the top of the others'
    lists looks like.

    `posterior` also gives standard errors and intervals. They hold where the density is about
    flat among the first N / n ranks, as it is for most recommenders; they are too narrow for
    distributions that rise like a power law to rank 1, or have a gap before it.
    `identification_bounds` tells what holds for all.

    Where users' catalogues have more than 16 sizes, those are rounded to steps of 2 %.

    Cost: 10 ms, or 0.2 s with history, whatever n_items, and memory for the result.

    References
    ----------
    efron2016, eilers1996.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 30 + [2] * 10 + [5] * 5 + [9, 20, 40, 60, 80], 99, 1000)
    >>> found = Smooth().posterior(ranks)
    >>> low, high = found.interval("recall@10")
    >>> low < found.expect("recall@10") < high
    True
    """

    name: ClassVar[str] = "smooth"
    label: ClassVar[str] = "Smooth"
    grows: ClassVar[bool] = True

    def fit(self, ranks: SampledRanks, *, history: ArrayLike | None = None) -> RankDistribution:
        """Estimate the distribution of the target's rank; see `posterior`."""
        return self.posterior(ranks, history=history).distribution

    def posterior(self, ranks: SampledRanks, *, history: ArrayLike | None = None) -> SmoothFit:
        """Estimate the distribution of the target's rank, and how sure it is.

        Parameters
        ----------
        ranks : SampledRanks
            Every user counts once.
        history : int, (n,), optional
            For each rank, how many of the user's own items are in the catalogue that the sample
            was drawn from.

        Raises
        ------
        ArgumentError
            For a history of another length, or below 0.
        """
        observed = likelihood(self.check(ranks))
        groups, sizes = np.zeros(ranks.n_rows, np.int64), np.ones(1)
        if history is not None:
            groups, sizes = by_history(read_history(history, ranks.n_rows), ranks.weights)
        if observed.is_exact:
            return SmoothFit.exact(RankDistribution(climb(observed, None)), ranks.n_users)
        ranks = few_designs(ranks)
        observed = likelihood(ranks)
        cells = Cells.of(observed.n_items, max(d.n_negatives for d, _ in observed.parts))
        counts = group_counts(ranks, groups, sizes.size)
        shares = counts.sum(axis=1) / counts.sum()
        prior = plain(cells) if history is None else with_history(cells, sizes, shares)
        chances = cells.chances(observed)
        found, weights = modes(prior, chances, counts)
        together = sum(w * (shares @ mode.mass) for w, mode in zip(weights, found, strict=True))
        mass, n_steps = relax(np.asarray(together), cells, ranks)
        distribution = RankDistribution(cells.spread(mass / mass.sum()))
        state = _State(cells, prior, chances, shares, tuple(found), weights)
        return SmoothFit(distribution, ranks.n_users, n_steps, state)


@dataclass(frozen=True, eq=False)
class _State:
    """What standard errors need of a fit."""

    cells: Cells
    prior: Prior
    chances: Floats
    shares: Floats
    modes: tuple[Mode, ...]
    weights: Floats


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """A fitted distribution of ranks with the uncertainty of what measures make of it.

    Attributes
    ----------
    distribution : RankDistribution
    n_users : int
    n_steps : int
        Steps of expectation maximisation that were needed because no smooth density fits; 0 as a
        rule. Standard errors then have the change that the steps made added.
    """

    distribution: RankDistribution
    n_users: int
    n_steps: int
    state: _State | None

    @classmethod
    def exact(cls, distribution: RankDistribution, n_users: int) -> SmoothFit:
        """Return the fit to samples of the whole catalogue, which leave nothing open."""
        return cls(distribution, n_users, 0, None)

    def expect(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the estimate of a measure; see `RankDistribution.expect`."""
        return self.distribution.expect(measure, k)

    def std_error(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the standard error of the estimate, as that of the users' own exact mean.

        It has four parts: sampling, and the shape that the sample leaves open (both through the
        posterior covariance of the coefficients), roughness, and these users being some of many.
        """
        return self.expect(measure, k) * self._relative(read_measure(measure, k))

    def interval(
        self, measure: str | Measure, k: int | None = None, *, level: float = 0.95
    ) -> tuple[float, float]:
        """Return an interval for the exact mean over these users, symmetric in its logarithm.

        Parameters
        ----------
        measure : str or Measure
        k : int, optional
        level : float
            Probability that it holds the exact mean, between 0 and 1, for rank distributions of
            the kind that the prior expects.
        """
        level = _check.number(level, "level", low=0.0, high=1.0, strict=True)
        wanted = read_measure(measure, k)
        value = self.distribution.expect(wanted)
        width = NormalDist().inv_cdf(0.5 + level / 2) * self._relative(wanted)
        most = float(rank_weights(wanted, self.distribution.n_items).max())
        return value * float(np.exp(-width)), min(value * float(np.exp(width)), most)

    def _relative(self, measure: Measure) -> float:
        """Return the standard deviation of the log of a measure's mean."""
        value = self.distribution.expect(measure)
        if self.state is None or value <= 0:
            return 0.0
        weights = self.state.cells.weights(measure)
        smooth, spread = _log_moments(self.state, weights)
        squares = self.state.cells.weights(measure, 2)
        spread += _of_users(self.state, weights, squares) / (self.n_users * value**2)
        if self.n_steps:
            spread += (np.log(value) - smooth) ** 2
        return float(np.sqrt(spread))


def _log_moments(state: _State, weights: Floats) -> tuple[float, float]:
    """Return the mean and the variance of the log of a measure over modes and coefficients."""
    means, variances = np.array([_moments(mode, state, weights) for mode in state.modes]).T
    logs: Floats = np.log(np.maximum(means, _TINY))
    mean = float(state.weights @ logs)
    parts: Floats = variances / np.maximum(means, _TINY) ** 2 + (logs - mean) ** 2
    return mean, float(state.weights @ parts)


def _of_users(state: _State, weights: Floats, squares: Floats) -> float:
    """Return the mean variance of a user's measure, given the sampled rank."""
    mass = state.modes[int(np.argmax(state.weights))].mass
    mixed = np.maximum(mass @ state.chances, _TINY)
    first, second = (mass * weights) @ state.chances, (mass * squares) @ state.chances
    return float(state.shares @ (second - first**2 / mixed).sum(axis=1))


def _moments(mode: Mode, state: _State, weights: Floats) -> tuple[float, float]:
    """Return a measure's mean under a mode, and its variance to first order."""
    each = mode.mass @ weights
    lever = (state.shares[:, None] * mode.mass) * (weights - each[:, None])
    slope: Floats = np.matmul(lever[:, None], state.prior.design).sum(axis=(0, 1))
    return float(state.shares @ each), float(slope @ np.linalg.solve(mode.precision, slope))
