"""Identification bounds: cases that can be worked out, and what they refuse or warn of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from podium.errors import PodiumWarning
from podium.sampled import RankDistribution, SampledRanks
from podium.sampled.bounds import Bounds, identification_bounds, population_bounds


def test_one_negative_determines_the_mean_rank_alone() -> None:
    """All in the middle of 5: from none first to half first and half last."""
    middle = RankDistribution([0, 0, 1, 0, 0])
    low, high = population_bounds(middle, "recall@1", n_negatives=1)
    assert (low, high) == pytest.approx((0.0, 0.5), abs=1e-6)
    low, high = population_bounds(middle, "rank_auc", n_negatives=1)
    assert (low, high) == pytest.approx((0.5, 0.5), abs=1e-6)


def test_two_negatives_determine_the_spread_too() -> None:
    """No spread leaves one distribution."""
    middle = RankDistribution([0, 0, 1, 0, 0])
    for measure, value in (("recall@1", 0.0), ("recall@3", 1.0), ("rr", 1 / 3)):
        bounds = population_bounds(middle, measure, n_negatives=2)
        assert bounds == pytest.approx((value, value), abs=1e-5)


@pytest.mark.long
def test_sampling_leaves_recall_at_10_open_whatever_the_users() -> None:
    """A power law of 3,706 items and 99 negatives: about a fifth either way, then ever more."""
    weights = np.arange(1.0, 3707.0) ** -0.8
    truth = RankDistribution(weights / weights.sum())
    assert truth.expect("recall@10") == pytest.approx(0.166, abs=1e-3)
    low, high = population_bounds(truth, "recall@10", n_negatives=99)
    assert low == pytest.approx(0.133, abs=2e-3)
    assert high == pytest.approx(0.199, abs=2e-3)
    low, high = population_bounds(truth, "recall@10", n_negatives=99, n_users=10**7)
    assert low == pytest.approx(0.07, abs=0.01)
    assert high == pytest.approx(0.26, abs=0.01)
    low, high = population_bounds(truth, "recall@10", n_negatives=99, n_users=6040)
    assert low == 0
    assert 0.3 < high < 0.4


def test_bounds_narrow_with_users() -> None:
    truth = RankDistribution(np.full(100, 0.01))
    widths = []
    for n_users in (10, 1000, 100_000, None):
        low, high = population_bounds(truth, "recall@10", n_negatives=20, n_users=n_users)
        assert low <= 0.1 <= high
        widths.append(high - low)
    assert all(b < a for a, b in itertools.pairwise(widths))


def test_bounds_of_one_user_are_all_values() -> None:
    assert identification_bounds(SampledRanks([1], 9, 50), "recall@5") == Bounds(0.0, 1.0)


def test_bounds_warn_where_nothing_fits() -> None:
    """Half first and half in the middle, and never between, is likely; all even ranks is not."""
    odd = SampledRanks(np.tile(np.arange(1, 22, 2), 400), 20, 100)
    with pytest.warns(PodiumWarning, match="no distribution of ranks gives"):
        low, high = identification_bounds(odd, "recall@10")
    assert 0 <= low <= high <= 1
