"""Betting intervals: their definition and laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import ArgumentError
from podium.evaluation.stats import betting_interval

INF = math.inf
UNIT: Any = (0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
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
