"""The distributions of ranks that a plan expects: from a pilot, or from shapes of one value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.sampled.design import Design
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.estimators.smooth.cells import Cells, left_open
from podium.sampled.estimators.smooth.fit import Mode
from podium.sampled.estimators.smooth.state import State, together
from podium.sampled.ranks import SampledRanks

Floats = NDArray[np.float64]

SHAPES = {"steep": 0.0, "bent": 1 / 300, "flat": 1 / 15}
"""Where a power law of the rank flattens towards rank 1, as a share of the catalogue."""

PILOT = "pilot"

_SMALL = 64  # items up to which each rank is a cell
_STEEPEST = 2.0**24  # exponent beyond which the mass is all at one end
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Expected:
    """Distributions of ranks that a plan has to do with.

    Attributes
    ----------
    cells : Cells
    masses : dict of str to float64 (n_draws, n_cells)
        Of each scenario, equally likely distributions over cells.
    value : float
        What the measure is expected to be.
    """

    cells: Cells
    masses: dict[str, Floats]
    value: float


def layout(largest: Design) -> Cells:
    """Return cells that tell ranks apart as well as samples of a design do."""
    if largest.n_items <= _SMALL:
        return Cells(np.arange(largest.n_items + 1))
    return Cells.of(largest.n_items, largest.n_negatives, left_open(largest))


def halfway(measure: Measure, cells: Cells) -> float:
    """Return a measure's value halfway between chance and perfection, on the scale of logarithms.

    Ranks are then a share of the catalogue with the distribution Beta(1/2, 1): recall at k is
    the square root of k / n_items, where chance has k / n_items.
    """
    mass = np.diff(np.sqrt(cells.edges / cells.n_items))
    return float(mass @ cells.weights(measure))


def of_value(measure: Measure, cells: Cells, value: float | None) -> Expected:
    """Return one distribution of each shape, all with one value of the measure.

    A shape's density is a power of rank + n_items times its share, and the power is what the
    value decides.
    """
    weights = cells.weights(measure)
    wanted = halfway(measure, cells) if value is None else value
    low, high = float(weights.min()), float(weights.max())
    _refuse_constant(measure, cells)
    if not low < wanted < high:
        raise ArgumentError(
            f"expect must lie between {low:g} and {high:g}, the least and the largest {measure}, "
            f"got {wanted:g}."
        )
    return Expected(
        cells,
        {name: _shape(cells, share, weights, wanted)[None] for name, share in SHAPES.items()},
        wanted,
    )


def _shape(cells: Cells, share: float, weights: Floats, value: float) -> Floats:
    """Return the masses of the power law, flattened at the top, under which the mean is value."""
    logs = np.log(cells.middles + share * cells.n_items)
    logs -= logs[0]
    sizes = np.log(cells.sizes)

    def mass(power: float) -> Floats:
        found = sizes - power * logs
        found = np.exp(found - found.max())
        return found / found.sum()

    def over(power: float) -> float:
        return float(mass(power) @ weights) - value

    low, high = -1.0, 1.0
    while over(low) > 0 and low > -_STEEPEST:
        low *= 2
    while over(high) < 0 and high < _STEEPEST:
        high *= 2
    if over(low) > 0 or over(high) < 0:
        raise ArgumentError(f"expect is too close to the end of its range, got {value:g}.")
    return mass(float(brentq(over, low, high, xtol=1e-12)))  # pyright: ignore[reportArgumentType]


def of_pilot(
    pilot: SampledRanks, measure: Measure, cells: Cells, n_draws: int, seed: int
) -> Expected:
    """Return draws from what a smooth fit to a pilot's ranks leaves open."""
    n_items, theirs = cells.n_items, pilot.most_items
    if theirs > n_items or (theirs < n_items and np.ndim(pilot.n_items) == 0):
        raise ArgumentError(
            f"pilot must have ranks among n_items = {n_items} items, got {theirs}. Ranks in "
            "another catalogue say nothing of this one's."
        )
    _refuse_constant(measure, cells)
    fit = Smooth().posterior(pilot)
    return Expected(cells, {PILOT: _draws(fit, cells, n_draws, seed)}, fit.expect(measure))


def _refuse_constant(measure: Measure, cells: Cells) -> None:
    weights = cells.weights(measure)
    if weights.min() == weights.max():
        raise ArgumentError(
            f"{measure} is {weights[0]:g} for every ranking of {cells.n_items} items: there is "
            "nothing to estimate. Lower its cutoff."
        )


def _draws(fit: SmoothFit, cells: Cells, n: int, seed: int) -> Floats:
    """Return distributions of the posterior, in pairs on either side of a mode."""
    if not fit.states:
        return _regroup(fit.distribution.probabilities, cells)[None]
    theirs = fit.states[0].cells
    modes = [(state, mode) for state in fit.states for mode in state.modes]
    weights = np.concatenate([state.weights for state in fit.states])
    steps = (np.arange(n) // 2 * 2 + 1.0) / (2 * ((n + 1) // 2))  # the same for both of a pair
    kinds = np.searchsorted(np.cumsum(weights) / weights.sum(), steps)
    rng, drawn = np.random.default_rng([seed, *b"pilot"]), np.empty((n, theirs.sizes.size))
    noise = np.empty(0)
    for i in range(n):
        state, mode = modes[int(kinds[i])]
        noise = -noise if i % 2 else rng.normal(size=mode.coefficients.size)
        drawn[i] = _drawn(state, mode, noise)
    fitted = _regroup(fit.distribution.probabilities, theirs)
    drawn *= fitted / np.maximum(together(fit.states), _TINY)  # 1, but for steps of EM
    drawn /= drawn.sum(axis=1, keepdims=True)
    return np.array([_regroup(theirs.spread(mass), cells) for mass in drawn])


def _drawn(state: State, mode: Mode, noise: Floats) -> Floats:
    """Return the distribution of all users, over cells, at coefficients near a mode."""
    step = np.linalg.solve(np.linalg.cholesky(mode.precision).T, noise)
    logs = state.prior.design @ (mode.coefficients + step) + state.prior.sizes
    mass = np.exp(logs - logs.max(axis=1, keepdims=True))
    return state.shares @ (mass / mass.sum(axis=1, keepdims=True))


def _regroup(probabilities: Floats, cells: Cells) -> Floats:
    """Return the mass of cells, of a catalogue that may be larger than the distribution's."""
    more = cells.n_items - probabilities.size
    return np.add.reduceat(np.pad(probabilities, (0, more)), cells.edges[:-1])
