"""The rank distributions that a plan expects, and the errors of estimates from their samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq

from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.sampled.design import Design, Floats
from podium.sampled.estimators import Estimator, LinearEstimator
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.estimators.smooth.cells import Cells, deviation_ratio
from podium.sampled.estimators.smooth.fit import combined_mass
from podium.sampled.fits import Tally
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import normalised

SHAPES = {"steep": 0.0, "bent": 1 / 300, "flat": 1 / 15}
"""Where a power law of the rank flattens towards rank 1, as a share of the catalogue."""

PILOT = "pilot"

_SMALL = 64  # up to this number of items each rank is a cell
_STEEPEST = 2.0**24  # with larger exponents all mass is at one end
_TINY = 1e-300

_N_DRAWS = 16  # from a pilot's posterior, which determine errors to about 15 %
_NEGLIGIBLE_SHARE = 1e-12  # smaller shares of users are 0 in practice


@dataclass(frozen=True, eq=False)
class Expected:
    """The rank distributions for which a plan is made.

    Attributes
    ----------
    cells : Cells
    masses : dict of str to float64 (n_draws, n_cells)
        The equally likely distributions over cells of each scenario.
    value : float
        The expected value of the measure.
    """

    cells: Cells
    masses: dict[str, Floats]
    value: float


def layout(largest: Design) -> Cells:
    """Return cells with the resolution of a design's samples."""
    if largest.n_items <= _SMALL:
        return Cells(np.arange(largest.n_items + 1), largest.n_negatives)
    return Cells.of(largest.n_items, largest.n_negatives, deviation_ratio(largest))


def halfway(measure: Measure, cells: Cells) -> float:
    """Return the value of a measure halfway between chance and perfection on a log scale.

    The rank's share of the catalogue then has the distribution Beta(1/2, 1). Recall at k is
    the square root of k / n_items; by chance it is k / n_items.
    """
    mass = np.diff(np.sqrt(cells.edges / cells.n_items))
    return float(mass @ cells.weights(measure))


def expected_without_pilot(measure: Measure, cells: Cells) -> Expected:
    """Return one distribution of each shape, all with the same value of the measure: `halfway`.

    The density of a shape is a power of rank + share * n_items. The value determines the power.
    """
    weights, value = cells.weights(measure), halfway(measure, cells)
    masses = {name: _shape(cells, share, weights, value)[None] for name, share in SHAPES.items()}
    return Expected(cells, masses, value)


def _shape(cells: Cells, share: float, weights: Floats, value: float) -> Floats:
    """Return the masses of the power law, flattened at the top, with this mean of the weights."""
    log_ranks = np.log(cells.middles + share * cells.n_items)
    log_ranks -= log_ranks[0]
    log_sizes = np.log(cells.sizes)

    def mass(power: float) -> Floats:
        return normalised(log_sizes - power * log_ranks)

    def excess(power: float) -> float:
        return float(mass(power) @ weights) - value

    low, high = -1.0, 1.0
    while excess(low) > 0 and low > -_STEEPEST:
        low *= 2
    while excess(high) < 0 and high < _STEEPEST:
        high *= 2
    if excess(low) > 0 or excess(high) < 0:
        raise ArgumentError(
            f"No power law of the rank gives the assumed value {value:g} of the measure. Pass a "
            f"{arg.pilot}."
        )
    return mass(float(brentq(excess, low, high, xtol=1e-12)))  # pyright: ignore[reportArgumentType]


def expected_from_pilot(pilot: SampledRanks, measure: Measure, cells: Cells, seed: int) -> Expected:
    """Return draws from the posterior of a smooth fit to a pilot's ranks."""
    fit = Smooth().posterior(pilot)
    return Expected(cells, {PILOT: _draws(fit, cells, seed)}, fit.expect(measure))


