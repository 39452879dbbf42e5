"""The default estimator: a smooth density of log-ranks with a roughness fitted to the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from podium import _check
from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, ConvergenceWarning, warn
from podium.metrics import Measure
from podium.sampled.bounds import Bounds, fits_ranks, identification_bounds, largest_top_part
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution, rank_weights, read_measure
from podium.sampled.estimators import ErrorFrom, Estimator, register
from podium.sampled.estimators.smooth.cells import (
    Cells,
    RowIndex,
    deviation_ratio,
    em_until_fit,
    n_observed,
    round_catalogues,
)
from podium.sampled.estimators.smooth.draws import Draws, draw
from podium.sampled.estimators.smooth.fit import (
    Sample,
    State,
    combined_mass,
    influences,
    log_moments,
    mean_user_variance,
)
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks

_MIN_VALUE = 1e-100  # the smallest value of a measure whose square is a divisor
_WIDENING = 1.05  # a factor for normal quantiles, because the family is also an assumption
_PRIOR_SHARE = 0.5  # the share of a measure's value from ranks for which the prior decides
_CONFIDENCE = 0.95  # of the bounds of estimates, which do not depend on the level of intervals


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """A fitted distribution of ranks with the uncertainty of its measures.

    Attributes
    ----------
    distribution : RankDistribution
    ranks : SampledRanks
        The ranks that it was fitted to.
    n_steps : int
        The number of steps of expectation maximisation, which are needed if no smooth density fits;
        usually 0. Standard errors then include the change that the steps made.
    states : tuple of State
        The posterior of each family of densities; empty if all items were drawn, because then
        nothing is uncertain.
    """

    distribution: RankDistribution
    ranks: SampledRanks
    n_steps: int
    states: tuple[State, ...]

    def expect(self, measure: str | Measure) -> float:
        """Return the estimate of a measure; see `RankDistribution.expect`.

        It is the mean under the distribution. If the ranks do not allow this mean, it is moved to
        the nearest of the `identification_bounds` with confidence 0.95.
        """
        parsed = read_measure(measure)
        value = self.distribution.expect(parsed)
        if self._is_within_bounds:
            return value
        low, high = identification_bounds(self.ranks, parsed, confidence=_CONFIDENCE)
        return min(max(value, low), high)

    @cached_property
    def _is_within_bounds(self) -> bool:
        """Whether all means under the distribution are known to be within their bounds."""
        return not self.states or fits_ranks(self.distribution, self.ranks, _CONFIDENCE)

    def std_error(self, measure: str | Measure) -> float:
        """Return the standard error of the estimate, relative to the users' own exact mean.

        It has four parts: sampling and the shape that the sample leaves uncertain (both through the
        posterior covariance of the coefficients), the roughness, and the choice of users. It is at
        least the standard deviation from users' effects on the estimate (`influences`). If the
        error of the logarithm is above 1, so that even the size of the measure is uncertain, or if
        the prior decides, it is that of a normal distribution whose 95 % interval is as wide as
        the interval of this estimate.
        """
        parsed = read_measure(measure)
        deviation = self._log_deviation(parsed)
        if deviation <= 1 and not self.prior_decides(parsed):
            return self.distribution.expect(parsed) * deviation
        low, high = self.interval(parsed)
        return (high - low) / (2 * NormalDist().inv_cdf(0.975))

    def influences(self, measure: str | Measure) -> Floats:
        """Return the first-order effect of each row on the estimate: float64, (n,).

        The effects give the covariance of several models' estimates over common users. The effect
        of a user is the sum over the user's rows of the effect times the weight and n_users.

        Raises
        ------
        ArgumentError
            If the samples hold the whole catalogue.
        """
        if not self.states:
            raise ArgumentError(
                "influences are undefined, because these samples hold the whole catalogue and have "
                "exact ranks. Use these ranks."
            )
        weights = self.states[0].cells.weights(read_measure(measure))
        scale = n_observed(self.ranks) / self.ranks.n_users
        return influences(self.states, weights) * scale

    def interval(
        self,
        measure: str | Measure,
        *,
        level: float = 0.95,
        bounds: Bounds | None = None,
    ) -> tuple[float, float]:
        """Return an interval for the exact mean over these users, which contains the estimate.

        Its ends are quantiles over rank distributions drawn from the posterior, whose slope at
        rank 1 and whose bend are determined by the sample alone. If the sample leaves the share of
        users in the first ranks (10 or more) uncertain by a factor of 20, the lower end assumes
        that no user is there, and the upper end the largest share that the sample allows
        (`identification_bounds`). If a measure is at least as large as another at every rank, both
        ends are at least as large.

        Parameters
        ----------
        measure : str or Measure
        level : float
            The probability, between 0 and 1, that the interval contains the exact mean, for rank
            distributions like those that the prior expects.
        bounds : Bounds, optional
            The result of `identification_bounds` at this level, as limits of the interval. By
            default the bounds are computed if the first ranks are uncertain, and otherwise there
            are no limits.

        Returns
        -------
        low, high : float
        """
        level = _check.open_fraction(level, "level")
        parsed = read_measure(measure)
        value = self.expect(parsed)
        if not self.states:
            return value, value
        low, high = self._quantiles(parsed, level)
        if self.draws.n_uncertain:
            bounds = bounds or identification_bounds(self.ranks, parsed, confidence=level)
            high = max(high, self._uncertain_upper_end(parsed, level, bounds))
        if bounds is not None:
            low, high = max(low, bounds.low), min(high, bounds.high)
        largest = float(rank_weights(parsed, self.distribution.n_items).max())
        return min(low, value), min(max(high, value), largest)

    def prior_decides(self, measure: str | Measure) -> bool:
        """Return whether the prior decides more of a measure than the sample.

        At least half of the estimate then comes from first ranks in which the sample leaves the
        share of users uncertain by a factor of 20 or more, and the interval is widened.
        """
        if not self.states:
            return False
        parsed = read_measure(measure)
        top = self.states[0].cells.edges[self.draws.n_uncertain]
        weights = rank_weights(parsed, self.distribution.n_items)[:top]
        top_part = float(self.distribution.probabilities[: weights.size] @ weights)
        return bool(top) and top_part >= _PRIOR_SHARE * self.distribution.expect(parsed)

    @cached_property
    def draws(self) -> Draws:
        """Rank distributions that fit the sample, with any slope at rank 1 and any bend."""
        factor = None
        if self.n_steps:  # expectation maximisation changed each cell's mass by this factor
            starts = self.states[0].cells.edges[:-1]
            mass = np.add.reduceat(self.distribution.probabilities, starts)
            factor = mass / np.maximum(combined_mass(self.states), _MIN_VALUE)
        with one_blas_thread:
            return draw(self.states, factor, n_observed(self.ranks))

    def _quantiles(self, measure: Measure, level: float) -> tuple[float, float]:
        """Return quantiles over the draws; the lower one leaves out the uncertain first ranks."""
        weights = self.states[0].cells.weights(measure)
        resolved_weights = np.where(np.arange(weights.size) < self.draws.n_uncertain, 0.0, weights)
        tail = NormalDist().cdf(_WIDENING * NormalDist().inv_cdf((1.0 - level) / 2.0))
        return self.draws.quantile(resolved_weights, tail), self.draws.quantile(weights, 1.0 - tail)

    def _uncertain_upper_end(self, measure: Measure, level: float, bounds: Bounds) -> float:
        """Return an upper end with the largest share of the first ranks that the sample allows."""
        cells = self.states[0].cells
        depth = int(cells.edges[self.draws.n_uncertain])
        if depth >= rank_weights(measure, self.distribution.n_items).size:
            return bounds.high
        lower_weights = cells.weights(measure)
        lower_weights[: self.draws.n_uncertain] = 0.0
        top_part = largest_top_part(self.ranks, measure, depth, level)
        return top_part + self.draws.quantile(lower_weights, 0.5)

    def _log_deviation(self, measure: Measure) -> float:
        """Return the standard deviation of the log of a measure's mean, to first order."""
        value = self.distribution.expect(measure)
        if not self.states or value <= 0:
            return 0.0
        cells = self.states[0].cells
        weights = cells.weights(measure)
        mean, variance = log_moments(self.states, weights)
        user_variance = mean_user_variance(self.states, weights, cells.weights(measure, 2))
        square = max(value, _MIN_VALUE) ** 2
        variance += user_variance / (n_observed(self.ranks) * square)
        if (n_users := self.ranks.n_users) > 1:  # at least the variance over resampled users
            effects = self.influences(measure) * self.ranks.weights * n_users
            of_users = np.bincount(self.ranks.owner, effects, n_users)
            variance = max(variance, n_users * float(np.var(of_users, ddof=1)) / square)
        if self.n_steps:
            variance += (np.log(value) - mean) ** 2
        return float(np.sqrt(variance))


