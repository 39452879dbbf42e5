"""A measure's mean over users whose targets share a sample, with the parts of its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.metrics import Measure
from podium.sampled._request import conventions, extent
from podium.sampled._uncertainty import (
    IntervalOf,
    by_bootstrap,
    interval_kind,
    linear_form,
    source_of_error,
)
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Floats
from podium.sampled.difference import limited
from podium.sampled.distribution import RankDistribution, depends_on_order, rank_weights
from podium.sampled.estimators import ErrorFrom, Estimator
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.ranks import SampledRanks
from podium.sampled.shared.groups import Group, groups, user_values
from podium.sampled.shared.ranks import SharedRanks

_PRIOR_SHARE = 0.5  # of an estimate from groups whose prior decides


@dataclass(frozen=True, eq=False)
class SharedMean:
    """An estimate of one measure of one model.

    Attributes
    ----------
    mean : float
    effects : float64, (n_users,)
        The effect of each user on the mean, times n_users. Their covariance gives the error from
        the choice of users; empty for methods that need resamples.
    other : float
        The standard error that the effects do not contain: of the shape that samples leave
        uncertain.
    interval : Interval or None
        The method's interval at the level; None if the method has no intervals.
    prior_decides : bool
    bounds : Bounds or None
        The bounds at the level of the interval.
    resampled : float64, (n_bootstrap,), or None
        The means of resampled users, for methods whose error comes from them.
    largest : float
        The largest possible mean.
    """

    mean: float
    effects: Floats
    other: float = 0.0
    interval: Interval | None = None
    prior_decides: bool = False
    bounds: Bounds | None = None
    resampled: Floats | None = None
    largest: float = np.inf

    @property
    def variation(self) -> Floats:
        """Values that vary like the mean with the choice of users: their effects or resamples.

        The standard deviation of resamples is that of the mean, and not of a user's value.
        """
        return self.effects if self.resampled is None else self.resampled * self.resampled.size**0.5

    @property
    def std_error(self) -> float:
        return float(np.hypot(standard_error(self.variation), self.other))

    @property
    def own_interval(self) -> Interval:
        """The interval of the method; nan if it has none."""
        return self.interval or Interval(np.nan, np.nan)

    def interval_at(self, level: float, n_users: int) -> Interval:
        """Return the method's own interval at this level, or that of the resamples."""
        if self.resampled is None:
            return self.own_interval
        return by_bootstrap(self.mean, self.resampled, self.largest, level, n_users).interval


def standard_error(effects: Floats) -> float:
    """Return the standard error of a mean of users' values; nan with one user."""
    return stats.summarize(effects).std_error


