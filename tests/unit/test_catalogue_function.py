"""Scores that a function gives a block of users at a time: as a matrix, and every error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.catalogue import ScoreFunction, rank_all, rank_blocks, target_ranks, top_k
from podium.catalogue.source import Source
from podium.errors import ArgumentError
from podium.ranking import Ranking

RNG = np.random.default_rng(0)
SCORES = RNG.integers(0, 9, (23, 31)) / 4.0
TRUTH = csr_array((RNG.random(SCORES.shape) < 0.1).astype(float))
SEEN = csr_array(((RNG.random(SCORES.shape) < 0.2) & (TRUTH.toarray() == 0)).astype(float))


def function(scores: NDArray[Any] = SCORES, **options: Any) -> ScoreFunction:
    return ScoreFunction(lambda users: scores[users], *scores.shape, **options)


def same(left: Ranking, right: Ranking) -> bool:
    fields = ("relevance", "ideal", "n_items", "tied", "ideal_offsets")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in fields)


@pytest.mark.parametrize("block_size", [1, 5, 23, None])
@pytest.mark.parametrize("ties", ["worst", "id", "random", "average"])
def test_function_ranks_as_its_matrix_does(
    block_size: int | None, ties: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"exclude": SEEN, "ties": ties}
    left = rank_blocks(function(), TRUTH, depth=7, block_size=block_size, **options)
    right = rank_blocks(SCORES, TRUTH, depth=7, block_size=block_size, **options)
    assert all(same(mine, theirs) for mine, theirs in zip(left, right, strict=True))
    if block_size is not None:
        monkeypatch.setattr(Source, "block_size", block_size)
    found = target_ranks(function(), TRUTH, **options)
    assert found.tolist() == target_ranks(SCORES, TRUTH, **options).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_function_has_the_top_of_its_matrix(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "block_size", 6)
    scores = SCORES.astype(np.float32)
    items, best = top_k(function(scores, dtype=dtype), 4, exclude=SEEN)
    wanted, values = top_k(scores, 4, exclude=SEEN)
    assert items.tolist() == wanted.tolist()
    assert best.tolist() == values.tolist()
    assert best.dtype == dtype


def test_function_is_called_with_consecutive_users_once_and_never_with_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Source, "block_size", 9)
    asked: list[list[int]] = []

    def scores(users: NDArray[np.int64]) -> NDArray[np.float64]:
        asked.append(users.tolist())
        return SCORES[users]

    top_k(ScoreFunction(scores, *SCORES.shape), 1)
    assert asked == [list(range(9)), list(range(9, 18)), list(range(18, 23))]
    asked.clear()
    items, _ = top_k(ScoreFunction(scores, 0, 31), 2)
    assert items.shape == (0, 2)
    assert asked == []


def test_function_may_write_into_one_array_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "block_size", 6)
    buffer = np.empty((6, SCORES.shape[1]))

    def scores(users: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.take(SCORES, users, axis=0, out=buffer[: users.size])

    again = ScoreFunction(scores, *SCORES.shape)
    assert target_ranks(again, TRUTH).tolist() == target_ranks(SCORES, TRUTH).tolist()


def test_score_that_is_not_finite_is_named() -> None:
    scores = SCORES.copy()
    scores[20, 3] = np.nan
    with pytest.raises(ArgumentError, match="got nan for user 20 and item 3"):
        rank_all(function(scores), TRUTH)


@pytest.mark.parametrize(
    "change",
    [
        {"function": SCORES},
        {"n_users": -1},
        {"n_items": 2.5},
        {"n_items": 30},
        {"dtype": np.float32},
        {"dtype": np.int64},
        {"function": lambda users: SCORES[0]},
        {"function": lambda users: SCORES[users[:1]]},
        {"function": lambda users: SEEN[users]},
    ],
)
def test_what_a_function_may_not_be_is_told(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Source, "block_size", 2)
    with pytest.raises(ArgumentError):
        top_k(replace(function(), **change), 2)