_MAX_LOST_WEIGHT = 1e-3  # the weight of unconverged fits up to which there is no warning


@register
@dataclass(frozen=True)
class Smooth(Estimator):
    """A smooth density of log-ranks, whose roughness is fitted to the data.

    A sample of n of N items cannot distinguish ranks below about N / n. The distribution of these
    ranks, which a cutoff of 10 needs, is extrapolated from the shape above them. The log density is
    a spline in log rank with a penalty on its bends, plus a parabola with a small coefficient. It
    therefore continues the power law of the lowest ranks that the data resolve, or their bend if
    the data show one, and flattens towards rank 1. The strength of the penalty is averaged over,
    with weights proportional to the likelihood of the data. If no smooth density fits the ranks
    (chi-square test, p < 0.0001), steps of expectation maximisation are added until one does, at
    most 200. The result is then `MLE` with a better start. Samples of several designs are not
    tested.

    Notes
    -----
    The probability of a rank is estimated by its posterior harmonic mean: the exponential of the
    mean of the logarithm minus half its variance. This minimises the expected value of
    (estimate - value)^2 / value. If the sample has little information, too large an estimate is the
    larger error.

    Trained recommenders rank a user's own (training) items first, if these stay in the catalogue.
    If `SampledRanks.history` has their numbers, a second fit uses users with many items to learn
    the shape of the top of other users' lists. Its form is also an assumption. The two fits
    therefore have equal weights, and their difference is part of the error.

    `posterior` also gives standard errors and intervals. `prior_decides` is true if the sample has
    almost no information about the first ranks; the interval is then all that the sample allows
    there. If the density falls steeply over the first ranks, intervals allow for a peak at rank 1
    that is as high as that of ranks rounded up from a power law. Intervals of ndcg, ap and rr are
    too narrow for higher peaks. `identification_bounds` holds for all distributions.

    Several targets of a user count as separate observations if they are uncorrelated, and as one if
    they are alike. The correlation of the log sampled ranks within users determines the number
    between these.

    If users' catalogues have more than 16 sizes, the sizes are rounded to steps of 2 %.

    Cost: 10 ms, or 0.1 s with history, and the memory of the result, for any n_items. The first
    interval takes three times as long again.

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
    reads_history: ClassVar[bool] = True
    error_from: ClassVar[ErrorFrom] = "posterior"

    def posterior(self, ranks: SampledRanks) -> SmoothFit:
        """Estimate the distribution of the target's rank with its uncertainty.

        Parameters
        ----------
        ranks : SampledRanks
            The observed ranks. All users have the same weight. Histories are used if there are any.

        Returns
        -------
        SmoothFit

        Warns
        -----
        ConvergenceWarning
            If the search for the likeliest density did not converge.
        """
        with one_blas_thread:
            return self._posterior(ranks)

    def _posterior(self, ranks: SampledRanks) -> SmoothFit:
        observed = likelihood(ranks)
        if observed.is_exact:
            exact = RankDistribution(observed.known, fewest_items=ranks.fewest_items)
            return SmoothFit(exact, ranks, 0, ())
        original, ranks = ranks, round_catalogues(ranks)
        observed = likelihood(ranks)
        designs = [design for design, _ in observed.parts]
        largest_sample = max(design.n_negatives for design in designs)
        cells = Cells.of(observed.n_items, largest_sample, min(map(deviation_ratio, designs)))
        row_index = RowIndex.of(ranks)
        seen_chances, unseen_chances, columns = cells.outcomes(observed)
        chances = np.hstack([seen_chances, unseen_chances])
        families = [row_index.without_groups(), row_index] if row_index.has_groups else [row_index]
        samples = (Sample.of(chances, family.counts(ranks), columns) for family in families)
        states = tuple(map(partial(State.fit, cells), families, samples))
        lost = [s.weights[[not mode.converged for mode in s.modes]].sum() for s in states]
        if sum(lost) / len(states) > _MAX_LOST_WEIGHT:
            warn(
                f"Smooth stopped early: fits with {sum(lost) / len(states):.0%} of the weight are "
                "far from the likeliest ones, so the estimate may be wrong. Compare it with the "
                'estimator "mle".',
                ConvergenceWarning,
            )
        mass, n_steps = em_until_fit(combined_mass(states), cells, ranks)
        probabilities = cells.spread(mass / mass.sum())
        distribution = RankDistribution(probabilities, fewest_items=original.fewest_items)
        return SmoothFit(distribution, original, n_steps, states)
