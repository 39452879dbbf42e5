"""Values by hand, what undefined, constant or missing values do, and letters of systems."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats import letters

NAN = float("nan")


@pytest.mark.parametrize("method", stats.INTERVAL_METHODS)
@pytest.mark.parametrize(
    ("values", "mean", "end"),
    [([], NAN, NAN), ([NAN], NAN, NAN), ([0.4], 0.4, NAN), ([0.5] * 7, 0.5, 0.5)],
)
def test_summary_of_few_or_constant_values(
    values: list[float], mean: float, end: float, method: stats.IntervalMethod
) -> None:
    found = stats.summarize(values, method=method, bounds=(0, 1))
    np.testing.assert_array_equal([found.mean, *found.interval], [mean, end, end])
    n_undefined = values.count(NAN)
    assert (found.n_groups, found.n_undefined) == (len(values) - n_undefined, n_undefined)


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


def test_bootstrap_in_blocks_is_the_bootstrap_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks read one stream of draws; where they end leaves no trace in the distribution."""
    values = np.random.default_rng(0).random(30)
    whole = stats.summarize(values, method="bootstrap", n_resamples=900)
    monkeypatch.setattr("podium.evaluation.stats._resampling._BLOCK", 30 * 7)
    assert stats.summarize(values, method="bootstrap", n_resamples=900) == whole


@pytest.mark.parametrize("weights", [[0, 0], [5, 0]])
def test_pooled_without_two_weighted_groups(weights: list[float]) -> None:
    s = stats.pooled([0.5, 0.2], weights)
    assert math.isnan(s.mean) if not any(weights) else s.mean == 0.5


def test_paired_of_few_or_equal_values() -> None:
    one, none = stats.paired([0.1], [0.2]), stats.paired([], [])
    assert (one.randomisation_p_value, none.n_groups) == (1, 0)
    unknown = [one.t_p_value, one.detectable, one.effect_size]
    assert all(map(math.isnan, [*unknown, none.relative_difference, none.randomisation_p_value]))
    equal = stats.paired([0.3] * 20, [0.3] * 20)
    assert (equal.t_statistic, equal.t_p_value, equal.randomisation_p_value) == (0, 1, 1)
    assert (equal.detectable, equal.effect_size, equal.relative_difference) == (0, 0, 0)


def test_paired_with_a_constant_difference_is_certain() -> None:
    test = stats.paired([0.0] * 5, [0.5] * 5)
    assert (test.t_statistic, test.t_p_value) == (math.inf, 0)
    assert test.randomisation_p_value == 2 / 2**5
    assert test.effect_size == math.inf
    assert math.isnan(test.relative_difference)  # the baseline's mean is 0
    rounded = stats.paired([0.0] * 3, [0.1] * 3)  # their mean is not exactly 0.1
    assert (rounded.effect_size, rounded.t_statistic) == (math.inf, math.inf)


def test_values_that_differ_by_rounding_are_equal() -> None:
    """0.1 + 0.2 exceeds 0.3 by one bit: all patterns but two must still count as reached."""
    test = stats.paired([0.0, 0.0, 0.3], [0.1, 0.2, 0.0])
    assert test.difference == pytest.approx(0)
    assert test.randomisation_p_value == 1
    test = stats.paired([0.3, 0.5, 0.0], [0.1 + 0.2, 0.75, 1e-300])
    assert (test.wins, test.losses, test.equal) == (2, 0, 1)


def test_drawn_sign_flips_are_never_zero_and_repeat() -> None:
    a, b = np.zeros(40), np.linspace(0.5, 1.0, 40)
    first, second = (stats.paired(a, b, n_permutations=999, seed=4) for _ in range(2))
    assert first.randomisation_p_value == 1 / (1 + 999)
    assert repr(first) == repr(second)


