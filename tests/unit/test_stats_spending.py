"""Error spending boundaries and betting intervals: tables, definitions and laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri, stdtr

from podium.errors import ArgumentError
from podium.evaluation.stats import (
    Interval,
    betting_interval,
    repeated_interval,
    spending_boundaries,
)

INF = math.inf
UNIT: Any = (0.0, 1.0)


def _spent(fraction: float, alpha: float) -> float:
    """Return 2 (1 - Phi(z / sqrt(t))) with the upper alpha / 2 quantile z."""
    return 2 * (1 - ndtr(ndtri(1 - alpha / 2) / math.sqrt(fraction)))


@pytest.mark.parametrize(
    "published",
    [
        [1.9600],
        [2.9626, 1.9686],
        [3.7103, 2.5114, 1.9930],
        [4.3326, 2.9631, 2.3590, 2.0141],
        [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    ],
    ids=len,
)
def test_two_sided_five_percent_boundaries_are_the_published_ones(published: list[float]) -> None:
    """Its second boundary of five is 3.35701, by the adaptive integral below; 3.3569 is printed."""
    n_looks = len(published)
    boundaries = spending_boundaries(np.arange(1, n_looks + 1) / n_looks, 0.025)
    np.testing.assert_allclose(boundaries, published, atol=1.5e-4)


@pytest.mark.parametrize("alpha", [0.025, 0.2])
@pytest.mark.parametrize(
    ("first", "second"),
    [(0.2, 0.4), (0.5, 1.0), (0.1, 0.95), (0.6, 0.61), (0.999, 1.0), (0.95, 4.0), (0.5, 1.2)],
)
def test_two_looks_spend_the_error_by_an_adaptive_integral(
    first: float, second: float, alpha: float
) -> None:
    c, d = spending_boundaries([first, second], alpha)
    crossing = _crossing_of_two(first, second, c, d)
    assert crossing == pytest.approx(_spent(min(second, 1.0), alpha), rel=1e-7)


def test_looks_with_other_counts_spend_by_their_fractions() -> None:
    c, d = spending_boundaries([0.5, 1.0], 0.05, counts=[10, 90])
    assert _crossing_of_two(1 / 9, 1.0, c, d) == pytest.approx(0.05, rel=1e-7)
    assert ndtr(-c) == pytest.approx(_spent(0.5, 0.05), rel=1e-7)


def test_a_look_without_new_users_spends_nothing() -> None:
    boundaries = spending_boundaries([0.3, 0.6, 1.0], 0.05, counts=[0, 40, 40])
    assert np.isinf(boundaries).tolist() == [True, False, True]
    assert np.isinf(spending_boundaries([0.5, 1.0], 0.05, counts=[0, 0])).all()


def _crossing_of_two(first: float, second: float, c: float, d: float) -> float:
    """Return the probability of crossing at one of two looks, by an adaptive integral."""
    root, spread = math.sqrt(first), math.sqrt(second - first)

    def crosses_second(z: float) -> float:
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return density * ndtr((z * root - d * math.sqrt(second)) / spread)

    steps = [c - k * spread for k in (1, 3, 10) if c - k * spread > -9]
    at_second = quad(crosses_second, -9, c, points=steps, epsabs=1e-13, limit=500)[0]
    return float(ndtr(-c) + at_second)


FRACTIONS = st.lists(st.integers(1, 1000), min_size=1, max_size=8, unique=True).map(
    lambda numbers: [number / 1000 for number in sorted(numbers)]
)


@given(FRACTIONS, st.sampled_from([0.005, 0.025, 0.2]))
def test_boundaries_do_not_depend_on_later_looks(fractions: list[float], alpha: float) -> None:
    boundaries = spending_boundaries(fractions, alpha)
    for n_looks in range(len(fractions)):
        prefix = spending_boundaries(fractions[:n_looks], alpha)
        np.testing.assert_array_equal(prefix, boundaries[:n_looks])


@given(FRACTIONS)
def test_a_look_that_spends_nothing_changes_nothing(fractions: list[float]) -> None:
    boundaries = spending_boundaries(fractions, 0.025)
    spends = np.isfinite(boundaries)
    others = spending_boundaries(np.array(fractions)[spends], 0.025)
    np.testing.assert_array_equal(others, boundaries[spends])


def test_looks_that_are_near_or_very_early_spend_nothing() -> None:
    spends = np.isfinite(spending_boundaries([0.001, 0.05, 0.5, 0.504, 0.506, 0.999, 1.0], 0.05))
    assert spends.tolist() == [False, False, True, False, True, True, True]
    spends = np.isfinite(spending_boundaries([0.5, 1 - 1e-13, 1.0], 0.05))
    assert spends.tolist() == [True, True, False]
    boundaries = spending_boundaries(np.arange(1, 201) / 200, 0.05)[19:]  # in spite of rounding
    assert np.isfinite(boundaries).all()
    assert (np.diff(boundaries) < 0).all()


@given(st.floats(0, 8), st.sampled_from([1, 4, 30, 1000, 10**7]))
def test_repeated_interval_has_the_tail_of_the_boundary(boundary: float, dof: int) -> None:
    low, high = repeated_interval(0.0, 1.0, dof, boundary)
    assert low == -high
    assert stdtr(dof, low) == pytest.approx(ndtr(-boundary), rel=1e-6)


@pytest.mark.parametrize("std_error", [0, 1])
@pytest.mark.parametrize("boundary", [INF, 50.0])  # the tail of 50 is 0 in double precision
def test_infinite_boundary_has_infinite_ends(std_error: float, boundary: float) -> None:
    assert repeated_interval(1, std_error, 10, boundary) == Interval(-INF, INF)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        *(
            (lambda f=fractions: spending_boundaries(f, 0.05), "fractions")
            for fractions in ([0.5, 0.5], [0.0, 0.5], [0.5, math.nan], [0.5, INF])
        ),
        (lambda: spending_boundaries([0.5, 1.0], 0.0), "alpha"),
        (lambda: repeated_interval(math.nan, 1, 5, 2), "mean"),
        (lambda: repeated_interval(0, -1, 5, 2), "std_error"),
        (lambda: repeated_interval(0, 1, 0, 2), "dof"),
        (lambda: repeated_interval(0, 1, 5, -2), "boundary"),
        (lambda: repeated_interval(0, 1, 5, math.nan), "boundary"),
        *(
            (lambda v=values: betting_interval(v, UNIT), "values")
            for values in ([0.1, math.nan], [0.1, 1.5], [-0.1], [[0.1]])
        ),
        *(
            (lambda b=bounds: betting_interval([0.1], b), "bounds")
            for bounds in ((1, 1), (1, 0), 1, (-INF, 1), (-1e308, 1e308))
        ),
        (lambda: betting_interval([0.1], UNIT, level=1.0), "level"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], Any], parameter: str) -> None:
    with pytest.raises(ArgumentError, match=parameter):
        call()


VALUES = st.lists(
    st.sampled_from([0.0, 1.0, 0.5, 0.25]) | st.floats(0, 1, allow_subnormal=False), max_size=60
)


def _variances(values: list[float]) -> list[float]:
    """Return the paper's estimate of the variance before each value, by its formula."""
    n = len(values)
    means = [(1 / 2 + sum(values[:t])) / (t + 1) for t in range(1, n + 1)]
    squares = [(x - mean) ** 2 for x, mean in zip(values, means, strict=True)]
    return [(1 / 4 + sum(squares[:t])) / (t + 1) for t in range(n)]


