"""Candidates: who can be drawn, how often, and the target's rank among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from podium import catalogue
from podium.catalogue import ScoreFunction
from podium.sampled import draw_candidates, evaluate, read, sample_ranks
from podium.sampled.sampling import read_plan
from podium.types import Ties

N_USERS, N_ITEMS = 60, 37
RNG = np.random.default_rng(7)
TIED = RNG.integers(0, 9, (N_USERS, N_ITEMS)).astype(float)
HELD = RNG.integers(0, N_ITEMS, N_USERS)
TARGETS = csr_array((np.ones(N_USERS), (np.arange(N_USERS), HELD)), shape=TIED.shape)
SEEN = RNG.random(TIED.shape) < 0.3
SEEN[np.arange(N_USERS), HELD] = False
EXCLUDE = csr_array(SEEN.astype(float))
FACTORS = (RNG.normal(size=(N_USERS, 5)), RNG.normal(size=(N_ITEMS, 5)))
RULES: list[Ties] = ["worst", "best", "id", "random"]


@pytest.mark.parametrize("ties", RULES)
def test_full_sample_of_what_is_not_excluded_has_the_exact_rank(ties: Ties) -> None:
    exact = catalogue.target_ranks(TIED, TARGETS, exclude=EXCLUDE, ties=ties, seed=3)
    for user in range(8):
        n_left = int(N_ITEMS - SEEN[user].sum())
        found = sample_ranks(
            TIED[[user]],
            TARGETS[[user]],
            n_left - 1,
            exclude=EXCLUDE[[user]],
            replacement=False,
            ties=ties,
            users=[user],
            seed=3,
        )
        assert found.n_items == n_left
        assert found.ranks.mean() == exact[user]


def drawn(targets: Any, n: int, *, replacement: bool, seed: int = 0, **options: Any) -> Any:
    """Return the items that are drawn for each target: (n_targets, n)."""
    usual = {"exclude": None, "overlap": "error", "other_targets": "keep", "users": None}
    plan = read_plan(targets, **{**usual, **options})
    return plan.draw(np.arange(plan.targets.size), n, seed, replacement=replacement)


@pytest.mark.parametrize("replacement", [True, False])
def test_draws_do_not_depend_on_other_users(replacement: bool) -> None:
    options: dict[str, Any] = {"replacement": replacement, "seed": 5}
    whole = drawn(TARGETS, 9, exclude=EXCLUDE, **options)
    order = RNG.permutation(N_USERS)[:20]
    options |= {"exclude": EXCLUDE[order], "users": order}
    some = drawn(TARGETS[order], 9, **options)
    assert some.tolist() == whole[order].tolist()
    other = drawn(TARGETS[order], 9, **{**options, "seed": 6})
    assert (other != some).any()


def test_numbers_as_text_are_the_same_users() -> None:
    """Candidates that are drawn, and drawn ties, follow from the user."""
    options: dict[str, Any] = {"n_negatives": 9, "ties": "random"}
    found = [
        sample_ranks(TIED, TARGETS, users=users, **options).ranks.tolist()
        for users in (np.arange(N_USERS), np.arange(N_USERS).astype(str))
    ]
    assert found[0] == found[1]


def test_smaller_sample_is_the_beginning_of_a_larger_one() -> None:
    small, large = (drawn(TARGETS, n, replacement=False) for n in (5, 12))
    assert large[:, :5].tolist() == small.tolist()


def test_candidates_are_neither_target_nor_excluded_nor_twice() -> None:
    found = draw_candidates(TARGETS, uniform=15, exclude=EXCLUDE)
    items = found.item[found.is_drawn].reshape(-1, 15)
    assert not SEEN[np.arange(N_USERS)[:, None], items].any()
    assert not (items == HELD[:, None]).any()
    assert all(np.unique(row).size == 15 for row in items)
    assert found.n_items.tolist() == (N_ITEMS - SEEN.sum(axis=1)).tolist()


def test_scored_candidates_are_ranks_among_drawn_items() -> None:
    """In whole rankings, all targets of a user share them."""
    found = draw_candidates(TARGETS, uniform=12, exclude=EXCLUDE)
    scores = TIED[found.row, found.item]
    ranks: Any = found.ranks(scores)
    items = found.item[found.is_drawn].reshape(-1, 12)
    rows = np.arange(N_USERS)
    above = TIED[rows[:, None], items] >= TIED[rows, HELD][:, None]
    assert ranks.ranks.tolist() == (1 + above.sum(axis=1)).tolist()
    assert (ranks.n_negatives, ranks.replacement) == (12, False)
    table = found.table(scores)
    assert set(table) == {"user", "item", "target", "score"}
    told: Any = read(table, n_items=N_ITEMS, replacement=False)
    assert told.ranks.tolist() == ranks.ranks.tolist()
    two = draw_candidates(csr_array([[1, 1, 0, 0, 0, 0]]), uniform=9)
    exact = evaluate(two.ranks([2, 4, 5, 3, 1, 0.0], shared=True), "recall@2", estimator="naive")
    assert exact.means["recall@2"] == 1 / 2
    alone: Any = two.ranks([2, 4, 5, 3, 1, 0.0])
    assert (alone.ranks.tolist(), alone.n_items) == ([3, 2], 5)


@pytest.mark.parametrize("replacement", [True, False])
def test_all_that_is_left_is_equally_likely(replacement: bool) -> None:
    counts = np.zeros(N_ITEMS)
    for seed in range(400):
        options: dict[str, Any] = {"exclude": EXCLUDE[[0]], "replacement": replacement}
        counts += np.bincount(drawn(TARGETS[[0]], 12, seed=seed, **options)[0], minlength=N_ITEMS)
    left = ~SEEN[0] & (np.arange(N_ITEMS) != HELD[0])
    assert counts[~left].sum() == 0
    expected = 400 * 12 / left.sum()
    chi_square = ((counts[left] - expected) ** 2 / expected).sum()
    n_free = left.sum() - 1
    assert abs(chi_square - n_free * (1 if replacement else 1 - 12 / left.sum())) < 5 * np.sqrt(
        2 * n_free
    )


def test_scores_in_every_form_give_the_same_ranks() -> None:
    product = FACTORS[0] @ FACTORS[1].T
    forms: list[Any] = [product, ScoreFunction(lambda users: product[users], N_USERS, N_ITEMS)]
    expected = sample_ranks(FACTORS, TARGETS, 20, seed=2).ranks.tolist()
    for scores in forms:
        assert sample_ranks(scores, TARGETS, 20, seed=2).ranks.tolist() == expected


def test_other_targets_of_a_user_are_kept_or_excluded() -> None:
    targets = csr_array([[1, 1, 0, 0, 0, 0]])
    scores = [[5.0, 6.0, 4.0, 3.0, 2.0, 1.0]]
    kept = sample_ranks(scores, targets, 5, replacement=False)
    alone = sample_ranks(scores, targets, 4, replacement=False, other_targets="exclude")
    assert (kept.ranks.tolist(), kept.n_items, kept.n_users) == ([2, 1], 6, 1)
    assert (alone.ranks.tolist(), alone.n_items, alone.n_users) == ([1, 1], 5, 1)


def test_history_counts_own_items_that_can_be_drawn() -> None:
    """Neither the target nor what is excluded, and other targets as they are candidates."""
    scores = np.arange(12.0).reshape(2, 6)
    held = csr_array([[1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]])
    own = csr_array([[0, 1, 1, 1, 1, 0], [1, 1, 0, 0, 0, 0]])
    seen = csr_array([[0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0]])

    def history(**options: Any) -> list[int]:
        found = sample_ranks(scores, held, 1, history=own, **options).history
        assert found is not None
        return found.tolist()

    assert history() == [4, 3, 2]
    assert history(exclude=seen) == [3, 2, 1]
    assert history(other_targets="exclude") == [3, 3, 2]
    assert history(exclude=own, overlap="drop") == [0, 0]
    assert sample_ranks(scores, held, 2).history is None
