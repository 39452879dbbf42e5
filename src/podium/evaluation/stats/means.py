"""A mean over groups, or over the parts of groups, with its standard error and interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.evaluation.stats import intervals
from podium.evaluation.stats._resampling import bca_interval
from podium.evaluation.stats.intervals import Interval

IntervalMethod: TypeAlias = Literal["t", "bootstrap"]


@dataclass(frozen=True)
class Summary:
    """A mean over groups, with its standard error and interval.

    `n_groups` counts the groups in the mean, and `n_undefined` those that were left out. `level`
    is the coverage of `interval`. `std_error` and `interval` are nan with fewer than two groups.
    """

    mean: float
    std_error: float
    interval: Interval
    level: float
    n_groups: int
    n_undefined: int


def summarize(
    values: ArrayLike,
    *,
    level: float = 0.95,
    method: IntervalMethod = "t",
    n_resamples: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Summary:
    """Return the mean over the defined groups, its standard error sd / sqrt(n) and an interval.

    Parameters
    ----------
    values : float, (n_groups,)
        One value per group, in any unit; nan is undefined.
    level : float
        The coverage of the interval, between 0 and 1.
    method : {"t", "bootstrap"}
        The kind of interval. "t": mean ± t quantile with n - 1 degrees of freedom × std_error.
        "bootstrap": groups resampled with replacement; bias-corrected and accelerated (BCa)
        percentiles.
    n_resamples : int
        The number of resamples of the bootstrap.
    seed : int
        The seed of the bootstrap; the same seed gives the same interval.
    bounds : (low, high)
        The bounds of every value, and so of the mean. The interval is cut off there, which does
        not reduce its coverage.

    Raises
    ------
    ArgumentError
        If a value is infinite, or level is outside (0, 1).

    Notes
    -----
    Undefined: nan is dropped and counted. One group has a mean and no interval (nan).
    Cost: "t" is one pass. "bootstrap" draws n_groups × n_resamples integers in blocks of 32 MiB,
    or, if few values are distinct, n_resamples multinomial counts.

    References
    ----------
    efron1987 (BCa).

    Examples
    --------
    >>> s = summarize([0.2, 0.4, 0.6, float("nan")])
    >>> round(s.mean, 3), round(s.std_error, 3), s.n_groups, s.n_undefined
    (0.4, 0.115, 3, 1)
    """
    column, n_undefined = intervals.defined(intervals.values(values, "values"))
    level = _check.open_fraction(level, "level")
    mean, std_error = intervals.mean(column), intervals.std_error(column)
    if _check.choice(method, "method", ("t", "bootstrap")) == "t":
        interval = intervals.t_interval(mean, std_error, column.size, level)
    else:
        interval = bca_interval(column, level, _check.cutoff(n_resamples, name="n_resamples"), seed)
    interval = intervals.inside(interval, bounds)
    return Summary(mean, std_error, interval, level, column.size, n_undefined)


def pooled(
    values: ArrayLike,
    weights: ArrayLike,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Summary:
    """Return the sum of weight × value over the sum of weights, over the defined groups.

    With the number of pairs as weights, this is the share of correct pairs among all pairs of
    all groups (a mean over pairs, whereas `summarize` is a mean over groups).

    Parameters
    ----------
    values : float, (n_groups,)
        One value per group; nan is undefined.
    weights : float, (n_groups,)
        The weights, finite and >= 0; ignored if the value is nan.
    level : float
        The coverage of the t interval, between 0 and 1.
    bounds : (low, high)
        The bounds of every value; the interval is cut off there, as in `summarize`.

    Notes
    -----
    The standard error is that of the delta method for a ratio of sums over groups that are drawn
    independently, sqrt(n / (n - 1) × sum((w (v - ratio))²)) / sum(w). With equal weights it is
    that of `summarize`. If the weights sum to 0, the result is nan.

    Examples
    --------
    >>> pooled([1.0, 0.5], [30, 10]).mean
    0.875
    """
    group_values, group_weights = (
        intervals.values(values, "values"),
        intervals.values(weights, "weights"),
    )
    _check.equal_length(values=group_values, weights=group_weights)
    level = _check.open_fraction(level, "level")
    is_defined = ~np.isnan(group_values)
    group_values, group_weights = (
        group_values[is_defined],
        _check.weights(group_weights[is_defined], int(is_defined.sum()), name="weights"),
    )
    total = float(group_weights.sum())
    ratio = float(group_weights @ group_values) / total if total > 0 else np.nan
    std_error = (
        intervals.std_error(group_weights * (group_values - ratio)) * group_values.size / total
        if total > 0
        else np.nan
    )
    interval = intervals.inside(
        intervals.t_interval(ratio, std_error, group_values.size, level), bounds
    )
    return Summary(
        ratio, std_error, interval, level, group_values.size, is_defined.size - group_values.size
    )
