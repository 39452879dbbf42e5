"""Intervals that hold at all sample sizes at once, for the mean of bounded values."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.evaluation.stats.intervals import Interval

_STEPS = 1 << 40  # the ends are multiples of this part of the range
_LARGEST_BET = 0.75  # c of the paper: the share of the capital that one value can lose at most
_ENOUGH = 1e100  # a capital at which the rest of the path does not matter

# The paper's bets for all n, sqrt(2 log(2 / alpha) / (sigma² i log(1 + i))), lose a factor of about
# sqrt(log n) in the width. Its bets for one n, with n in place of i log(1 + i), do not, but suit
# that n only. So we divide the capital among bettors for n = 10², 10³, …, 10⁹, as its diversified
# Kelly bettor divides it among constant bets. The half width over 1.96 sd / sqrt(n), for 70 % zeros
# in [-1, 1] (median of 3 to 40 draws):
#
#                      sd = 0.05                  sd = 0.15                   sd = 0.3
#   n               1e2  1e3  1e4  1e5  1e6   1e2  1e3  1e4  1e5  1e6   1e2  1e3  1e4  1e5  1e6
#   for all n, 1/2  7.2  2.5  1.7  1.8  2.1   2.5  1.5  1.7  2.1  2.5   1.5  1.6  1.9  2.4  2.9
#   for all n, 3/4  5.0  2.0  1.7  1.9  2.2   1.9  1.5  1.8  2.2  2.6   1.5  1.7  2.1  2.6  3.2
#   these bettors   5.7  1.9  1.2  1.7  1.7   2.1  1.3  1.6  1.7  1.7   1.5  1.5  1.6  1.7  1.7
#
# With c = 1/2 instead of 3/4, these intervals are 27 % wider at n = 100, 12 % wider at n = 300, and
# within 7 % for n >= 1000.
_NUMBERS = np.arange(1, 9)
_SHARES = 0.5**_NUMBERS  # at most 1 in total; most for few values, where the power is lowest
_JOINS = 10 ** (_NUMBERS - 1)  # the first 1 % of the values matter little to a bettor for n values
_HORIZONS = 100.0 * _JOINS


def betting_interval(
    values: ArrayLike, bounds: tuple[float, float], *, level: float = 0.95
) -> Interval:
    """Confidence interval for the mean of bounded values that holds after every value.

    With probability at least `level`, the intervals after 1, 2, 3, … values all contain the mean.
    The interval may therefore be computed at any time, and the result may decide whether more
    values are collected. Each end is wrong with probability at most (1 - level) / 2.

    Parameters
    ----------
    values : float, (n,)
        The values in the order of arrival. Given the earlier values, each has the same mean.
    bounds : (low, high)
        The bounds of all possible values, which do not depend on the values.
    level : float
        The coverage.

    Returns
    -------
    Interval
        In the unit of the values; equal to `bounds` without values.

    Raises
    ------
    ArgumentError
        If a value is not finite or is outside the bounds, or if low >= high.

    Notes
    -----
    Definition: before each value, a gambler bets that the mean is above m. If the mean is m, the
    capital is multiplied by 2 / (1 - level) at some time with probability at most (1 - level) / 2.
    The lower end is the highest m for which this has happened after some value. The upper end is
    minus the lower end for the negated values.
    Bets: the gambler divides the capital in fixed shares among eight predictable plug-in bettors.
    Bettor k uses the best bet for 10^(k + 1) values with the variance so far, and risks at most
    3/4 of its capital on one value.
    Order: the interval depends on the order of the values. More values never widen it.
    Contradictions: if the mean drifts, `low` may exceed `high`. With a constant mean, the
    probability of this is at most 1 - level.
    Precision: the ends are rounded outwards to multiples of 2^-40 (high - low).
    Cost: about 10 passes over the values per end, memory O(n). A million values take 0.3 seconds,
    and up to a second if the mean drifts.

    References
    ----------
    waudbysmith2023: section 4 for the capital, section 3.2 for the bets.

    Examples
    --------
    >>> betting_interval([], (-1, 1))
    Interval(low=-1.0, high=1.0)
    >>> low, high = betting_interval([0.0, 0.1] * 500, (-1, 1))
    >>> round(low, 3), round(high, 3)
    (0.044, 0.056)
    """
    low, high = _check.bounds(bounds)
    width = _check.positive(high - low, "bounds[1] - bounds[0]")
    array = _inside(values, low, high)
    alpha = 1 - _check.open_fraction(level, "level")
    # Distances from the two bounds: negated values give exactly the negated interval.
    return Interval(
        low + width * _lower_end((array - low) / width, alpha),
        high - width * _lower_end((high - array) / width, alpha),
    )


def _inside(values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Return finite values within the bounds."""
    array = _check.column(values, "values")
    _check.finite(array, "values", advice="Drop undefined values.")
    is_outside = (array < low) | (array > high)
    if is_outside.any():
        first = int(np.argmax(is_outside))
        raise ArgumentError(
            f"values must lie in [{low:g}, {high:g}], got {array[first]:g} at position {first}. "
            "Pass the bounds of all possible values."
        )
    return array


def _lower_end(values: NDArray[np.float64], alpha: float) -> float:
    """Return the lower end for the mean of values in [0, 1]."""
    from scipy.optimize import brentq

    from podium.evaluation.stats import _betting_kernels as kernels

    if not values.size:
        return 0.0
    inverse_sigma = np.empty_like(values)
    kernels.precisions(values, inverse_sigma)
    sizes = np.sqrt(2 * np.log(2 / (alpha * _SHARES)) / _HORIZONS)

    # The capital never rises with m, so the rejected m are those up to the lower end. For a bet b,
    # a factor is 1 + b (x - m) if m <= c / b, and 1 - c + c x / m if m is higher. Both are positive
    # and do not rise with m, and they are equal at m = c / b.
    @cache
    def excess(step: int) -> float:
        """Return the logarithm of the highest capital, less the one that rejects the mean."""
        if step == 0:
            return float(np.log(_ENOUGH))
        highest = kernels.highest_capital(
            values, inverse_sigma, step / _STEPS, _SHARES, sizes, _JOINS, _LARGEST_BET, _ENOUGH
        )
        return float(np.log(highest) + np.log(alpha / 2))

    error = float(values.std()) / values.size**0.5 + 1 / values.size
    guesses = (max(round((float(values.mean()) - n * error) * _STEPS), 0) for n in (5, 2))
    low, high = guesses  # the root is usually between them
    low = low if excess(low) >= 0 else 0
    high = high if excess(high) < 0 else _STEPS
    if excess(high) >= 0:
        return 1.0
    # It ends within about a step, so that the result does not depend on the guesses.
    step = round(brentq(lambda at: excess(round(at)), low, high, xtol=1.0))
    while excess(step) < 0:
        step -= 1
    while excess(step + 1) >= 0:
        step += 1
    return step / _STEPS
