"""Means, standard errors and the t distribution, for values that may be undefined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.errors import ArgumentError
from podium.types import PerGroup

_LARGEST = 1e100  # sums of cubes of smaller values stay finite
_ROUNDING = 1e-13  # relative difference of equal sums whose terms were added in another order


class Interval(NamedTuple):
    """The bounds of a confidence interval, in the unit of the values; nan if there is none."""

    low: float
    high: float


def values(values: ArrayLike, name: str) -> PerGroup:
    """Return one value per group; some may be nan."""
    column = _check.no_infinity(_check.column(values, name), name)
    largest = float(np.nanmax(np.abs(column), initial=0.0))
    if largest > _LARGEST:
        raise ArgumentError(
            f"{name} must be at most {_LARGEST:g} in size, got {largest:g}. Divide them all by one "
            "number."
        )
    return column


def defined(values: PerGroup) -> tuple[PerGroup, int]:
    """Return the values that are not nan, and the number of those that are."""
    defined_values = values[~np.isnan(values)]
    return defined_values, values.size - defined_values.size


def differences(a: PerGroup, b: PerGroup) -> PerGroup:
    """Return b - a, and 0 for values that differ by no more than the rounding of sums.

    Examples
    --------
    >>> differences(np.array([0.3, 0.5]), np.array([0.1 + 0.2, 0.75])).tolist()
    [0.0, 0.25]
    """
    result = b - a
    result[np.abs(result) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return result


def mean(values: PerGroup) -> float:
    """Return the mean, or nan without values."""
    return float(values.mean()) if values.size else np.nan


def std_error(values: PerGroup) -> float:
    """Return the standard error of the mean, or nan with fewer than two values."""
    if values.size < 2:
        return np.nan
    if values.min() == values.max():
        return 0.0  # the mean of equal values may be rounded
    return float(values.std(ddof=1) / np.sqrt(values.size))


def t_quantile(probability: float, n: float) -> float:
    """Return a quantile of the t distribution with n - 1 degrees of freedom."""
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    return float(stdtrit(n - 1, probability)) if n > 1 else np.nan


def t_interval(mean: float, std_error: float, n: float, level: float) -> Interval:
    """Return the mean ± t quantile × standard error."""
    half = t_quantile((1 + level) / 2, n) * std_error
    return Interval(mean - half, mean + half)


def wilson_interval(
    mean: float, std_error: float, n: float, level: float, bounds: tuple[float, float]
) -> Interval:
    """Return the Wilson score interval of a mean of bounded values, in the unit of the values.

    The mean is that of the share (value - low) / (high - low), of n_eff = m (1 - m) / std_error²
    users with values of 0 and 1. The quantile is that of the t interval, with n - 1 degrees of
    freedom. n_eff is n if all values are equal to a bound; other constants are a point.
    """
    low, high = bounds
    width = high - low
    share = min(max((mean - low) / width, 0.0), 1.0)
    variance = share * (1 - share)
    if std_error == 0 and variance > 0:
        return Interval(mean, mean)
    n_effective = variance * (width / std_error) ** 2 if std_error > 0 else n
    if not n_effective > 0:
        return Interval(np.nan, np.nan)
    ratio = t_quantile((1 + level) / 2, n) ** 2 / n_effective
    centre = (share + ratio / 2) / (1 + ratio)
    half = np.sqrt(ratio * (variance + ratio / 4)) / (1 + ratio)
    return Interval(float(low + width * (centre - half)), float(low + width * (centre + half)))


def inside(interval: Interval, bounds: tuple[float, float]) -> Interval:
    """Return the interval, cut off at the bounds of the mean; nan stays nan."""
    low, high = (float(bound) for bound in np.clip(interval, *bounds))
    return Interval(low, high)


def t_statistic(mean: float, std_error: float) -> float:
    """Return mean over standard error; infinite if nothing varies but the mean is not 0."""
    if std_error == 0:
        return 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    return mean / std_error


def t_p_value(t: float, n: float) -> float:
    """Return the two-sided p value of a t statistic of n values."""
    from scipy.special import stdtr

    return 2 * float(stdtr(n - 1, -abs(t))) if n > 1 else np.nan