def _highest_capital(values: list[float], m: float, alpha: float) -> float:
    """Return the highest capital of the bettors on a mean above m, step by step."""
    shares = [2.0**-k for k in range(1, 9)]
    capital = list(shares)
    highest = sum(capital)
    for i, (value, variance) in enumerate(zip(values, _variances(values), strict=True), start=1):
        for k, share in enumerate(shares, start=1):
            if i >= 10 ** (k - 1):
                horizon = 10 ** (k + 1)
                bet = math.sqrt(2 * math.log(2 / (alpha * share)) / (variance * horizon))
                capital[k - 1] *= 1 + min(bet, 0.75 / m) * (value - m)
        highest = max(highest, sum(capital))
    return highest


@given(VALUES, st.sampled_from([0.3, 0.9, 0.99]))
def test_capital_reaches_the_threshold_at_the_end_and_not_above(
    values: list[float], level: float
) -> None:
    alpha = 1 - level
    low, high = betting_interval(values, UNIT, level=level)
    for end, bets in ((low, values), (1 - high, [1 - value for value in values])):
        if end > 1e-9:
            assert _highest_capital(bets, end - 1e-9, alpha) >= 2 / alpha
        assert _highest_capital(bets, end + 1e-9, alpha) < 2 / alpha


@given(VALUES)
def test_negated_values_have_the_negated_interval(values: list[float]) -> None:
    low, high = betting_interval(values, (-0.5, 1))
    negated = betting_interval([-value for value in values], (-1, 0.5))
    assert negated == (-high, -low)
