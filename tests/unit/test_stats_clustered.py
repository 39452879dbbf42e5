"""Means over clusters: laws, a brute-force jackknife as oracle, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.evaluation import stats
from podium.evaluation.stats import clustered_mean

N = 40
RNG = np.random.default_rng(5)
VALUES = RNG.random(N)
WEIGHTS = RNG.integers(1, 5, N).astype(float)
CLUSTERS = RNG.integers(0, 11, N)


def same(one: stats.ClusteredMean, other: stats.ClusteredMean) -> None:
    assert vars(one) == pytest.approx(vars(other), rel=1e-12, nan_ok=True)


def brute_force(values: NDArray[Any], weights: NDArray[Any], clusters: NDArray[Any]) -> float:
    """Return the jackknife standard error from the means without each cluster."""
    labels = np.unique(clusters)
    mean = np.average(values, weights=weights)
    without = [
        np.average(values[clusters != label], weights=weights[clusters != label])
        for label in labels
    ]
    n = labels.size
    return math.sqrt((n - 1) / n * sum((other - mean) ** 2 for other in without))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_error_is_that_of_deleting_each_cluster(is_weighted: bool, is_clustered: bool) -> None:
    weights = WEIGHTS if is_weighted else np.ones(N)
    clusters = CLUSTERS if is_clustered else np.arange(N)
    estimate = clustered_mean(
        VALUES, WEIGHTS if is_weighted else None, CLUSTERS if is_clustered else None
    )
    assert estimate.mean == pytest.approx(np.average(VALUES, weights=weights))
    assert estimate.std_error == pytest.approx(brute_force(VALUES, weights, clusters))
    heavy = np.array([weights[clusters == label].sum() for label in np.unique(clusters)])
    assert estimate.n_clusters == pytest.approx(heavy.sum() ** 2 / (heavy**2).sum())


def test_undefined_values_and_those_without_weight_are_left_out() -> None:
    is_used = np.arange(N) % 3 > 0
    expected = clustered_mean(VALUES[is_used], WEIGHTS[is_used], CLUSTERS[is_used])
    same(clustered_mean(np.where(is_used, VALUES, np.nan), WEIGHTS, CLUSTERS), expected)
    same(clustered_mean(VALUES, np.where(is_used, WEIGHTS, 0), CLUSTERS), expected)


@pytest.mark.parametrize(("values", "weights"), [([], None), ([np.nan], None), ([0.3], [0.0])])
def test_nothing_has_no_mean(values: list[float], weights: list[float] | None) -> None:
    estimate = clustered_mean(values, weights)
    assert math.isnan(estimate.mean)
    assert (estimate.n_clusters, all(map(math.isnan, estimate.interval(0.95)))) == (0, True)


def test_one_cluster_has_no_error() -> None:
    estimate = clustered_mean([0.1, 0.5], clusters=["a", "a"])
    assert estimate.mean == pytest.approx((0.1 + 0.5) / 2)
    assert math.isnan(estimate.std_error)
    assert all(map(math.isnan, estimate.interval(0.95, 1.0, widened=1.0)))


def test_weight_beside_which_all_others_vanish_has_no_error() -> None:
    estimate = clustered_mean([0.2, 0.4, 0.6], [1.0, 1e-20, 1e-30])
    assert estimate.mean == 0.2
    assert math.isnan(estimate.std_error)


def test_widening_adds_its_square_over_clusters() -> None:
    estimate = clustered_mean(VALUES, clusters=CLUSTERS)
    variance = estimate.std_error**2 + (2.0 / estimate.n_clusters) ** 2
    assert estimate.error(2.0) == pytest.approx(math.sqrt(variance))
    assert estimate.error(0.0) == estimate.std_error


def test_interval_is_cut_off_at_the_width() -> None:
    assert clustered_mean([1.0, -1.0, 1.0]).interval(0.999, 1.0) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, np.inf],), "values must be finite, or nan where undefined, got 1 infinite"),
        (([[0.1]],), "values must have one dimension"),
        (([0.1], [1.0, 2.0]), "weights must have 1 values, one per row, got 2"),
        (([0.1], [-1.0]), "weights must be >= 0, got -1 at row 0"),
        (([0.1], [np.nan]), "weights has 1 non-finite value"),
        (([0.1], None, ["a", "b"]), r"clusters must have one label per group \(1\), got shape"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        clustered_mean(*arguments)
