"""Penalised maximum likelihood under each penalty, and what the fits know of their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.sampled.design import Floats, Ints
from podium.sampled.estimators.smooth.cells import Cells
from podium.sampled.estimators.smooth.data import Places
from podium.sampled.estimators.smooth.prior import Prior

_ROUGHNESS = 10.0 ** np.linspace(0.6, 3.6, 6)  # inverse variances of second differences
_EXPECTED = (2.4, 0.5)  # mean and standard deviation of log10 of it, from ml-1m
_MOST_STEPS = 40
_GAIN = 1e-3  # in log likelihood at which Newton's steps end
_LEAST_STEP = 1e-4
_FAR = 0.5  # squared standard deviations to the mode from which on a climb has failed
_FEWER = (1e2, 1e3, 1e4, 1e5)  # users as whom so many more are fitted first, after a failure
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Sample:
    """What was observed, in columns of outcomes: each is of one design of the samples.

    Attributes
    ----------
    chances : float64, (n_cells, n_columns)
        Those of one design have the sum 1 in a cell, as far as its catalogue goes.
    counts : float64, (n_groups, n_columns)
        Users of each group with each outcome.
    users : float64, (n_groups, n_columns)
        Users of each group who had the column's design, whatever their outcome.
    """

    chances: Floats
    counts: Floats
    users: Floats

    @classmethod
    def of(cls, chances: Floats, counts: Floats, designs: Ints) -> Sample:
        """Count users by design; outcomes beyond the columns of `counts` nobody had.

        Parameters
        ----------
        chances : float64, (n_cells, n_columns)
        counts : float64, (n_groups, n_seen)
        designs : int64, (n_columns,)
            Number of the design that each column is of.
        """
        counts = np.pad(counts, ((0, 0), (0, chances.shape[1] - counts.shape[1])))
        users = [np.bincount(designs, each)[designs].astype(np.float64) for each in counts]
        return cls(chances, counts, np.array(users))

    def fewer(self, n_users: float) -> Sample:
        """Return the same shares of so many users."""
        share = n_users / float(self.counts.sum())
        return replace(self, counts=self.counts * share, users=self.users * share)


@dataclass(frozen=True, eq=False)
class Mode:
    """The likeliest coefficients under one penalty.

    Attributes
    ----------
    mass : float64, (n_groups, n_cells)
        Each group's distribution over cells.
    precision : float64, (n_coefficients, n_coefficients)
        Expected information plus penalty: the inverse of the coefficients' covariance.
    evidence : float
        Log of the marginal likelihood of the data, by Laplace's approximation.
    left : float
        Squared length of the next step, in posterior standard deviations: about twice what it
        would gain in log likelihood.
    """

    coefficients: Floats
    mass: Floats
    precision: Floats
    evidence: float
    left: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether the likeliest coefficients are less than a standard deviation away."""
        return self.left < _FAR


def modes(prior: Prior, sample: Sample) -> tuple[list[Mode], Floats]:
    """Fit under each roughness, and weigh the fits by how likely they make the data.

    Returns
    -------
    list of Mode, float64
        From the roughest, and their weights, with sum 1.
    """
    found: list[Mode] = []
    start = np.zeros(prior.design.shape[2])
    for penalty in penalties(prior):
        found.append(_surely(prior, penalty, sample, start))
        start = found[-1].coefficients
    logs = _evidences(found)
    weights = np.exp(logs - logs.max())
    return found, weights / weights.sum()


def evidence(found: Sequence[Mode]) -> float:
    """Return the log marginal likelihood of a family over roughnesses, up to a constant."""
    return float(np.logaddexp.reduce(_evidences(found)))


def _evidences(found: Sequence[Mode]) -> Floats:
    mean, deviation = _EXPECTED
    logs = np.array([mode.evidence for mode in found])
    return logs - 0.5 * ((np.log10(_ROUGHNESS[::-1]) - mean) / deviation) ** 2


def penalties(prior: Prior) -> list[Floats]:
    """Return the inverse covariance of the coefficients under each roughness, stiffest first."""
    return [roughness * prior.rough + prior.fixed for roughness in _ROUGHNESS[::-1]]


