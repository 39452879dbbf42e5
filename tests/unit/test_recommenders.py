"""Recommenders: what podium's own compute, their registry, and errors of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from tests.raised import raises

from podium.errors import ArgumentError, DataError
from podium.recommenders import (
    EASE,
    Factorization,
    ItemKNN,
    MatrixRecommender,
    Popularity,
    load,
)

N_USERS, N_ITEMS = 60, 40

PAIRS = (np.random.default_rng(0).random((N_USERS, N_ITEMS)) < 0.25).astype(np.float64)
PAIRS[7] = 0.0  # a user without a pair
PAIRS[:, 11] = 0.0  # an item without one
LIKES = sparse.csr_array(PAIRS)


@pytest.mark.parametrize(
    ("make", "name", "wrong"),
    [
        (EASE, "l2", 0.0),
        (EASE, "precision", "half"),
        (EASE, "gain", "log"),
        (ItemKNN, "k", 0),
        (Factorization, "n_factors", 0),
        (Factorization, "loss", "robirnk"),
        (Factorization, "n_negatives", 0),
        (Factorization, "learning_rate", 0),
        (Factorization, "decay", "cosine"),
        (Factorization, "l2", -1),
        (Factorization, "l2_power", -1),
        (Factorization, "n_epochs", 0),
        (Factorization, "n_blocks", N_USERS + 1),
        (Factorization, "xi", "best"),
        (Factorization, "xi_rate", 1.5),
        (Factorization, "negatives", "popular"),
        (Factorization, "popularity", -1),
        (Factorization, "popularity_share", 0),
        (Factorization, "similarity", "angle"),
        (Factorization, "item_bias", "no"),
        (Factorization, "gain", "log"),
        (Factorization, "random_state", -1),
        (Factorization, "patience", 0),
        (Factorization, "eval_metric", "ndgc@10"),
    ],
)
def test_parameter_out_of_range_is_named(make: Any, name: str, wrong: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        make(**{name: wrong}).fit(LIKES)
    assert name in caught.value.parameters or name == "eval_metric", caught.value


def test_popularity_is_the_number_of_users() -> None:
    scores = Popularity().fit(LIKES).scores([0, 7])
    assert scores.tolist() == [(PAIRS > 0).sum(axis=0).tolist()] * 2
    with pytest.raises(ArgumentError, match="Popularity has no factors"):
        Popularity().fit(LIKES).similar_items([0])


@pytest.mark.parametrize("weights", [1.0, 3.0])
@pytest.mark.parametrize(("precision", "near"), [("double", 1e-6), ("single", 1e-4)])
def test_ease_minimises_its_objective(weights: float, precision: str, near: float) -> None:
    """The gradient of the penalised squared error is 0 off the diagonal, and the diagonal is 0."""
    X = PAIRS * (1.0 + (weights - 1.0) * (np.arange(N_ITEMS) % 3 == 0))
    model = EASE(l2=7.0, precision=precision).fit(sparse.csr_array(X))
    B = model.weights_.astype(np.float64)
    gradient = X.T @ (X @ B - X) + 7.0 * B
    assert (np.diag(B) == 0.0).all()
    off = ~np.eye(N_ITEMS, dtype=bool)
    assert np.abs(gradient[off]).max() < near * np.abs(X.T @ X).max()
    np.testing.assert_allclose(model.scores(), X @ B, rtol=1e-4, atol=1e-5)


def test_ease_is_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = EASE(l2=5.0).fit(LIKES).weights_
    for size in (1, 7 * N_ITEMS):
        monkeypatch.setattr("podium.recommenders._similar._BLOCK", size)
        np.testing.assert_allclose(EASE(l2=5.0).fit(LIKES).weights_, whole, atol=1e-7)


def test_ease_without_an_inverse_says_what_to_change() -> None:
    with raises(ArgumentError, "l2", "precision"):
        EASE(l2=1e-12, precision="single").fit(sparse.csr_array(np.full((9, 3), 1000.0)))


@pytest.mark.parametrize("k", [1, 3, N_ITEMS, 500])
@pytest.mark.parametrize("block", [1, 3 * N_ITEMS, 10**6])
def test_itemknn_is_what_its_definition_says(
    k: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.recommenders._similar._BLOCK", block)
    X = PAIRS * (1 + np.arange(N_ITEMS) % 2)
    lengths = np.sqrt((X**2).sum(axis=0))
    cosine = (X.T @ X) / np.outer(*[np.where(lengths > 0, lengths, 1.0)] * 2)
    expected = np.zeros_like(cosine)
    for item in range(N_ITEMS):
        others = [other for other in range(N_ITEMS) if other != item and cosine[item, other] > 0]
        for other in sorted(others, key=lambda o: (-round(cosine[item, o], 12), o))[:k]:
            expected[item, other] = cosine[item, other]
    model = ItemKNN(k=k).fit(sparse.csr_array(X))
    ties = np.diff(np.sort(np.round(cosine, 12), axis=1), axis=1) == 0
    assert ties.any()
    np.testing.assert_allclose(model.weights_.sum(axis=1), expected.sum(axis=1), rtol=1e-6)
    if k >= N_ITEMS:
        np.testing.assert_allclose(model.weights_.toarray(), expected, rtol=1e-6)
        np.testing.assert_allclose(model.scores(), X @ expected, rtol=1e-5)


class Mine(MatrixRecommender):
    """A recommender of a user's own: two methods."""

    def _fit(self, pairs: Any) -> None:
        self.table_ = np.array([[3, 2, 1], [1, 2, 3]], np.float32)

    def _score(self, users: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.table_[users]


def test_a_users_recommender_is_ranked_too() -> None:
    model = Mine().fit(sparse.csr_array([[1, 0, 0], [1, 0, 0]]))
    held_out = sparse.csr_array([[0, 0, 1], [0, 1, 0]])
    assert model.ranks(held_out, exclude_seen=False).tolist() == [3.0, 2.0]
    assert model.ranks(held_out).tolist() == [2.0, 2.0]
    assert model.recommend(k=1)[0].tolist() == [[1], [2]]
    assert model.score_pairs([1, 0], [2, 1]).tolist() == [3.0, 2.0]
    with pytest.raises(ArgumentError, match=r"has already seen 1 of the 2 pairs.*_seen=Fal"):
        model.ranks(sparse.csr_array([[1, 0, 1], [0, 0, 0]]))
    with pytest.raises(ArgumentError, match="Mine can't be saved"):
        model.save("never")


def test_text_is_no_row_of_a_matrix() -> None:
    with pytest.raises(ArgumentError, match="users must be a list of integers below 60"):
        Popularity().fit(LIKES).recommend(["x"])


def test_ids_of_a_pair_may_be_numbers_where_the_model_has_text() -> None:
    model = Popularity().fit({"user": ["9", "10", "10"], "item": [3, 3, 4]})
    scores = model.score_pairs([10, 9, 8], ["3", "4", "3"])
    np.testing.assert_array_equal(scores, [2.0, 1.0, np.nan])


def test_file_of_another_model_is_refused(tmp_path: Path) -> None:
    Popularity().fit(LIKES).save(tmp_path / "m")
    with pytest.raises(DataError, match="class must be one of 'EASE', got 'Popularity'"):
        EASE.load(tmp_path / "m")
    assert isinstance(load(tmp_path / "m"), Popularity)


class Favourite(Popularity):
    """A recommender that is not registered."""


def test_file_of_a_class_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    Favourite().fit(LIKES).save(tmp_path / "m")
    with pytest.raises(DataError, match=r"class must be one of 'Factorization', .*'Favourite'"):
        load(tmp_path / "m")
    (tmp_path / "m").write_bytes(b"no")
    with pytest.raises(DataError, match="m is truncated or not a recommender file"):
        load(tmp_path / "m")


@pytest.mark.parametrize(("limit", "n_threads"), [(1, 1), (1000, None)])
def test_large_inverses_use_one_thread_of_blas(
    monkeypatch: pytest.MonkeyPatch, limit: int, n_threads: int | None
) -> None:
    from podium._one_thread import blas_threads
    from podium.recommenders import _similar

    used: list[int] = []
    find = _similar.linalg.get_lapack_funcs

    def watched(names: Any, arrays: Any) -> Any:
        def call(function: Any) -> Any:
            def noting(*args: Any, **options: Any) -> Any:
                used.append(blas_threads())
                return function(*args, **options)

            return noting

        return [call(function) for function in find(names, arrays)]

    likes = sparse.csr_array(np.random.default_rng(0).random((30, 12)) < 0.3, dtype=float)
    expected = EASE().fit(likes).weights_
    monkeypatch.setattr(_similar, "_THREADED", limit)
    monkeypatch.setattr(_similar.linalg, "get_lapack_funcs", watched)
    np.testing.assert_allclose(EASE().fit(likes).weights_, expected, rtol=1e-5)
    assert used == [n_threads or blas_threads()] * 2
