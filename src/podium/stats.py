"""Intervals, paired tests and corrections for values that were measured once per group.

A nan is a group where the measure is undefined: it is left out and counted. Arrays in, small
frozen dataclasses out; ``dataclasses.asdict`` gives the JSON form of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.types import PerGroup

IntervalMethod: TypeAlias = Literal["t", "bootstrap"]

_EXACT = 16  # up to 2**16 sign patterns are enumerated rather than drawn
_BYTE = 8  # sign flips are drawn a byte at a time, each byte one entry in a table of sums
_BLOCK = 1 << 22  # draws held at once by the bootstrap


class Interval(NamedTuple):
    """Bounds of a confidence interval, in the unit of the values; nan where there is none."""

    low: float
    high: float


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


@dataclass(frozen=True)
class PairedTest:
    """The mean of b - a over groups where both are defined, and whether it could be chance.

    `wins`, `losses` and `equal` count groups where b is higher, lower, or the same float.
    `detectable` is the smallest true mean difference that a test on this many groups would have
    shown. `level` is the coverage of `interval`; p values are two-sided.
    """

    difference: float
    std_error: float
    interval: Interval
    level: float
    t_statistic: float
    t_p_value: float
    randomisation_p_value: float
    wins: int
    losses: int
    equal: int
    detectable: float
    n_groups: int
    n_undefined: int


def summarize(
    values: ArrayLike,
    *,
    level: float = 0.95,
    method: IntervalMethod = "t",
    n_resamples: int = 10_000,
    seed: int = 0,
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
    column, n_undefined = _defined(_values(values, "values"))
    level = _check.open_fraction(level, "level")
    mean, std_error = _mean(column), _std_error(column)
    if _check.choice(method, "method", ("t", "bootstrap")) == "t":
        interval = _t_interval(mean, std_error, column.size, level)
    else:
        interval = _bca_interval(
            column, level, _check.cutoff(n_resamples, name="n_resamples"), seed
        )
    return Summary(mean, std_error, interval, level, column.size, n_undefined)


def pooled(values: ArrayLike, weights: ArrayLike, *, level: float = 0.95) -> Summary:
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
    v, w = _values(values, "values"), _values(weights, "weights")
    _check.equal_length(values=v, weights=w)
    level = _check.open_fraction(level, "level")
    kept = ~np.isnan(v)
    v, w = v[kept], _check.weights(w[kept], int(kept.sum()), name="weights")
    total = float(w.sum())
    ratio = float(w @ v) / total if total > 0 else np.nan
    std_error = _std_error(w * (v - ratio)) * v.size / total if total > 0 else np.nan
    interval = _t_interval(ratio, std_error, v.size, level)
    return Summary(ratio, std_error, interval, level, v.size, kept.size - v.size)


def paired(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.8,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Compare two runs on the same groups: the differences b - a, group by group.

    Parameters
    ----------
    a, b : float, (n_groups,)
        The baseline's and the run's value of each group, in the same order; nan is undefined.
    level : float
        Coverage of the t interval of the mean difference.
    alpha, power : float
        Size and power of the two-sided test that `detectable` assumes.
    n_permutations : int
        Sign patterns drawn for the randomisation test.
    seed : int
        Seed of the drawn patterns.

    Returns
    -------
    PairedTest

    Raises
    ------
    ArgumentError
        If lengths differ or a value is infinite.

    Notes
    -----
    Undefined: a group counts where both values are defined; the others are n_undefined.
    Randomisation test: under the null hypothesis the sign of each difference is a fair coin; the
    p value is the share of sign patterns whose absolute sum reaches the observed one. All
    patterns are enumerated for up to 16 nonzero differences; above, (1 + hits) / (1 + drawn), so
    that it never is 0.
    Differences that are all 0 give t = 0 and p = 1; a constant nonzero difference gives an
    infinite t and t_p_value 0. One group has no t test (nan), no group has no test at all.
    Cost: n_groups × n_permutations / 8 table look-ups, memory O(n_permutations).

    References
    ----------
    smucker2007.

    Examples
    --------
    >>> test = paired([0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.5, 0.7])
    >>> round(test.difference, 3), test.wins, test.losses, test.equal, test.randomisation_p_value
    (0.15, 3, 0, 1, 0.25)
    """
    before, after = _values(a, "a"), _values(b, "b")
    _check.equal_length(a=before, b=after)
    d, n_undefined = _defined(after - before)
    level = _check.open_fraction(level, "level")
    n_permutations = _check.cutoff(n_permutations, name="n_permutations")
    mean, std_error = _mean(d), _std_error(d)
    t = _t_statistic(mean, std_error)
    return PairedTest(
        difference=mean,
        std_error=std_error,
        interval=_t_interval(mean, std_error, d.size, level),
        level=level,
        t_statistic=t,
        t_p_value=_t_p_value(t, d.size),
        randomisation_p_value=_sign_flip_p_value(d, n_permutations, seed),
        wins=int((d > 0).sum()),
        losses=int((d < 0).sum()),
        equal=int((d == 0).sum()),
        detectable=detectable(std_error, d.size, alpha=alpha, power=power),
        n_groups=d.size,
        n_undefined=n_undefined,
    )


