"""The default estimator: a smooth density of log-ranks, as rough as the data make likely."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, ConvergenceWarning
from podium.metrics import Measure
from podium.sampled._likelihood.observed import likelihood
from podium.sampled._measures import rank_weights, read_measure
from podium.sampled.distribution import RankDistribution
from podium.sampled.estimators.base import Estimator
from podium.sampled.estimators.mle import climb
from podium.sampled.estimators.registry import register
from podium.sampled.estimators.smooth.cells import Cells, left_open
from podium.sampled.estimators.smooth.data import Places, few_designs, n_observed, relax
from podium.sampled.estimators.smooth.fit import Sample, modes
from podium.sampled.estimators.smooth.prior import plain, with_history
from podium.sampled.estimators.smooth.state import (
    State,
    influences,
    log_moments,
    of_users,
    together,
)
from podium.sampled.ranks import SampledRanks

Floats = NDArray[np.float64]

_LEFT_OUT = 1e-3  # weight of fits that may be off without a warning
_LEAST = 1e-100  # of a measure whose square is to be divided by


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
    A rank's chance is estimated by its posterior harmonic mean, the logarithm's mean less half of
    its variance, which has the least expected (estimate - value)^2 / value: where the sample tells
    little, too much is the larger error.

    Trained recommenders rank a user's own (training) items first, if these stay in the catalogue.
    Where `SampledRanks.history` tells their numbers, a second fit learns from users of many items
    what the top of the others' lists looks like. As its form is an assumption too, the two fits
    weigh the same, and what they differ by is part of the error.

    `posterior` also gives standard errors and intervals. They hold where the density is about
    flat among the first N / n ranks, as it is for most recommenders; they are too narrow for
    distributions that rise like a steep power law to rank 1, or have a gap before it.
    `identification_bounds` tells what holds for all.

    Several targets of a user count one by one where they have nothing in common, as one where
    they are alike: the correlation of the log sampled ranks within users decides.

    Where users' catalogues have more than 16 sizes, those are rounded to steps of 2 %.

    Cost: 10 ms, or 0.1 s with history, whatever n_items, and memory for the result.

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
    reads_history: ClassVar[bool] = True

    def fit(self, ranks: SampledRanks) -> RankDistribution:
        """Estimate the distribution of the target's rank; see `posterior`."""
        return self.posterior(ranks).distribution

    def posterior(self, ranks: SampledRanks) -> SmoothFit:
        """Estimate the distribution of the target's rank, and how sure it is.

        Parameters
        ----------
        ranks : SampledRanks
            Every user counts once. Their history is read where they have one.

        Warns
        -----
        ConvergenceWarning
            If no likeliest density was found.
        """
        observed = likelihood(self.check(ranks))
        if observed.is_exact:
            return SmoothFit(RankDistribution(climb(observed, None)), ranks, 0, ())
        given, ranks = ranks, few_designs(ranks)
        observed = likelihood(ranks)
        designs = [design for design, _ in observed.parts]
        most = max(design.n_negatives for design in designs)
        cells = Cells.of(observed.n_items, most, min(map(left_open, designs)))
        places, (seen, unseen, columns) = Places.of(ranks), cells.outcomes(observed)
        chances = np.hstack([seen, unseen])
        families = [places.plain(), places] if places.told else [places]
        samples = (Sample.of(chances, each.counts(ranks), columns) for each in families)
        states = tuple(map(partial(_state, cells), families, samples))
        _warn(states)
        mass, n_steps = relax(together(states), cells, ranks)
        distribution = RankDistribution(cells.spread(mass / mass.sum()))
        return SmoothFit(distribution, given, n_steps, states)


def _state(cells: Cells, places: Places, sample: Sample) -> State:
    """Fit the family of one density for all users, or of one that their histories change."""
    shares = sample.counts.sum(axis=1) / sample.counts.sum()
    prior = with_history(cells, places.sizes, shares) if places.told else plain(cells)
    found, weights = modes(prior, sample)
    return State(cells, prior, sample, shares, tuple(found), weights, places)


