"""Values worked out by hand, and what undefined, constant or missing values do."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import ArgumentError
from podium.evaluation import stats

NAN = float("nan")


def test_summarize_drops_and_counts_undefined() -> None:
    with_nan, without = stats.summarize([NAN, 0.2, NAN, 0.6]), stats.summarize([0.2, 0.6])
    assert (with_nan.n_groups, with_nan.n_undefined) == (2, 2)
    assert dataclasses.replace(with_nan, n_undefined=0) == without


@pytest.mark.parametrize("method", stats.INTERVAL_METHODS)
@pytest.mark.parametrize("values", [[], [NAN]])
def test_summarize_of_nothing_is_nan(values: list[float], method: stats.IntervalMethod) -> None:
    s = stats.summarize(values, method=method, bounds=(0, 1))
    assert math.isnan(s.mean)
    assert math.isnan(s.interval.low)
    assert (s.n_groups, s.n_undefined) == (0, len(values))


@pytest.mark.parametrize("method", stats.INTERVAL_METHODS)
def test_summarize_of_one_group_has_no_interval(method: stats.IntervalMethod) -> None:
    s = stats.summarize([0.4], method=method, bounds=(0, 1))
    assert s.mean == 0.4
    assert math.isnan(s.std_error)
    assert all(map(math.isnan, s.interval))


@pytest.mark.parametrize("method", stats.INTERVAL_METHODS)
def test_summarize_of_a_constant_is_a_point(method: stats.IntervalMethod) -> None:
    assert stats.summarize([0.5] * 7, method=method, bounds=(0, 1)).interval == (0.5, 0.5)


def test_wilson_of_values_at_a_bound_has_a_width() -> None:
    """Without any hit among n users, the upper end is q² / (n + q²)."""
    low, high = stats.summarize([0.0] * 7, method="wilson", bounds=(0, 1)).interval
    q = 2.4469  # t quantile of 0.975 with 6 degrees of freedom
    assert low == 0
    assert high == pytest.approx(q**2 / (7 + q**2), rel=1e-4)
    mirrored = stats.summarize([1.0] * 7, method="wilson", bounds=(0, 1)).interval
    assert mirrored == pytest.approx((1 - high, 1))
    users, splits = [1, 2, 3] * 2, [1, 1, 1, 2, 2, 2]
    crossed = stats.summarize(
        [0.0] * 6, method="wilson", bounds=(0, 1), users=users, splits=splits
    ).interval
    assert crossed == stats.summarize([0.0] * 3, method="wilson", bounds=(0, 1)).interval


@given(
    st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=2, max_size=30),
    st.floats(0.5, 0.999),
    st.floats(-5, 5),
    st.floats(0.01, 10),
)
def test_wilson_is_inside_the_bounds_holds_the_mean_and_has_its_unit(
    values: list[float], level: float, low: float, width: float
) -> None:
    summary = stats.summarize(values, method="wilson", level=level, bounds=(0, 1))
    start, end = summary.interval
    assert 0 <= start <= end <= 1
    assert start - 1e-12 <= summary.mean <= end + 1e-12
    assert (start < end) or (0 < values[0] < 1 and len(set(values)) == 1)
    other = stats.summarize(
        low + width * (1 - np.array(values)),
        method="wilson",
        level=level,
        bounds=(low, low + width),
    ).interval
    if len(set(values)) > 1:  # rounding makes a constant not quite constant
        assert other == pytest.approx((low + width * (1 - end), low + width * (1 - start)))


def test_bootstrap_repeats_with_its_seed_only() -> None:
    values = np.random.default_rng(0).random(40)
    first, second, other = (
        stats.summarize(values, method="bootstrap", n_resamples=500, seed=seed).interval
        for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_bootstrap_in_blocks_is_the_bootstrap_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks read one stream of draws; where they end leaves no trace in the distribution."""
    values = np.random.default_rng(0).random(30)
    whole = stats.summarize(values, method="bootstrap", n_resamples=900)
    monkeypatch.setattr("podium.evaluation.stats._resampling._BLOCK", 30 * 7)
    assert stats.summarize(values, method="bootstrap", n_resamples=900) == whole


def test_bootstrap_agrees_whether_values_repeat_or_not() -> None:
    """Counts of few distinct values, and draws of many almost equal ones, are one distribution."""
    coarse = np.repeat([0.0, 0.5, 1.0], [60, 30, 20])
    fine = coarse + np.linspace(0, 1e-9, coarse.size)
    few, many = (
        stats.summarize(values, method="bootstrap", n_resamples=20_000).interval
        for values in (coarse, fine)
    )
    std_error = stats.summarize(coarse).std_error
    assert few.low == pytest.approx(many.low, abs=0.2 * std_error)
    assert few.high == pytest.approx(many.high, abs=0.2 * std_error)


def test_pooled_is_a_ratio_of_sums() -> None:
    s = stats.pooled([1.0, 0.5, NAN], [30, 10, 99])
    assert s.mean == (30 * 1.0 + 10 * 0.5) / (30 + 10)
    assert (s.n_groups, s.n_undefined) == (2, 1)


@pytest.mark.parametrize("weights", [[0, 0], [5, 0]])
def test_pooled_without_two_weighted_groups(weights: list[float]) -> None:
    s = stats.pooled([0.5, 0.2], weights)
    assert math.isnan(s.mean) if not any(weights) else s.mean == 0.5


def test_paired_is_b_minus_a_over_groups_where_both_are_defined() -> None:
    test = stats.paired([0.1, NAN, 0.5, 0.5, 0.3], [0.4, 0.9, NAN, 0.5, 0.2])
    assert test.difference == pytest.approx(((0.4 - 0.1) + 0 + (0.2 - 0.3)) / 3)
    assert (test.wins, test.losses, test.equal) == (1, 1, 1)
    assert (test.n_groups, test.n_undefined) == (3, 2)


