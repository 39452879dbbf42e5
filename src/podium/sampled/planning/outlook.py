"""The ranks that a plan expects, and how far off estimates from samples of them will be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.sampled._uncertainty import Tally, linear_form
from podium.sampled.design import Design, Floats
from podium.sampled.estimators import Estimator
from podium.sampled.estimators.smooth import Smooth, SmoothFit
from podium.sampled.estimators.smooth.cells import Cells, left_open
from podium.sampled.estimators.smooth.fit import Mode, State, together
from podium.sampled.likelihood import Likelihood
from podium.sampled.ranks import SampledRanks

SHAPES = {"steep": 0.0, "bent": 1 / 300, "flat": 1 / 15}
"""Where a power law of the rank flattens towards rank 1, as a share of the catalogue."""

PILOT = "pilot"

_SMALL = 64  # items up to which each rank is a cell
_STEEPEST = 2.0**24  # exponent beyond which the mass is all at one end
_TINY = 1e-300

_LEAST_EACH = 3  # simulations for each distribution that is expected
_NOBODY = 1e-12  # share of users; smaller ones are no numbers that an estimator meets


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


@dataclass(frozen=True)
class Outlook:
    """What a design costs and gives, if ranks are as one scenario expects.

    Attributes
    ----------
    n_scored : float
        Mean number of items scored for a user, the target too.
    std_error, bias : float
        Root mean squares over the scenario's distributions, in units of the measure; the bias of a
        mean over users is the median, since few distributions with a large one rule that.
    """

    n_scored: float
    std_error: float
    bias: float

    @property
    def error(self) -> float:
        """Root mean square error: standard error and bias together."""
        return float(np.hypot(self.std_error, self.bias))


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be estimated, how, from how many users, and what ranks are expected.

    Attributes
    ----------
    n_repeats : int
        Simulated evaluations, for methods that are no mean over users.
    """

    method: Estimator
    measure: Measure
    n_users: int
    expected: Expected
    n_repeats: int
    seed: int

    def ask(self, design: Design) -> dict[str, Outlook]:
        """Return the outlook of a design under each scenario."""
        cells = self.expected.cells
        each = np.arange(design.n_outcomes)
        alike = np.full(each.size, 1.0 / each.size)
        chances = cells.chances(Likelihood(((design, each),), alike, design.n_items))
        rows = _all_outcomes(design)
        linear = linear_form(self.method, rows)
        counts = None if linear is None else linear.values(design, self.measure)
        weights = cells.weights(self.measure)
        found: dict[str, Outlook] = {}
        for name, masses in self.expected.masses.items():
            mixed = masses @ chances
            exact = masses @ weights
            if counts is not None:
                squares = self._of_values(counts, mixed, exact)
            elif isinstance(self.method, Smooth):
                squares = self._of_influences(self.method, rows, mixed, exact)
            else:
                squares = self._simulated(rows, mixed, exact)
            cost = 1.0 + float((mixed @ design.sizes).mean())
            found[name] = Outlook(cost, *np.sqrt(squares).tolist())
        return found

    def ask_all(self) -> dict[str, Outlook]:
        """Return the outlook of ranking all items: the users' own sampling error is left."""
        cells = self.expected.cells
        first, second = (cells.weights(self.measure, power) for power in (1, 2))
        found: dict[str, Outlook] = {}
        for name, masses in self.expected.masses.items():
            spread = np.maximum(masses @ second - (masses @ first) ** 2, 0.0)
            error = float(np.sqrt(spread.mean() / self.n_users))
            found[name] = Outlook(float(cells.n_items), error, 0.0)
        return found

    def _of_values(self, values: Floats, mixed: Floats, exact: Floats) -> Floats:
        """Return squares of standard error and bias of a mean of outcomes' values.

        The estimate is known exactly under each distribution, and nearly the same under all that
        a pilot leaves open: its bias there is how far these are apart in the measure. A few of
        them lie far off, which makes the root mean square several times what most have.
        """
        mean = mixed @ values
        spread = np.maximum(mixed @ values**2 - mean**2, 0.0)
        return np.array([spread.mean() / self.n_users, np.median((mean - exact) ** 2)])

    def _of_influences(
        self, method: Smooth, rows: SampledRanks, mixed: Floats, exact: Floats
    ) -> Floats:
        """Return the same to first order: about the fit to outcomes that come as expected."""
        spread, off = np.zeros(exact.size), np.zeros(exact.size)
        for row, shares in enumerate(mixed):
            ranks = Tally(rows, self._as_expected(shares))
            fit = method.posterior(ranks)
            added = fit.influences(self.measure)  # by one user each
            spread[row] = ranks.weights @ added**2 - (ranks.weights @ added) ** 2
            off[row] = fit.expect(self.measure) - exact[row]
        return np.array([spread.mean() * self.n_users, (off**2).mean()])

    def _simulated(self, rows: SampledRanks, mixed: Floats, exact: Floats) -> Floats:
        """Return the same of any method: about the estimate from outcomes as expected."""
        rng = np.random.default_rng([self.seed, *b"users"])
        n_each = max(-(-self.n_repeats // exact.size), _LEAST_EACH)
        scatter, off = np.zeros((exact.size, n_each)), np.zeros(exact.size)
        for row, shares in enumerate(mixed):
            centre = self._estimate(rows, self._as_expected(shares))
            off[row] = centre - exact[row]
            for again in range(n_each):
                drawn = rng.multinomial(self.n_users, shares / shares.sum()).astype(np.float64)
                scatter[row, again] = self._estimate(rows, drawn) - centre
        return np.array([(scatter**2).mean(), (off**2).mean()])

    def _as_expected(self, shares: Floats) -> Floats:
        """Return how many users have each outcome, without those that nobody will have."""
        return np.where(shares > _NOBODY, shares, 0.0) * self.n_users

    def _estimate(self, rows: SampledRanks, counts: Floats) -> float:
        return self.method.estimate(Tally(rows, counts), self.measure)


def _all_outcomes(design: Design) -> SampledRanks:
    """Return a row for each outcome of a design, in order."""
    return SampledRanks(
        design.above + 1,
        design.sizes if design.grows else design.n_negatives,
        design.n_items,
        replacement=design.replacement,
        stages=design.stages if design.grows else None,
    )