@dataclass(frozen=True, eq=False)
class Fits:
    """Fits of one method to the groups of several measures; equal groups are fitted once."""

    method: Estimator
    shared: SharedRanks
    _groups: dict[Measure, list[Group]] = field(default_factory=dict[Measure, "list[Group]"])
    _observed: dict[tuple[bytes, bytes], SampledRanks] = field(
        default_factory=dict[tuple[bytes, bytes], SampledRanks]
    )
    _known: dict[tuple[bytes, bytes], SmoothFit | RankDistribution] = field(
        default_factory=dict[tuple[bytes, bytes], SmoothFit | RankDistribution]
    )

    @property
    def source(self) -> ErrorFrom:
        """Where the standard error comes from."""
        return source_of_error(self.method, self.shared)

    @property
    def is_biased(self) -> bool:
        return interval_kind(self.method, self.shared)[0]

    @property
    def interval_of(self) -> IntervalOf:
        """The quantity that intervals are for."""
        return interval_kind(self.method, self.shared)[1]

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks, which samples hardly show, is assumed."""
        targets = self.shared.targets
        n_first = int(np.min(np.asarray(targets.n_items) // np.asarray(targets.n_negatives)))
        return depends_on_order(measure, targets.most_items, n_first)

    def conventions(self, seed: int, n_bootstrap: int | None) -> dict[str, Any]:
        """Return the method and the design as JSON values."""
        recorded = conventions(self.method, self.shared.targets, seed, n_bootstrap)
        return {**recorded, "n_items": extent(self.shared.n_items), "shared": True}

    def groups(self, measure: Measure) -> list[Group]:
        """Return the groups of a measure, which are computed once."""
        if measure not in self._groups:
            self._groups[measure] = groups(self.shared, measure)
        return self._groups[measure]

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return bounds of one measure."""
        parts = self.groups(measure)
        return _summed(self._bounds(parts, confidence), self._shares(parts))

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> SharedMean:
        """Estimate one measure, with bounds at the level or without bounds."""
        parts = self.groups(measure)
        limits = self._bounds(parts, level) if bounds else None
        total = None if limits is None else _summed(limits, self._shares(parts))
        linear = linear_form(self.method, self.shared)
        if linear is not None:
            values = user_values(linear, self.shared, measure, parts)
            interval = stats.summarize(values, level=level).interval
            return SharedMean(float(values.mean()), values, 0.0, interval, False, total)
        if self.method.error_from == "posterior":
            return self._by_posteriors(parts, level, limits, total)
        shares = self._shares(parts)
        means = [self._fit(part).expect(part.term) for part in parts]
        n_items = self.shared.targets.most_items
        highest = [float(rank_weights(part.term, n_items).max()) for part in parts]
        return SharedMean(
            float(shares @ means), np.empty(0), bounds=total, largest=float(shares @ highest)
        )

    def resampled(self, measures: Sequence[Measure], users: Floats) -> list[float]:
        """Estimate measures from users that count any number of times: float64, (n_users,)."""
        owner, means = self.shared.owner, list[float]()
        known: dict[tuple[bytes, bytes], RankDistribution] = {}
        for measure in measures:
            total = 0.0
            for part in self.groups(measure):
                counts = users[owner[part.rows]]
                share = float(part.sizes @ counts)
                if share and part.key not in known:
                    tally = part.tally(self._ranks(part), counts)
                    known[part.key] = self.method.fit(tally)
                total += share * known[part.key].expect(part.term) if share else 0.0
            means.append(total / self.shared.n_users)
        return means

    def _shares(self, parts: Sequence[Group]) -> Floats:
        """Return the factor of each group's mean term in the measure."""
        return np.array([part.sizes.sum() for part in parts]) / self.shared.n_users

    def _ranks(self, part: Group) -> SampledRanks:
        if part.key not in self._observed:
            self._observed[part.key] = part.ranks(self.shared.targets)
        return self._observed[part.key]

    def _bounds(self, parts: Sequence[Group], level: float) -> list[Bounds]:
        """Return bounds of each group's mean term that all hold with the probability `level`."""
        confidence = level if len(parts) < 2 else 1.0 - (1.0 - level) / len(parts)
        return [
            identification_bounds(self._ranks(part), part.term, confidence=confidence)
            for part in parts
        ]

    def _fit(self, part: Group) -> SmoothFit | RankDistribution:
        if part.key not in self._known:
            ranks, method = self._ranks(part), self.method
            has_posterior = method.error_from == "posterior"
            self._known[part.key] = method.posterior(ranks) if has_posterior else method.fit(ranks)
        return self._known[part.key]

    def _by_posteriors(
        self,
        parts: Sequence[Group],
        level: float,
        limits: Sequence[Bounds] | None,
        total: Bounds | None,
    ) -> SharedMean:
        """Sum the means of groups.

        Effects of a user on several groups are added. The other errors, from the shape that samples
        leave uncertain, are added as if they were the same in all groups. The interval has the form
        of the sum of the groups' intervals, and is narrower by the ratio of the standard error to
        the sum of theirs.
        """
        shares = self._shares(parts).tolist()
        ends = [None] * len(parts) if limits is None else limits
        means = [
            self._part_mean(*of_part, level) for of_part in zip(parts, shares, ends, strict=True)
        ]
        mean = sum(part.mean for part in means)
        effects = np.sum([part.effects for part in means], axis=0)
        other = sum(part.other for part in means)
        prior_part = sum(part.mean for part in means if part.prior_decides)
        result = SharedMean(mean, effects, other, None, prior_part >= _PRIOR_SHARE * mean, total)
        errors = sum(part.std_error for part in means)
        if not errors > 0:
            return result
        ratio = result.std_error / errors
        low, high = (sum(ends) for ends in zip(*(part.own_interval for part in means), strict=True))
        interval = Interval(mean - ratio * (mean - low), mean + ratio * (high - mean))
        if total is not None:
            interval = limited(interval, total, mean)
        return replace(result, interval=interval)

    def _part_mean(
        self, part: Group, share: float, bounds: Bounds | None, level: float
    ) -> SharedMean:
        """Return the part of a group in the mean of a measure."""
        fit, n_users = cast("SmoothFit", self._fit(part)), self.shared.n_users
        effects = np.zeros(n_users)
        if fit.states:
            of_rows = fit.influences(part.term) * fit.ranks.weights * fit.ranks.n_users
            np.add.at(effects, self.shared.owner[part.rows], share * n_users * of_rows)
        error = share * fit.std_error(part.term)
        other = np.sqrt(max(error**2 - standard_error(effects) ** 2, 0.0))
        low, high = fit.interval(part.term, level=level, bounds=bounds)
        return SharedMean(
            share * fit.expect(part.term),
            effects,
            float(other),
            Interval(share * low, share * high),
            fit.prior_decides(part.term),
        )


def _summed(limits: Sequence[Bounds], shares: Floats) -> Bounds:
    low, high = (float(shares @ ends) for ends in np.array(limits).reshape(-1, 2).T)
    return Bounds(low, high)
