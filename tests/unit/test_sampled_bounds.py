"""Identification bounds: of own catalogues, large and complete samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from podium.errors import PodiumWarning
from podium.report import estimate_notes
from podium.sampled import SampledRanks, simulate_ranks
from podium.sampled.bounds import Bounds, identification_bounds
from podium.sampled.bounds.search import MAX_RELATIVE_ERROR, Curves
from podium.sampled.design import Design


def told_apart(n_users: int, sizes: list[int], seed: int, *, replacement: bool) -> SampledRanks:
    """Users of the smallest catalogue rank their target first, all others in the middle."""
    rng = np.random.default_rng(seed)
    items = rng.choice(sizes, n_users)
    exact = np.where(items == min(sizes), 1, items // 2)
    if replacement:
        above = rng.binomial(20, (exact - 1) / (items - 1))
    else:
        above = rng.hypergeometric(exact - 1, items - exact, 20)
    return SampledRanks(above + 1, 20, items, replacement=replacement)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("sizes", [[200, 400], list(range(200, 401, 5))])
def test_bounds_hold_where_ranks_depend_on_the_catalogue(
    sizes: list[int], replacement: bool
) -> None:
    """No common distribution fits these users; the share of the smallest catalogue is recall."""
    ranks = told_apart(3000, sizes, 1, replacement=replacement)
    share = float(np.mean(np.asarray(ranks.n_items) == 200))
    low, high = identification_bounds(ranks, "recall@10")
    assert low <= share <= high < share + 0.3


def test_bounds_are_worth_a_rank_in_the_users_own_catalogue() -> None:
    """A target that is last among 100 or 200 items has an AUC of 0."""
    ranks = SampledRanks([10] * 400, 9, [100, 200] * 200)
    low, high = identification_bounds(ranks, "rank_auc")
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high < 0.2


def test_bounds_of_known_ranks_hold_for_users_of_unequal_weight() -> None:
    """Half of all users are first; ten of the 200 users have almost all of the weight."""
    rng, weights, n_held = np.random.default_rng(0), np.repeat([20.0, 0.05], [10, 190]), 0
    for _ in range(100):
        ranks = np.where(rng.random(200) < 0.5, 1, 15)
        whole = SampledRanks(ranks, 19, 20, replacement=False, row_weights=weights)
        low, high = identification_bounds(whole, "recall@10", confidence=0.9)
        n_held += low <= 0.5 <= high
    assert n_held >= 90


@pytest.mark.parametrize(
    "designs",
    [
        [Design(size, items, replacement) for items in (61, 500, 483, 2000)]
        for size in (1, 7, 60)
        for replacement in (True, False)
    ],
)
def test_curves_are_sums_over_outcomes_at_every_rank(designs: list[Design]) -> None:
    n = designs[0].n_outcomes
    for values in (np.random.default_rng(n).normal(size=n), np.eye(n)[0]):
        for design, curve in zip(designs, Curves(designs).sums(values), strict=True):
            error = np.abs(curve - design.probabilities() @ values).max()
            assert error <= MAX_RELATIVE_ERROR * np.abs(values).max()


def test_bounds_of_one_user_are_all_values() -> None:
    assert identification_bounds(SampledRanks([1], 9, 50), "recall@5") == Bounds(0.0, 1.0)


def test_bounds_warn_where_nothing_fits() -> None:
    """Half first and half in the middle, and never between, is likely; all even ranks is not."""
    odd = SampledRanks(np.tile(np.arange(1, 22, 2), 400), 20, 100)
    with pytest.warns(PodiumWarning, match="no distribution of ranks gives"):
        low, high = identification_bounds(odd, "recall@10")
    assert 0 <= low <= high <= 1


N_ITEMS = 3706


def exact_ranks(n_users: int) -> NDArray[np.int64]:
    """Even in log(rank + 200): some 3 % of the users have one of the first 10."""
    share = np.random.default_rng(0).random(n_users)
    found = np.floor(201 * (((N_ITEMS + 200) / 201) ** share) - 200)
    return np.clip(found, 1, N_ITEMS).astype(np.int64)


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
