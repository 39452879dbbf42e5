"""Recommenders: what podium's own compute, their registry, and errors of parameters."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
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
    Recommender,
    load,
)
from podium.tuning import search

N_USERS, N_ITEMS = 60, 40

PAIRS = (np.random.default_rng(0).random((N_USERS, N_ITEMS)) < 0.25).astype(np.float64)
PAIRS[7] = 0.0  # a user without a pair
PAIRS[:, 11] = 0.0  # an item without one
LIKES = sparse.csr_array(PAIRS)


def test_parameters_out_of_range_are_named() -> None:
    with raises(ArgumentError, "xi_rate"):
        Factorization(xi_rate=0).fit(LIKES)
    with pytest.raises(ArgumentError, match="no factors"):
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


@pytest.mark.parametrize(("k", "block"), [(1, 10**6), (3, 1), (3, 3 * N_ITEMS), (500, 1)])
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
    with pytest.raises(ArgumentError, match="1 of the 2 pairs"):
        model.ranks(sparse.csr_array([[1, 0, 1], [0, 0, 0]]))
    with pytest.raises(ArgumentError):
        model.save("never")


def _texts(words: list[str]) -> list[Any]:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    return [
        np.array(words, object),
        pandas.Series(words, dtype="string"),
        pandas.Series(words, dtype="category"),
        pl.Series(words),
        arrow.array(words),
    ]


USERS, TEXTS = [1, 1, 2, 2, 3, 3], ["10", "20", "10", "30", "20", "30"]
NUMBERS = ItemKNN().fit({"user": USERS, "item": list(map(int, TEXTS))})


def test_ids_are_texts_of_any_library_whole_floats_and_sets() -> None:
    texts = ItemKNN().fit({"user": [f"u{user}" for user in USERS], "item": TEXTS})
    for user, item in zip(_texts(["u1"]), _texts(["30"]), strict=True):
        assert texts.recommend(user, k=1)[0].tolist() == [["30"]]
        assert texts.recommend(user, k=1, allow=item)[0].tolist() == [["30"]]
        assert texts.recommend(user, k=1, deny=item)[0].tolist() == [[""]]
        assert texts.score_pairs(user, item).tolist() == texts.score_pairs("u1", "30").tolist()
    assert NUMBERS.recommend([1.0], k=2, allow={10, 30})[0].tolist() == [[30, -1]]
    assert NUMBERS.score_pairs([1.0], [30.0]) == NUMBERS.score_pairs([1], [30])
    assert NUMBERS.recommend(np.array([1], np.uint64), k=1)[0].tolist() == [[30]]


@pytest.mark.parametrize("ids", [[None], [1.5], [True], ["1"], [[1], [2]], [[1], [2, 3]]])
def test_other_ids_raise(ids: Any) -> None:
    for model in (NUMBERS, Popularity().fit(LIKES)):
        with pytest.raises(ArgumentError, match="users"):
            model.recommend(ids, k=1)


class Favourite(Popularity):
    """A recommender that is not registered."""


def test_file_of_another_class_is_refused(tmp_path: Path) -> None:
    Popularity().fit(LIKES).save(tmp_path / "m")
    with pytest.raises(DataError):
        EASE.load(tmp_path / "m")
    assert isinstance(load(tmp_path / "m"), Popularity)
    Favourite().fit(LIKES).save(tmp_path / "m")
    with pytest.raises(DataError):
        load(tmp_path / "m")


WEIGHTS: dict[str, list[float]] = {
    "ones": [1.0],
    "counts": [1.0, 2.0, 3.0, 7.0],
    "half stars": [0.5, 1.0, 3.5, 5.0],
}


def exact_neighbours(X: NDArray[np.float64], k: int) -> list[list[int]]:
    """Return the k items with the greatest cosine > 0 of each item, the lower number first."""
    columns = [[Fraction(x) for x in column] for column in X.T]
    products = [[sum(x * y for x, y in zip(a, b, strict=True)) for b in columns] for a in columns]
    found: list[list[int]] = []
    for i, row in enumerate(products):
        others = [j for j in range(len(columns)) if j != i and row[j] > 0]
        squared = {j: row[j] ** 2 / products[j][j] for j in others}  # times a constant of item i
        found.append(sorted(others, key=lambda j: (-squared[j], j))[:k])
    return found


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_lower_numbers_are_kept_among_exactly_equal_cosines(weights: list[float], k: int) -> None:
    n_ties = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.choice(weights, (12, 8)) * (rng.random((12, 8)) < 0.4)
        expected = exact_neighbours(X, k)
        n_ties += exact_neighbours(X[:, ::-1], k) != [[7 - j for j in row] for row in expected]
        model = ItemKNN(k=k).fit(sparse.csr_array(X))
        kept = [model.weights_[[i]].indices.tolist() for i in range(8)]
        assert kept == [sorted(row) for row in expected]
    assert n_ties > 0


def test_equal_sums_of_decimal_weights_are_a_tie() -> None:
    """Items 1 to 6 have the same products with item 0, in each order of their users."""
    orders = [(0.1, 0.2, 0.3), (0.1, 0.3, 0.2), (0.2, 0.1, 0.3), (0.2, 0.3, 0.1), (0.3, 0.1, 0.2)]
    X = np.array([(0.7, 0.7, 0.7), *orders, (0.3, 0.2, 0.1)]).T
    model = ItemKNN(k=2).fit(sparse.csr_array(X))
    assert model.weights_[[0]].indices.tolist() == [1, 2]


def test_order_of_a_users_items_does_not_decide_between_equal_scores() -> None:
    """Items 3 and 4 have three cosines with the user's items, in opposite order."""
    shared = [3, 1, 2]  # users of items 0, 1 and 2 who also have item 3; reversed for item 4
    rows: list[NDArray[np.int64]] = [np.array([1, 1, 1, 0, 0])]
    for item, n in enumerate(shared):
        for other, count in ((3, n), (4, shared[::-1][item])):
            row: NDArray[np.int64] = np.zeros(5, np.int64)
            row[[item, other]] = 1
            rows += [row] * count
    X: Any = np.array(rows)
    scores = ItemKNN(k=4).fit(sparse.csr_array(X.astype(float))).scores([0])[0]
    assert scores[3] == scores[4] > 0


