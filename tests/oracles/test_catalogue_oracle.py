"""Catalogues against plain sorts: every tie rule, depth, exclusion and block size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.ranked import rank_all

from podium.catalogue import rank_blocks, target_ranks, top_k
from podium.catalogue.source import Source
from podium.metrics import parse
from podium.ranking import Ranking
from podium.types import Ties

FIXED: tuple[Ties, ...] = ("worst", "best", "id")
RULES: tuple[Ties, ...] = (*FIXED, "average", "random")
LINEAR = ("precision@3", "recall@5", "ndcg@4", "dcg(gain=exp2)@5", "pap@3", "rbp@5")


@dataclass(frozen=True)
class Case:
    """Scores of few values, graded truth, and seen items apart from it."""

    scores: NDArray[Any]
    truth: NDArray[np.float64]
    seen: NDArray[np.bool_]

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "scores": self.scores,
            "truth": csr_array(self.truth),
            "exclude": csr_array(self.seen.astype(np.int8)),
        }

    def visible(self, user: int) -> NDArray[np.int64]:
        return np.flatnonzero(~self.seen[user])

    def order(self, user: int, ties: Ties) -> list[int]:
        """Return the visible items in order, by Python's sort."""
        key = {
            "worst": lambda i: (self.truth[user, i], i),
            "best": lambda i: (-self.truth[user, i], i),
            "id": lambda i: (-i,),
        }[ties]
        items = self.visible(user).tolist()
        return sorted(items, key=lambda i: (-self.scores[user, i], *key(i)))

    def full(self, ties: Ties) -> Ranking:
        """Return the Ranking of all visible pairs, from rows."""
        user, item = np.nonzero(~self.seen)
        return Ranking.from_scores(
            self.scores[user, item], self.truth[user, item], user, ties=ties, item=item + 1000
        )


def make_case(seed: int, n_users: int = 6, n_items: int = 40, levels: int = 4) -> Case:
    rng = np.random.default_rng(seed)
    dtype = np.float32 if seed % 2 else np.float64
    scores = rng.integers(-1, levels - 1, (n_users, n_items)).astype(dtype)
    grade = rng.choice([0.0, 1.0, 2.0], (n_users, n_items), p=[0.7, 0.2, 0.1])
    seen = (rng.random((n_users, n_items)) < 0.3) & (grade == 0)
    seen[:, 0], grade[:, 0] = False, 0.0
    return Case(scores, grade, seen)


SEEDS = range(8)


def lists(r: Ranking) -> list[list[float]]:
    return [part.tolist() for part in np.split(r.relevance, r.groups.offsets[1:-1])]


def test_cases_hold_ties_at_the_boundary_and_all_that_is_claimed() -> None:
    torn = users = 0
    for case in map(make_case, SEEDS):
        assert case.seen.any()
        assert set(np.unique(case.truth)) == {0.0, 1.0, 2.0}
        for user, row in enumerate(case.scores):
            order = case.order(user, "worst")
            last, next_ = order[4], order[5]
            users += 1
            same = [i for i in order if row[i] == row[last]]
            torn += row[last] == row[next_] and len({case.truth[user, i] for i in same}) > 1
    assert torn > users / 2


@pytest.mark.parametrize("ties", FIXED)
@pytest.mark.parametrize("seed", SEEDS)
def test_list_of_a_depth_is_the_start_of_the_sorted_list(ties: Ties, seed: int) -> None:
    case = make_case(seed)
    whole = [[case.truth[u, i] for i in case.order(u, ties)] for u in range(6)]
    for depth in (1, 5, 19, 39, 40, 100, None):
        got = rank_all(**case.arguments, ties=ties, depth=depth)
        assert lists(got) == [row[:depth] for row in whole]


@pytest.mark.parametrize("ties", RULES)
@pytest.mark.parametrize("seed", SEEDS)
def test_pap_at_k_needs_a_depth_of_2k_minus_1(ties: Ties, seed: int) -> None:
    case = make_case(seed)
    whole = (
        rank_all(**case.arguments, ties=ties, depth=None) if ties == "random" else case.full(ties)
    )
    for k in (1, 2, 5, 8):
        got = rank_all(**case.arguments, ties=ties, depth=2 * k - 1)
        measure = parse(f"pap@{k}")
        np.testing.assert_array_equal(measure(got), measure(whole))


@pytest.mark.parametrize("measure", LINEAR)
@pytest.mark.parametrize("seed", SEEDS)
def test_average_over_ties_is_exact_at_a_depth(measure: str, seed: int) -> None:
    case = make_case(seed)
    got = rank_all(**case.arguments, ties="average", depth=5)
    np.testing.assert_allclose(
        parse(measure)(got), parse(measure)(case.full("average")), rtol=1e-12
    )


@pytest.mark.parametrize("ties", RULES)
def test_counts_and_ideal_are_those_of_the_whole_list(ties: Ties) -> None:
    case = make_case(3)
    got, whole = rank_all(**case.arguments, ties=ties, depth=2), case.full(ties)
    assert got.n_items.tolist() == whole.n_items.tolist()
    assert got.n_pos.tolist() == whole.n_pos.tolist()
    assert got.n_neg.tolist() == whole.n_neg.tolist()
    assert got.ideal.tolist() == whole.ideal.tolist()
    assert got.ideal_offsets.tolist() == whole.ideal_offsets.tolist()


