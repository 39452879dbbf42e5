"""Penalised maximum likelihood under each penalty, the errors of the fits, and draws about them.

The prior on distributions of ranks: the log density of ranks is a cubic spline in log(R / (n_items
- R)), plus a parabola, plus the effect of a user's own items. The second differences of the spline
are penalised, so that it tends to a straight line: a power law of the rank at the top, and another
one of the distance from the bottom. The parabola continues to the first ranks a bend that a sample
shows in the ranks that it resolves, as lognormal ranks have. The constants were chosen on ml-1m
(eight recommenders) by the marginal likelihood of exact ranks. The slope at the top, which ml-1m
determines only to 0.35 to 0.6, was chosen by errors on four data sets. The bend was chosen on half
of the populations of the recipe sampled-coverage and on ml-1m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import block_diag, solve_triangular

from podium.sampled.design import Floats, Ints
from podium.sampled.estimators.smooth.cells import Cells, RowIndex
from podium.sampled.sums import normalised

_SPACING = 0.5  # between knots
_UNIT = 0.36  # the knot spacing to whose second differences the roughness refers
_SHIFT = 0.2  # of ranks in the logarithm
_PEAK = 0.9, 0.15  # mean and standard deviation of the log height of a peak with slope 1
_SLOPE_RANKS = 10  # the number of ranks over which the slope for a peak is measured
_HISTORY_ROUGHNESS = 4.0  # of this change, as a multiple of the density's
_DIP = 1.0  # the standard deviation of the exponent of the factor for a user's own items
_RIDGE = 1e-6


@dataclass(frozen=True)
class Spread:
    """Prior standard deviations about 0 of coefficients that the roughness does not scale.

    Attributes
    ----------
    head : float
        The standard deviation of the spline's slope at rank 1, d log density / d log rank.
    bend : float
        The standard deviation of the parabola's second derivative. The derivative is 0 for power
        laws. For lognormal ranks whose logarithm has the standard deviation s, it is -1 / s ** 2.
    tail : float
        The standard deviation of the exponent of the distance from the bottom.
    """

    head: float
    bend: float
    tail: float = 5.0


USUAL = Spread(head=0.35, bend=0.1)
"""The spread for estimates."""
ANY = Spread(head=3.0, bend=2.0)
"""The spread for intervals, in which only the data determine the slope and the bend."""
_HISTORY = Spread(head=0.1, bend=0.05, tail=2.0)  # of changes with the log of a user's items


@dataclass(frozen=True, eq=False)
class Prior:
    """A family of log densities, linear in its coefficients, and a Gaussian prior on them.

    Attributes
    ----------
    design : float64, (n_groups, n_cells, n_coefficients)
        The log density of a group's ranks per unit of each coefficient, without cell sizes.
    sizes : float64, (n_cells,)
        The log of the number of ranks in each cell.
    rough : float64, (n_coefficients, n_coefficients)
        The penalty that is scaled by the roughness parameter.
    fixed : float64, (n_coefficients, n_coefficients)
        The penalty that is not scaled; positive definite.
    """

    design: Floats
    sizes: Floats
    rough: Floats
    fixed: Floats


def without_history(cells: Cells, spread: Spread = USUAL) -> Prior:
    """Return the family with one density for all users."""
    design, rough, slope = _spline(cells)
    return Prior(design[None], np.log(cells.sizes), rough, _fixed(slope, spread))


def with_history(cells: Cells, history: Floats, shares: Floats, spread: Spread = USUAL) -> Prior:
    """Return the family in which the density changes with a user's number of own items.

    Parameters
    ----------
    cells : Cells
    history : float64, (n_groups,)
        The typical number of own items in each group, at least 1.
    shares : float64, (n_groups,)
        The shares of the users.
    spread : Spread
        The standard deviations of the slope at rank 1 and of the bend.

    Returns
    -------
    Prior

    Notes
    -----
    Recommenders rank the items they were trained on first, unless these are removed. A user with h
    items therefore has few targets among the first h ranks. The density has the factor
    (1 - exp(-R / h)) with an estimated power, which can be 0. In addition, log h shifts the log
    density by a separate spline.
    """
    design, rough, slope = _spline(cells)
    n_spline = design.shape[1]
    centred_log_history = np.log(history) - shares @ np.log(history) / shares.sum()
    dip = np.log(-np.expm1(-cells.middles / history[:, None]))
    spline_by_group = np.broadcast_to(design, (history.size, *design.shape))
    history_spline = spline_by_group * centred_log_history[:, None, None]
    head_slope = np.concatenate([slope, np.zeros(n_spline), [1.0]])  # the dip's power adds to it
    fixed = block_diag(
        _fixed(np.zeros_like(slope), spread),
        _fixed(slope, _HISTORY),
        np.full((1, 1), 1.0 / _DIP**2),
    )
    fixed += np.outer(head_slope, head_slope) / spread.head**2
    return Prior(
        np.concatenate([spline_by_group, history_spline, dip[:, :, None]], axis=2),
        np.log(cells.sizes),
        block_diag(rough, _HISTORY_ROUGHNESS * rough, np.zeros((1, 1))),
        fixed,
    )


def _prior(cells: Cells, row_index: RowIndex, shares: Floats, spread: Spread) -> Prior:
    """Return the family with one density for all users, or with those that depend on history."""
    if not row_index.has_groups:
        return without_history(cells, spread)
    return with_history(cells, row_index.sizes, shares, spread)


def with_peak(prior: Prior, slope: float) -> Prior:
    """Return the family with a peak of the first rank above the spline, as the last coefficient.

    Ranks that are rounded up from a power law of real numbers have such a peak: with x ** -0.7,
    rank 1 is 2.8 times as frequent as under the spline's power law. The log of its height grows
    approximately with the square of the exponent. Without the peak, the spline would be steeper.

    Parameters
    ----------
    prior : Prior
    slope : float
        The exponent, above 0, with which a density without the peak falls over the first ranks; see
        `top_exponent`.
    """
    peak = np.zeros((*prior.design.shape[:2], 1))
    peak[:, 0] = 1.0
    height_mean, height_deviation = _PEAK[0] * slope**2, _PEAK[1] * slope**2
    sizes = prior.sizes.copy()
    sizes[0] += height_mean
    return Prior(
        np.concatenate([prior.design, peak], axis=2),
        sizes,
        block_diag(prior.rough, np.zeros((1, 1))),
        block_diag(prior.fixed, np.full((1, 1), 1.0 / height_deviation**2)),
    )


def top_exponent(cells: Cells, mass: Floats) -> float:
    """Return the exponent with which the density falls over the first ten ranks."""
    last_cell = min(_SLOPE_RANKS, cells.sizes.size) - 1
    if last_cell < 1:
        return 0.0
    density = np.log(mass[[0, last_cell]] / cells.sizes[[0, last_cell]])
    log_ranks = np.log(cells.middles[[0, last_cell]] + _SHIFT)
    return float((density[0] - density[1]) / (log_ranks[1] - log_ranks[0]))


def _spline(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return spline, tail and bend at the cells, the penalty, and the spline's slope at the top."""
    n_items, ranks = cells.n_items, cells.middles
    tail = np.log((n_items + 1 - ranks) / n_items)
    position = np.log(ranks + _SHIFT) - tail
    n_knots = max(int(np.ceil((position[-1] - position[0]) / _SPACING)), 1) + 1
    knots = position[0] + _SPACING * np.arange(-3, n_knots + 3)
    inside = np.clip(position, position[0], knots[-4] - 1e-9)
    basis = BSpline.design_matrix(inside, knots, 3).toarray()
    differences = np.diff(np.eye(basis.shape[1]), 2, axis=0)
    rough = block_diag(differences.T @ differences * (_UNIT / _SPACING) ** 3, np.zeros((2, 2)))
    slope = np.zeros(basis.shape[1] + 2)
    slope[0], slope[2] = -0.5 / _SPACING, 0.5 / _SPACING
    resolved = np.log(n_items / cells.n_negatives)  # of the smallest rank that a sample resolves
    return np.column_stack([basis, tail, (position - resolved) ** 2 / 2.0]), rough, slope


