"""Ids that a fitted model is asked about: all types that `fit` reads, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from podium.errors import ArgumentError
from podium.recommenders import ItemKNN

USERS, TEXTS = [1, 1, 2, 2, 3, 3], ["10", "20", "10", "30", "20", "30"]


@pytest.fixture
def numbers() -> ItemKNN:
    return ItemKNN().fit({"user": USERS, "item": list(map(int, TEXTS))})


@pytest.fixture
def texts() -> ItemKNN:
    return ItemKNN().fit({"user": [f"u{user}" for user in USERS], "item": TEXTS})


def text_arrays(words: list[str]) -> list[Any]:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    return [
        np.array(words, object),
        pandas.Series(words, dtype="string"),
        pandas.Series(words, dtype="category"),
        pl.Series(words),
        arrow.array(words),
    ]


def test_text_of_any_library_is_text(texts: ItemKNN) -> None:
    for user, item in zip(text_arrays(["u1"]), text_arrays(["30"]), strict=True):
        assert texts.recommend(user, k=1)[0].tolist() == [["30"]]
        assert texts.recommend(user, k=1, allow=item)[0].tolist() == [["30"]]
        assert texts.recommend(user, k=1, deny=item)[0].tolist() == [[""]]
        assert texts.score_pairs(user, item).tolist() == texts.score_pairs("u1", "30").tolist()


def test_whole_floats_and_sets_are_ids(numbers: ItemKNN) -> None:
    items = numbers.recommend([1.0], k=2, allow={10, 30})[0]
    assert items.tolist() == [[30, -1]]
    assert numbers.score_pairs([1.0], [30.0]) == numbers.score_pairs([1], [30])
    assert numbers.recommend(np.array([1], np.uint64), k=1)[0].tolist() == [[30]]


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([None], "users: id has 1 missing value, first at row 0"),
        ([1.5], r"users: id must hold integers or strings, got 1\.5"),
        ([True], "users: id must hold integers or strings, got Boolean"),
        (["1"], "users must hold ids such as 1, got '1'"),
        ([[1], [2]], r"users must be a list of ids, got an array of shape \(2, 1\)"),
        ([[1], [2, 3]], "users must be an array, got lists of different lengths"),
    ],
)
def test_other_ids_raise(numbers: ItemKNN, ids: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        numbers.recommend(ids, k=1)
