"""A mean over groups, or over the parts of groups, with its standard error and interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats import clustered, intervals
from podium.evaluation.stats._resampling import bca_interval
from podium.evaluation.stats.intervals import Interval
from podium.types import IntervalMethod


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
    users: ArrayLike | None = None,
    splits: ArrayLike | None = None,
) -> Summary:
    """Return the mean over the defined groups, its standard error sd / sqrt(n) and an interval.

    Parameters
    ----------
    values : float, (n_groups,)
        One value per group, in any unit; nan is undefined.
    level : float
        The coverage of the interval, between 0 and 1.
    method : {"t", "wilson", "bootstrap"}
        The kind of interval. "t": mean ± t quantile with n - 1 degrees of freedom × std_error.
        "wilson": the Wilson score interval, for values with finite bounds. It stays inside the
        bounds, and has a width > 0 if all values are equal to a bound.
        "bootstrap": groups resampled with replacement; bias-corrected and accelerated (BCa)
        percentiles.
    n_resamples : int
        The number of resamples of the bootstrap.
    seed : int
        The seed of the bootstrap; the same seed gives the same interval.
    bounds : (low, high)
        The bounds of every value, and so of the mean. The interval is cut off there, which does
        not reduce its coverage.
    users, splits : (n_groups,), optional
        The labels of the user and of the split of each group, if groups are users in several
        splits. The standard error and the degrees of freedom are then those of `crossed_mean`.

    Raises
    ------
    ArgumentError
        If a value is infinite, if level is outside (0, 1), if "wilson" is used without finite
        bounds, or if splits are given for "bootstrap".

    Notes
    -----
    Undefined: nan is dropped and counted. One group has a mean and no interval (nan).
    Wilson: let m be the mean, as a share of the width of the bounds. The interval is that of
    n_eff = m (1 - m) / se² values of 0 and 1, where se is the standard error of m and the t
    quantile replaces the normal one. If all values are equal to a bound, n_eff is their number. If
    they are constant inside the bounds, the interval is a point.
    Cost: "t" is one pass. "bootstrap" draws n_groups × n_resamples integers in blocks of 32 MiB,
    or, if few values are distinct, n_resamples multinomial counts.

    References
    ----------
    wilson1927; franco2019 for effective sample sizes; efron1987 (BCa).

    Examples
    --------
    >>> s = summarize([0.2, 0.4, 0.6, float("nan")])
    >>> round(s.mean, 3), round(s.std_error, 3), s.n_groups, s.n_undefined
    (0.4, 0.115, 3, 1)
    """
    group_values = intervals.values(values, "values")
    bounds, level = _check.bounds(bounds), _check.open_fraction(level, "level")
    column, n_undefined = intervals.defined(group_values)
    mean = clustered.estimate(group_values, users, splits)
    estimated = (mean.mean, mean.std_error, mean.n_clusters, level)
    if _check.choice(method, "method", get_args(IntervalMethod)) == "t":
        interval = intervals.t_interval(*estimated)
    elif method == "wilson":
        interval = intervals.wilson_interval(*estimated, _finite(bounds))
    elif splits is not None:
        raise ArgumentError(
            "method='bootstrap' is not available with splits: it draws groups, and ignores the "
            "variation of splits. Use 't' or 'wilson'."
        )
    else:
        interval = bca_interval(column, level, _check.cutoff(n_resamples, name="n_resamples"), seed)
    interval = intervals.inside(interval, bounds)
    return Summary(mean.mean, mean.std_error, interval, level, column.size, n_undefined)


def _finite(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    if low == high or low == -np.inf or high == np.inf:
        raise ArgumentError(
            f"method='wilson' requires two finite bounds, got {low} and {high}. Use 't' or "
            "'bootstrap'."
        )
    return bounds


def pooled(
    values: ArrayLike,
    weights: ArrayLike,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    users: ArrayLike | None = None,
    splits: ArrayLike | None = None,
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
    users, splits : (n_groups,), optional
        The labels of the user and of the split of each group, as in `summarize`.

    Notes
    -----
    The standard error is that of the delta method for a ratio of sums over groups that are drawn
    independently, sqrt(n / (n - 1) × sum((w (v - ratio))²)) / sum(w). With users and splits, it
    includes the variation of both. With equal weights it is that of `summarize`. If the weights sum
    to 0, the result is nan.

    Examples
    --------
    >>> pooled([1.0, 0.5], [30, 10]).mean
    0.875
    """
    group_values = intervals.values(values, "values")
    group_weights = intervals.values(weights, "weights")
    _check.equal_length(values=group_values, weights=group_weights)
    bounds, level = _check.bounds(bounds), _check.open_fraction(level, "level")
    is_defined = ~np.isnan(group_values)
    group_values = group_values[is_defined]
    n, n_undefined = group_values.size, is_defined.size - group_values.size
    group_weights = _check.weights(group_weights[is_defined], n, name="weights")
    total = float(group_weights.sum())
    if not total > 0:
        return Summary(np.nan, np.nan, Interval(np.nan, np.nan), level, n, n_undefined)
    ratio = float(group_weights @ group_values) / total
    deviations = np.full(is_defined.size, np.nan)
    deviations[is_defined] = group_weights * (group_values - ratio)
    error = clustered.estimate(deviations, users, splits)
    std_error = error.std_error * n / total
    interval = intervals.t_interval(ratio, std_error, error.n_clusters, level)
    return Summary(ratio, std_error, intervals.inside(interval, bounds), level, n, n_undefined)
