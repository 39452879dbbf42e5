"""The betting interval against its definition, its laws, and how often it misses the mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.evaluation.stats import Interval, betting, betting_interval

Values = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]

UNIT = (0.0, 1.0)
VALUES = st.lists(
    st.sampled_from([0.0, 1.0, 0.5, 0.25]) | st.floats(0, 1, allow_subnormal=False), max_size=60
)
# Bernoulli and beta distributions of the paper's figures, with their means.
DRAWS: dict[str, tuple[Draw, float]] = {
    "bernoulli(1/2)": (lambda rng, n: rng.integers(2, size=n).astype(float), 1 / 2),
    "bernoulli(1/10)": (lambda rng, n: (rng.random(n) < 1 / 10).astype(float), 1 / 10),
    "uniform": (lambda rng, n: rng.random(n), 1 / 2),
    "beta(10, 30)": (lambda rng, n: rng.beta(10, 30, size=n), 1 / 4),
}


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


def _brute_force_low(values: list[float], alpha: float, grid: Values) -> float:
    """Return the highest m of the grid that is rejected, without assuming that lower ones are."""
    rejected = [m for m in grid if _highest_capital(values, m, alpha) >= 2 / alpha]
    return max(rejected, default=0.0)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("name", DRAWS)
def test_ends_are_those_of_the_definition_on_a_grid(name: str, level: float) -> None:
    draw, _ = DRAWS[name]
    values, spacing = draw(np.random.default_rng(3), 120), 1 / 250
    grid = np.arange(1, 250) * spacing
    low, high = betting_interval(values, UNIT, level=level)
    brute_low = _brute_force_low(values.tolist(), 1 - level, grid)
    brute_high = 1 - _brute_force_low((1 - values).tolist(), 1 - level, grid)
    assert 0 < brute_low <= low < brute_low + spacing
    assert brute_high - spacing < high <= brute_high < 1


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


def test_without_values_or_with_one_value_the_interval_is_the_bounds() -> None:
    assert betting_interval([], (-1, 2)) == Interval(-1, 2)
    for value in (-1.0, 0.3, 2.0):  # no bet of one value multiplies the capital by 40
        assert betting_interval([value], (-1, 2)) == Interval(-1, 2)


@given(VALUES, VALUES)
def test_further_values_never_widen(values: list[float], further: list[float]) -> None:
    low, high = betting_interval(values, UNIT)
    for continuation in (further, further[::-1], sorted(further)):
        longer = betting_interval(values + continuation, UNIT)
        assert longer.low >= low
        assert longer.high <= high


@given(VALUES)
def test_negated_values_have_the_negated_interval(values: list[float]) -> None:
    low, high = betting_interval(values, (-0.5, 1))
    negated = betting_interval([-value for value in values], (-1, 0.5))
    assert negated == (-high, -low)


@pytest.mark.parametrize("n", [3, 50, 2000])
def test_result_does_not_depend_on_where_the_search_starts(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(n).beta(2, 5, size=n)
    interval = betting_interval(values, UNIT)
    for guess in ((1, 1), ((1 << 40) - 1, 1), (1 << 39, 1 << 38), (12345, 1 << 30)):
        monkeypatch.setattr(betting, "_guess", lambda _values, guess=guess: guess)
        assert betting_interval(values, UNIT) == interval


def test_order_of_values_matters_and_drift_contradicts() -> None:
    values = np.repeat([0.0, 1.0], 500)
    low, high = betting_interval(values, UNIT)
    assert low > high
    mixed = betting_interval(np.tile([0.0, 1.0], 500), UNIT)
    assert mixed.low < 0.5 < mixed.high


SKEWED: tuple[Draw, float] = (
    lambda rng, n: np.where(rng.random(n) < 0.02, rng.random(n) ** 0.2, 0.0),
    0.02 / 1.2,  # E U^0.2 = 1 / 1.2
)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bernoulli(1/2)", "bernoulli(1/10)", "uniform", "skewed"])
def test_mean_is_missed_anywhere_on_the_path_as_seldom_as_promised(name: str) -> None:
    """As intervals are nested, the last one contains the mean if and only if all do."""
    draw, mean = SKEWED if name == "skewed" else DRAWS[name]
    rng, n_replays, level = np.random.default_rng(7), 3000, 0.9
    intervals = np.array(
        [betting_interval(draw(rng, 1000), UNIT, level=level) for _ in range(n_replays)]
    )
    for is_missed in (intervals[:, 0] >= mean, intervals[:, 1] <= mean):
        error = (1 - level) / 2
        slack = 3 * math.sqrt(error * (1 - error) / n_replays)
        assert is_missed.mean() <= error + slack


@pytest.mark.parametrize(
    ("values", "bounds", "level"),
    [
        ([0.1, math.nan], (0, 1), 0.95),
        ([0.1, 1.5], (0, 1), 0.95),
        ([-0.1], (0, 1), 0.95),
        ([[0.1]], (0, 1), 0.95),
        ([0.1], (1, 1), 0.95),
        ([0.1], (1, 0), 0.95),
        ([0.1], 1, 0.95),
        ([0.1], (-math.inf, 1), 0.95),
        ([0.1], (-1e308, 1e308), 0.95),
        ([0.1], (0, 1), 1.0),
    ],
)
def test_bad_arguments_are_errors(values: Any, bounds: Any, level: float) -> None:
    with pytest.raises(ArgumentError):
        betting_interval(values, bounds, level=level)
