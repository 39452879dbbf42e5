"""The difference of a measure between two models, estimated from sampled ranks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from podium._json import plain
from podium.evaluation.stats import Interval
from podium.evaluation.stats.intervals import inside, t_p_value, t_statistic
from podium.sampled._uncertainty import IntervalOf
from podium.sampled.bounds import Bounds
from podium.sampled.estimators import ErrorFrom


@dataclass(frozen=True)
class Difference:
    """The difference of a measure between models b and a, on the same users.

    Attributes
    ----------
    a, b : float
        The estimates of the two models.
    difference, std_error : float
        The difference b - a and its standard error, in units of the measure.
    interval : Interval
        The confidence interval of the quantity that `interval_of` names, with coverage `level`.
    level : float
    n_groups : int
        The number of users.
    method : str
    biased : bool
    interval_of : {"exact", "expectation"}
    error_from : {"users", "bootstrap", "posterior"}
        The source of the standard error. This and the three attributes before are described in
        `Estimate`.
    sign_probability : float
        The probability that the sign of the difference is right, for the exact means or the
        expectations, according to `interval_of`. It is 0.5 for a difference of 0, and nan if there
        is no standard error. For scans and strata, it is also nan where `prior_decides`: their
        errors do not include the errors of the assumptions.
    bounds : Bounds or None
        The smallest and the largest difference of exact means that are compatible with the observed
        ranks. The interval of the default estimator lies inside these bounds.
    prior_decides : bool
        Whether the method's prior decides more than the ranks for at least one of the models; see
        `Estimate`. The interval of scans and strata then contains all differences that the ranks
        allow.
    """

    a: float
    b: float
    difference: float
    std_error: float
    interval: Interval
    level: float
    n_groups: int
    method: str
    biased: bool
    interval_of: IntervalOf
    error_from: ErrorFrom
    sign_probability: float
    bounds: Bounds | None
    prior_decides: bool = False

    @property
    def either_sign(self) -> bool | None:
        """Whether the observed ranks allow either model to be better; None without bounds."""
        return None if self.bounds is None else self.bounds.low < 0 < self.bounds.high

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form: None for nan, a list for an interval."""
        return {**plain(asdict(self)), "either_sign": self.either_sign}


def bounds_of_difference(a: Bounds, b: Bounds) -> Bounds:
    """Return the smallest and the largest difference b - a of values with these bounds."""
    return Bounds(b.low - a.high, b.high - a.low)


def probability_of_sign(difference: float, std_error: float, n_users: float) -> float:
    """Return the probability that the sign of a difference is right; nan without an error."""
    return 1.0 - t_p_value(t_statistic(difference, std_error), n_users) / 2


def limited(interval: Interval, bounds: tuple[float, float], value: float) -> Interval:
    """Return the interval, cut off at the bounds, but not at the value that it is for."""
    low, high = inside(interval, bounds)
    return Interval(min(low, value), max(high, value))


def covering(interval: Interval, bounds: Bounds) -> Interval:
    """Return the interval, extended to the bounds."""
    return Interval(min(interval.low, bounds.low), max(interval.high, bounds.high))
