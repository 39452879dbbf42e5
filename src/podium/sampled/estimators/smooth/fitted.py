"""A smooth fit: its estimates, their errors, and where the prior decides more than the sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from podium import _check
from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError
from podium.metrics import Measure
from podium.sampled.bounds import Bounds, identification_bounds, most_of_first
from podium.sampled.design import Floats
from podium.sampled.distribution import RankDistribution, rank_weights, read_measure
from podium.sampled.estimators.smooth.data import n_observed
from podium.sampled.estimators.smooth.draws import Draws, draw
from podium.sampled.estimators.smooth.fit import (
    State,
    influences,
    log_moments,
    of_users,
    together,
)
from podium.sampled.ranks import SampledRanks

_LEAST = 1e-100  # of a measure whose square is to be divided by
_WIDER = 1.05  # times as far out as a normal quantile: the family is an assumption too
_MOSTLY = 0.5  # of a measure's value that comes from ranks of which the prior decides


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """A fitted distribution of ranks with the uncertainty of what measures make of it.

    Attributes
    ----------
    distribution : RankDistribution
    ranks : SampledRanks
        What it was fitted to.
    n_steps : int
        Steps of expectation maximisation that were needed because no smooth density fits; 0 as a
        rule. Standard errors then have the change that the steps made added.
    states : tuple of State
        The posterior of each family of densities; none where all items were drawn, which leaves
        nothing open.
    """

    distribution: RankDistribution
    ranks: SampledRanks
    n_steps: int
    states: tuple[State, ...]

    @property
    def state(self) -> State | None:
        """The posterior of the last family, which knows the users' histories if there are any."""
        return self.states[-1] if self.states else None

    def expect(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the estimate of a measure; see `RankDistribution.expect`."""
        return self.distribution.expect(measure, k)

    def std_error(self, measure: str | Measure, k: int | None = None) -> float:
        """Return the standard error of the estimate, as that of the users' own exact mean.

        It has four parts: sampling, and the shape that the sample leaves open (both through the
        posterior covariance of the coefficients), roughness, and these users being some of many.
        It is no less than how users, each with all targets, move the estimate (`influences`).
        Where the error of the logarithm is above 1, which leaves even the size of the measure
        open, or the prior decides, it is that of a normal distribution with a 95 % interval as
        wide as this one's.
        """
        wanted = read_measure(measure, k)
        deviation = self._deviation(wanted)
        if deviation <= 1 and not self.prior_decides(wanted):
            return self.expect(wanted) * deviation
        low, high = self.interval(wanted)
        return (high - low) / (2 * NormalDist().inv_cdf(0.975))

    def influences(self, measure: str | Measure, k: int | None = None) -> Floats:
        """Return what each row adds to the estimate, to first order: float64, (n,).

        They tell how estimates of several models vary together over the users they share. What
        a user adds is the sum over the user's rows, each times its weight and n_users.
        """
        if not self.states:
            raise ArgumentError(
                "influences are those of an estimate, but these samples hold the whole catalogue."
            )
        found = influences(self.states, self.states[0].cells.weights(read_measure(measure, k)))
        return found * (n_observed(self.ranks) / self.ranks.n_users)

    def interval(
        self,
        measure: str | Measure,
        k: int | None = None,
        *,
        level: float = 0.95,
        bounds: Bounds | None = None,
    ) -> tuple[float, float]:
        """Return an interval for the exact mean over these users, and for the estimate in it.

        Its ends are quantiles over rank distributions drawn from the posterior, whose slope at
        rank 1 the sample alone decides. Where it leaves the share of users in the first ranks, 10
        or more, open by a factor of 20, the lower end takes nobody to be there, and the upper one
        as many as the sample allows (`identification_bounds`). A measure that is never
        worth less than another has no lower end below that one's, and no upper end either.

        Parameters
        ----------
        measure : str or Measure
        k : int, optional
        level : float
            Probability that it holds the exact mean, between 0 and 1, for rank distributions of
            the kind that the prior expects.
        bounds : Bounds, optional
            What `identification_bounds` gives at this level, to end the interval at. Computed
            where the first ranks are open, and no end without.
        """
        level = _check.number(level, "level", low=0.0, high=1.0, strict=True)
        wanted = read_measure(measure, k)
        value = self.distribution.expect(wanted)
        if not self.states:
            return value, value
        low, high = self._quantiles(wanted, level)
        if self.draws.n_open:
            bounds = self._bounds(wanted, level, bounds)
            high = max(high, self._most_open(wanted, level, bounds))
        if bounds is not None:
            value = min(max(value, bounds.low), bounds.high)
            low, high = max(low, bounds.low), min(high, bounds.high)
        most = float(rank_weights(wanted, self.distribution.n_items).max())
        return min(low, value), min(max(high, value), most)

    def prior_decides(self, measure: str | Measure, k: int | None = None) -> bool:
        """Whether the prior decides more of a measure than the sample.

        At least half of the estimate is then from first ranks in which the sample leaves the
        share of users open by a factor of 20 or more, and the interval is widened.
        """
        if not self.states:
            return False
        wanted = read_measure(measure, k)
        top = self.states[0].cells.edges[self.draws.n_open]
        weights = rank_weights(wanted, self.distribution.n_items)[:top]
        first = float(self.distribution.probabilities[: weights.size] @ weights)
        return bool(top) and first >= _MOSTLY * self.distribution.expect(wanted)

    @cached_property
    def draws(self) -> Draws:
        """Rank distributions that fit the sample, whatever their slope at rank 1."""
        factor = self._added() if self.n_steps else None
        with one_blas_thread:
            return draw(self.states, factor, n_observed(self.ranks))

    def _added(self) -> Floats:
        """Return by which factor steps of expectation maximisation changed each cell's mass."""
        starts = self.states[0].cells.edges[:-1]
        mass = np.add.reduceat(self.distribution.probabilities, starts)
        return mass / np.maximum(together(self.states), _LEAST)

    @cached_property
    def _known_bounds(self) -> dict[tuple[Measure, float], Bounds]:
        return {}

    def _bounds(self, measure: Measure, level: float, given: Bounds | None) -> Bounds:
        """Return identification bounds, which take longer than the fit, once computed or given."""
        found = given or self._known_bounds.get((measure, level))
        if found is None:
            found = identification_bounds(self.ranks, measure, confidence=level)
        self._known_bounds[measure, level] = found
        return found

    def _quantiles(self, measure: Measure, level: float) -> tuple[float, float]:
        """Return the ends over the draws, the lower one without the ranks that are open."""
        weights = self.states[0].cells.weights(measure)
        known = np.where(np.arange(weights.size) < self.draws.n_open, 0.0, weights)
        tail = NormalDist().cdf(_WIDER * NormalDist().inv_cdf((1.0 - level) / 2.0))
        return self.draws.quantile(known, tail), self.draws.quantile(weights, 1.0 - tail)

    def _most_open(self, measure: Measure, level: float, bounds: Bounds) -> float:
        """Return the most of a measure if the first ranks have all that the sample allows."""
        cells = self.states[0].cells
        depth = int(cells.edges[self.draws.n_open])
        if depth >= rank_weights(measure, self.distribution.n_items).size:
            return bounds.high
        below = cells.weights(measure)
        below[: self.draws.n_open] = 0.0
        first = most_of_first(self.ranks, measure, depth, level)
        return first + self.draws.quantile(below, 0.5)

    def _deviation(self, measure: Measure) -> float:
        """Return the standard deviation of the logarithm of a measure's mean, to first order."""
        value = self.distribution.expect(measure)
        if not self.states or value <= 0:
            return 0.0
        cells = self.states[0].cells
        weights = cells.weights(measure)
        mean, spread = log_moments(self.states, weights)
        within = of_users(self.states, weights, cells.weights(measure, 2))
        square = max(value, _LEAST) ** 2
        spread += within / (n_observed(self.ranks) * square)
        spread = max(spread, self._over_users(measure) / square)
        if self.n_steps:
            spread += (np.log(value) - mean) ** 2
        return float(np.sqrt(spread))

    def _over_users(self, measure: Measure) -> float:
        """Return the variance of the estimate over users drawn again, to first order."""
        n_users = self.ranks.n_users
        if n_users < 2:
            return 0.0
        owner, weights = self.ranks.owner, self.ranks.weights
        shares = np.bincount(owner, weights)
        moved = np.bincount(owner, weights * self.influences(measure)) / shares
        return n_users / (n_users - 1) * n_users * float(shares @ (moved - shares @ moved) ** 2)
