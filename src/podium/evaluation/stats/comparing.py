"""Two runs on the same groups: how they differ, and whether it could be chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.evaluation.stats import intervals
from podium.evaluation.stats._resampling import sign_flip_p_value
from podium.evaluation.stats.intervals import Interval


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


def paired(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.8,
    n_permutations: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (-np.inf, np.inf),
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
    bounds : (low, high)
        Where every value of a and b lies. A difference then lies within high - low of 0, and the
        interval is cut off there, which costs no coverage.

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
    p value is the share of sign patterns whose absolute sum reaches the observed one. It follows
    from the differences and the seed, whatever the order of the groups. All
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
    before, after = intervals.values(a, "a"), intervals.values(b, "b")
    _check.equal_length(a=before, b=after)
    d, n_undefined = intervals.defined(after - before)
    level = _check.open_fraction(level, "level")
    n_permutations = _check.cutoff(n_permutations, name="n_permutations")
    mean, std_error = intervals.mean(d), intervals.std_error(d)
    t = intervals.t_statistic(mean, std_error)
    width = bounds[1] - bounds[0]
    return PairedTest(
        difference=mean,
        std_error=std_error,
        interval=intervals.inside(
            intervals.t_interval(mean, std_error, d.size, level), (-width, width)
        ),
        level=level,
        t_statistic=t,
        t_p_value=intervals.t_p_value(t, d.size),
        randomisation_p_value=sign_flip_p_value(d, n_permutations, seed),
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
    error = float(_check.column([std_error], "std_error")[0])
    n = _check.count(n_groups, "n_groups")
    return (intervals.t_quantile(1 - alpha / 2, n) + intervals.t_quantile(power, n)) * error


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
