"""How far an estimate from samples of a design will be from the measure of the whole ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Measure
from podium.sampled._bootstrap import Tally
from podium.sampled._uncertainty import linear_form
from podium.sampled.design import Design
from podium.sampled.estimators.base import Estimator
from podium.sampled.estimators.smooth.estimator import Smooth
from podium.sampled.likelihood import Likelihood
from podium.sampled.planning.expected import Expected
from podium.sampled.ranks import SampledRanks

Floats = NDArray[np.float64]

_LEAST_EACH = 3  # simulations for each distribution that is expected
_NOBODY = 1e-12  # share of users; smaller ones are no numbers that an estimator meets


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