def _draws(fit: SmoothFit, cells: Cells, seed: int) -> Floats:
    """Return distributions of the posterior, in pairs symmetric about a mode."""
    if not fit.states:
        return _regroup(fit.distribution.probabilities, cells)[None]
    pilot_cells = fit.states[0].cells
    modes = [(state, mode) for state in fit.states for mode in state.modes]
    weights = np.concatenate([state.weights for state in fit.states])
    n = _N_DRAWS
    levels = (np.arange(n) // 2 * 2 + 1.0) / n  # the same for both of a pair
    mode_numbers = np.searchsorted(np.cumsum(weights) / weights.sum(), levels)
    rng, masses = np.random.default_rng([seed, *b"pilot"]), np.empty((n, pilot_cells.sizes.size))
    noise = np.empty(0)
    for i in range(n):
        state, mode = modes[int(mode_numbers[i])]
        noise = -noise if i % 2 else rng.normal(size=mode.coefficients.size)
        # The distribution of all users over cells, at random coefficients near a mode.
        step = np.linalg.solve(np.linalg.cholesky(mode.precision).T, noise)
        logs = state.prior.design @ (mode.coefficients + step) + state.prior.sizes
        masses[i] = state.shares @ normalised(logs)
    fitted = _regroup(fit.distribution.probabilities, pilot_cells)
    masses *= fitted / np.maximum(combined_mass(fit.states), _TINY)  # 1 unless there were EM steps
    masses /= masses.sum(axis=1, keepdims=True)
    return np.array([_regroup(pilot_cells.spread(mass), cells) for mass in masses])


def _regroup(probabilities: Floats, cells: Cells) -> Floats:
    """Return the mass of cells, of a catalogue that may be larger than the distribution's."""
    n_missing = cells.n_items - probabilities.size
    return np.add.reduceat(np.pad(probabilities, (0, n_missing)), cells.edges[:-1])


@dataclass(frozen=True)
class Outlook:
    """The error of a design under one scenario.

    Attributes
    ----------
    std_error, bias : float
        Root mean squares over the scenario's distributions, in units of the measure. The bias of a
        mean over users is the median, because a few distributions with a large bias would dominate
        the root mean square.
    """

    std_error: float
    bias: float

    @property
    def error(self) -> float:
        """The root mean square error, with standard error and bias."""
        return float(np.hypot(self.std_error, self.bias))


@dataclass(frozen=True, eq=False)
class PlannedEstimate:
    """A planned estimate: the measure, the method, the number of users and the expected ranks."""

    method: Estimator
    measure: Measure
    n_users: int
    expected: Expected

    @property
    def n_items(self) -> int:
        """The number of items of the catalogue."""
        return self.expected.cells.n_items

    def outlooks(self, design: Design) -> dict[str, Outlook]:
        """Return the outlook of a design under each scenario."""
        cells = self.expected.cells
        chances = np.asfortranarray(cells.table(design))
        weights = cells.weights(self.measure)
        if isinstance(self.method, LinearEstimator):
            values = self.method.values(design, self.measure)
            squares = partial(self._squares_of_means, values)
        else:
            squares = partial(self._squares_of_influences, design)
        return {
            name: Outlook(*np.sqrt(squares(masses @ chances, masses @ weights)).tolist())
            for name, masses in self.expected.masses.items()
        }

    def outlooks_of_all_items(self) -> dict[str, Outlook]:
        """Return the outlook of ranking all items, whose error comes from the users alone."""
        cells = self.expected.cells
        weights, squared_weights = (cells.weights(self.measure, power) for power in (1, 2))
        outlooks: dict[str, Outlook] = {}
        for name, masses in self.expected.masses.items():
            variances = np.maximum(masses @ squared_weights - (masses @ weights) ** 2, 0.0)
            error = float(np.sqrt(variances.mean() / self.n_users))
            outlooks[name] = Outlook(error, 0.0)
        return outlooks

    def _squares_of_means(
        self, values: Floats, outcome_chances: Floats, exact_values: Floats
    ) -> Floats:
        """Return the squared standard error and bias of a mean of outcomes' values.

        The estimate is known exactly under each distribution, and nearly equal under all
        distributions of a pilot's posterior. Its bias there is the difference of their measures. A
        few of them differ much, which makes the root mean square several times the typical bias.
        """
        mean = outcome_chances @ values
        variances = np.maximum(outcome_chances @ values**2 - mean**2, 0.0)
        return np.array([variances.mean() / self.n_users, np.median((mean - exact_values) ** 2)])

    def _squares_of_influences(
        self, design: Design, outcome_chances: Floats, exact_values: Floats
    ) -> Floats:
        """Return the same to first order, about the fit to outcomes as frequent as expected."""
        sizes = design.n_negatives, design.n_items
        outcomes = np.arange(1, design.n_outcomes + 1)
        rows = SampledRanks(outcomes, *sizes, replacement=design.replacement)
        variances, biases = np.zeros(exact_values.size), np.zeros(exact_values.size)
        for row, shares in enumerate(outcome_chances):
            frequent = np.where(shares > _NEGLIGIBLE_SHARE, shares, 0.0)
            ranks = Tally(rows, frequent * self.n_users)
            fit = self.method.posterior(ranks)
            influences = fit.influences(self.measure)  # per added user
            variances[row] = ranks.weights @ influences**2 - (ranks.weights @ influences) ** 2
            biases[row] = fit.distribution.expect(self.measure) - exact_values[row]
        return np.array([variances.mean() * self.n_users, (biases**2).mean()])
