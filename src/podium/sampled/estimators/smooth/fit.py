"""Penalised maximum likelihood under each penalty, and the errors of the fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from podium.sampled.design import Floats, Ints
from podium.sampled.estimators.smooth.cells import Cells, RowIndex
from podium.sampled.estimators.smooth.prior import Prior, prior_of
from podium.sampled.sums import normalised

_ROUGHNESS = 10.0 ** np.linspace(0.6, 3.6, 6)  # inverse variances of second differences
_ROUGHNESS_PRIOR = (2.4, 0.5)  # prior mean and standard deviation of its log10, from ml-1m
_MOST_STEPS = 40
_GAIN = 1e-3  # the gain in log likelihood at which Newton's steps end
_LEAST_STEP = 1e-4
_UNCONVERGED = 0.5  # the squared distance to the mode from which a climb failed
_RESTART_USERS = (1e2, 1e3, 1e4, 1e5)  # numbers of users that are fitted first after a failure
TINY = 1e-300
_BLOCK = 64  # columns that are multiplied together
_IMPOSSIBLE = 1e-20  # chances up to this one make no difference


@dataclass(frozen=True, eq=False)
class Sample:
    """The observations by outcome, where each column is an outcome of one design.

    Attributes
    ----------
    chances : float64, (n_cells, n_columns)
        The chances of outcomes. In a cell within the catalogue, those of one design sum to 1.
    counts : float64, (n_groups, n_columns)
        The number of users of each group with each outcome.
    users : float64, (n_groups, n_columns)
        The number of users of each group who had the column's design, with any outcome.
    """

    chances: Floats
    counts: Floats
    users: Floats

    @classmethod
    def of(cls, chances: Floats, counts: Floats, designs: Ints) -> Sample:
        """Count users by design. Columns beyond those of `counts` were not observed.

        Parameters
        ----------
        chances : float64, (n_cells, n_columns)
        counts : float64, (n_groups, n_seen)
        designs : int64, (n_columns,)
            The number of each column's design.
        """
        counts = np.pad(counts, ((0, 0), (0, chances.shape[1] - counts.shape[1])))
        users = [np.bincount(designs, of_group)[designs] for of_group in counts]
        return cls(chances, counts, np.array(users, np.float64))

    @cached_property
    def blocks(self) -> list[tuple[slice, slice, Floats]]:
        """Blocks of neighbouring columns: the columns, their cells, and their chances there.

        An outcome of many draws has a chance in few cells. The other cells are left out.
        """
        blocks: list[tuple[slice, slice, Floats]] = []
        for start in range(0, self.chances.shape[1], _BLOCK):
            columns = slice(start, start + _BLOCK)
            possible = np.flatnonzero((self.chances[:, columns] > _IMPOSSIBLE).any(axis=1))
            if possible.size:
                cells = slice(int(possible[0]), int(possible[-1]) + 1)
                blocks.append((columns, cells, self.chances[cells, columns]))
        return blocks

    def scaled_to(self, n_users: float) -> Sample:
        """Return the same shares of a smaller number of users."""
        share = n_users / float(self.counts.sum())
        return replace(self, counts=self.counts * share, users=self.users * share)


@dataclass(frozen=True, eq=False)
class Mode:
    """The likeliest coefficients under one penalty.

    Attributes
    ----------
    mass : float64, (n_groups, n_cells)
        The distribution of each group over cells.
    precision : float64, (n_coefficients, n_coefficients)
        The expected information plus the penalty: the inverse of the coefficients' covariance.
    evidence : float
        The log of the marginal likelihood of the data, by Laplace's approximation.
    squared_step : float
        The squared length of the next step in posterior standard deviations, which is about twice
        its gain in log likelihood.
    """

    coefficients: Floats
    mass: Floats
    precision: Floats
    evidence: float
    squared_step: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether the likeliest coefficients are less than a standard deviation away."""
        return self.squared_step < _UNCONVERGED


def modes(prior: Prior, sample: Sample) -> tuple[list[Mode], Floats]:
    """Fit under each roughness, and weight the fits by the likelihood of the data.

    Returns
    -------
    list of Mode, float64
        The fits, from the stiffest penalty, and their weights, which sum to 1.
    """
    fitted: list[Mode] = []
    start = np.zeros(prior.design.shape[2])
    for penalty in penalties(prior):
        fitted.append(Objective(prior, penalty, sample).mode(start))
        start = fitted[-1].coefficients
    return fitted, normalised(_evidences(fitted))


def evidence(fits: Sequence[Mode]) -> float:
    """Return the log marginal likelihood of a family over roughnesses, up to a constant."""
    return float(np.logaddexp.reduce(_evidences(fits)))


