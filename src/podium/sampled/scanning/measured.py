"""The measures of a scan: values of users, and the parts of the error of their mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium.evaluation.stats.intervals import std_error
from podium.metrics import Measure
from podium.sampled.bounds import Bounds
from podium.sampled.design import Floats
from podium.sampled.distribution import rank_weights, values_of
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
class MeasuredScan:
    """A measure of a scan: values of users, and the part of the error that they do not show.

    Attributes
    ----------
    k : int
        The largest cutoff of the scan.
    values : float64, (n_users,)
        The expected value of each user.
    influences : float64, (n_users,)
        The effect of each user on the mean through the fit, times n_users, if users have several
        targets; otherwise 0.
    correction : float
        The correction of their mean by an audit; 0 without one.
    other : ErrorPart
        The error of the correction; without an audit, that of the fit, unless `influences` show it.
    bounds : Bounds
        The smallest and the largest mean that the scored items allow, at the level.
    limits : Bounds
        The bounds of the mean, which do not depend on the level.
    largest : float
        The largest value of a user.
    is_audited, is_settled : bool
        Whether there is an audit, and whether no target is open.
    has_short_lists : bool
        Whether the lists settle too few targets.
    """

    k: int
    values: Floats
    influences: Floats
    correction: float
    other: ErrorPart
    bounds: Bounds
    limits: Bounds
    largest: float
    is_audited: bool
    is_settled: bool
    has_short_lists: bool

    @property
    def mean(self) -> float:
        """The corrected mean, inside the bounds at the usual level."""
        mean = float(self.values.mean()) + self.correction
        return min(max(mean, self.limits.low), self.limits.high)

    @property
    def effects(self) -> Floats:
        """The effect of each user on the mean, times n_users: float64, (n_users,)."""
        return self.values + self.influences

    @property
    def is_biased(self) -> bool:
        """Whether the mean depends on the distribution of unscored items."""
        return not (self.is_audited or self.is_settled)

    @property
    def prior_decides(self) -> bool:
        """Whether the error of the fit is the larger part, or unknown because of short lists."""
        is_unknown = self.has_short_lists and not self.is_settled
        of_fit = self.other.variance + spread(self.influences).variance
        is_larger = of_fit > spread(self.values).variance
        return not self.is_audited and (is_unknown or is_larger)


def measure_scan(
    ranks: ScannedRanks, measures: Iterable[Measure], level: float
) -> dict[str, MeasuredScan]:
    """Fit the distribution of unscored items once, and measure by it."""
    fit = OpenTargets.fit(ranks)
    return {str(measure): _measured(measure, ranks, fit, level) for measure in measures}


def _measured(
    measure: Measure, ranks: ScannedRanks, fit: OpenTargets, level: float
) -> MeasuredScan:
    weights = rank_weights(measure, int(ranks.n_items.max()))[: ranks.k]
    values = fit.values(ranks, weights)
    is_audited = bool(ranks.is_audited.any())
    bounds, limits = (  # so that those of two models hold
        scan_bounds(ranks, weights, fit, (1.0 + of_bounds) / 2) for of_bounds in (level, _LEVEL)
    )
    influences, correction = np.zeros(ranks.n_users), 0.0
    if is_audited:
        variances = np.maximum(fit.values(ranks, weights**2) - values**2, 0.0)
        correction, other = _correction(ranks, weights, values, variances)
    else:
        influences, other = _error_of_fit(ranks, weights, fit)
    return MeasuredScan(
        ranks.k,
        ranks.means_of_users(values),
        influences,
        correction,
        other,
        bounds,
        limits,
        float(weights.max(initial=0.0)),
        is_audited,
        not ranks.is_open.any(),
        ranks.has_short_lists,
    )


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
    scales = n_open * ranks.shares_of_users
    errors = scales[audited] * (exact - values[audited])
    freedom = audited.size - 1
    expected = float((scales**2 * variances)[ranks.is_open].mean())
    variance = _PRIOR * expected + freedom * float(errors.var(ddof=1 if freedom else 0))
    variance *= (1 - audited.size / n_open) / audited.size / (_PRIOR + freedom)
    return float(errors.mean()), ErrorPart(variance, _PRIOR + freedom)
