"""The fit to a scan: values of users, and the parts of the error of their mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import inside, std_error, t_interval
from podium.metrics import Measure
from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats
from podium.sampled.distribution import RANK_AUC, rank_weights, require_defined, values_of
from podium.sampled.estimators import ErrorFrom
from podium.sampled.fits import Fit, IntervalOf, MeanOfUsers, covering, design_of
from podium.sampled.scanning.bounds import scan_bounds
from podium.sampled.scanning.open_targets import OpenTargets
from podium.sampled.scanning.ranks import ScannedRanks

_LEVEL = 0.95  # of the bounds of means, for intervals of any level
_PRIOR = 5  # audited targets that the variance of the fitted distribution counts for


class ErrorPart(NamedTuple):
    """A part of the error of a mean: its variance, and the degrees of freedom of the variance."""

    variance: float
    freedom: float


def spread(values: Floats) -> ErrorPart:
    """Return the part of the error that the variation between users causes."""
    return ErrorPart(std_error(values) ** 2, values.size - 1)


def combined(parts: Iterable[ErrorPart]) -> tuple[float, float]:
    """Return the standard error, and the number of users that gives its t interval.

    Notes
    -----
    The degrees of freedom are those of Welch and Satterthwaite.
    """
    known = [part for part in parts if part.variance != 0.0]
    variance = sum(part.variance for part in known)
    if not variance > 0.0:  # no error, or nan for a single user
        return float(np.sqrt(variance)), 1.0 if known else np.inf
    uncertainty = sum(part.variance**2 / part.freedom for part in known)
    return float(np.sqrt(variance)), variance**2 / uncertainty + 1.0 if uncertainty else np.inf


@dataclass(frozen=True, eq=False)
class ScanFit(Fit):
    """The distribution of unscored items, which is fitted once, and measures by it."""

    omits_assumptions: ClassVar[bool] = True

    observed: ScannedRanks

    @cached_property
    def open_targets(self) -> OpenTargets:
        """The fitted distribution."""
        return OpenTargets.fit(self.observed)

    @property
    def method(self) -> str:
        return f"scan(k={self.observed.k})"

    @property
    def source(self) -> ErrorFrom:
        return "posterior" if self.bias[0] else "users"

    @property
    def bias(self) -> tuple[bool, IntervalOf]:
        is_settled = not self.observed.is_open.any()
        return not (self.observed.is_audited.any() or is_settled), "exact"

    @property
    def design(self) -> dict[str, Any]:
        return design_of(self.observed.n_items, self.observed.n_scored)

    def require(self, measures: Sequence[Measure], name: str = "") -> None:
        """Raise for measures that cannot be estimated; see `Fit.require`."""
        k = self.observed.k
        for measure in measures:
            if measure.k is None and measure.name != RANK_AUC:
                raise ArgumentError(
                    f"{measure} cannot be estimated from a scan, which shows the top of lists "
                    "only. Use a measure with a cutoff, such as recall@10."
                )
            if measure.k is None or measure.k > k or measure.name == RANK_AUC:
                raise ArgumentError(
                    f"{measure} cannot be estimated from a scan to k = {k}, which settles targets "
                    f"with {k} items above them. Use a measure with a cutoff of at most {k}, or "
                    "scan with a larger k."
                )
        require_defined(measures, int(self.observed.n_items.min()))
        self.observed.warn_of_random_list(name)

    def bounds(self, measure: Measure, confidence: float) -> Bounds:
        """Return the range of a measure that the observations allow."""
        return scan_bounds(self.observed, self._weights(measure), self.open_targets, confidence)

    def mean(self, measure: Measure, level: float, *, bounds: bool) -> MeanOfUsers:
        """Estimate one measure; see `Fit.mean`."""
        ranks, weights = self.observed, self._weights(measure)
        values = self.open_targets.values(ranks, weights)
        of_users, largest = ranks.means_of_users(values), float(weights.max(initial=0.0))
        influences, correction = np.zeros(ranks.n_users), 0.0
        is_audited = bool(ranks.is_audited.any())
        if is_audited:
            variances = np.maximum(self.open_targets.values(ranks, weights**2) - values**2, 0.0)
            correction, other = _correction(ranks, weights, values, variances)
        else:
            influences, other = _error_of_fit(ranks, weights, self.open_targets)
        ends = self.bounds(measure, (1.0 + _LEVEL) / 2)
        mean = min(max(float(of_users.mean()) + correction, ends.low), ends.high)
        is_unknown = ranks.has_short_lists and bool(ranks.is_open.any())
        is_larger = other.variance + spread(influences).variance > spread(of_users).variance
        prior_decides = not is_audited and (is_unknown or is_larger)
        effects = of_users + influences
        error, size = combined((spread(effects), other))
        interval = inside(t_interval(mean, error, size, level), (0.0, largest))
        limits = None
        if bounds or prior_decides:  # so that those of two models hold
            limits = self.bounds(measure, (1.0 + level) / 2)
            interval = covering(interval, limits) if prior_decides else interval
        shown = limits if bounds else None
        return MeanOfUsers(mean, error, interval, effects, *other, prior_decides, shown, largest)

    def error_of_difference(self, a: MeanOfUsers, b: MeanOfUsers) -> tuple[float, float]:
        """Return the error of a difference; see `Fit.error_of_difference`."""
        others = (ErrorPart(mean.other, mean.freedom) for mean in (a, b))
        return combined((spread(b.effects - a.effects), *others))

    def limits(self, bounds: Bounds | None, largest: float) -> tuple[float, float]:
        """Return where intervals of differences end; see `Fit.limits`."""
        return -largest, largest

    def _weights(self, measure: Measure) -> Floats:
        return rank_weights(measure, int(self.observed.n_items.max()))[: self.observed.k]


def _error_of_fit(
    ranks: ScannedRanks, weights: Floats, fit: OpenTargets
) -> tuple[Floats, ErrorPart]:
    """Return the effects of users through the fit, or the error of the fit, and 0 for the other.

    The covariance of the fit holds for independent targets, as users with one target have. The
    targets of a user depend on each other, so that their effects are summed.
    """
    gradient = fit.gradient(ranks, weights)
    if not ranks.has_several_targets:
        variance = float(gradient @ fit.covariance @ gradient)
        return np.zeros(ranks.n_users), ErrorPart(variance, np.inf)
    of_targets = fit.influences(ranks, ranks.n_users * gradient)
    return ranks.sums_of_users(of_targets), ErrorPart(0.0, np.inf)


def _correction(
    ranks: ScannedRanks, weights: Floats, values: Floats, variances: Floats
) -> tuple[float, ErrorPart]:
    """Return the mean error of the values of audited targets, and the error of this mean.

    `variances` are those of the values under the fitted distribution.
    """
    audited, n_open = np.flatnonzero(ranks.is_audited), int(ranks.is_open.sum())
    exact = values_of(weights, ranks.above_all[audited])
    scales = n_open * ranks.weights
    errors = scales[audited] * (exact - values[audited])
    freedom = audited.size - 1
    expected = float((scales**2 * variances)[ranks.is_open].mean())
    variance = _PRIOR * expected + freedom * float(errors.var(ddof=1 if freedom else 0))
    variance *= (1 - audited.size / n_open) / audited.size / (_PRIOR + freedom)
    return float(errors.mean()), ErrorPart(variance, _PRIOR + freedom)
