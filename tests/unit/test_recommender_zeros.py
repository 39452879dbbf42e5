"""Pairs of value 0: seen in a table whose values are weights, pairs with gain="one"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from podium.errors import ArgumentError
from podium.recommenders import EASE, Factorization, ItemKNN, Popularity, Recommender, load
from podium.tuning import search

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


def test_every_row_counts_the_same_with_gain_one() -> None:
    model = Factorization(n_factors=4, n_epochs=2, gain="one").fit(TABLE)
    assert model.seen_weights_.tolist() == [1.0] * 10
    without = {name: TABLE[name] for name in ("user", "item")}
    assert np.array_equal(
        model.scores(), Factorization(n_factors=4, n_epochs=2).fit(without).scores()
    )


def test_stored_zeros_of_a_matrix_are_no_pairs() -> None:
    likes = sparse.csr_array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    likes.data[0] = 0.0
    for model in (Popularity(), Factorization(n_factors=2, n_epochs=1, gain="one")):
        assert model.fit(likes).seen_items_.tolist() == [1, 1, 2]


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
