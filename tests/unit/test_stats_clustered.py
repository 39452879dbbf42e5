"""Means over clusters, or users and splits: by definition, coverage by simulation, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats import ClusteredMean, clustered_mean, crossed_mean

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
