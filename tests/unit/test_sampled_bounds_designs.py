"""Identification bounds where users have catalogues of their own."""

from __future__ import annotations

import numpy as np
import pytest

from podium.errors import PodiumWarning
from podium.sampled import SampledRanks
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
        *(
            [Design(size, items, replacement) for items in (61, 500, 483, 2000)]
            for size in (1, 7, 60)
            for replacement in (True, False)
        ),
        [Design(40, 700, stages=(10, 40))],
    ],
)
def test_curves_are_sums_over_outcomes_at_every_rank(designs: list[Design]) -> None:
    n = designs[0].n_outcomes
    for values in (np.random.default_rng(n).normal(size=n), np.eye(n)[0]):
        for design, curve in zip(designs, Curves.over(designs).sums(values), strict=True):
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