@pytest.mark.parametrize("ties", RULES)
@pytest.mark.parametrize("block_size", [1, 2, 5, 6, 7])
def test_blocks_together_are_the_one_ranking(ties: Ties, block_size: int) -> None:
    case = make_case(4)
    parts = list(rank_blocks(**case.arguments, ties=ties, depth=7, block_size=block_size))
    assert len(parts) == -(-6 // block_size)
    assert [label for p in parts for label in p.groups.labels.tolist()] == list(range(6))
    whole = rank_all(**case.arguments, ties=ties, depth=7)
    assert [row for p in parts for row in lists(p)] == lists(whole)
    assert np.concatenate([p.tied for p in parts]).tolist() == whole.tied.tolist()


@pytest.mark.parametrize("ties", FIXED)
@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_are_places_in_the_sorted_list(
    ties: Ties, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Source, "block_size", 4)
    case = make_case(seed)
    targets = csr_array(case.truth)
    expected = [
        case.order(u, ties).index(i) + 1.0
        for u, i in zip(*(axis.tolist() for axis in np.nonzero(case.truth)), strict=True)
    ]
    got = target_ranks(case.scores, targets, exclude=case.arguments["exclude"], ties=ties)
    assert got.tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_average_rank_is_the_middle_of_best_and_worst_alone(seed: int) -> None:
    case = make_case(seed)
    user, item = np.nonzero(case.truth)
    row, hidden = case.scores[user], case.seen[user]
    own = case.scores[user, item][:, None]
    above = ((row > own) & ~hidden).sum(axis=1)
    equal = ((row == own) & ~hidden).sum(axis=1)
    got = target_ranks(
        case.scores, csr_array(case.truth), exclude=case.arguments["exclude"], ties="average"
    )
    assert got.tolist() == ((above + 1 + above + equal) / 2).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_ranks_are_the_places_in_the_random_list(seed: int) -> None:
    case = make_case(seed)
    one_grade = csr_array((case.truth > 0).astype(float))
    exclude = case.arguments["exclude"]
    listed = rank_all(case.scores, one_grade, exclude=exclude, ties="random", seed=seed)
    got = target_ranks(case.scores, one_grade, exclude=exclude, ties="random", seed=seed)
    place = np.arange(listed.groups.n_rows) - np.repeat(
        listed.groups.offsets[:-1], listed.groups.sizes
    )
    by_user = np.split(got, one_grade.indptr[1:-1])
    expected = np.split(place[listed.relevance > 0] + 1.0, one_grade.indptr[1:-1])
    assert [sorted(r) for r in by_user] == [r.tolist() for r in expected]


@given(
    st.integers(1, 300),
    st.integers(1, 320),
    st.sampled_from([1, 3, 50, 10**6]),
    st.integers(0, 2**32 - 1),
)
def test_top_k_is_the_start_of_a_stable_sort(n_items: int, k: int, levels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(-levels, levels, (3, n_items)).astype(np.float32)
    seen = rng.random((3, n_items)) < 0.2
    items, best = top_k(scores, k, exclude=csr_array(seen))
    for u in range(3):
        order = np.argsort(-scores[u], kind="stable")
        order = order[~seen[u][order]][:k]
        n = order.size
        assert items[u].tolist() == order.tolist() + [-1] * (k - n)
        assert best[u].tolist() == scores[u][order].tolist() + [-np.inf] * (k - n)


@pytest.mark.parametrize("k", [1, 7, 100, 700, 3000, 20_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", ["normal", "rising", "falling", "few", "constant", "spikes"])
def test_top_k_of_long_rows_is_the_start_of_a_stable_sort(k: int, dtype: Any, shape: str) -> None:
    rng = np.random.default_rng(5)
    n = 9_001  # long enough for the guessed floor, and no whole number of chunks
    row = {
        "normal": rng.standard_normal(n),
        "rising": np.arange(n) / 7,
        "falling": -np.arange(n) / 7,
        "few": rng.integers(0, 5, n),
        "constant": np.zeros(n),
        "spikes": np.where(np.arange(n) % 17 == 0, 1e6 + rng.random(n), rng.random(n)),
    }[shape].astype(dtype)
    seen = np.zeros((1, n), bool)
    seen[0, np.argsort(-row)[:50]] = True
    items, best = top_k(row[None], k, exclude=csr_array(seen))
    order = np.argsort(-row, kind="stable")
    order = order[~seen[0][order]][:k]
    assert items[0, : order.size].tolist() == order.tolist()
    assert best[0, : order.size].tolist() == row[order].tolist()
    assert (items[0, order.size :] == -1).all()


@pytest.mark.parametrize("block_size", [None, 1, 3, 100])
def test_factors_give_what_their_product_gives(
    block_size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    users = rng.integers(-3, 4, (10, 4)).astype(np.float64)  # products are exact integers
    items = rng.integers(-3, 4, (50, 4)).astype(np.float32)
    truth = csr_array((rng.random((10, 50)) < 0.2).astype(float))
    product = users @ items.T
    best = top_k(product, 7)
    if block_size is not None:
        monkeypatch.setattr(Source, "block_size", block_size)
    for got, expected in zip(top_k((users, items), 7), best, strict=True):
        np.testing.assert_array_equal(got, expected)
    parts = rank_blocks((users, items), truth, depth=9)
    assert [row for p in parts for row in lists(p)] == lists(rank_all(product, truth, depth=9))
    np.testing.assert_array_equal(target_ranks((users, items), truth), target_ranks(product, truth))