TABLE: dict[str, Any] = {
    "user": [1, 1, 2, 2, 2, 3, 3, 3, 4, 4],
    "item": [10, 20, 10, 20, 30, 30, 20, 10, 30, 20],
    "rating": [0, 9, 8, 9, 7, 9, 0, 3, 6, 8],
}
POSITIVES = {
    name: [value for value, rating in zip(values, TABLE["rating"], strict=True) if rating]
    for name, values in TABLE.items()
}
MODELS = [Popularity(), EASE(l2=1.0), ItemKNN(), Factorization(n_factors=4, n_epochs=2)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_of_value_0_are_seen_and_not_learned(model: Recommender, tmp_path: Any) -> None:
    learned = model.fit(POSITIVES).scores()
    model.fit(TABLE).save(tmp_path / "model")
    assert np.array_equal(model.scores(), learned)
    for fitted in (model, load(tmp_path / "model")):
        items = fitted.recommend(k=3)[0].tolist()
        assert items == [[30, -1, -1], [-1] * 3, [-1] * 3, [10, -1, -1]]
        assert int((fitted.seen_weights_ > 0).sum()) == 8
    seen = {"user": [4], "item": [10], "rating": [0]}
    assert model.fit(POSITIVES, seen=seen).recommend([4], k=1)[0].tolist() == [[-1]]


def test_new_pairs_of_value_0_are_seen_too() -> None:
    model = Factorization(n_factors=4, n_epochs=2).fit(POSITIVES)
    new = {"user": [7, 7], "item": [10, 20], "rating": [5, 0]}
    assert model.recommend_new(new, k=2)[0].tolist() == [[30, -1]]
    assert np.array_equal(
        model.fold_in(new)[0], model.fold_in({n: v[:1] for n, v in new.items()})[0]
    )
    model.partial_fit(new)
    assert model.recommend([7], k=2)[0].tolist() == [[30, -1]]


def test_held_out_rows_of_value_0_are_positives_with_gain_one() -> None:
    held_out = {"user": [1, 4], "item": [30, 10], "rating": [4, 0]}
    assert Factorization(n_factors=4, n_epochs=1).fit(TABLE).ranks(held_out).size == 1
    model = Factorization(n_factors=4, n_epochs=1, gain="one")
    assert model.fit(TABLE, eval_set=held_out).ranks(held_out).size == 2


def test_a_search_does_not_hold_out_rows_of_value_0() -> None:
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((30, 12)) < 0.6)
    rating = rng.integers(0, 3, user.size)
    table, kept = {"user": user, "item": item, "rating": rating}, rating > 0
    options: dict[str, Any] = {"grid": {"k": [1, 5]}, "measure": "recall@3", "refit": False}
    few = {"user": user[kept], "item": item[kept], "rating": rating[kept]}
    low = {"user": user[~kept], "item": item[~kept]}
    found = search(ItemKNN(), table, **options)
    same = search(ItemKNN(), few, seen=low, **options)
    assert [trial.mean for trial in found.trials] == [trial.mean for trial in same.trials]


def test_rows_that_are_all_zero_are_pairs_with_gain_one_only() -> None:
    zeros = {"user": [1, 2], "item": [10, 20], "rating": [0, 0]}
    model = Factorization(n_factors=2, n_epochs=1, gain="one").fit(zeros)
    assert model.recommend([1], k=1)[0].tolist() == [[20]]
    with pytest.raises(ArgumentError):
        Factorization(n_factors=2, n_epochs=1).fit(zeros)