def _fixed(slope: Floats, spread: Spread) -> Floats:
    """Return the penalty of a spline, its tail and its bend that roughness does not scale."""
    penalty = _RIDGE * np.eye(slope.size) + np.outer(slope, slope) / spread.head**2
    penalty[-2, -2] += 1.0 / spread.tail**2
    penalty[-1, -1] += 1.0 / spread.bend**2
    return penalty


_ROUGHNESS = 10.0 ** np.linspace(0.6, 3.6, 6)  # inverse variances of second differences
_ROUGHNESS_PRIOR = (2.4, 0.5)  # prior mean and standard deviation of its log10, from ml-1m
_MOST_STEPS = 40
_GAIN = 1e-3  # the gain in log likelihood at which Newton's steps end
_LEAST_STEP = 1e-4
_UNCONVERGED = 0.5  # the squared distance to the mode from which a climb failed
_RESTART_USERS = (1e2, 1e3, 1e4, 1e5)  # numbers of users that are fitted first after a failure
_TINY = 1e-300
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
        outcome_chances = np.full_like(sample.counts, _TINY)
        for columns, cells, chances in sample.blocks:
            outcome_chances[:, columns] = np.maximum(mass[:, cells] @ chances, _TINY)
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
        prior = _prior(cells, row_index, shares, USUAL)
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
    mass: Floats = np.maximum(part.sum(axis=0), _TINY)
    means: Floats = np.matmul(mode.mass[:, None], state.prior.design)[:, 0]
    slope: Floats = np.einsum("jc,jcp->cp", part, state.prior.design) - part.T @ means
    slope /= mass[:, None]
    variances: Floats = (slope * np.linalg.solve(mode.precision, slope.T).T).sum(axis=1)
    return np.log(mass), variances


