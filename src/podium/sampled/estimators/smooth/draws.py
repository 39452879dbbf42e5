"""Draws of rank distributions about the fits, for intervals, and the ranks that they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from podium.sampled.design import Floats
from podium.sampled.estimators.smooth.fit import TINY, Mode, State, evidence, modes, penalties
from podium.sampled.estimators.smooth.prior import ANY, Prior, prior_of, top_exponent, with_peak
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
    prior, fitted_modes, shares = _with_free_slope(state)
    work = state.sample.chances.size * len(state.sample.counts)
    n = int(np.clip(_MAX_WORK // work, _MIN_DRAWS, _MAX_DRAWS))
    counts = rng.multinomial(n // 2, shares)
    draws_by_mode = [
        _draw_near(mode, prior, penalty, state, int(count), rng)
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
    prior = prior_of(state.cells, state.row_index.sizes, state.shares, ANY)
    free = prior, *modes(prior, state.sample)
    slope = top_exponent(state.cells, state.shares @ free[1][int(np.argmax(free[2]))].mass)
    if slope < _STEEP:
        return free
    prior = with_peak(prior, slope)
    peaked = prior, *modes(prior, state.sample)
    return free if evidence(peaked[1]) < evidence(free[1]) - _MAX_LOSS else peaked


def _draw_near(
    mode: Mode, prior: Prior, penalty: Floats, state: State, n_pairs: int, rng: np.random.Generator
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
    for share, design, counts in zip(state.shares, prior.design, state.sample.counts, strict=True):
        mass = normalised(points @ design.T + prior.sizes)
        observed = np.flatnonzero(counts)
        chances = np.maximum(mass @ state.sample.chances[:, observed], TINY)
        log_weights += np.log(chances) @ counts[observed]
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
        cumulative = np.cumsum(joint / np.maximum(joint.sum(axis=0), TINY), axis=0)
        total += (cumulative * (1.0 - cumulative)) @ counts[observed_outcomes]
    variances = np.maximum.accumulate(total / sample.counts.sum())
    mass = state.shares @ mode.mass
    return np.diff(variances, prepend=0.0) / np.maximum(mass, TINY)


def _draw_users(
    masses: Floats, undetermined: Floats, n_users: float, rng: np.random.Generator
) -> Floats:
    """Return distributions over a finite number of users, given those of the population."""
    n_varied = int(np.flatnonzero(undetermined >= _DETERMINED).max(initial=-1)) + 1
    variance_share = np.clip(undetermined[:n_varied], _DETERMINED, 1.0)
    # A Poisson number times the share has the mean of the users there and the share of their
    # variance.
    scaled_counts = rng.poisson(masses[:, :n_varied] * n_users / variance_share)
    distributions = masses.copy()
    distributions[:, :n_varied] = scaled_counts * variance_share / n_users
    distributions[distributions.sum(axis=1) <= 0.0] = masses.mean(axis=0)  # draws without any user
    return _normalised(distributions)