def test_effect_size_and_relative_difference_are_over_the_groups_of_the_test() -> None:
    test = stats.paired([0.1, NAN, 0.5, 0.5, 0.3], [0.4, 0.9, NAN, 0.5, 0.2])
    mean = ((0.4 - 0.1) + 0 + (0.2 - 0.3)) / 3
    variance = ((0.3 - mean) ** 2 + (0 - mean) ** 2 + (-0.1 - mean) ** 2) / (3 - 1)
    assert test.effect_size == pytest.approx(mean / math.sqrt(variance))
    assert test.relative_difference == pytest.approx(mean / ((0.1 + 0.5 + 0.3) / 3))


def test_paired_the_other_way_round_is_its_mirror() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(50), rng.random(50)
    there, back = stats.paired(a, b), stats.paired(b, a)
    assert there.difference == -back.difference
    assert there.interval == pytest.approx((-back.interval.high, -back.interval.low))
    assert there.t_p_value == back.t_p_value
    assert (there.wins, there.losses) == (back.losses, back.wins)


def test_paired_without_any_difference_has_p_one() -> None:
    test = stats.paired([0.3] * 20, [0.3] * 20)
    assert (test.t_statistic, test.t_p_value, test.randomisation_p_value) == (0, 1, 1)
    assert (test.detectable, test.equal) == (0, 20)
    assert (test.effect_size, test.relative_difference) == (0, 0)


def test_paired_with_a_constant_difference_is_certain() -> None:
    test = stats.paired([0.0] * 5, [0.5] * 5)
    assert (test.t_statistic, test.t_p_value) == (math.inf, 0)
    assert test.randomisation_p_value == 2 / 2**5
    assert test.effect_size == math.inf
    assert math.isnan(test.relative_difference)  # the baseline's mean is 0
    rounded = stats.paired([0.0] * 3, [0.1] * 3)  # their mean is not exactly 0.1
    assert (rounded.effect_size, rounded.t_statistic) == (math.inf, math.inf)


def test_paired_of_one_or_no_group() -> None:
    one, none = stats.paired([0.1], [0.2]), stats.paired([], [])
    assert one.randomisation_p_value == 1
    assert math.isnan(one.t_p_value)
    assert math.isnan(one.detectable)
    assert math.isnan(one.effect_size)
    assert math.isnan(none.relative_difference)
    assert math.isnan(none.randomisation_p_value)
    assert none.n_groups == 0


def test_sign_flips_count_equal_sums_despite_rounding() -> None:
    """0.1 + 0.2 exceeds 0.3 by one bit: all patterns but two must still count as reached."""
    test = stats.paired([0.0, 0.0, 0.3], [0.1, 0.2, 0.0])
    assert test.difference == pytest.approx(0)
    assert test.randomisation_p_value == 1


def test_drawn_sign_flips_are_never_zero_and_repeat() -> None:
    a, b = np.zeros(40), np.linspace(0.5, 1.0, 40)
    first, second = (stats.paired(a, b, n_permutations=999, seed=4) for _ in range(2))
    assert first.randomisation_p_value == 1 / (1 + 999)
    assert repr(first) == repr(second)


def test_a_true_difference_of_the_detectable_size_is_found_with_that_power() -> None:
    rng = np.random.default_rng(0)
    n, sd, tries = 60, 0.3, 2000
    spread = np.repeat([-1.0, 1.0], n // 2) * sd * math.sqrt((n - 1) / n)  # of this sd
    true = stats.paired(np.zeros(n), spread).detectable
    d = rng.normal(true, sd, (tries, n))
    t = d.mean(axis=1) / (d.std(axis=1, ddof=1) / math.sqrt(n))
    power = (np.abs(t) > 2.0010).mean()  # t quantile of 0.975 with 59 degrees of freedom
    assert power == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / tries))


def test_holm_ignores_nan_and_stops_at_one() -> None:
    adjusted = stats.holm([0.9, NAN, 0.6])
    assert adjusted[[0, 2]].tolist() == [1, 1]
    assert math.isnan(adjusted[1])
    assert stats.holm([]).size == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stats.summarize([0.1, math.inf]), "values must be finite.*position 1"),
        (lambda: stats.summarize([0.1], level=1), "level must be a number > 0 and < 1, got 1"),
        (lambda: stats.summarize([0.1], method="boot"), "method.*Did you mean 'bootstrap'"),  # type: ignore[arg-type]
        (lambda: stats.summarize([1, 2], method="bootstrap", n_resamples=0), "n_resamples"),
        (
            lambda: stats.summarize([1, 2], method="wilson", bounds=(0, math.inf)),
            "method='wilson' requires two finite bounds, got 0.0 and inf. Use 't' or 'bootstrap'",
        ),
        (lambda: stats.summarize([1, 2], bounds=3), "bounds must be two numbers"),
        (lambda: stats.paired([1, 2], [1, 2], bounds=(1, 0)), "bounds must be two numbers"),
        (lambda: stats.summarize([1, 2], method="bootstrap", seed=-1), "seed must be an integer"),
        (lambda: stats.paired([1, 2], [1]), "a and b must have equal length, got 2 and 1"),
        (lambda: stats.pooled([1, 2], [1, -2]), "weights must be >= 0, got -2 at row 1"),
        (lambda: stats.holm([0.5, 1.5]), "p_values must lie in"),
    ],
)
def test_stats_errors_name_the_parameter(call: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call()  # type: ignore[operator]
