"""Identification bounds of samples that are large, grow to be, or are the whole catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.report import estimate_notes
from podium.sampled import SampledRanks, simulate_ranks
from podium.sampled.bounds import identification_bounds
from podium.sampled.bounds.ball import ball_of_ranks

N_ITEMS = 3706


def exact_ranks(n_users: int) -> NDArray[np.int64]:
    """Even in log(rank + 200): some 3 % of the users have one of the first 10."""
    share = np.random.default_rng(0).random(n_users)
    found = np.floor(201 * (((N_ITEMS + 200) / 201) ** share) - 200)
    return np.clip(found, 1, N_ITEMS).astype(np.int64)


def test_samples_that_grow_past_800_keep_narrow_bounds() -> None:
    """Outcomes that hardly occur, as 800 items above in the last addition, must not widen them."""
    exact = exact_ranks(3000)
    ranks = simulate_ranks(exact, N_ITEMS, (100, 200, 400, 800, 1600), seed=0)
    assert max(np.abs(part.values).max() for part in ball_of_ranks(ranks, 0.95).parts) < 1e4
    low, high = identification_bounds(ranks, "recall@10")
    assert low <= np.mean(exact <= 10) <= high < 0.2


@pytest.mark.parametrize("size", [380, 398])
def test_samples_of_nearly_all_items_have_bounds(size: int) -> None:
    exact = 1 + exact_ranks(600) // 10
    ranks = simulate_ranks(exact, 400, size, replacement=False, seed=0)
    low, high = identification_bounds(ranks, "recall@10")
    assert low <= np.mean(exact <= 10) <= high < low + 0.5


def test_a_complete_sample_leaves_open_what_the_users_do() -> None:
    """By the share of users whom the inequality allows to be first, or to be last."""
    ranks = SampledRanks([1] * 500 + [50] * 1500, 1999, 2000, replacement=False)
    moved = np.sqrt(np.log(2 / 0.05) / (2 * 2000))
    found = identification_bounds(ranks, "recall@10")
    assert found == pytest.approx((0.25 - moved, 0.25 + moved))


def test_complete_samples_of_several_catalogues_and_targets() -> None:
    """A user of two targets counts half for each: only the best or worst are moved."""
    many = SampledRanks(
        np.tile([1, 9, 1], 1000),
        np.tile([19, 19, 9], 1000),
        np.tile([20, 20, 10], 1000),
        replacement=False,
        user=np.repeat(np.arange(2000), np.tile([2, 1], 1000)),
    )
    moved = np.sqrt(np.log(2 / 0.05) / (2 * 2000))
    low, high = identification_bounds(many, "recall@1")
    assert low == pytest.approx(0.75 - moved)
    assert high == pytest.approx(0.75 + moved / 2)


def test_nothing_is_impossible_where_bounds_or_the_mean_are_unknown() -> None:
    assert estimate_notes.is_impossible({"mean": 0.5, "bounds": [0.1, 0.4]})
    assert not estimate_notes.is_impossible({"mean": 0.5, "bounds": [0.1, 0.6]})
    for mean, bounds in ((0.5, [None, None]), (0.5, None), (None, [0.1, 0.4])):
        assert not estimate_notes.is_impossible({"mean": mean, "bounds": bounds})
