"""Values by hand and by definition, clusters, users and splits, and letters of systems."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats import ClusteredMean, clustered_mean, crossed_mean, letters
from podium.types import IntervalMethod

NAN = float("nan")


@pytest.mark.parametrize("method", ["t", "wilson", "bootstrap"])
@pytest.mark.parametrize(
    ("values", "mean", "end"),
    [([], NAN, NAN), ([NAN], NAN, NAN), ([0.4], 0.4, NAN), ([0.5] * 7, 0.5, 0.5)],
)
def test_summary_of_few_or_constant_values(
    values: list[float], mean: float, end: float, method: IntervalMethod
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
def test_no_letter_is_part_of_another_one(case: tuple[list[float], np.ndarray]) -> None:
    groups = columns(letters(*case))
    for group in groups:
        assert not any(group <= other for other in groups if other is not group)


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


N = 40
RNG = np.random.default_rng(5)
VALUES = RNG.random(N)
WEIGHTS = RNG.integers(1, 5, N).astype(float)
CLUSTERS = RNG.integers(0, 11, N)


def jackknife(values: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any]) -> float:
    """Return the variance from the means without the values of each label."""
    kept = [labels != label for label in np.unique(labels)]
    without = np.array([np.average(values[rows], weights=weights[rows]) for rows in kept])
    mean, n = np.average(values, weights=weights), len(kept)
    return float((n - 1) / n * ((without - mean) ** 2).sum())


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize("clusters", [None, CLUSTERS], ids=["", "clusters"])
def test_error_is_that_of_deleting_each_cluster(weights: Any, clusters: Any) -> None:
    estimate = clustered_mean(VALUES, weights, clusters)
    weights = np.ones(N) if weights is None else weights
    clusters = np.arange(N) if clusters is None else clusters
    assert estimate.mean == pytest.approx(np.average(VALUES, weights=weights))
    assert estimate.std_error == pytest.approx(math.sqrt(jackknife(VALUES, clusters, weights)))
    heavy = np.array([weights[clusters == label].sum() for label in np.unique(clusters)])
    assert estimate.n_clusters == pytest.approx(heavy.sum() ** 2 / (heavy**2).sum())


@pytest.mark.parametrize(
    ("estimate", "mean"),
    [
        (clustered_mean([]), np.nan),
        (clustered_mean([np.nan]), np.nan),
        (clustered_mean([0.3], [0.0]), np.nan),
        (clustered_mean([0.1, 0.5], clusters=["a", "a"]), 0.3),
        (clustered_mean([0.2, 0.4, 0.6], [1.0, 1e-20, 1e-30]), 0.2),
        (crossed_mean([], [], []), np.nan),
        (crossed_mean([0.1, 0.4, 0.1], [1, 2, 3], [1, 1, 1]), 0.2),
        (crossed_mean([0.1, 0.4, 0.1], [1, 1, 1], [1, 2, 3]), 0.2),
    ],
)
def test_too_few_clusters_have_no_error(estimate: ClusteredMean, mean: float) -> None:
    assert estimate.mean == pytest.approx(mean, nan_ok=True)
    ends = *estimate.interval(0.95), *estimate.interval(0.95, 1.0, widened=1.0)
    assert all(map(math.isnan, [estimate.std_error, *ends]))


N_USERS, N_SPLITS = 7, 3
DRAWS = np.random.default_rng(3)
USERS, SPLITS = (
    labels.ravel() for labels in np.meshgrid(np.arange(N_USERS), np.arange(N_SPLITS), indexing="ij")
)
CROSSED = DRAWS.random(USERS.size) + 0.5 * DRAWS.random(N_USERS)[USERS] + 0.3 * SPLITS


def sparse(values: NDArray[Any]) -> NDArray[Any]:
    """Return values of which two are undefined."""
    values = values.copy()
    values[[2, 11]] = np.nan
    return values


def by_definition(values: NDArray[Any], users: NDArray[Any], splits: NDArray[Any]) -> ClusteredMean:
    """Return the crossed mean from jackknifes that leave out one user, split or row at a time."""
    is_defined = ~np.isnan(values)
    values, users, splits = values[is_defined], users[is_defined], splits[is_defined]

    def quantile(labels: NDArray[Any]) -> float:
        sizes = np.unique(labels, return_counts=True)[1]
        return float(scipy_stats.t.ppf(0.975, sizes.sum() ** 2 / (sizes**2).sum() - 1))

    of_users, of_splits, of_rows = (
        jackknife(values, labels, np.ones(values.size))
        for labels in (users, splits, np.arange(values.size))
    )
    total = max(of_users + of_splits - of_rows, of_users, of_splits)
    share = of_splits / total
    squared = share * quantile(splits) ** 2 + (1 - share) * quantile(users) ** 2
    half = math.sqrt(squared * total)
    return ClusteredMean(float(values.mean()), math.sqrt(total), half)


@pytest.mark.parametrize("values", [CROSSED, sparse(CROSSED)], ids=["full", "sparse"])
@pytest.mark.parametrize("users", [USERS, np.arange(USERS.size)], ids=["crossed", "nested"])
def test_it_is_its_definition(values: NDArray[Any], users: NDArray[Any]) -> None:
    expected = by_definition(values, users, SPLITS)  # with half the width for n_clusters
    estimate = crossed_mean(values, users, SPLITS)
    assert estimate.mean == pytest.approx(expected.mean)
    assert estimate.std_error == pytest.approx(expected.std_error)
    assert estimate.interval(0.95).high - estimate.mean == pytest.approx(
        expected.n_clusters, rel=1e-6
    )


def test_summaries_and_paired_tests_use_it() -> None:
    estimate = crossed_mean(sparse(CROSSED), USERS, SPLITS)
    summary = stats.summarize(sparse(CROSSED), users=USERS, splits=SPLITS, level=0.9)
    test = stats.paired(np.zeros(CROSSED.size), sparse(CROSSED), users=USERS, splits=SPLITS)
    assert summary.interval == pytest.approx(estimate.interval(0.9))
    assert (summary.n_groups, summary.n_undefined) == (CROSSED.size - 2, 2)
    assert test.interval == estimate.interval(0.95)
    assert test.std_error == summary.std_error == estimate.std_error
    t = estimate.mean / estimate.std_error
    dof = estimate.n_clusters - 1
    assert test.t_p_value == pytest.approx(2 * scipy_stats.t.sf(t, dof))
    quantiles = sum(float(scipy_stats.t.ppf(p, dof)) for p in (0.975, 0.8))
    assert test.detectable == pytest.approx(quantiles * estimate.std_error)
    assert math.isnan(test.randomisation_p_value)
    assert test.wins + test.losses + test.equal == test.n_groups == CROSSED.size - 2
    plain = stats.paired(np.zeros(CROSSED.size), sparse(CROSSED))
    assert test.effect_size == plain.effect_size
    quantiles = sum(float(scipy_stats.t.ppf(p, plain.n_groups - 1)) for p in (0.975, 0.8))
    assert plain.detectable == pytest.approx(quantiles * plain.std_error)


@pytest.mark.parametrize(
    "call",
    [
        lambda: clustered_mean([0.1, np.inf]),
        lambda: clustered_mean([[0.1]]),
        lambda: clustered_mean([0.1], [1.0, 2.0]),
        lambda: clustered_mean([0.1], [-1.0]),
        lambda: clustered_mean([0.1], [np.nan]),
        lambda: clustered_mean([0.1], None, ["a", "b"]),
        lambda: crossed_mean([1, 2], [1], [1, 2]),
        lambda: crossed_mean([1, 2], [1, 2], [[1, 2]]),
        lambda: crossed_mean([1, 2], [None, "a"], [1, 2]),
        lambda: crossed_mean([1, 2], [1, 2], [[1], [1, 2]]),
        lambda: crossed_mean([1, math.inf], [1, 2], [1, 2]),
        lambda: stats.summarize([1, 2], users=[1, 2]),
        lambda: stats.paired([1, 2], [1, 2], splits=[1, 2]),
        lambda: stats.summarize([1, 2], users=[1, 2], splits=[1, 2], method="bootstrap"),
    ],
)
def test_bad_input_is_refused(call: Any) -> None:
    with pytest.raises(ArgumentError):
        call()


@pytest.mark.long
@pytest.mark.parametrize("is_nested", [False, True], ids=["crossed", "nested"])
@pytest.mark.parametrize("effect", [0, 1, 3, 10])  # in standard errors over users
@pytest.mark.parametrize("n_splits", [2, 3, 5, 10])
def test_intervals_cover_the_mean(n_splits: int, effect: float, is_nested: bool) -> None:
    """Values are thirds in [-1, 1], mostly 0, as differences of recall@10 are."""
    rng = np.random.default_rng(n_splits)
    n_users, n_samples = 50, 1500
    probabilities = [0.05, 0.1, 0.7, 0.1, 0.05]
    steps = np.array([-1, -1 / 3, 0, 1 / 3, 1])
    error = math.sqrt(float((steps**2) @ probabilities) / n_users / (n_splits if is_nested else 1))
    users, splits = np.divmod(np.arange(n_users * n_splits), n_splits)
    labels = np.arange(users.size) if is_nested else users
    n_covered = 0
    for _ in range(n_samples):
        of_user = rng.choice(steps, n_users, p=probabilities)[users]
        of_row = rng.choice(steps, users.size, p=probabilities)
        is_own = is_nested | (rng.random(users.size) < 0.5)  # half the values are those of the user
        of_split = rng.normal(0, effect * error * math.sqrt(n_splits), n_splits)[splits]
        values = np.where(is_own, of_row, of_user) + of_split
        low, high = crossed_mean(values, labels, splits).interval(0.95)
        n_covered += low <= 0 <= high
    assert n_covered / n_samples >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / n_samples)