def log_moments(states: Sequence[State], weights: Floats) -> tuple[float, float]:
    """Return the mean and the variance of the log of a measure over families and modes."""
    shares = np.concatenate([state.weights for state in states]) / len(states)
    moments = [_moments(mode, state, weights) for state in states for mode in state.modes]
    means, variances = np.array(moments).T
    logs: Floats = np.log(np.maximum(means, _TINY))
    mean = float(shares @ logs)
    parts: Floats = variances / np.maximum(means, _TINY) ** 2 + (logs - mean) ** 2
    return mean, float(shares @ parts)


def mean_user_variance(states: Sequence[State], weights: Floats, squares: Floats) -> float:
    """Return the mean variance of a user's measure, given the sampled rank."""
    variances: list[float] = []
    for state in states:
        mass = state.modes[int(np.argmax(state.weights))].mass
        chances, users = state.sample.chances, state.sample.users
        outcome_chances = np.maximum(mass @ chances, _TINY)
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
        outcome_chances = np.maximum(mode.mass @ state.sample.chances, _TINY)
        influence += weight * (
            mass_changes @ state.sample.chances / outcome_chances
            - mass_changes.sum(axis=1, keepdims=True)
        )
    return influence[state.row_index.groups, state.row_index.columns]


def _moments(mode: Mode, state: State, weights: Floats) -> tuple[float, float]:
    """Return a measure's mean under a mode, and its variance to first order."""
    slope = _slope(mode, state, weights)
    mean = float(state.shares @ (mode.mass @ weights))
    return mean, float(slope @ np.linalg.solve(mode.precision, slope))


def _slope(mode: Mode, state: State, weights: Floats) -> Floats:
    """Return the derivative of a measure's mean by each coefficient."""
    group_means = mode.mass @ weights
    weighted_mass = (state.shares[:, None] * mode.mass) * (weights - group_means[:, None])
    return np.matmul(weighted_mass[:, None], state.prior.design).sum(axis=(0, 1))


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
    prior = _prior(state.cells, state.row_index, state.shares, ANY)
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
        chances = np.maximum(mass @ state.sample.chances[:, observed], _TINY)
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
        cumulative = np.cumsum(joint / np.maximum(joint.sum(axis=0), _TINY), axis=0)
        total += (cumulative * (1.0 - cumulative)) @ counts[observed_outcomes]
    variances = np.maximum.accumulate(total / sample.counts.sum())
    mass = state.shares @ mode.mass
    return np.diff(variances, prepend=0.0) / np.maximum(mass, _TINY)


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