def _evidences(fits: Sequence[Mode]) -> Floats:
    mean, deviation = _ROUGHNESS_PRIOR
    logs = np.array([mode.evidence for mode in fits])
    return logs - 0.5 * ((np.log10(_ROUGHNESS[::-1]) - mean) / deviation) ** 2


def penalties(prior: Prior) -> list[Floats]:
    """Return the inverse covariance of the coefficients under each roughness, stiffest first."""
    return [roughness * prior.rough + prior.fixed for roughness in _ROUGHNESS[::-1]]


@dataclass(frozen=True, eq=False)
class Objective:
    """The penalised log likelihood of a sample, whose maximum is the mode of the coefficients."""

    prior: Prior
    penalty: Floats
    sample: Sample

    def mode(self, start: Floats) -> Mode:
        """Climb to the mode; if this fails, climb again through modes of growing numbers of users.

        Far from the mode, steps for very many users are too long in directions in which few cells
        matter. The mode of fewer users is nearer to the start, and near to the next mode.
        """
        direct = self.climb(start)
        if direct.converged:
            return direct
        start, n_users = np.zeros(start.size), float(self.sample.counts.sum())
        for n_fewer in _RESTART_USERS:
            if n_fewer < n_users:
                fewer = replace(self, sample=self.sample.scaled_to(n_fewer))
                start = fewer.climb(start).coefficients
        return min(direct, self.climb(start), key=lambda mode: mode.squared_step)

    def climb(self, start: Floats) -> Mode:
        """Climb by Newton's method with the expected information; halve steps until they gain."""
        point, (value, mass, outcome_chances) = start, self._value(start)
        slope, precision = self._second_order(point, mass, outcome_chances)
        step = np.linalg.solve(precision, slope)
        for _ in range(_MOST_STEPS):
            gain = float(slope @ step)
            if gain < _GAIN:
                break
            length = 1.0
            trial = self._value(point + step)
            while trial[0] < value + 1e-4 * length * gain and length > _LEAST_STEP:
                length /= 2
                trial = self._value(point + length * step)
            if trial[0] <= value:
                break
            point = point + length * step
            value, mass, outcome_chances = trial
            slope, precision = self._second_order(point, mass, outcome_chances)
            step = np.linalg.solve(precision, slope)
        # Laplace's approximation: the integral of a normal density with this curvature, divided by
        # that of the prior, whose inverse covariance is the penalty.
        evidence = value + 0.5 * (_log_det(self.penalty) - _log_det(precision))
        return Mode(point, mass, precision, evidence, squared_step=float(slope @ step))

    def _value(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Return the penalised log likelihood, the mass of cells, and the chances of outcomes."""
        sample, mass = self.sample, normalised(self.prior.design @ point + self.prior.sizes)
        outcome_chances = np.full_like(sample.counts, TINY)
        for columns, cells, chances in sample.blocks:
            outcome_chances[:, columns] = np.maximum(mass[:, cells] @ chances, TINY)
        fit = (sample.counts * np.log(outcome_chances)).sum()
        return float(fit - 0.5 * point @ self.penalty @ point), mass, outcome_chances

    def _second_order(
        self, point: Floats, mass: Floats, outcome_chances: Floats
    ) -> tuple[Floats, Floats]:
        """Return the gradient of the penalised log likelihood, and its expected curvature."""
        # The derivative of each outcome's chance by each coefficient. The masses of cells sum to 1,
        # so that the mean of the design is subtracted.
        sample, weighted = self.sample, mass[:, :, None] * self.prior.design
        means = weighted.sum(axis=1)
        changes = -outcome_chances[:, :, None] * means[:, None, :]
        for columns, cells, chances in sample.blocks:
            changes[:, columns] += np.matmul(chances.T, weighted[:, cells])
        likelihood_slope = np.einsum("jr,jrp->p", sample.counts / outcome_chances, changes)
        # Fisher's information of multinomial counts: users / chance, per outcome. Unlike the
        # observed curvature, it is never negative.
        scaled = changes * np.sqrt(sample.users / outcome_chances)[:, :, None]
        flat = scaled.reshape(-1, scaled.shape[2])
        return likelihood_slope - self.penalty @ point, flat.T @ flat + self.penalty


def _log_det(matrix: Floats) -> float:
    return 2.0 * float(np.log(np.diag(np.linalg.cholesky(matrix))).sum())


@dataclass(frozen=True, eq=False)
class State:
    """The posterior of one family of densities.

    Attributes
    ----------
    sample : Sample
    shares : float64, (n_groups,)
        The shares of the users.
    weights : float64, (n_modes,)
        The weights of the modes, which sum to 1.
    """

    cells: Cells
    prior: Prior
    sample: Sample
    shares: Floats
    modes: tuple[Mode, ...]
    weights: Floats
    row_index: RowIndex

    @classmethod
    def fit(cls, cells: Cells, row_index: RowIndex, sample: Sample) -> State:
        """Fit the family of users with these groups."""
        shares = sample.counts.sum(axis=1) / sample.counts.sum()
        prior = prior_of(cells, row_index.sizes, shares)
        fitted_modes, weights = modes(prior, sample)
        return cls(cells, prior, sample, shares, tuple(fitted_modes), weights, row_index)


def combined_mass(states: Sequence[State]) -> Floats:
    """Return the mass of cells, combined over the families' densities: (n_cells,).

    The mass of a cell is its posterior harmonic mean, exp(mean - variance / 2) of the logarithm,
    which minimises the expected squared error divided by the value. Families have equal weights.
    """
    mean_logs, mean_squares = np.zeros((2, states[0].cells.sizes.size))
    for state in states:
        for weight, mode in zip(state.weights / len(states), state.modes, strict=True):
            logs, variances = _log_density(mode, state)
            mean_logs += weight * logs
            mean_squares += weight * (variances + logs**2)
    return normalised(mean_logs - (mean_squares - mean_logs**2) / 2)


def _log_density(mode: Mode, state: State) -> tuple[Floats, Floats]:
    """Return the mean and the variance of the log mass of cells over all users: (n_cells,) each."""
    part = state.shares[:, None] * mode.mass
    mass: Floats = np.maximum(part.sum(axis=0), TINY)
    means: Floats = np.matmul(mode.mass[:, None], state.prior.design)[:, 0]
    slope: Floats = np.einsum("jc,jcp->cp", part, state.prior.design) - part.T @ means
    slope /= mass[:, None]
    variances: Floats = (slope * np.linalg.solve(mode.precision, slope.T).T).sum(axis=1)
    return np.log(mass), variances


def log_moments(states: Sequence[State], weights: Floats) -> tuple[float, float]:
    """Return the mean and the variance of the log of a measure over families and modes."""
    shares = np.concatenate([state.weights for state in states]) / len(states)
    modes = [(state, mode) for state in states for mode in state.modes]
    means = np.array([float(state.shares @ (mode.mass @ weights)) for state, mode in modes])
    slopes = [(_slope(mode, state, weights), mode.precision) for state, mode in modes]
    variances = np.array([float(slope @ np.linalg.solve(p, slope)) for slope, p in slopes])
    logs: Floats = np.log(np.maximum(means, TINY))
    mean = float(shares @ logs)
    parts: Floats = variances / np.maximum(means, TINY) ** 2 + (logs - mean) ** 2
    return mean, float(shares @ parts)


def mean_user_variance(states: Sequence[State], weights: Floats, squares: Floats) -> float:
    """Return the mean variance of a user's measure, given the sampled rank."""
    variances: list[float] = []
    for state in states:
        mass = state.modes[int(np.argmax(state.weights))].mass
        chances, users = state.sample.chances, state.sample.users
        outcome_chances = np.maximum(mass @ chances, TINY)
        first_moment, second_moment = (mass * weights) @ chances, (mass * squares) @ chances
        user_variances = np.maximum(second_moment - first_moment**2 / outcome_chances, 0.0)
        variances.append(float((users * user_variances).sum() / state.sample.counts.sum()))
    return float(np.mean(variances))


def influences(states: Sequence[State], weights: Floats) -> Floats:
    """Return the first-order change of a measure per added user with each row's outcome."""
    return np.mean([_influences(state, weights) for state in states], axis=0)


def _influences(state: State, weights: Floats) -> Floats:
    influence = np.zeros_like(state.sample.counts)
    for weight, mode in zip(state.weights, state.modes, strict=True):
        step = np.linalg.solve(mode.precision, _slope(mode, state, weights))
        mass_changes = mode.mass * (state.prior.design @ step)
        outcome_chances = np.maximum(mode.mass @ state.sample.chances, TINY)
        influence += weight * (
            mass_changes @ state.sample.chances / outcome_chances
            - mass_changes.sum(axis=1, keepdims=True)
        )
    return influence[state.row_index.groups, state.row_index.columns]


def _slope(mode: Mode, state: State, weights: Floats) -> Floats:
    """Return the derivative of a measure's mean by each coefficient."""
    group_means = mode.mass @ weights
    weighted_mass = (state.shares[:, None] * mode.mass) * (weights - group_means[:, None])
    return np.matmul(weighted_mass[:, None], state.prior.design).sum(axis=(0, 1))
