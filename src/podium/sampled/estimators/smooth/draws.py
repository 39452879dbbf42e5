"""Rank distributions drawn from what the sample leaves open: the smooth estimator's intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from podium.sampled.design import Floats
from podium.sampled.estimators.smooth.fit import Mode, Sample, State, evidence, modes, penalties
from podium.sampled.estimators.smooth.prior import (
    ANY_HEAD,
    Prior,
    fall,
    plain,
    with_history,
    with_peak,
)

_MOST, _LEAST = 2000, 500  # distributions that are drawn
_WORK = 10**9  # products of chances, beyond which there are fewer
_KNOWN = 0.02  # of a user's variance at a cell, below which the sampled rank tells the cell
_OPEN = 20.0  # times its lower end at which an upper end leaves the size open
_FIRST = 10  # ranks of which this has to hold, for the prior to decide
_STEEP = 0.5  # exponent of the first ranks from which they may end in a peak at rank 1
_AGAINST = 0.1  # loss of log likelihood by a peak up to which the sample leaves it open
_FREEDOM = 10.0  # of Student's t, whose draws reach beyond the posterior's normal approximation
_TAILS = 0.025, 0.975
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Draws:
    """Distributions of these users' ranks that fit the sample, and where it says too little.

    Attributes
    ----------
    masses : float64, (n_draws, n_cells)
    weights : float64, (n_draws,)
        With sum 1.
    n_open : int
        First cells in whose share of users the prior decides, as the sample leaves it open by a
        factor of 20 or more; 0 if these are not even the first 10 ranks.
    """

    masses: Floats
    weights: Floats
    n_open: int

    def quantile(self, worth: Floats, level: float) -> float:
        """Return a quantile of the mean of what each cell is worth; it rises with the worth."""
        return weighted_quantile(self.masses @ worth, self.weights, level)


def draw(states: Sequence[State], factor: Floats | None, n_users: float) -> Draws:
    """Draw distributions, each family's as many, from posteriors with any slope at rank 1.

    Parameters
    ----------
    states : sequence of State
        The families that the estimate is from, whose slope at rank 1 is 0 or so.
    factor : float64, (n_cells,), optional
        By which the estimate differs from what the families give: draws with it and without it
        are taken together.
    n_users : float
        Targets that the users count for.
    """
    rng = np.random.default_rng([*b"smooth"])
    found = [_of_family(state, rng) for state in states]
    masses = np.concatenate([mass for mass, _ in found])
    weights = np.concatenate([weight for _, weight in found]) / len(found)
    if factor is not None:
        masses = np.concatenate([masses, _to_one(masses * factor)])
        weights = np.concatenate([weights, weights]) / 2
    n_open = _depth(masses, weights)
    kept = n_open if states[0].cells.edges[n_open] >= _FIRST else 0
    unseen = np.max([_unseen(state) for state in states], axis=0)
    return Draws(_of_users(masses, unseen, n_users, rng), weights, kept)


def weighted_quantile(values: Floats, weights: Floats, level: float) -> float:
    """Return the least value that has at least the level's weight at or below it."""
    order = np.argsort(values)
    place = int(np.searchsorted(np.cumsum(weights[order]), level * float(weights.sum())))
    return float(values[order[min(place, values.size - 1)]])


