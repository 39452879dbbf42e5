"""Means, standard errors and the t distribution, for values that may be undefined."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.types import PerGroup

F = TypeVar("F", bound=Callable[..., Any])
_LARGEST = 1e100  # sums of cubes of smaller values stay finite
_IN_UNIT = ("mean", "difference", "std_error", "detectable")  # statistics in the unit of the values
_ROUNDING = 1e-13  # relative difference of equal sums whose terms were added in another order


class Interval(NamedTuple):
    """The bounds of a confidence interval, in the unit of the values; nan if there is none."""

    low: float
    high: float


def values(values: ArrayLike, name: str) -> PerGroup:
    """Return one value per group; some may be nan."""
    return _check.no_infinity(_check.column(values, name), name)


def scale_of(*columns: PerGroup) -> float:
    """Return 1, or the power of two by which large values are divided so that no square overflows.

    A division by a power of two changes no digit of a value.
    """
    highest = max(float(np.nanmax(np.abs(c), initial=0.0)) for c in columns)
    return float(2.0 ** np.floor(np.log2(highest))) if highest > _LARGEST else 1.0


def rescaled(n_columns: int) -> Callable[[F], F]:
    """Return a decorator of statistics whose squares of large values would overflow.

    The first arguments are columns of values. They and `bounds` are divided by `scale_of` them, and
    `scaled` multiplies the result by it again.
    """

    def decorate(function: F) -> F:
        names = list(inspect.signature(function).parameters)[:n_columns]

        @functools.wraps(function)
        def at_scale(*arrays: Any, **options: Any) -> Any:
            for name in names[len(arrays) :]:  # columns that are passed by name
                if name not in options:
                    break
                arrays = (*arrays, options.pop(name))
            columns = [values(c, name) for c, name in zip(arrays, names, strict=False)]
            scale = scale_of(*columns) if columns else 1.0
            if scale == 1:
                return function(*arrays, **options)
            if "bounds" in options:
                options["bounds"] = tuple(end / scale for end in _check.bounds(options["bounds"]))
            small = (column / scale for column in columns)
            return scaled(function(*small, *arrays[n_columns:], **options), scale)

        return cast("F", at_scale)

    return decorate


def scaled(result: Any, scale: float) -> Any:
    """Return the dataclass of statistics of values that are multiplied by a scale."""
    fields = cast("dict[str, Any]", vars(result))
    in_unit: dict[str, Any] = {name: fields[name] * scale for name in _IN_UNIT if name in fields}
    if "interval" in fields:  # floats overflow without a warning
        low, high = map(float, fields["interval"])
        in_unit["interval"] = Interval(low * scale, high * scale)
    return replace(result, **in_unit)


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


def weighted_mean(values: PerGroup, weights: PerGroup | None = None) -> float:
    """Return the weighted mean of defined values, whose sum may exceed the largest float.

    Examples
    --------
    >>> weighted_mean(np.array([1.5e308, 0.5e308])), weighted_mean(np.ones(2), np.array([1.0, 3.0]))
    (1e+308, 1.0)
    """
    scale = scale_of(values)
    return float(np.average(values / scale, weights=weights)) * scale


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
