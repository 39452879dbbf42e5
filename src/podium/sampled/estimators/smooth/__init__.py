"""The default estimator: a smooth density of log-ranks with a roughness fitted to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from podium import _check
from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, ConvergenceWarning, warn
from podium.metrics import Measure
from podium.sampled.bounds import Bounds, fits_ranks, identification_bounds, largest_top_part
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution, rank_weights, read_measure
from podium.sampled.estimators import ErrorFrom, Estimator, register
from podium.sampled.estimators.mle import mle_probabilities
from podium.sampled.estimators.smooth.cells import (
    Cells,
    RowIndex,
    deviation_ratio,
    em_until_fit,
    n_observed,
    round_catalogues,
)
from podium.sampled.estimators.smooth.fit import (
    ANY,
    USUAL,
    Mode,
    Prior,
    Sample,
    Spread,
    State,
    combined_mass,
    evidence,
    influences,
    log_moments,
    mean_user_variance,
    modes,
    penalties,
    top_exponent,
    with_history,
    with_peak,
    without_history,
)
from podium.sampled.likelihood import likelihood
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import normalised

_MAX_DRAWS, _MIN_DRAWS = 2000, 500  # the limits of the number of drawn distributions
_MAX_WORK = 10**9  # products of chances; with more, fewer distributions are drawn
_DETERMINED = 0.02  # of a user's variance at a cell; below it the sampled rank determines the cell
_UNCERTAIN_RATIO = 20.0  # the ratio of an interval's ends from which a share counts as uncertain
_MIN_UNCERTAIN_RANKS = 10  # ranks that must be uncertain for the prior to decide
_STEEP = 0.5  # the exponent over the first ranks from which a peak at rank 1 is possible
_MAX_LOSS = 0.1  # the largest loss of log likelihood at which a peak is allowed
_FREEDOM = 10.0  # of Student's t, which has wider tails than the normal approximation
_TAILS = 0.025, 0.975
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Draws:
    """Distributions of these users' ranks that fit the sample, and its uncertain first cells.

    Attributes
    ----------
    masses : float64, (n_draws, n_cells)
    weights : float64, (n_draws,)
        The weights of the draws, which sum to 1.
    n_uncertain : int
        The number of first cells in which the prior decides the share of users, because the sample
        leaves it uncertain by a factor of 20 or more; 0 if these are fewer than the first 10 ranks.
    """

    masses: Floats
    weights: Floats
    n_uncertain: int

    def quantile(self, worth: Floats, level: float) -> float:
        """Return a quantile of the mean of each cell's worth; it increases with the worth."""
        return weighted_quantile(self.masses @ worth, self.weights, level)


def draw(states: Sequence[State], factor: Floats | None, n_users: float) -> Draws:
    """Draw equally often per family, from posteriors with any slope at rank 1 and any bend.

    Parameters
    ----------
    states : sequence of State
        The families of the estimate, whose slope at rank 1 is about 0.
    factor : float64, (n_cells,), optional
        The factor by which the estimate differs from that of the families. Draws with it and
        without it are combined.
    n_users : float
        The equivalent number of targets of the users.

    Returns
    -------
    Draws
    """
    rng = np.random.default_rng([*b"smooth"])
    family_draws = [_draw_family(state, rng) for state in states]
    masses = np.concatenate([mass for mass, _ in family_draws])
    weights = np.concatenate([weight for _, weight in family_draws]) / len(family_draws)
    if factor is not None:
        masses = np.concatenate([masses, _normalised(masses * factor)])
        weights = np.concatenate([weights, weights]) / 2
    n_cells = _n_uncertain_cells(masses, weights)
    n_uncertain = n_cells if states[0].cells.edges[n_cells] >= _MIN_UNCERTAIN_RANKS else 0
    unseen_variance = np.max([_undetermined_variance(state) for state in states], axis=0)
    return Draws(_draw_users(masses, unseen_variance, n_users, rng), weights, n_uncertain)


def weighted_quantile(values: Floats, weights: Floats, level: float) -> float:
    """Return the smallest value with at least the level's weight at or below it."""
    order = np.argsort(values)
    position = int(np.searchsorted(np.cumsum(weights[order]), level * float(weights.sum())))
    return float(values[order[min(position, values.size - 1)]])


