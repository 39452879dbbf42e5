"""What a smooth fit knows of its own errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.sampled.estimators.smooth.cells import Cells
from podium.sampled.estimators.smooth.data import Places
from podium.sampled.estimators.smooth.fit import Mode, Sample
from podium.sampled.estimators.smooth.prior import Prior

Floats = NDArray[np.float64]

_TINY = 1e-300


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
