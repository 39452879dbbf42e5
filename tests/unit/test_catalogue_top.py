"""The best items of each user: conventions, forms of input, and every error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from podium.catalogue import top_k
from podium.catalogue.source import read_matrix
from podium.errors import ArgumentError

SCORES = np.array([[0.5, 0.9, 0.1, 0.7], [0.2, 0.1, 0.4, 0.3]])


def test_stored_entry_is_excluded_whatever_its_value() -> None:
    seen = csr_array((np.array([0.0, -1.0]), ([0, 1], [1, 2])), shape=SCORES.shape)
    assert seen.nnz == 2
    assert top_k(SCORES, 1, exclude=seen)[0].tolist() == [[3], [3]]


def test_pair_excluded_twice_counts_once() -> None:
    seen = csr_array((np.ones(3), np.array([1, 3, 1]), np.array([0, 3, 3])), shape=SCORES.shape)
    assert top_k(SCORES, 3, exclude=seen)[0].tolist() == [[0, 2, -1], [2, 3, 0]]
    assert seen.nnz == 3  # the caller's matrix is left as it was


def test_equal_scores_stand_by_item_and_zeros_are_equal() -> None:
    items, _ = top_k([[-0.0, 1.0, 0.0, -0.0, 1.0]], 5)
    assert items.tolist() == [[1, 4, 0, 2, 3]]


@pytest.mark.parametrize(
    "matrix",
    [
        np.asfortranarray(SCORES),
        np.repeat(SCORES, 2, axis=1)[:, ::2],
        np.repeat(SCORES, 2, axis=0)[::2],
        SCORES.astype(np.float32),
        SCORES.tolist(),
        (SCORES * 10).round().astype(np.int64),
        (SCORES * 10).round().astype(np.int8),
        SCORES.astype(np.float16),
    ],
)
def test_any_matrix_of_numbers_will_do(matrix: Any) -> None:
    assert top_k(matrix, 2)[0].tolist() == [[1, 3], [2, 3]]


def test_read_only_scores_are_only_read() -> None:
    frozen = SCORES.copy()
    frozen.flags.writeable = False
    assert top_k(frozen, 1)[0].tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float32),
        (np.int64, np.float64),
    ],
)
def test_scores_keep_a_type_that_holds_them(dtype: Any, expected: Any) -> None:
    assert top_k(np.ones((1, 2), dtype), 1)[1].dtype == expected


def test_large_integers_are_told_apart() -> None:
    assert top_k([[2**40, 2**40 + 1]], 1)[0].tolist() == [[1]]


@pytest.mark.parametrize("shape", [(0, 5), (2, 0), (0, 0)])
def test_no_users_or_no_items_is_no_error(shape: tuple[int, int]) -> None:
    items, best = top_k(np.empty(shape), 2)
    assert items.shape == best.shape == (shape[0], 2)
    assert (items == -1).all()


def test_greatest_finite_scores_are_ranked() -> None:
    top = np.finfo(np.float32).max
    items, best = top_k(np.array([[-top, top, 0]], np.float32), 3)
    assert items.tolist() == [[1, 2, 0]]
    assert best.tolist() == [[top, 0, -top]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 70), (2, 199), (1, 63), (1, 192)])
@pytest.mark.parametrize("k", [1, 150, 200])
def test_score_that_is_not_finite_is_named(bad: float, place: tuple[int, int], k: int) -> None:
    scores = np.random.default_rng(0).random((3, 200)).astype(np.float32)
    scores[place] = bad
    with pytest.raises(ArgumentError, match=f"user {place[0]} and item {place[1]}"):
        top_k(scores, k)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_score_of_an_excluded_item_may_be_anything(bad: float) -> None:
    scores, seen = SCORES.copy(), np.zeros(SCORES.shape)
    scores[0, 1], seen[0, 1] = bad, 1
    assert top_k(scores, 2, exclude=csr_array(seen))[0].tolist() == [[3, 0], [2, 3]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_long_row_with_a_bad_score_in_the_guess_is_refused(bad: float) -> None:
    scores = np.random.default_rng(0).random((1, 10_000))
    scores[0, 0] = bad  # the guess of a floor reads item 0
    with pytest.raises(ArgumentError, match="user 0 and item 0"):
        top_k(scores, 10)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None])
def test_k_must_be_a_positive_integer(k: Any) -> None:
    with pytest.raises(ArgumentError, match="k must be an integer >= 1, got"):
        top_k(SCORES, k)


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ([1.0, 2.0], r"scores must have two dimensions \(users x items\), got shape \(2,\)"),
        ([["a"]], "scores must be a dense matrix of numbers, got an array of"),
        (csr_array(SCORES), "scores must be a dense matrix of numbers, got csr_array"),
        ([[1j]], "scores must be a dense matrix of numbers"),
    ],
)
def test_scores_must_be_a_dense_matrix(scores: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        top_k(scores, 1)


@pytest.mark.parametrize(
    ("exclude", "text"),
    [
        (np.zeros(SCORES.shape), "exclude must be a scipy.sparse matrix of users x items, got nd"),
        (csr_array((2, 5)), r"shape of scores, users x items = \(2, 4\), got \(2, 5\)"),
    ],
)
def test_exclude_must_fit_the_scores(exclude: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        top_k(SCORES, 1, exclude=exclude)


def test_other_sparse_formats_are_read() -> None:
    seen = coo_array(([1, 1], ([0, 0], [1, 1])), shape=SCORES.shape)
    assert top_k(SCORES, 1, exclude=seen)[0].tolist() == [[3], [2]]


def test_factors_of_unequal_width_are_refused() -> None:
    with pytest.raises(ArgumentError, match="must have the same number of columns, got 2 and 3"):
        top_k((np.ones((4, 2)), np.ones((5, 3))), 1)


@pytest.mark.parametrize("name", ["user_factors", "item_factors"])
def test_factor_that_is_not_finite_is_named(name: str) -> None:
    factors = {"user_factors": np.ones((4, 2)), "item_factors": np.ones((5, 2))}
    factors[name][3, 1] = np.nan
    with pytest.raises(ArgumentError, match=f"{name} has a non-finite value, first in row 3"):
        top_k((factors["user_factors"], factors["item_factors"]), 1)


def test_product_that_overflows_is_refused() -> None:
    large = np.full((1, 1), 1e30, np.float32)
    with np.errstate(over="ignore"), pytest.raises(ArgumentError, match="scores must be finite"):
        top_k((large, large), 1)


@pytest.mark.parametrize("n_items", [1, 100, 20_000, 10**6, 10**7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_stays_within_64_mib_or_one_user(n_items: int, dtype: Any) -> None:
    users = np.broadcast_to(np.zeros(1, dtype), (10**6, n_items))
    size = read_matrix(users).block_size
    assert size == 1 or size * n_items * np.dtype(dtype).itemsize <= 2**26
