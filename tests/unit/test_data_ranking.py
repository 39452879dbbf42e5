"""(truth, run) -> Ranking: the policies, by name."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from tests.raised import raises

from podium import catalogue, data
from podium.errors import ArgumentError, DataError

TRUTH = {
    "user": [1, 1, 1, 2, 3],
    "item": [10, 11, 12, 10, 13],
    "relevance": [1.0, 2.0, 0.0, 1.0, 1.0],
}
RUN = {
    "user": [2, 1, 3, 1, 9],
    "item": [10, 12, 11, 11, 10],
    "score": [0.5, 0.9, 0.4, 0.8, 1.0],
}


def lists(ranking: Any) -> dict[Any, list[float]]:
    bounds = ranking.groups.offsets
    return {
        label: ranking.relevance[bounds[g] : bounds[g + 1]].tolist()
        for g, label in enumerate(ranking.groups.labels.tolist())
    }


def ideals(ranking: Any) -> list[list[float]]:
    bounds = ranking.ideal_offsets
    return [ranking.ideal[a:b].tolist() for a, b in itertools.pairwise(bounds)]


def test_missing_users_can_be_kept_or_left_out() -> None:
    run = {"user": [2, 7], "item": [10, 10], "score": [1.0, 1.0]}
    kept = data.ranking(TRUTH, run, missing="zero")
    assert lists(kept) == {1: [], 2: [1.0], 3: []}
    assert kept.absent is not None
    assert kept.absent.tolist() == [True, False, True]
    assert ideals(kept) == [[2.0, 1.0], [1.0], [1.0]]
    left = data.ranking(TRUTH, run, missing="skip")
    assert lists(left) == {2: [1.0]}
    assert left.absent is None
    assert ideals(left) == [[1.0]]


def test_items_outside_the_truth() -> None:
    run = {"user": [1, 1, 1, 2, 3], "item": [99, 10, 98, 10, 13], "score": [3, 2, 1, 1, 1]}
    assert lists(data.ranking(TRUTH, run))[1] == [0.0, 1.0, 0.0]
    assert lists(data.ranking(TRUTH, run, unjudged="skip"))[1] == [1.0]
    with pytest.raises(ArgumentError, match=r"lists item 99 for user 1 \(row 0\).*unjudged="):
        data.ranking(TRUTH, run, unjudged="error")


def test_n_items_must_cover_run_and_truth() -> None:
    # User 1 has 10, 11 and 12 in the truth, two of them in the run as well.
    with raises(ArgumentError, "n_items"):
        data.ranking(TRUTH, RUN, n_items=2)
    with pytest.raises(ArgumentError, match="n_items must be an integer >= 1"):
        data.ranking(TRUTH, RUN, n_items=0)


def test_duplicates_name_user_item_and_rows() -> None:
    run = {"user": ["u2", "u1", "u1"], "item": ["i7"] * 3, "score": [1, 2, 3]}
    truth = {"user": ["u1", "u2", "u1"], "item": ["i7"] * 3}
    with pytest.raises(
        DataError, match=r"The run lists item 'i7' twice for user 'u1' \(rows 1 and 2\)\. Keep one"
    ):
        data.ranking({"user": ["u1", "u2"], "item": ["i7", "i7"]}, run)
    with pytest.raises(
        DataError, match=r"The truth lists item 'i7' twice for user 'u1' \(rows 0 and 2\)"
    ):
        data.ranking(truth, {"user": ["u1", "u2"], "item": ["i7", "i7"], "score": [1, 2]})
    twice = {"user": [1, 1], "item": [10, 10], "score": [2, 1]}
    with pytest.raises(DataError, match=r"lists item 10 twice for user 1 \(rows 0 and 1\)"):
        data.ranking(TRUTH, twice, missing="skip", unjudged="skip")


def test_ratings_need_a_threshold() -> None:
    truth = {"user": [1, 1], "item": [1, 2], "Rating": [5.0, 3.0]}
    run = {"user": [1, 1], "item": [1, 2], "score": [1, 2]}
    with raises(ArgumentError, "min_relevance"):
        data.ranking(truth, run)
    got = data.ranking(truth, run, min_relevance=4)
    assert got.n_pos.tolist() == [1]
    assert got.min_relevance == 4.0


def test_groups_do_not_depend_on_the_kind_of_the_runs_ids() -> None:
    truth = {"user": [2, 10, 99], "item": [1, 1, 1]}
    run = {"user": [2, 2, 10, 10, 99, 99], "item": [1, 5] * 3, "score": [2, 1, 1, 2, 1, 2]}
    stray = {
        "user": ["2", "2", "10", "10", "99", "99", "anon"],
        "item": [*run["item"], 1],
        "score": [*run["score"], 1],
    }
    plain, mixed = data.ranking(truth, run), data.ranking(truth, stray)
    assert plain.groups.labels.tolist() == mixed.groups.labels.tolist() == [2, 10, 99]
    assert plain.relevance.tolist() == mixed.relevance.tolist()


def test_string_groups_stand_in_rising_order() -> None:
    ids = ["b", "a", "é", "B", "aa"]
    table = {"user": ids, "item": [1] * 5, "relevance": [1, 2, 3, 4, 5]}
    got = data.ranking(table, {"user": ids[::-1], "item": [1] * 5, "score": [1] * 5})
    assert got.groups.labels.tolist() == sorted(ids)
    assert got.relevance.tolist() == [4.0, 2.0, 5.0, 1.0, 3.0]


def test_inputs_are_left_as_they_are() -> None:
    score = np.array([1.0, 3.0, 2.0])
    relevance = np.array([0.0, 1.0, 2.0])
    ids = np.arange(3)
    user = np.zeros(3, np.int64)
    data.ranking((user, ids, relevance), (user, ids, score))
    assert score.tolist() == [1.0, 3.0, 2.0]
    assert relevance.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("kind", [np.int64, np.str_])
def test_random_ties_are_those_of_a_catalogue(kind: Any) -> None:
    rng = np.random.default_rng(1)
    truth = sparse.csr_array(rng.integers(0, 4, (9, 12)))
    levels = rng.integers(0, 3, (9, 12)).astype(float)
    expected = catalogue.rank_all(levels, truth, ties="random", seed=5)
    user, item = np.divmod(rng.permutation(108), 12)
    run = user.astype(kind), item.astype(kind), levels[user, item]
    got = data.ranking(truth, run, ties="random", seed=5)
    assert got.relevance.tolist() == expected.relevance.tolist()


@pytest.mark.parametrize("k", [1, 3, 50])
def test_top_items_are_the_start_of_a_full_sort(k: int) -> None:
    rng = np.random.default_rng(k)
    frame = pl.DataFrame(
        {
            "user": rng.integers(0, 20, 400),
            "item": rng.permutation(400),
            "score": rng.integers(0, 9, 400).astype(float),
        }
    )
    _, codes, ids = data.top_items(frame, k)
    order = frame.sort(["user", "score", "item"], descending=[False, True, False])
    expected = order.group_by("user", maintain_order=True).head(k)["item"]
    assert ids[codes].tolist() == expected.to_list()


def test_top_items_refuses_an_item_twice() -> None:
    run = {"user": ["u", "u", "u"], "item": ["a", "b", "a"], "score": [3, 2, 1]}
    with pytest.raises(DataError, match="lists item 'a' twice for user 'u'"):
        data.top_items(run, 3)
    assert data.top_items(run, 2)[1].tolist() == [0, 1]