def _surely(prior: Prior, penalty: Floats, sample: Sample, start: Floats) -> Mode:
    """Climb, and where this fails from growing numbers of users.

    From far away, steps for very many users are too long in directions in which few cells matter;
    the mode of fewer users is nearer to flat, and nearer to the next.
    """
    found = _climb(prior, penalty, sample, start)
    if found.converged:
        return found
    point, n_users = np.zeros(start.size), float(sample.counts.sum())
    for fewer in _FEWER:
        if fewer < n_users:
            point = _climb(prior, penalty, sample.fewer(fewer), point).coefficients
    again = _climb(prior, penalty, sample, point)
    return min(found, again, key=lambda mode: mode.left)


def _climb(prior: Prior, penalty: Floats, sample: Sample, start: Floats) -> Mode:
    """Newton's method with the expected information, and steps halved until they gain."""
    point = start
    value, mass, mixed = _value(prior, penalty, sample, point)
    for _ in range(_MOST_STEPS):
        slope, precision = _second_order(prior, penalty, sample, point, mass, mixed)
        step = np.linalg.solve(precision, slope)
        gain = float(slope @ step)
        if gain < _GAIN:
            break
        length = 1.0
        tried = _value(prior, penalty, sample, point + step)
        while tried[0] < value + 1e-4 * length * gain and length > _LEAST_STEP:
            length /= 2
            tried = _value(prior, penalty, sample, point + length * step)
        if tried[0] <= value:
            break
        point = point + length * step
        value, mass, mixed = tried
    slope, precision = _second_order(prior, penalty, sample, point, mass, mixed)
    # Laplace's approximation: the integral of a normal density with this curvature, over the
    # prior's, whose inverse covariance is the penalty.
    evidence = value + 0.5 * (_log_det(penalty) - _log_det(precision))
    left = float(slope @ np.linalg.solve(precision, slope))
    return Mode(point, mass, precision, evidence, left)


def _value(
    prior: Prior, penalty: Floats, sample: Sample, point: Floats
) -> tuple[float, Floats, Floats]:
    """Return the penalised log likelihood, the mass of cells, and the chances of outcomes."""
    logs = prior.design @ point + prior.sizes
    mass = np.exp(logs - logs.max(axis=1, keepdims=True))
    mass /= mass.sum(axis=1, keepdims=True)
    mixed = np.maximum(mass @ sample.chances, _TINY)
    value = float((sample.counts * np.log(mixed)).sum() - 0.5 * point @ penalty @ point)
    return value, mass, mixed


def _second_order(
    prior: Prior, penalty: Floats, sample: Sample, point: Floats, mass: Floats, mixed: Floats
) -> tuple[Floats, Floats]:
    """Return the slope of the penalised log likelihood, and its expected curvature."""
    # How the chance of each outcome changes with each coefficient: cells' masses sum to 1, so the
    # design counts less its mean.
    weighted = mass[:, :, None] * prior.design
    means = weighted.sum(axis=1)
    changes = np.matmul(sample.chances.T, weighted) - mixed[:, :, None] * means[:, None, :]
    slope = np.einsum("jr,jrp->p", sample.counts / mixed, changes) - penalty @ point
    # Fisher's information of multinomial counts: users / chance, for each outcome. It is never
    # negative, unlike the observed curvature.
    scaled = changes * np.sqrt(sample.users / mixed)[:, :, None]
    flat = scaled.reshape(-1, scaled.shape[2])
    return slope, flat.T @ flat + penalty


def _log_det(matrix: Floats) -> float:
    return 2.0 * float(np.log(np.diag(np.linalg.cholesky(matrix))).sum())


@dataclass(frozen=True, eq=False)
class State:
    """The posterior of one family of densities.

    Attributes
    ----------
    sample : Sample
    shares : float64, (n_groups,)
        Of the users.
    weights : float64, (n_modes,)
        With sum 1.
    """

    cells: Cells
    prior: Prior
    sample: Sample
    shares: Floats
    modes: tuple[Mode, ...]
    weights: Floats
    places: Places