def _of_family(state: State, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw coefficients near each mode, weighted by how much likelier they are than drawn."""
    sample = state.sample
    prior, found, shares = _any_top(state)
    work = sample.chances.size * len(sample.counts)
    n = int(np.clip(_WORK // work, _LEAST, _MOST))
    counts = rng.multinomial(n // 2, shares)
    parts = [
        _near(mode, prior, penalty, sample, state.shares, int(count), rng)
        for mode, penalty, count in zip(found, penalties(prior), counts, strict=True)
        if count
    ]
    masses = np.concatenate([mass for mass, _ in parts])
    logs = np.concatenate([log for _, log in parts])
    weights = np.exp(logs - logs.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(weights.size))  # one draw is not all
    return masses, weights / weights.sum()


def _any_top(state: State) -> tuple[Prior, list[Mode], Floats]:
    """Return the family with any slope at rank 1, its modes and their weights.

    And with a peak at rank 1 alone, where the first ranks fall steeply and the sample does not
    speak against one: no sample shows a peak, but it draws the density of the first ranks up, more
    steeply than that of those below.
    """
    free = _free(state)
    found, shares = modes(free, state.sample)
    slope = fall(state.cells, state.shares @ found[int(np.argmax(shares))].mass)
    if slope < _STEEP:
        return free, found, shares
    peaked = with_peak(free, slope)
    others, weights = modes(peaked, state.sample)
    if evidence(others) < evidence(found) - _AGAINST:
        return free, found, shares
    return peaked, others, weights


def _free(state: State) -> Prior:
    """Return the family without its expectation of the slope at rank 1."""
    if not state.places.told:
        return plain(state.cells, ANY_HEAD)
    return with_history(state.cells, state.places.sizes, state.shares, ANY_HEAD)


def _near(
    mode: Mode,
    prior: Prior,
    penalty: Floats,
    sample: Sample,
    shares: Floats,
    n_pairs: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Draw pairs of coefficients on either side of a mode: masses and log weights."""
    # From a t distribution about the mode, whose tails are heavier than the posterior's: importance
    # weights stay moderate. Each draw comes with its mirror image, which centres the mean.
    size = mode.coefficients.size
    half = rng.standard_normal((n_pairs, size))
    half *= np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, (n_pairs, 1)))
    drawn = np.concatenate([half, -half])
    root = np.linalg.cholesky(mode.precision)
    points = mode.coefficients + solve_triangular(root.T, drawn.T).T
    # The log weight: the posterior's density, prior times likelihood, less that of the draw. The
    # mode's evidence is taken off, as modes were drawn in proportion to it.
    logs = (_FREEDOM + size) / 2.0 * np.log1p((drawn**2).sum(axis=1) / _FREEDOM)
    logs -= ((points @ penalty) * points).sum(axis=1) / 2.0
    logs += np.linalg.slogdet(penalty)[1] / 2.0 - np.log(np.diag(root)).sum() - mode.evidence
    masses = np.zeros((len(points), prior.sizes.size))
    for share, design, counts in zip(shares, prior.design, sample.counts, strict=True):
        density = points @ design.T + prior.sizes
        mass = _to_one(np.exp(density - density.max(axis=1, keepdims=True)))
        seen = np.flatnonzero(counts)
        logs += np.log(np.maximum(mass @ sample.chances[:, seen], _TINY)) @ counts[seen]
        masses += share * mass
    return masses, logs


def _to_one(masses: Floats) -> Floats:
    return masses / masses.sum(axis=1, keepdims=True)


def _depth(masses: Floats, weights: Floats) -> int:
    """Return the first cells that hold a share of users that is open by a factor."""
    shares = np.cumsum(masses, axis=1)
    low, high = 0, masses.shape[1]
    while low < high:
        cell = (low + high) // 2
        least, most = (weighted_quantile(shares[:, cell], weights, tail) for tail in _TAILS)
        low, high = (cell + 1, high) if most >= _OPEN * least else (low, cell)
    return low


def _unseen(state: State) -> Floats:
    """Return which part of the users' variance at a cell the sampled ranks do not tell.

    So far as the share of users down to a rank grows less sure with the rank; below, their
    sampled ranks tell most of it.
    """
    mode = state.modes[int(np.argmax(state.weights))]
    sample, total = state.sample, np.zeros(state.cells.sizes.size)
    for mass, counts in zip(mode.mass, sample.counts, strict=True):
        seen = np.flatnonzero(counts)
        joint = mass[:, None] * sample.chances[:, seen]
        down = np.cumsum(joint / np.maximum(joint.sum(axis=0), _TINY), axis=0)
        total += (down * (1.0 - down)) @ counts[seen]
    spread = np.maximum.accumulate(total / sample.counts.sum())
    mass = state.shares @ mode.mass
    return np.diff(spread, prepend=0.0) / np.maximum(mass, _TINY)


def _of_users(masses: Floats, unseen: Floats, n_users: float, rng: np.random.Generator) -> Floats:
    """Return distributions over so many users, given those of all users like them."""
    known = int(np.flatnonzero(unseen >= _KNOWN)[-1]) + 1 if (unseen >= _KNOWN).any() else 0
    part = np.clip(unseen[:known], _KNOWN, 1.0)
    # A Poisson number times `part` has the mean of the users there and `part` of their variance.
    numbers = rng.poisson(masses[:, :known] * n_users / part)
    found = masses.copy()
    found[:, :known] = numbers * part / n_users
    found[found.sum(axis=1) <= 0.0] = masses.mean(axis=0)  # of a few users none was drawn
    return _to_one(found)
