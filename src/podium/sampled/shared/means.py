"""The fit of a method to users whose targets share a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats import Interval
from podium.metrics import Measure
from podium.sampled._uncertainty import Resampler, linear_form
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.design import Floats, Ints
from podium.sampled.distribution import (
    RANK_AUC,
    RankDistribution,
    depends_on_order,
    rank_weights,
    require_defined,
)
from podium.sampled.estimators import Estimator
from podium.sampled.estimators.smooth import SmoothFit
from podium.sampled.fits import EstimatorFit, Fit, MeanOfUsers, design_of, limited, standard_error
from podium.sampled.ranks import SampledRanks
from podium.sampled.shared.groups import Group, groups, user_values
from podium.sampled.shared.ranks import SharedRanks

_PRIOR_SHARE = 0.5  # of an estimate from groups whose prior decides

_Key = tuple[bytes, bytes]


class WholeFit(Fit):
    """A fit to whole rankings, whose measures are sums over the targets of a user."""

    is_shared: ClassVar[bool] = True

    observed: SharedRanks

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        for measure in measures:
            if measure.name == RANK_AUC:
                raise ArgumentError(
                    f"{RANK_AUC} is defined for users with one target only. Use auc or pauc@k."
                )
            if measure.k is None and self.observed.has_strata:
                raise ArgumentError(
                    f"{measure} has no cutoff, and strata show the top of lists only. Add a "
                    f"cutoff, such as {measure}@10."
                )
        require_defined(measures, int(self.observed.n_candidates.min()))


@dataclass(frozen=True, eq=False)
class SharedFit(WholeFit, EstimatorFit):
    """An estimator, fitted to the groups of several measures; equal groups are fitted once."""

    estimator: Estimator
    observed: SharedRanks
    _groups: dict[Measure, list[Group]] = field(default_factory=dict[Measure, "list[Group]"])
    _observed: dict[_Key, SampledRanks] = field(default_factory=dict[_Key, SampledRanks])
    _known: dict[_Key, SmoothFit | RankDistribution] = field(
        default_factory=dict[_Key, SmoothFit | RankDistribution]
    )

    @property
    def targets(self) -> SampledRanks:
        return self.observed.targets

    @property
    def design(self) -> dict[str, Any]:
        ranks = self.observed
        return design_of(ranks.n_items, ranks.n_negatives, replacement=ranks.replacement)

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        super().require(measures)
        self.estimator.check(self.targets)

    def orders(self, measure: Measure) -> bool:
        """Return whether the order of the first ranks is assumed; see `Fit.orders`."""
        targets = self.targets
        n_first = int(np.min(np.asarray(targets.n_items) // np.asarray(targets.n_negatives)))
        return depends_on_order(measure, targets.most_items, n_first)

    def groups(self, measure: Measure) -> list[Group]:
        """Return the groups of a measure, which are computed once."""
        if measure not in self._groups:
            self._groups[measure] = groups(self.observed, measure)
        return self._groups[measure]

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        parts = self.groups(measure)
        return _summed(self._bounds(parts, confidence), self._shares(parts))

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        parts = self.groups(measure)
        shares = self._shares(parts)
        limits = self._bounds(parts, level) if bounds else None
        total = None if limits is None else _summed(limits, shares)
        linear = linear_form(self.estimator, self.observed)
        if linear is not None:
            values = user_values(linear, self.observed, measure, parts)
            interval = stats.summarize(values, level=level).interval
            return MeanOfUsers.of(float(values.mean()), values, interval=interval, bounds=total)
        if self.source == "posterior":
            return self._by_posteriors(parts, level, limits, total)
        means = [self._fit(part).expect(part.term) for part in parts]
        highest = [float(rank_weights(part.term, self.targets.most_items).max()) for part in parts]
        mean, largest = float(shares @ means), float(shares @ highest)
        return MeanOfUsers.of(mean, np.empty(0), bounds=total, largest=largest)

    def resampled(
        self, measures: Sequence[Measure], resampler: Resampler, number: int, counts: Ints
    ) -> list[float]:
        """Estimate measures from resampled users; see `Fit.resampled`."""
        users, owner, means = resampler.spread(counts), self.observed.owner, list[float]()
        known: dict[_Key, RankDistribution] = {}
        for measure in measures:
            total = 0.0
            for part in self.groups(measure):
                counts_of_rows = users[owner[part.rows]]
                share = float(part.sizes @ counts_of_rows)
                if share and part.key not in known:
                    tally = part.tally(self._ranks(part), counts_of_rows)
                    known[part.key] = self.estimator.fit(tally)
                total += share * known[part.key].expect(part.term) if share else 0.0
            means.append(total / self.n_users)
        return means

    def _shares(self, parts: Sequence[Group]) -> Floats:
        """Return the factor of each group's mean term in the measure."""
        return np.array([part.sizes.sum() for part in parts]) / self.n_users

    def _ranks(self, part: Group) -> SampledRanks:
        if part.key not in self._observed:
            self._observed[part.key] = part.ranks(self.targets)
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
            has_posterior = self.estimator.error_from == "posterior"
            fit = self.estimator.posterior if has_posterior else self.estimator.fit
            self._known[part.key] = fit(self._ranks(part))
        return self._known[part.key]

    def _by_posteriors(
        self,
        parts: Sequence[Group],
        level: float,
        limits: Sequence[Bounds] | None,
        total: Bounds | None,
    ) -> MeanOfUsers:
        """Sum the means of groups.

        Effects of a user on several groups are added. The other errors, from the shape that samples
        leave uncertain, are added as if they were the same in all groups. The interval has the form
        of the sum of the groups' intervals, and is narrower by the ratio of the standard error to
        the sum of theirs.
        """
        ends = [None] * len(parts) if limits is None else limits
        shares = self._shares(parts).tolist()
        means = [
            self._part_mean(*of_part, level) for of_part in zip(parts, shares, ends, strict=True)
        ]
        mean = sum(part.mean for part in means)
        effects = np.sum([part.effects for part in means], axis=0)
        other = sum(float(np.sqrt(part.other)) for part in means)
        prior_part = sum(part.mean for part in means if part.prior_decides)
        prior_decides = prior_part >= _PRIOR_SHARE * mean
        result = MeanOfUsers.of(mean, effects, other, prior_decides=prior_decides, bounds=total)
        errors = sum(part.std_error for part in means)
        if not errors > 0:
            return result
        ratio = result.std_error / errors
        low, high = (sum(ends) for ends in zip(*(part.interval for part in means), strict=True))
        interval = Interval(mean - ratio * (mean - low), mean + ratio * (high - mean))
        if total is not None:
            interval = limited(interval, total, mean)
        return replace(result, interval=interval)

    def _part_mean(
        self, part: Group, share: float, bounds: Bounds | None, level: float
    ) -> MeanOfUsers:
        """Return the part of a group in the mean of a measure."""
        fit = cast("SmoothFit", self._fit(part))
        effects = np.zeros(self.n_users)
        if fit.states:
            of_rows = fit.influences(part.term) * fit.ranks.weights * fit.ranks.n_users
            np.add.at(effects, self.observed.owner[part.rows], share * self.n_users * of_rows)
        error = share * fit.std_error(part.term)
        other = np.sqrt(max(error**2 - standard_error(effects) ** 2, 0.0))
        low, high = fit.interval(part.term, level=level, bounds=bounds)
        return MeanOfUsers.of(
            share * fit.expect(part.term),
            effects,
            float(other),
            interval=Interval(share * low, share * high),
            prior_decides=fit.prior_decides(part.term),
        )


def _summed(limits: Sequence[Bounds], shares: Floats) -> Bounds:
    low, high = (float(shares @ ends) for ends in np.array(limits).reshape(-1, 2).T)
    return Bounds(low, high)
