"""Means over clusters: laws, a brute-force jackknife as oracle, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.raised import raises

from podium.errors import ArgumentError
from podium.evaluation.stats import clustered_mean

N = 40
RNG = np.random.default_rng(5)
VALUES = RNG.random(N)
WEIGHTS = RNG.integers(1, 5, N).astype(float)
CLUSTERS = RNG.integers(0, 11, N)


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


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        (([0.1, np.inf],), "values"),
        (([[0.1]],), "values"),
        (([0.1], [1.0, 2.0]), "weights"),
        (([0.1], [-1.0]), "weights"),
        (([0.1], [np.nan]), "weights"),
        (([0.1], None, ["a", "b"]), "clusters"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, parameter: str) -> None:
    with raises(ArgumentError, parameter):
        clustered_mean(*arguments)
