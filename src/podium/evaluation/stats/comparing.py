"""Runs on the same groups: mean differences, their significance, and letters of equal runs."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats import clustered, intervals
from podium.evaluation.stats._resampling import sign_flip_p_value
from podium.evaluation.stats.intervals import Interval
from podium.types import Mask, PerGroup

_SIZE, _POWER = 0.05, 0.8  # of the test by which a difference is detectable


@dataclass(frozen=True)
class PairedTest:
    """The mean of b - a over groups on which both are defined, and its significance.

    `effect_size` is the difference over the standard deviation of the groups' differences. It is
    infinite if these are constant but not 0, and nan with fewer than two groups.
    `relative_difference` is the difference over the mean of a on the same groups, or nan if that
    mean is 0. Both are unitless. `wins`, `losses` and `equal` count the groups in which b is
    higher, lower or exactly equal. `detectable` is the smallest true mean difference that a test on
    this many groups (5 % size) detects with a probability of 80 %. `level` is the coverage of
    `interval`; p values are two-sided.
    """

    difference: float
    std_error: float
    interval: Interval
    level: float
    t_statistic: float
    t_p_value: float
    randomisation_p_value: float
    effect_size: float
    relative_difference: float
    wins: int
    losses: int
    equal: int
    detectable: float
    n_groups: int
    n_undefined: int


def is_greater(a: PerGroup, b: PerGroup, n_errors: float) -> bool:
    """Return whether the mean of a - b is above 0 by more than n of its standard errors.

    Groups on which one of both is nan are left out. It is false with fewer than two groups.
    """
    gaps = a - b
    gaps = gaps[~np.isnan(gaps)]
    root = np.sqrt(gaps.size)
    return root > 1 and bool(gaps.mean() > n_errors * gaps.std(ddof=1) / root)


def paired(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    n_permutations: int | None = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    users: ArrayLike | None = None,
    splits: ArrayLike | None = None,
) -> PairedTest:
    """Compare two runs on the same groups, by the differences b - a of each group.

    Parameters
    ----------
    a, b : float, (n_groups,)
        The values of the baseline and the run, with groups in the same order; nan is undefined.
    level : float
        The coverage of the t interval of the mean difference.
    n_permutations : int, optional
        The number of sign patterns drawn for the randomisation test. None leaves this test out
        (nan).
    seed : int
        The seed of the drawn patterns.
    bounds : (low, high)
        The bounds of all values of a and b. A difference is then within high - low of 0, and the
        interval is cut off there, which does not reduce its coverage.
    users, splits : (n_groups,), optional
        The labels of the user and of the split of each group, if groups are users in several
        splits. The standard error, the interval, the t test and `detectable` are then those of
        `crossed_mean`. The randomisation test is undefined (nan), because it treats groups as
        independent.

    Returns
    -------
    PairedTest

    Raises
    ------
    ArgumentError
        If lengths differ, or a value is infinite.

    Notes
    -----
    Undefined: groups with an undefined value in a or b are left out; n_undefined is their number.
    Equal: values are equal if they differ by less than 1e-13 of the larger one, because sums of
    floating-point numbers are rounded.
    Randomisation test: under the null hypothesis, each difference has either sign with probability
    1/2. The p value is the share of sign patterns whose absolute sum reaches the observed one. It
    depends on the differences and the seed, but not on the order of the groups. With up to 16
    nonzero differences all patterns are enumerated; with more, p is (1 + hits) / (1 + drawn), which
    is never 0. If all differences are 0, t is 0 and p is 1; if they are constant but not 0, t is
    infinite and t_p_value is 0. With one group, the t test is undefined (nan). Without any group,
    both tests are undefined.
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
    baseline_values, run_values = intervals.values(a, "a"), intervals.values(b, "b")
    _check.equal_length(a=baseline_values, b=run_values)
    bounds, level = _check.bounds(bounds), _check.open_fraction(level, "level")
    n_permutations = _check.cutoff(n_permutations, name="n_permutations", required=False)
    all_differences = intervals.differences(baseline_values, run_values)
    is_defined = ~np.isnan(all_differences)
    differences = all_differences[is_defined]
    estimate = clustered.estimate(all_differences, users, splits)
    t_statistic = intervals.t_statistic(estimate.mean, estimate.std_error)
    standard_deviation = intervals.std_error(differences) * np.sqrt(differences.size)
    baseline = intervals.mean(baseline_values[is_defined])
    randomisation_p_value = np.nan
    if splits is None and n_permutations is not None:
        randomisation_p_value = sign_flip_p_value(differences, n_permutations, seed)
    return PairedTest(
        difference=estimate.mean,
        std_error=estimate.std_error,
        interval=estimate.interval(level, bounds[1] - bounds[0]),
        level=level,
        t_statistic=t_statistic,
        t_p_value=intervals.t_p_value(t_statistic, estimate.n_clusters),
        randomisation_p_value=randomisation_p_value,
        effect_size=intervals.t_statistic(estimate.mean, standard_deviation),
        relative_difference=estimate.mean / baseline if baseline else np.nan,
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        equal=int((differences == 0).sum()),
        detectable=_detectable(estimate.std_error, estimate.n_clusters),
        n_groups=differences.size,
        n_undefined=is_defined.size - differences.size,
    )


