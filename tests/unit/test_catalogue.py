"""Lists, ranks and the best items of a catalogue: conventions, forms of input, and every error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array
from tests.ranked import rank_all

from podium.catalogue import ScoreFunction, rank_blocks, target_ranks, top_k
from podium.catalogue.source import Source, read_matrix
from podium.errors import ArgumentError
from podium.ranking import Ranking

SCORES = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
TRUTH = csr_array([[0, 2, 0, 1], [1, 0, 0, 0]])
SEEN = csr_array([[1, 0, 0, 0], [0, 0, 1, 1]])
OVERLAPPING = csr_array([[0, 1, 0, 0], [0, 1, 1, 0]])


def changed(value: float, user: int, item: int, shape: tuple[int, int] = (2, 4)) -> Any:
    scores = np.random.default_rng(0).random(shape)
    scores[user, item] = value
    return scores


# Truth


@pytest.mark.parametrize(
    "truth",
    [
        csc_array(TRUTH),
        coo_array(TRUTH),
        csr_array((np.array([1.0, 2.0, 1.0]), np.array([3, 1, 0]), np.array([0, 2, 3]))),
        csr_array((np.array([0.0, 1.0, 2.0, 1.0]), ([0, 0, 0, 1], [0, 3, 1, 0])), shape=(2, 4)),
    ],
)
def test_truth_of_any_form_is_read_and_left_alone(truth: Any) -> None:
    before = truth.data.tolist()
    r = rank_all(SCORES, truth)
    assert r.relevance.tolist() == [0, 2, 0, 1, 0, 0, 0, 1]
    assert r.n_relevant.tolist() == [2, 1]
    assert truth.data.tolist() == before


def test_dropped_overlap_is_neither_ranked_nor_relevant() -> None:
    r = rank_all(SCORES, OVERLAPPING, exclude=SEEN, overlap="drop")
    assert r.relevance.tolist() == [1, 0, 0, 1, 0]
    assert r.n_pos.tolist() == [1, 1]
    found = target_ranks(SCORES, OVERLAPPING, exclude=SEEN, overlap="drop")
    np.testing.assert_array_equal(found, [1.0, 1.0, np.nan])
    assert OVERLAPPING.nnz == 3


def test_ranks_come_in_the_order_of_the_stored_targets() -> None:
    targets = csr_array((np.ones(3), np.array([3, 0, 1]), np.array([0, 2, 3])), shape=(2, 4))
    assert target_ranks(SCORES, targets).tolist() == [4, 1, 3]


N = 40_000  # more users than are looked at in one go
LAST: Any = csr_array((np.ones(1), ([N - 1], [1])), shape=(N, 2))
DENSE: Any = np.zeros((2, 4))
ROUNDED = np.array([[2**53 + 1, -(2**60)], [0, 1]])
BAD: Any = {
    "depth": 0,
    "ties": "x",
    "min_relevance": 0,
    "overlap": "x",
    "seed": -1,
    "block_size": 0,
}
REPEATED = csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 4))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rank_all(SCORES, OVERLAPPING, exclude=SEEN), "user 1 and item 2"),
        (lambda: target_ranks(SCORES, OVERLAPPING, exclude=SEEN), "user 1 and item 2"),
        (lambda: rank_blocks(np.zeros((N, 2)), LAST, exclude=LAST), f"user {N - 1} and item 1"),
        *(
            (lambda bad=bad, call=call: call(changed(bad, 1, 2), TRUTH), "user 1 and item 2")
            for bad in (np.nan, np.inf, -np.inf)
            for call in (rank_all, target_ranks)
        ),
        (lambda: rank_blocks(SCORES, DENSE), "truth"),
        (lambda: rank_blocks(SCORES, csr_array((2, 3))), "truth"),
        (lambda: rank_blocks(SCORES, csr_array(changed(-2, 1, 2))), "user 1 and item 2"),
        (lambda: rank_blocks(SCORES, csr_array(changed(np.nan, 1, 2))), "user 1 and item 2"),
        (lambda: rank_blocks(SCORES, REPEATED), "got 1 repeated"),
        (
            lambda: rank_blocks(SCORES, coo_array(([1, 1], ([0, 0], [2, 2])), shape=(2, 4))),
            "got 1 repeated",
        ),
        (lambda: target_ranks(ROUNDED, csr_array(np.eye(2))), "2 integers"),
        (lambda: rank_all(function(changed(np.nan, 20, 3, (23, 31))), LIKED), "user 20 and item 3"),
        *(
            (lambda name=name, bad=bad: rank_blocks(SCORES, TRUTH, **{name: bad}), name)
            for name, bad in BAD.items()
        ),
    ],
)
def test_bad_scores_and_truth_are_refused_before_anything_is_ranked(call: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        call()


# The best items


@pytest.mark.parametrize(
    ("seen", "k", "expected"),
    [
        # Entries count whatever their value, and once.
        (csr_array((np.array([0.0, -1.0]), ([0, 1], [0, 3])), shape=(2, 4)), 1, [[1], [2]]),
        (
            csr_array((np.ones(3), np.array([0, 3, 0]), np.array([0, 3, 3])), shape=(2, 4)),
            *(3, [[1, 2, -1], [3, 2, 1]]),
        ),
        (coo_array(([1, 1], ([0, 0], [0, 0])), shape=(2, 4)), 1, [[1], [3]]),
    ],
)
def test_excluded_entries_are_left_out(seen: Any, k: int, expected: list[list[int]]) -> None:
    n_stored = seen.nnz
    assert top_k(SCORES, k, exclude=seen)[0].tolist() == expected
    assert seen.nnz == n_stored  # the caller's matrix is left as it was


def _frozen() -> Any:
    frozen = SCORES.copy()
    frozen.flags.writeable = False
    return frozen


@pytest.mark.parametrize(
    ("matrix", "dtype"),
    [
        (np.asfortranarray(SCORES), np.float64),
        (np.repeat(SCORES, 2, axis=1)[:, ::2], np.float64),
        (np.repeat(SCORES, 2, axis=0)[::2], np.float64),
        (SCORES.tolist(), np.float64),
        (_frozen(), np.float64),
        (SCORES.astype(np.int64), np.float64),
        (SCORES.astype(np.int64) + 2**40, np.float64),
        (SCORES.astype(np.int8), np.float32),
        (SCORES.astype(np.float16), np.float32),
        (SCORES.astype(np.float32), np.float32),
    ],
)
def test_any_matrix_of_numbers_will_do(matrix: Any, dtype: Any) -> None:
    items, best = top_k(matrix, 2)
    assert items.tolist() == [[0, 1], [3, 2]]
    assert best.dtype == dtype


def test_equal_scores_stand_by_item_and_the_greatest_are_ranked() -> None:
    assert top_k([[-0.0, 1.0, 0.0, -0.0, 1.0]], 5)[0].tolist() == [[1, 4, 0, 2, 3]]
    most = np.finfo(np.float32).max
    items, best = top_k(np.array([[-most, most, 0]], np.float32), 3)
    assert (items.tolist(), best.tolist()) == ([[1, 2, 0]], [[most, 0, -most]])


@pytest.mark.parametrize("shape", [(0, 5), (2, 0), (0, 0)])
def test_no_users_or_no_items_is_no_error(shape: tuple[int, int]) -> None:
    items, best = top_k(np.empty(shape), 2)
    assert items.shape == best.shape == (shape[0], 2)
    assert (items == -1).all()
    r = rank_all(np.empty(shape), csr_array(shape))
    assert (r.n_groups, r.groups.n_rows) == (shape[0], 0)
    everything = csr_array([[1, 1, 1, 1], [0, 0, 0, 0]])
    r = rank_all(SCORES, csr_array([[0, 0, 0, 0], [1, 0, 0, 0]]), exclude=everything)
    assert r.groups.sizes.tolist() == r.n_items.tolist() == [0, 4]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_score_that_is_not_finite_is_named_unless_it_is_excluded(bad: float) -> None:
    for user, item in ((0, 0), (1, 70), (2, 199), (1, 63), (1, 192)):
        for k in (1, 150, 200):
            with pytest.raises(ArgumentError, match=f"user {user} and item {item}"):
                top_k(changed(bad, user, item, (3, 200)).astype(np.float32), k)
    with pytest.raises(ArgumentError, match="user 0 and item 0"):
        top_k(changed(bad, 0, 0, (1, 10_000)), 10)  # the guess of a floor reads item 0
    scores, seen = SCORES.copy(), np.zeros(SCORES.shape)
    scores[0, 1], seen[0, 1] = bad, 1
    assert top_k(scores, 2, exclude=csr_array(seen))[0].tolist() == [[0, 2], [3, 2]]


LARGE = np.full((1, 1), 1e30, np.float32)


@pytest.mark.parametrize(
    ("scores", "options", "named"),
    [
        *((SCORES, {"k": k}, "k") for k in (0, -1, 2.5, True, None)),
        ([1.0, 2.0], {}, "scores"),
        ([["a"]], {}, "scores"),
        (csr_array(SCORES), {}, "scores"),
        ([[1j]], {}, "scores"),
        (SCORES, {"exclude": np.zeros(SCORES.shape)}, "exclude"),
        (SCORES, {"exclude": csr_array((2, 5))}, "exclude"),
        ((np.ones((4, 2)), np.ones((5, 3))), {}, "columns"),
        ((changed(np.nan, 3, 1, (4, 2)), np.ones((5, 2))), {}, "user_factors .* row 3"),
        ((np.ones((4, 2)), changed(np.nan, 3, 1, (5, 2))), {}, "item_factors .* row 3"),
        ((LARGE, LARGE), {}, "finite"),
    ],
)
def test_what_cannot_be_scored_is_refused(scores: Any, options: Any, named: str) -> None:
    with np.errstate(over="ignore"), pytest.raises(ArgumentError, match=named):
        top_k(scores, **{"k": 1, **options})


@pytest.mark.parametrize("n_items", [1, 100, 20_000, 10**6, 10**7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_stays_within_64_mib_or_one_user(n_items: int, dtype: Any) -> None:
    users = np.broadcast_to(np.zeros(1, dtype), (10**6, n_items))
    size = read_matrix(users).block_size
    assert size == 1 or size * n_items * np.dtype(dtype).itemsize <= 2**26


RNG = np.random.default_rng(0)
GRID = RNG.integers(0, 9, (23, 31)) / 4.0
LIKED = csr_array((RNG.random(GRID.shape) < 0.1).astype(float))
HIDDEN = csr_array(((RNG.random(GRID.shape) < 0.2) & (LIKED.toarray() == 0)).astype(float))


def function(scores: NDArray[Any] = GRID, **options: Any) -> ScoreFunction:
    return ScoreFunction(lambda users: scores[users], *scores.shape, **options)


def same_ranking(left: Ranking, right: Ranking) -> bool:
    fields = ("relevance", "ideal", "n_items", "tied", "ideal_offsets")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in fields)


@pytest.mark.parametrize("block_size", [1, 5, 23, None])
@pytest.mark.parametrize("ties", ["worst", "id", "random", "average"])
def test_function_ranks_as_its_matrix_does(
    block_size: int | None, ties: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"exclude": HIDDEN, "ties": ties}
    left = rank_blocks(function(), LIKED, depth=7, block_size=block_size, **options)
    right = rank_blocks(GRID, LIKED, depth=7, block_size=block_size, **options)
    assert all(same_ranking(mine, theirs) for mine, theirs in zip(left, right, strict=True))
    if block_size is not None:
        monkeypatch.setattr(Source, "block_size", block_size)
    found = target_ranks(function(), LIKED, **options)
    assert found.tolist() == target_ranks(GRID, LIKED, **options).tolist()


def test_function_is_called_with_consecutive_users_once_and_never_with_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Source, "block_size", 9)
    asked: list[list[int]] = []

    def scores(users: NDArray[np.int64]) -> NDArray[np.float64]:
        asked.append(users.tolist())
        return GRID[users]

    top_k(ScoreFunction(scores, *GRID.shape), 1)
    assert asked == [list(range(9)), list(range(9, 18)), list(range(18, 23))]
    asked.clear()
    items, _ = top_k(ScoreFunction(scores, 0, 31), 2)
    assert items.shape == (0, 2)
    assert asked == []


def test_function_may_write_into_one_array_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "block_size", 6)
    buffer = np.empty((6, GRID.shape[1]))

    def scores(users: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.take(GRID, users, axis=0, out=buffer[: users.size])

    again = ScoreFunction(scores, *GRID.shape)
    assert target_ranks(again, LIKED).tolist() == target_ranks(GRID, LIKED).tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"function": GRID},
        *({"n_users": -1}, {"n_items": 2.5}, {"n_items": 30}),
        *({"dtype": np.float32}, {"dtype": np.int64}),
        {"function": lambda users: GRID[0]},
        {"function": lambda users: GRID[users[:1]]},
        {"function": lambda users: HIDDEN[users]},
    ],
)
def test_what_a_function_may_not_be_is_told(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Source, "block_size", 2)
    with pytest.raises(ArgumentError):
        top_k(replace(function(), **change), 2)


def test_proposals_of_few_users_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((n, 33), dtype=np.float32) for n in (9, 6))
    factors, seen = (
        (users, np.tile(items, (10, 1))),
        csr_array(rng.random((9, 60)) < 0.3, dtype=int),
    )
    whole = top_k(factors, 3, exclude=seen)
    monkeypatch.setattr("podium.catalogue.source._MOST", 12)
    for part, expected in zip(top_k(factors, 3, exclude=seen), whole, strict=True):
        np.testing.assert_array_equal(part, expected)
