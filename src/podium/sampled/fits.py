"""Fits of one method to the observations of one model, in the form that all estimates are made of.

`evaluate` and `compare` read nothing else of samples. Each kind of observations has a fit:
`RanksFit` here, `SharedFit`, `StrataFit` and `ScanFit` in the packages of their observations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import inside, t_interval
from podium.metrics import Measure
from podium.sampled._request import extent
from podium.sampled._uncertainty import (
    IntervalOf,
    Resampler,
    interval_kind,
    linear_form,
    source_of_error,
    user_values,
)
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import (
    RankDistribution,
    depends_on_order,
    rank_weights,
    require_defined,
)
from podium.sampled.estimators import ErrorFrom, Estimator
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.estimators.smooth.data import has_history
from podium.sampled.ranks import SampledRanks

NOWHERE = Interval(np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class MeanOfUsers:
    """An estimate of one measure of one model.

    Attributes
    ----------
    mean, std_error : float
    interval : Interval
        The interval at the level; nan for means that need resamples.
    effects : float64, (n_users,)
        The effect of each user on the mean, times n_users, whose covariance gives the error from
        the choice of users. From resamples: their means, times the root of their number.
    other, freedom : float
        The variance of the mean that the effects do not contain, and its degrees of freedom.
    prior_decides : bool
    bounds : Bounds or None
        The bounds at the level of the interval.
    largest : float
        The largest possible mean.
    """

    mean: float
    std_error: float
    interval: Interval
    effects: Floats
    other: float = 0.0
    freedom: float = np.inf
    prior_decides: bool = False
    bounds: Bounds | None = None
    largest: float = np.inf

    @classmethod
    def of(
        cls,
        mean: float,
        effects: Floats,
        other: float = 0.0,
        *,
        interval: Interval = NOWHERE,
        prior_decides: bool = False,
        bounds: Bounds | None = None,
        largest: float = np.inf,
    ) -> MeanOfUsers:
        """Return a mean whose error is that of the effects and another standard error."""
        error = float(np.hypot(standard_error(effects), other))
        rest = (other**2, np.inf, prior_decides, bounds, largest)
        return cls(mean, error, interval, effects, *rest)

    def with_resamples(self, means: Floats, level: float, n_users: int) -> MeanOfUsers:
        """Return the mean with the error of resampled means; nan with one user.

        The interval is symmetric in the log of a positive estimate. Estimates of rare events vary
        more if they are larger, so that intervals symmetric about the mean are too low.
        """
        error = float(np.std(means, ddof=1))
        interval = t_interval(self.mean, error, n_users, level)
        if self.mean > 0 and (means >= 0).all():
            low, high = t_interval(0.0, error / self.mean, n_users, level)
            with np.errstate(over="ignore"):  # the end is limited to the largest value
                low, high = self.mean * float(np.exp(low)), self.mean * float(np.exp(high))
            interval = Interval(low, min(high, self.largest))
        effects = means * means.size**0.5
        return replace(self, std_error=error, interval=interval, effects=effects, other=0.0)


def standard_error(effects: Floats) -> float:
    """Return the standard error of a mean of users' values; nan with one user."""
    return stats.summarize(effects).std_error


def limited(interval: Interval, bounds: tuple[float, float], value: float) -> Interval:
    """Return the interval, cut off at the bounds, but not at the value that it is for."""
    low, high = inside(interval, bounds)
    return Interval(min(low, value), max(high, value))


def covering(interval: Interval, bounds: Bounds) -> Interval:
    """Return the interval, extended to the bounds."""
    return Interval(min(interval.low, bounds.low), max(interval.high, bounds.high))