def _detectable(std_error: float, n: float) -> float:
    """Return the smallest true mean difference that a two-sided t test probably detects.

    It is (t quantile of 1 - size / 2 + t quantile of the power) × std_error, with n - 1 degrees of
    freedom: the test detects a difference of this size with the probability of the power.
    """
    return (intervals.t_quantile(1 - _SIZE / 2, n) + intervals.t_quantile(_POWER, n)) * std_error


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p values for the number of tests, by Holm's step-down procedure.

    The i-th smallest of m p values is multiplied by m - i + 1, raised to at least the previous
    result, and capped at 1. Rejecting if the result is <= alpha keeps the probability of any false
    rejection at most alpha, whatever the dependence between tests.

    Parameters
    ----------
    p_values : float, (n_tests,)
        The p values, in [0, 1]. A nan is a test that was not made: it stays nan and does not
        count in m.

    Returns
    -------
    float64, (n_tests,)
        The adjusted p values, in the order of `p_values`.

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


def letters(means: ArrayLike, differs: ArrayLike) -> list[str]:
    """Return the letters of each system; systems share a letter if and only if they don't differ.

    Parameters
    ----------
    means : float, (n_systems,)
        The mean of each system; higher is better. For a measure of which lower values are better,
        pass the negated means. nan is last.
    differs : bool, (n_systems, n_systems)
        Whether two systems differ, such as by a test with corrected p values; symmetric. The
        diagonal is ignored.

    Returns
    -------
    list of str, (n_systems,)
        The letters of each system in alphabetical order. The system with the highest mean has "a".
        After "z" come "a2", "b2" and so on.

    Raises
    ------
    ArgumentError
        If differs is not a symmetric table of true and false with a row per system.

    Notes
    -----
    Definition: no two systems with the same letter differ. A system without this letter differs
    from at least one of them.
    Algorithm: the insert-and-absorb algorithm of piepho2004 finds all such groups of systems, of
    which there can be exponentially many. This function adds one group for each pair of systems
    that does not differ and has no letter in common yet, starting with the best systems. The number
    of letters is not always the smallest possible.
    Cost: O(n_systems²) groups at most, each in O(n_systems²).

    References
    ----------
    piepho2004; gramm2007 for letters as groups that cover all pairs.

    Examples
    --------
    The second system differs from neither of the others, which differ from each other:

    >>> differs = [[False, False, True], [False, False, False], [True, False, False]]
    >>> letters([0.3, 0.2, 0.1], differs)
    ['a', 'ab', 'b']
    """
    mean_values = _check.no_infinity(_check.column(means, "means"), "means")
    table = _check.array(differs, "differs")
    if (
        table.shape != (mean_values.size,) * 2
        or table.dtype != np.bool_
        or (table != table.T).any()
    ):
        raise ArgumentError("differs must be a symmetric table of true and false, a row per mean.")
    order = np.argsort(-mean_values, kind="stable")  # nan sorts last
    alike = ~table[np.ix_(order, order)]
    np.fill_diagonal(alike, True)
    groups = sorted(_covering(alike), key=tuple)
    texts = [""] * order.size
    for number, group in enumerate(groups):
        for rank in group:
            texts[order[rank]] += _letter(number)
    return texts


def _covering(alike: Mask) -> list[NDArray[np.int64]]:
    """Return groups of systems that are all alike, such that each pair alike is in some group."""
    groups: list[NDArray[np.int64]] = []
    is_covered = np.zeros_like(alike)
    for first, second in np.argwhere(np.triu(alike)):
        if not is_covered[first, second]:
            group = _grown(alike, first, second)
            groups.append(group)
            is_covered[np.ix_(group, group)] = True
    return groups


def _grown(alike: Mask, first: int, second: int) -> NDArray[np.int64]:
    """Return a group with two systems, to which the best possible systems were added in turn."""
    is_member = np.zeros(len(alike), np.bool_)
    is_member[[first, second]] = True
    is_possible = alike[first] & alike[second]
    for rank in np.flatnonzero(is_possible):
        if is_possible[rank]:
            is_member[rank] = True
            is_possible &= alike[rank]
    return np.flatnonzero(is_member)


def _letter(number: int) -> str:
    """Return a, b, …, z, a2, b2, …."""
    cycle, position = divmod(number, len(string.ascii_lowercase))
    return string.ascii_lowercase[position] + (str(cycle + 1) if cycle else "")