def detectable(
    std_error: float, n_groups: int, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Smallest true mean difference that a paired t test on n_groups groups would have shown.

    (t quantile of 1 - alpha / 2 + t quantile of power) × std_error, with n_groups - 1 degrees of
    freedom: a two-sided test of size alpha finds a difference of this size with probability
    `power`. In the unit of std_error; nan with fewer than two groups.

    Examples
    --------
    >>> round(detectable(0.01, 1000), 4)
    0.028
    """
    alpha, power = _check.open_fraction(alpha, "alpha"), _check.open_fraction(power, "power")
    return (_t_quantile(1 - alpha / 2, n_groups) + _t_quantile(power, n_groups)) * std_error


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p values for the number of tests, by Holm's step-down procedure.

    The i-th smallest of m is multiplied by m - i + 1, never falls below the one before it, and is
    capped at 1. Rejecting where the result is <= alpha keeps the probability of any false
    rejection at most alpha, whatever the dependence between tests.

    Parameters
    ----------
    p_values : float, (n_tests,)
        In [0, 1]; nan is a test that was not made: it stays nan and does not count in m.

    Returns
    -------
    float64, (n_tests,)
        In the order given.

    References
    ----------
    holm1979.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03]).round(2).tolist()
    [0.06, 0.03, 0.06]
    """
    p = _check.probabilities(p_values, "p_values")
    adjusted = np.full(p.size, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # nan sorts last
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def _values(values: ArrayLike, name: str) -> PerGroup:
    return _check.no_infinity(_check.column(values, name), name)


def _defined(values: PerGroup) -> tuple[PerGroup, int]:
    kept = values[~np.isnan(values)]
    return kept, values.size - kept.size


def _mean(values: PerGroup) -> float:
    return float(values.mean()) if values.size else np.nan


def _std_error(values: PerGroup) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan


def _t_quantile(probability: float, n: int) -> float:
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    return float(stdtrit(n - 1, probability)) if n > 1 else np.nan


def _t_interval(mean: float, std_error: float, n: int, level: float) -> Interval:
    half = _t_quantile((1 + level) / 2, n) * std_error
    return Interval(mean - half, mean + half)


def _t_statistic(mean: float, std_error: float) -> float:
    if std_error == 0:
        return 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    return mean / std_error


def _t_p_value(t: float, n: int) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(n - 1, -abs(t))) if n > 1 else np.nan


def _bca_interval(values: PerGroup, level: float, n_resamples: int, seed: int) -> Interval:
    """Percentiles of the bootstrap means, shifted for bias and for skewness (acceleration)."""
    from scipy.special import ndtr, ndtri

    if values.size < 2 or np.ptp(values) == 0:
        return _t_interval(_mean(values), _std_error(values), values.size, level)
    mean, means = values.mean(), _bootstrap_means(values, n_resamples, seed)
    below = float((means < mean).mean() + (means <= mean).mean()) / 2
    bias = float(ndtri(min(max(below, 0.5 / n_resamples), 1 - 0.5 / n_resamples)))
    centred = values - mean
    acceleration = (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
    shifted = bias + np.asarray(ndtri([(1 - level) / 2, (1 + level) / 2]), np.float64)
    shares = np.asarray(ndtr(bias + shifted / (1 - acceleration * shifted)), np.float64)
    bounds: NDArray[np.float64] = np.quantile(means, shares)
    return Interval(float(bounds[0]), float(bounds[1]))


def _bootstrap_means(values: PerGroup, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """Means of resamples with replacement, in blocks whose size follows from the data alone."""
    rng = _generator(seed, "bootstrap")
    distinct, counts = np.unique(values, return_counts=True)
    few = 12 * distinct.size < values.size  # a binomial draw costs about 12 index draws
    rows = max(1, _BLOCK // (distinct.size if few else values.size))
    means = np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        n = min(rows, n_resamples - start)
        if few:
            drawn = rng.multinomial(values.size, counts / values.size, size=n)
            means[start : start + n] = drawn @ distinct / values.size
        else:
            picks = rng.integers(values.size, size=(n, values.size), dtype=np.uint32)
            means[start : start + n] = values[picks].mean(axis=1)
    return means


def _sign_flip_p_value(differences: PerGroup, n_permutations: int, seed: int) -> float:
    """Share of sign patterns whose absolute sum reaches the observed one."""
    nonzero = differences[differences != 0]  # flipping a zero changes nothing
    if not nonzero.size:
        return 1.0 if differences.size else np.nan
    # equal sums can differ in their last bits: they count as reached
    reached = abs(nonzero.sum()) - 1e-12 * np.abs(nonzero).sum()
    if nonzero.size <= _EXACT:
        return float((np.abs(_signed_sums(nonzero)) >= reached).mean())
    sums = _random_signed_sums(nonzero, n_permutations, seed)
    return (1 + int((np.abs(sums) >= reached).sum())) / (1 + n_permutations)


def _random_signed_sums(values: PerGroup, n_draws: int, seed: int) -> NDArray[np.float64]:
    """Draw sums under random signs: each eight values' sum is one of 256, picked by a byte."""
    rng = _generator(seed, "sign-flip")
    total = np.zeros(n_draws)
    for start in range(0, values.size, _BYTE):
        table = _signed_sums(values[start : start + _BYTE])
        patterns = rng.integers(table.size, size=n_draws, dtype=np.uint8)
        total += table[patterns]
    return total


def _signed_sums(values: PerGroup) -> NDArray[np.float64]:
    """All 2**n sums ±v1 ±v2 … ±vn."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _generator(seed: int, purpose: str) -> np.random.Generator:
    """Streams of one seed that serve different purposes never overlap."""
    return np.random.default_rng([_check.seed(seed), *purpose.encode()])