def test_holm_ignores_nan_and_stops_at_one() -> None:
    adjusted = stats.holm([0.9, NAN, 0.6])
    assert adjusted[[0, 2]].tolist() == [1, 1]
    assert math.isnan(adjusted[1])
    assert stats.holm([]).size == 0


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: stats.summarize([0.1, math.inf]), "values"),
        (lambda: stats.summarize([0.1], level=1), "level"),
        (lambda: stats.summarize([0.1], method="boot"), "method"),  # type: ignore[arg-type]
        (lambda: stats.summarize([1, 2], method="bootstrap", n_resamples=0), "n_resamples"),
        (lambda: stats.summarize([1, 2], method="wilson", bounds=(0, math.inf)), "method"),
        (lambda: stats.summarize([1, 2], bounds=3), "bounds"),  # type: ignore[arg-type]
        (lambda: stats.paired([1, 2], [1, 2], bounds=(1, 0)), "bounds"),
        (lambda: stats.summarize([1, 2], method="bootstrap", seed=-1), "seed"),
        (lambda: stats.paired([1, 2], [1]), "a and b"),
        (lambda: stats.pooled([1, 2], [1, -2]), "weights"),
        (lambda: stats.holm([0.5, 1.5]), "p_values"),
    ],
)
def test_stats_errors_name_the_parameter(call: Any, parameter: str) -> None:
    with pytest.raises(ArgumentError, match=parameter):
        call()


def table(n: int, *pairs: tuple[int, int]) -> np.ndarray:
    """Return the table in which these pairs of systems differ."""
    differs = np.zeros((n, n), np.bool_)
    for i, j in pairs:
        differs[i, j] = differs[j, i] = True
    return differs


def columns(texts: list[str]) -> list[set[int]]:
    """Return the systems of each letter."""
    groups: dict[str, set[int]] = {}
    for i, text in enumerate(texts):
        for name in re.finditer(r"[a-z]\d*", text):
            groups.setdefault(name.group(), set()).add(i)
    return list(groups.values())


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[float], np.ndarray]:
    n = draw(st.integers(0, 9))
    means = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=n, max_size=n))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    return means, table(n, *draw(st.sets(st.sampled_from(pairs)) if pairs else st.just(set())))


@given(systems())
def test_two_systems_share_a_letter_if_and_only_if_they_do_not_differ(
    case: tuple[list[float], np.ndarray],
) -> None:
    groups = columns(letters(*case))
    for i in range(len(case[0])):
        for j in range(len(case[0])):
            assert any({i, j} <= group for group in groups) == (not case[1][i, j])


@given(systems())
def test_no_letter_is_superfluous(case: tuple[list[float], np.ndarray]) -> None:
    """Each letter has a pair (or a system) of its own; none is part of another one."""
    groups = columns(letters(*case))
    for group in groups:
        others = [other for other in groups if other is not group]
        assert not any(group <= other for other in others)
        assert any(not any({i, j} <= other for other in others) for i in group for j in group)


@given(systems(), st.randoms(use_true_random=False))
def test_the_best_system_has_a_and_the_order_of_systems_does_not_matter(
    case: tuple[list[float], np.ndarray], random: Any
) -> None:
    means, differs = case
    means = [mean + i / 1e3 for i, mean in enumerate(means)]  # no two are equal
    texts = letters(means, differs)
    order = list(range(len(means)))
    random.shuffle(order)
    assert letters([means[i] for i in order], differs[np.ix_(order, order)]) == [
        texts[i] for i in order
    ]
    if means:
        assert texts[int(np.argmax(means))].startswith("a")


def test_after_z_comes_a2() -> None:
    n = 30
    texts = letters(-np.arange(n), ~np.eye(n, dtype=np.bool_))
    assert texts[25:] == ["z", "a2", "b2", "c2", "d2"]


@pytest.mark.parametrize(
    "differs", [table(3), [[0.2, 0.01], [0.01, 0.2]], [[False, True], [False, False]]]
)
def test_a_table_that_is_not_one_is_refused(differs: Any) -> None:
    with pytest.raises(ArgumentError, match="differs"):
        letters([0.1, 0.2], differs)
