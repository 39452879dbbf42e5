"""A mean over groups, or over what groups are made of, and how well it is known."""

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
    """A mean over groups, and how well it is known.

    `n_groups` counts the groups in the mean, `n_undefined` those that were left out; `level` is
    the coverage of `interval`. `std_error` and `interval` are nan with fewer than two groups.
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
    """Mean over the defined groups, with its standard error sd / sqrt(n) and an interval.

    Parameters
    ----------
    values : float, (n_groups,)
        One per group, in any unit; nan is undefined.
    level : float
        Coverage of the interval, between 0 and 1.
    method : {"t", "bootstrap"}
        "t": mean ± t quantile with n - 1 degrees of freedom × std_error. "bootstrap": groups
        resampled with replacement; bias-corrected and accelerated (BCa) percentiles.
    n_resamples : int
        Resamples of the bootstrap.
    seed : int
        Seed of the bootstrap; the same seed gives the same interval.
    bounds : (low, high)
        Where every value lies, and so their mean: the interval is cut off there, which costs no
        coverage.

    Raises
    ------
    ArgumentError
        If a value is infinite, or level is outside (0, 1).

    Notes
    -----
    Undefined: nan is dropped and counted. One group has a mean and no interval (nan).
    Cost: "t" is one pass. "bootstrap" draws n_groups × n_resamples integers in blocks of 32 MiB,
    or, where few values are distinct, n_resamples multinomial counts.

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
    """Sum of weight × value over sum of weights, over the defined groups.

    With the number of pairs as weights, this is the share of correct pairs among all pairs of
    all groups (a mean over pairs, where `summarize` is a mean over groups).

    Parameters
    ----------
    values : float, (n_groups,)
        One per group; nan is undefined.
    weights : float, (n_groups,)
        Finite and >= 0; ignored where the value is nan.
    level : float
        Coverage of the t interval, between 0 and 1.
    bounds : (low, high)
        Where every value lies; the interval is cut off there, as in `summarize`.

    Notes
    -----
    Standard error: the delta method for a ratio of sums over groups that are drawn
    independently, sqrt(n / (n - 1) × sum((w (v - ratio))²)) / sum(w). Equal weights give that of
    `summarize`. A sum of weights of 0 gives nan.

    Examples
    --------
    >>> pooled([1.0, 0.5], [30, 10]).mean
    0.875
    """
    v, w = intervals.values(values, "values"), intervals.values(weights, "weights")
    _check.equal_length(values=v, weights=w)
    level = _check.open_fraction(level, "level")
    kept = ~np.isnan(v)
    v, w = v[kept], _check.weights(w[kept], int(kept.sum()), name="weights")
    total = float(w.sum())
    ratio = float(w @ v) / total if total > 0 else np.nan
    std_error = intervals.std_error(w * (v - ratio)) * v.size / total if total > 0 else np.nan
    interval = intervals.inside(intervals.t_interval(ratio, std_error, v.size, level), bounds)
    return Summary(ratio, std_error, interval, level, v.size, kept.size - v.size)
