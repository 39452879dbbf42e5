"""Identification bounds: cases that can be worked out, and what they refuse or warn of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from podium.errors import PodiumWarning
from podium.sampled import RankDistribution, SampledRanks
from podium.sampled.bounds import Bounds, identification_bounds, population_bounds


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