class Fit(ABC):
    """A method and the observations of one model.

    Attributes
    ----------
    observed : SampledRanks, SharedRanks or ScannedRanks
    omits_assumptions : bool
        Whether standard errors omit the errors of the method's assumptions, so that where the prior
        decides, intervals cover the bounds, and the sign of a difference is unknown.
    is_shared : bool
        Whether whole rankings are measured.
    """

    omits_assumptions: ClassVar[bool] = False
    is_shared: ClassVar[bool] = False

    observed: Any

    @property
    def n_users(self) -> int:
        """The number of users."""
        return self.observed.n_users

    @property
    @abstractmethod
    def method(self) -> str:
        """The method, as a text."""

    @property
    @abstractmethod
    def source(self) -> ErrorFrom:
        """Where the standard error comes from."""

    @property
    @abstractmethod
    def bias(self) -> tuple[bool, IntervalOf]:
        """Whether the method is biased here, and the quantity that intervals are for."""

    @property
    @abstractmethod
    def design(self) -> dict[str, Any]:
        """The sizes and other conventions of the sample as JSON values; see `design_of`."""

    @abstractmethod
    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; warn of a named model with a bad sample."""

    @abstractmethod
    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""

    @abstractmethod
    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure, with bounds at the level or without bounds."""

    def resampled(
        self, measures: Sequence[Measure], resampler: Resampler, number: int, counts: Ints
    ) -> Sequence[float] | Floats:
        """Estimate measures from resampled users; `number` is that of the sample."""
        raise NotImplementedError

    @property
    def targets(self) -> SampledRanks:
        """The ranks of single targets, for resamples."""
        raise NotImplementedError

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks, which samples hardly show, is assumed."""
        return False

    def conventions(self, seed: int, n_bootstrap: int | None) -> dict[str, Any]:
        """Return the method and the design as JSON values; sizes that differ as [low, high]."""
        method = {"method": self.method, "n_users": self.n_users}
        shared = {"shared": True} if self.is_shared else {}
        return {**method, **self.design, "n_bootstrap": n_bootstrap, "seed": seed, **shared}

    def error_of_difference(self, a: MeanOfUsers, b: MeanOfUsers) -> tuple[float, float]:
        """Return the standard error of a difference, and the number of users for its interval."""
        others = np.hypot(np.sqrt(a.other), np.sqrt(b.other))
        return float(np.hypot(standard_error(b.effects - a.effects), others)), self.n_users

    def limits(self, bounds: Bounds | None, largest: float) -> tuple[float, float]:
        """Return where intervals of differences end: at their bounds, or the largest value."""
        if self.source != "posterior":
            return -np.inf, np.inf
        return bounds or (-largest, largest)


def design_of(
    n_items: int | Ints,
    n_negatives: int | Ints,
    *,
    replacement: bool = False,
    stages: tuple[int, ...] = (),
    history: str | None = None,
    n_listed: Ints | None = None,
) -> dict[str, Any]:
    """Return the design of a sample as JSON values."""
    sizes = {"n_items": extent(n_items), "n_negatives": extent(n_negatives)}
    listed = {} if n_listed is None else {"n_listed": extent(n_listed)}
    drawing = {"replacement": replacement, "stages": list(stages) or None, "history": history}
    return {**sizes, **listed, **drawing}


class EstimatorFit(Fit):
    """A fit of a registered estimator."""

    estimator: Estimator

    @property
    def method(self) -> str:
        return str(self.estimator)

    @property
    def source(self) -> ErrorFrom:
        return source_of_error(self.estimator, self.observed)

    @property
    def bias(self) -> tuple[bool, IntervalOf]:
        return interval_kind(self.estimator, self.observed)


@dataclass(frozen=True, eq=False)
class RanksFit(EstimatorFit):
    """An estimator and the ranks of single targets."""

    estimator: Estimator
    observed: SampledRanks

    @property
    def targets(self) -> SampledRanks:
        return self.observed

    @property
    def design(self) -> dict[str, Any]:
        ranks, history = self.observed, None
        if ranks.history is not None:
            is_read = self.estimator.reads_history and not ranks.is_exact and has_history(ranks)
            history = "read" if is_read else "not read"
        drawing: dict[str, Any] = {"replacement": ranks.replacement, "stages": ranks.stages}
        return design_of(ranks.n_items, ranks.n_negatives, **drawing, history=history)

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        self.estimator.check(self.observed)
        require_defined(measures, self.observed.fewest_items)

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        return identification_bounds(self.observed, measure, confidence=confidence)

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks is assumed; see `Fit.orders`."""
        n_first = min(design.n_items // design.n_negatives for design, _ in self.observed.designs)
        return depends_on_order(measure, self.observed.most_items, n_first)

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        limits = self.bounds(measure, level) if bounds else None
        largest = float(rank_weights(measure, self.observed.most_items).max())
        ends: dict[str, Any] = {"bounds": limits, "largest": largest}
        linear = linear_form(self.estimator, self.observed)
        if linear is not None:
            values = user_values(linear, self.observed, measure)
            summary = stats.summarize(values, level=level)
            return MeanOfUsers.of(summary.mean, values, interval=summary.interval, **ends)
        if self.source != "posterior":
            mean = estimated(self.estimator, self.observed, self._distribution, measure)
            return MeanOfUsers.of(mean, np.empty(0), **ends)
        fit, n_users = self._posterior, self.n_users
        prior_decides = fit.prior_decides(measure)
        if n_users < 2:
            nothing = np.zeros(n_users)
            return MeanOfUsers.of(fit.expect(measure), nothing, prior_decides=prior_decides, **ends)
        effects = fit.user_effects(measure) * n_users if fit.states else np.zeros(n_users)
        error = fit.std_error(measure)
        other = max(error**2 - standard_error(effects) ** 2, 0.0)
        interval = Interval(*fit.interval(measure, level=level, bounds=limits))
        own = {"other": other, "prior_decides": prior_decides}
        return MeanOfUsers(fit.expect(measure), error, interval, effects, **own, **ends)

    def resampled(
        self, measures: Sequence[Measure], resampler: Resampler, number: int, counts: Ints
    ) -> Floats:
        """Estimate measures from resampled users; see `Fit.resampled`."""
        tally = resampler.parts[number].tally(counts)
        known = self.estimator.fit(tally) if self.estimator.gives_distribution else None
        return np.array([estimated(self.estimator, tally, known, m) for m in measures])

    @cached_property
    def _posterior(self) -> SmoothFit:
        return self.estimator.posterior(self.observed)

    @cached_property
    def _distribution(self) -> RankDistribution | None:
        return self.estimator.fit(self.observed) if self.estimator.gives_distribution else None


def estimated(
    estimator: Estimator, ranks: SampledRanks, known: RankDistribution | None, measure: Measure
) -> float:
    """Return an estimate from a distribution, or without one if the method gives none."""
    return estimator.estimate(ranks, measure) if known is None else known.expect(measure)