def _warn(states: Sequence[State]) -> None:
    """Warn of fits that are far from the likeliest one, if they count."""
    left = sum(
        share
        for state in states
        for mode, share in zip(state.modes, state.weights / len(states), strict=True)
        if not mode.converged
    )
    if left > _LEFT_OUT:
        warnings.warn(
            f"Smooth stopped early: fits with {left:.0%} of the weight are far from the likeliest "
            'ones, so the estimate may be wrong. The estimator "mle" has no such search.',
            ConvergenceWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """A fitted distribution of ranks with the uncertainty of what measures make of it.

    Attributes
    ----------
    distribution : RankDistribution
    ranks : SampledRanks
        What it was fitted to.
    n_steps : int
        Steps of expectation maximisation that were needed because no smooth density fits; 0 as a
        rule. Standard errors then have the change that the steps made added.
    states : tuple of State
        The posterior of each family of densities; none where all items were drawn, which leaves
        nothing open.
    """

    distribution: RankDistribution
    ranks: SampledRanks
    n_steps: int
    states: tuple[State, ...]

    @property
    def state(self) -> State | None:
        """The posterior of the last family, which knows the users' histories if there are any."""
        return self.states[-1] if self.states else None

    def expect(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the estimate of a measure; see `RankDistribution.expect`."""
        return self.distribution.expect(measure, k)

    def std_error(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the standard error of the estimate, as that of the users' own exact mean.

        It has four parts: sampling, and the shape that the sample leaves open (both through the
        posterior covariance of the coefficients), roughness, and these users being some of many.
        It is no less than how users, each with all targets, move the estimate (`influences`).
        Where the error of the logarithm is above 1, which leaves even the size of the measure
        open, it is that of a normal distribution with a 95 % interval as wide as this one's.
        """
        wanted = read_measure(measure, k)
        deviation = self._log_scale(wanted)[1]
        error = self.expect(wanted) * deviation
        if deviation <= 1:
            return error
        low, high = self.interval(wanted)
        return max(error, (high - low) / (2 * NormalDist().inv_cdf(0.975)))

    def influences(self, measure: str | Measure, k: int | None = None) -> Floats:
        """Return what each row adds to the estimate, to first order: float64, (n,).

        They tell how estimates of several models vary together over the users they share. What
        a user adds is the sum over the user's rows, each times its weight and n_users.
        """
        if not self.states:
            raise ArgumentError(
                "influences are those of an estimate, but these samples hold the whole catalogue."
            )
        found = influences(self.states, self.states[0].cells.weights(read_measure(measure, k)))
        return found * (n_observed(self.ranks) / self.ranks.n_users)

    def interval(
        self, measure: str | Measure, k: int | None = None, *, level: float = 0.95
    ) -> tuple[float, float]:
        """Return an interval for the exact mean over these users, and for the estimate in it.

        It is symmetric about the posterior mean of the logarithm, above which the estimate is not.

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
        middle, deviation = self._log_scale(wanted)
        width = NormalDist().inv_cdf(0.5 + level / 2) * deviation
        most = float(rank_weights(wanted, self.distribution.n_items).max())
        with np.errstate(over="ignore"):  # no more than the most that a measure can be
            low, high = middle * float(np.exp(-width)), middle * float(np.exp(width))
        return min(low, value), min(max(high, value), most)

    def _log_scale(self, measure: Measure) -> tuple[float, float]:
        """Return the middle of a measure's mean in its logarithm, and its deviation there."""
        value = self.distribution.expect(measure)
        if not self.states or value <= 0:
            return value, 0.0
        cells = self.states[0].cells
        weights = cells.weights(measure)
        mean, spread = log_moments(self.states, weights)
        within = of_users(self.states, weights, cells.weights(measure, 2))
        square = max(value, _LEAST) ** 2
        spread += within / (n_observed(self.ranks) * square)
        spread = max(spread, self._over_users(measure) / square)
        if not self.n_steps:
            return float(np.exp(mean)), float(np.sqrt(spread))
        return value, float(np.sqrt(spread + (np.log(value) - mean) ** 2))

    def _over_users(self, measure: Measure) -> float:
        """Return the variance of the estimate over users drawn again, to first order."""
        n_users = self.ranks.n_users
        if n_users < 2:
            return 0.0
        owner, weights = self.ranks.owner, self.ranks.weights
        shares = np.bincount(owner, weights)
        moved = np.bincount(owner, weights * self.influences(measure)) / shares
        return n_users / (n_users - 1) * n_users * float(shares @ (moved - shares @ moved) ** 2)