def _draw_family(state: State, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw coefficients near each mode, with importance weights."""
    sample = state.sample
    prior, fitted_modes, shares = _with_free_slope(state)
    work = sample.chances.size * len(sample.counts)
    n = int(np.clip(_MAX_WORK // work, _MIN_DRAWS, _MAX_DRAWS))
    counts = rng.multinomial(n // 2, shares)
    draws_by_mode = [
        _draw_near(mode, prior, penalty, sample, state.shares, int(count), rng)
        for mode, penalty, count in zip(fitted_modes, penalties(prior), counts, strict=True)
        if count
    ]
    masses = np.concatenate([mass for mass, _ in draws_by_mode])
    log_weights = np.concatenate([log for _, log in draws_by_mode])
    weights = np.exp(log_weights - log_weights.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(weights.size))  # limit single draws
    return masses, weights / weights.sum()


def _with_free_slope(state: State) -> tuple[Prior, list[Mode], Floats]:
    """Return the family with any slope at rank 1 and any bend, its modes and their weights.

    The family has a peak at rank 1 alone if the density falls steeply over the first ranks and the
    sample does not contradict a peak. No sample shows a peak directly, but it increases the density
    of the first ranks, so that the density falls more steeply there than below.
    """
    free_prior = _prior(state.cells, state.row_index, state.shares, ANY)
    free_modes, free_weights = modes(free_prior, state.sample)
    slope = top_exponent(state.cells, state.shares @ free_modes[int(np.argmax(free_weights))].mass)
    if slope < _STEEP:
        return free_prior, free_modes, free_weights
    peaked = with_peak(free_prior, slope)
    peaked_modes, peaked_weights = modes(peaked, state.sample)
    if evidence(peaked_modes) < evidence(free_modes) - _MAX_LOSS:
        return free_prior, free_modes, free_weights
    return peaked, peaked_modes, peaked_weights


def _prior(cells: Cells, row_index: RowIndex, shares: Floats, spread: Spread) -> Prior:
    """Return the family with one density for all users, or with those that depend on history."""
    if not row_index.has_groups:
        return without_history(cells, spread)
    return with_history(cells, row_index.sizes, shares, spread)


def _draw_near(
    mode: Mode,
    prior: Prior,
    penalty: Floats,
    sample: Sample,
    shares: Floats,
    n_pairs: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Draw pairs of coefficients symmetric about a mode; return masses and log weights."""
    # The draws have a t distribution about the mode, whose tails are heavier than the posterior's,
    # so that importance weights stay moderate. Each draw has a mirror image, which centres the
    # mean.
    size = mode.coefficients.size
    noise = rng.standard_normal((n_pairs, size))
    noise *= np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, (n_pairs, 1)))
    mirrored = np.concatenate([noise, -noise])
    cholesky = np.linalg.cholesky(mode.precision)
    points = mode.coefficients + solve_triangular(cholesky.T, mirrored.T).T
    # The log weight is the log of the posterior density, prior times likelihood, minus that of the
    # draw. The mode's evidence is subtracted because modes were drawn in proportion to it.
    log_weights = (_FREEDOM + size) / 2.0 * np.log1p((mirrored**2).sum(axis=1) / _FREEDOM)
    log_weights -= ((points @ penalty) * points).sum(axis=1) / 2.0
    log_weights += (
        np.linalg.slogdet(penalty)[1] / 2.0 - np.log(np.diag(cholesky)).sum() - mode.evidence
    )
    masses = np.zeros((len(points), prior.sizes.size))
    for share, design, counts in zip(shares, prior.design, sample.counts, strict=True):
        mass = normalised(points @ design.T + prior.sizes)
        observed_outcomes = np.flatnonzero(counts)
        log_weights += (
            np.log(np.maximum(mass @ sample.chances[:, observed_outcomes], _TINY))
            @ counts[observed_outcomes]
        )
        masses += share * mass
    return masses, log_weights


def _normalised(masses: Floats) -> Floats:
    return masses / masses.sum(axis=1, keepdims=True)


def _n_uncertain_cells(masses: Floats, weights: Floats) -> int:
    """Return the number of first cells whose share of users is uncertain by a factor."""
    shares = np.cumsum(masses, axis=1)
    low, high = 0, masses.shape[1]
    while low < high:
        cell = (low + high) // 2
        low_share, high_share = (
            weighted_quantile(shares[:, cell], weights, tail) for tail in _TAILS
        )
        low, high = (cell + 1, high) if high_share >= _UNCERTAIN_RATIO * low_share else (low, cell)
    return low