def together(states: Sequence[State]) -> Floats:
    """Return the mass of cells, the families' densities taken together: (n_cells,).

    A cell has its posterior harmonic mean, which is smallest in expected squared error over the
    value itself: exp(mean - variance / 2) of the logarithm, families weighing the same.
    """
    first, second = np.zeros((2, states[0].cells.sizes.size))
    for state in states:
        for share, mode in zip(state.weights / len(states), state.modes, strict=True):
            logs, variances = _log_density(mode, state)
            first += share * logs
            second += share * (variances + logs**2)
    logs = first - (second - first**2) / 2
    mass = np.exp(logs - logs.max())
    return mass / mass.sum()


def _log_density(mode: Mode, state: State) -> tuple[Floats, Floats]:
    """Return mean and variance of the log mass of cells over all users: (n_cells,) each."""
    part = state.shares[:, None] * mode.mass
    mass: Floats = np.maximum(part.sum(axis=0), _TINY)
    means: Floats = np.matmul(mode.mass[:, None], state.prior.design)[:, 0]
    slope: Floats = np.einsum("jc,jcp->cp", part, state.prior.design) - part.T @ means
    slope /= mass[:, None]
    variances: Floats = (slope * np.linalg.solve(mode.precision, slope.T).T).sum(axis=1)
    return np.log(mass), variances


def log_moments(states: Sequence[State], weights: Floats) -> tuple[float, float]:
    """Return the mean and the variance of the log of a measure over families and modes."""
    shares = np.concatenate([state.weights for state in states]) / len(states)
    found = [_moments(mode, state, weights) for state in states for mode in state.modes]
    means, variances = np.array(found).T
    logs: Floats = np.log(np.maximum(means, _TINY))
    mean = float(shares @ logs)
    parts: Floats = variances / np.maximum(means, _TINY) ** 2 + (logs - mean) ** 2
    return mean, float(shares @ parts)


def of_users(states: Sequence[State], weights: Floats, squares: Floats) -> float:
    """Return the mean variance of a user's measure, given the sampled rank."""
    found: list[float] = []
    for state in states:
        mass = state.modes[int(np.argmax(state.weights))].mass
        chances, users = state.sample.chances, state.sample.users
        mixed = np.maximum(mass @ chances, _TINY)
        first, second = (mass * weights) @ chances, (mass * squares) @ chances
        within = np.maximum(second - first**2 / mixed, 0.0)
        found.append(float((users * within).sum() / state.sample.counts.sum()))
    return float(np.mean(found))


def influences(states: Sequence[State], weights: Floats) -> Floats:
    """Return what one more user with each row's outcome adds to a measure, to first order."""
    return np.mean([_influences(state, weights) for state in states], axis=0)


def _influences(state: State, weights: Floats) -> Floats:
    found = np.zeros_like(state.sample.counts)
    for share, mode in zip(state.weights, state.modes, strict=True):
        step = np.linalg.solve(mode.precision, _slope(mode, state, weights))
        pull = mode.mass * (state.prior.design @ step)
        mixed = np.maximum(mode.mass @ state.sample.chances, _TINY)
        found += share * (pull @ state.sample.chances / mixed - pull.sum(axis=1, keepdims=True))
    return found[state.places.groups, state.places.columns]


def _moments(mode: Mode, state: State, weights: Floats) -> tuple[float, float]:
    """Return a measure's mean under a mode, and its variance to first order."""
    slope = _slope(mode, state, weights)
    mean = float(state.shares @ (mode.mass @ weights))
    return mean, float(slope @ np.linalg.solve(mode.precision, slope))


def _slope(mode: Mode, state: State, weights: Floats) -> Floats:
    """Return what a measure's mean gains with each coefficient."""
    each = mode.mass @ weights
    lever = (state.shares[:, None] * mode.mass) * (weights - each[:, None])
    return np.matmul(lever[:, None], state.prior.design).sum(axis=(0, 1))
