"""Candidates drawn in strata: the top of a proxy without targets, others at random, or all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.catalogue import target_ranks
from podium.sampled import Candidates, draw_candidates, read

N_USERS, N_ITEMS, K = 40, 60, 5
SCORES = np.random.default_rng(1).normal(size=(N_USERS, N_ITEMS))
PROXY = SCORES + np.random.default_rng(2).normal(size=SCORES.shape)
TARGETS: Any = csr_array(np.random.default_rng(3).random(SCORES.shape) < 0.04)
SEEN: Any = csr_array((np.random.default_rng(4).random(SCORES.shape) < 0.1) & ~TARGETS.toarray())
OPTIONS: dict[str, Any] = {"certain": 8, "uniform": 6, "exclude": SEEN}


def _items(drawn: Candidates, row: int, is_in: NDArray[np.bool_]) -> list[int]:
    return drawn.item[(drawn.row == row) & is_in].tolist()


def test_strata_are_the_top_of_the_proxy_and_other_items() -> None:
    drawn = draw_candidates(TARGETS, proxy=PROXY, **OPTIONS)
    for row in np.unique(drawn.row):
        own, seen = TARGETS[[row]].indices.tolist(), SEEN[[row]].indices.tolist()
        assert sorted(_items(drawn, row, drawn.is_target)) == sorted(own)
        order = [i for i in np.argsort(-PROXY[row]) if i not in own and i not in seen]
        assert _items(drawn, row, ~drawn.is_target & ~drawn.is_drawn) == order[:8]
        rest = _items(drawn, row, drawn.is_drawn)
        assert len(set(rest)) == 6
        assert set(rest) <= set(order[8:])


def test_all_items_give_exact_ranks() -> None:
    options: dict[str, Any] = {"certain": 8, "uniform": N_ITEMS, "exclude": SEEN}
    exact = np.asarray(target_ranks(SCORES, TARGETS, exclude=SEEN))
    owners = np.repeat(np.arange(N_USERS), np.diff(TARGETS.indptr))
    pairs = zip(owners, exact, strict=True)
    place_among_own = [int((exact[owners == owner] <= rank).sum()) for owner, rank in pairs]
    for other_targets, n_own_above in (("keep", 0), ("exclude", np.array(place_among_own) - 1)):
        drawn = draw_candidates(TARGETS, proxy=PROXY, other_targets=other_targets, **options)
        ranks = drawn.ranks(SCORES[drawn.row, drawn.item], k=K)
        np.testing.assert_array_equal(ranks.above + 1, exact - n_own_above)
        assert not ranks.n_rest.any()


@pytest.mark.parametrize("ties", ["worst", "best"])
def test_table_is_read_as_the_same_ranks(ties: str) -> None:
    drawn = draw_candidates(TARGETS, proxy=PROXY, certain=8, uniform=6)
    scores = SCORES[drawn.row, drawn.item].round(1)
    found = drawn.ranks(scores, k=K, ties=ties)
    table = read(drawn.table(scores), n_items=N_ITEMS, k=K, ties=ties)
    for name in ("user", "above_listed", "n_listed", "above_drawn", "n_drawn", "n_items"):
        np.testing.assert_array_equal(getattr(table, name), getattr(found, name))
    assert set(drawn.table()) == {"user", "item", "target", "stratum"}


def test_short_lists_have_fewer_listed_items() -> None:
    lists = np.full((N_USERS, 3), -1)
    lists[:, 0] = 7
    drawn = draw_candidates(TARGETS, lists=lists, certain=8, uniform=6)
    has_other_targets = np.unique(drawn.row[drawn.item == 7])
    assert (~drawn.is_target & ~drawn.is_drawn).sum() <= has_other_targets.size
    assert drawn.ranks(np.zeros(drawn.row.size), k=K).n_drawn.tolist() == [6] * TARGETS.nnz


def test_table_shows_the_targets_that_the_proxy_lists() -> None:
    drawn = draw_candidates(TARGETS, proxy=PROXY, **OPTIONS)
    stratum = drawn.table()["stratum"]
    for row, item, listed in zip(
        drawn.row[drawn.is_target],
        drawn.item[drawn.is_target],
        stratum[drawn.is_target] == "listed",
        strict=True,
    ):
        own, seen = TARGETS[[row]].indices.tolist(), SEEN[[row]].indices.tolist()
        others = [i for i in range(N_ITEMS) if i not in own and i not in seen]
        assert listed == (int((PROXY[row][others] > PROXY[row][item]).sum()) < 8)
    np.testing.assert_array_equal(
        stratum[~drawn.is_target] == "drawn", drawn.is_drawn[~drawn.is_target]
    )