def _undetermined_variance(state: State) -> Floats:
    """Return the part of users' variance at each cell that the sampled ranks do not determine.

    It is computed from the uncertainty of the share of users down to a rank, as far as this grows
    with the rank. Below, the sampled ranks determine most of the share.
    """
    mode = state.modes[int(np.argmax(state.weights))]
    sample, total = state.sample, np.zeros(state.cells.sizes.size)
    for mass, counts in zip(mode.mass, sample.counts, strict=True):
        observed_outcomes = np.flatnonzero(counts)
        joint = mass[:, None] * sample.chances[:, observed_outcomes]
        cumulative = np.cumsum(joint / np.maximum(joint.sum(axis=0), _TINY), axis=0)
        total += (cumulative * (1.0 - cumulative)) @ counts[observed_outcomes]
    variances = np.maximum.accumulate(total / sample.counts.sum())
    mass = state.shares @ mode.mass
    return np.diff(variances, prepend=0.0) / np.maximum(mass, _TINY)


def _draw_users(
    masses: Floats, undetermined: Floats, n_users: float, rng: np.random.Generator
) -> Floats:
    """Return distributions over a finite number of users, given those of the population."""
    n_varied = (
        int(np.flatnonzero(undetermined >= _DETERMINED)[-1]) + 1
        if (undetermined >= _DETERMINED).any()
        else 0
    )
    variance_share = np.clip(undetermined[:n_varied], _DETERMINED, 1.0)
    # A Poisson number times the share has the mean of the users there and the share of their
    # variance.
    scaled_counts = rng.poisson(masses[:, :n_varied] * n_users / variance_share)
    distributions = masses.copy()
    distributions[:, :n_varied] = scaled_counts * variance_share / n_users
    distributions[distributions.sum(axis=1) <= 0.0] = masses.mean(axis=0)  # draws without any user
    return _normalised(distributions)


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

    @property
    def state(self) -> State | None:
        """The posterior of the last family, which includes users' histories if there are any."""
        return self.states[-1] if self.states else None

    def expect(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the estimate of a measure; see `RankDistribution.expect`.

        It is the mean under the distribution. If the ranks do not allow this mean, it is moved to
        the nearest of the `identification_bounds` with confidence 0.95.
        """
        parsed = read_measure(measure, k)
        value = self.distribution.expect(parsed)
        if self._is_within_bounds:
            return value
        low, high = identification_bounds(self.ranks, parsed, confidence=_CONFIDENCE)
        return min(max(value, low), high)

    @cached_property
    def _is_within_bounds(self) -> bool:
        """Whether all means under the distribution are known to be within their bounds."""
        return not self.states or fits_ranks(self.distribution, self.ranks, _CONFIDENCE)

    def std_error(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the standard error of the estimate, relative to the users' own exact mean.

        It has four parts: sampling and the shape that the sample leaves uncertain (both through the
        posterior covariance of the coefficients), the roughness, and the choice of users. It is at
        least the standard deviation from users' effects on the estimate (`influences`). If the
        error of the logarithm is above 1, so that even the size of the measure is uncertain, or if
        the prior decides, it is that of a normal distribution whose 95 % interval is as wide as
        the interval of this estimate.
        """
        parsed = read_measure(measure, k)
        deviation = self._log_deviation(parsed)
        if deviation <= 1 and not self.prior_decides(parsed):
            return self.distribution.expect(parsed) * deviation
        low, high = self.interval(parsed)
        return (high - low) / (2 * NormalDist().inv_cdf(0.975))

    def influences(self, measure: str | Measure, k: int | None = None) -> Floats:
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
        user_effects = influences(
            self.states, self.states[0].cells.weights(read_measure(measure, k))
        )
        return user_effects * (n_observed(self.ranks) / self.ranks.n_users)

    def interval(
        self,
        measure: str | Measure,
        k: int | None = None,
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
        k : int, optional
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
        parsed = read_measure(measure, k)
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

    def prior_decides(self, measure: str | Measure, k: int | None = None) -> bool:
        """Return whether the prior decides more of a measure than the sample.

        At least half of the estimate then comes from first ranks in which the sample leaves the
        share of users uncertain by a factor of 20 or more, and the interval is widened.
        """
        if not self.states:
            return False
        parsed = read_measure(measure, k)
        top = self.states[0].cells.edges[self.draws.n_uncertain]
        weights = rank_weights(parsed, self.distribution.n_items)[:top]
        top_part = float(self.distribution.probabilities[: weights.size] @ weights)
        return bool(top) and top_part >= _PRIOR_SHARE * self.distribution.expect(parsed)

    @cached_property
    def draws(self) -> Draws:
        """Rank distributions that fit the sample, with any slope at rank 1 and any bend."""
        factor = self._em_factor() if self.n_steps else None
        with one_blas_thread:
            return draw(self.states, factor, n_observed(self.ranks))

    def _em_factor(self) -> Floats:
        """Return the factor by which steps of expectation maximisation changed each cell's mass."""
        starts = self.states[0].cells.edges[:-1]
        mass = np.add.reduceat(self.distribution.probabilities, starts)
        return mass / np.maximum(combined_mass(self.states), _MIN_VALUE)

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
        variance = max(variance, self._resampling_variance(measure) / square)
        if self.n_steps:
            variance += (np.log(value) - mean) ** 2
        return float(np.sqrt(variance))

    def _resampling_variance(self, measure: Measure) -> float:
        """Return the variance of the estimate over resampled users, to first order."""
        ranks = self.ranks
        if ranks.n_users < 2:
            return 0.0
        effects = self.influences(measure) * ranks.weights * ranks.n_users
        of_users = np.bincount(ranks.owner, effects, ranks.n_users)
        return ranks.n_users * float(np.var(of_users, ddof=1))


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
    label: ClassVar[str] = "Smooth"
    grows: ClassVar[bool] = True
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

        Raises
        ------
        ArgumentError
            If the method does not support this design of samples.

        Warns
        -----
        ConvergenceWarning
            If the search for the likeliest density did not converge.
        """
        with one_blas_thread:
            return self._posterior(self.check(ranks))

    def _posterior(self, ranks: SampledRanks) -> SmoothFit:
        observed = likelihood(ranks)
        if observed.is_exact:
            known = mle_probabilities(observed, None)
            return SmoothFit(RankDistribution(known, fewest_items=ranks.fewest_items), ranks, 0, ())
        original, ranks = ranks, round_catalogues(ranks)
        observed = likelihood(ranks)
        designs = [design for design, _ in observed.parts]
        largest_sample = max(design.n_negatives for design in designs)
        cells = Cells.of(observed.n_items, largest_sample, min(map(deviation_ratio, designs)))
        tables = {designs[0]: cells.table(designs[0])} if len(designs) == 1 else {}
        row_index = RowIndex.of(ranks)
        seen_chances, unseen_chances, columns = cells.outcomes(observed, tables)
        chances = np.hstack([seen_chances, unseen_chances])
        families = [row_index.without_groups(), row_index] if row_index.has_groups else [row_index]
        samples = (Sample.of(chances, family.counts(ranks), columns) for family in families)
        states = tuple(map(partial(_state, cells), families, samples))
        _warn(states)
        mass, n_steps = em_until_fit(combined_mass(states), tables, ranks)
        probabilities = cells.spread(mass / mass.sum())
        distribution = RankDistribution(probabilities, fewest_items=original.fewest_items)
        return SmoothFit(distribution, original, n_steps, states)


def _state(cells: Cells, row_index: RowIndex, sample: Sample) -> State:
    """Fit the family of users with these groups."""
    shares = sample.counts.sum(axis=1) / sample.counts.sum()
    prior = _prior(cells, row_index, shares, USUAL)
    fitted_modes, weights = modes(prior, sample)
    return State(cells, prior, sample, shares, tuple(fitted_modes), weights, row_index)


def _warn(states: Sequence[State]) -> None:
    """Warn if fits with a noticeable weight are far from the likeliest one."""
    lost_weight = sum(
        weight
        for state in states
        for mode, weight in zip(state.modes, state.weights / len(states), strict=True)
        if not mode.converged
    )
    if lost_weight > _MAX_LOST_WEIGHT:
        warn(
            f"Smooth stopped early: fits with {lost_weight:.0%} of the weight are far from the "
            'likeliest ones, so the estimate may be wrong. Compare it with the estimator "mle".',
            ConvergenceWarning,
        )
