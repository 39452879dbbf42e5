"""Columns of users, and the options that measuring passes on to the join."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from podium import data
from podium.data.users import user_column, user_positions
from podium.errors import DataError


def test_ranking_options_are_the_arguments_of_ranking() -> None:
    parameters = inspect.signature(data.ranking).parameters
    keywords = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert set(data.RankingOptions.__annotations__) == keywords


def test_user_column_follows_labels_of_either_kind() -> None:
    table = {"user": ["b", "a", "c"], "plan": ["free", "paid", "free"]}
    got = user_column(table, "plan", np.array(["a", "b", "z"]))
    assert got.tolist() == ["paid", "free", "unknown"]
    numbers = {"user_id": [10, 2], "plan": [1, 0]}
    assert user_column(numbers, "plan", np.array([2, 3, 10])).tolist() == ["0", "unknown", "1"]


def test_user_column_names_a_missing_column_and_a_doubled_user() -> None:
    with pytest.raises(DataError, match="users table has no column 'plan'"):
        user_column({"user": [1], "country": ["UK"]}, "plan", np.array([1]))
    with pytest.raises(DataError, match="two rows for user 7"):
        user_column({"user": [7, 7], "plan": ["a", "b"]}, "plan", np.array([7]))


def test_user_column_keeps_text_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("user,Zip\n1,01\n2,\n")
    assert user_column(path, "Zip", np.array([1, 2])).tolist() == ["01", "unknown"]


def test_an_empty_text_is_no_value() -> None:
    table = {"user": [1, 2], "country": ["", "UK"]}
    assert user_column(table, "country", np.array([1, 2])).tolist() == ["unknown", "UK"]


def test_nan_is_no_value_in_any_frame() -> None:
    columns = {"user": np.array([1, 2]), "person": np.array([np.nan, 2.0])}
    for table in (columns, pl.DataFrame(columns), pl.DataFrame(columns).to_pandas()):
        assert user_column(table, "person", np.array([1, 2])).tolist() == ["unknown", "2.0"]


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("label_kind", [int, str])
def test_user_positions_are_those_of_labels_of_either_kind(kind: type, label_kind: type) -> None:
    users = np.array([kind(user) for user in (10, 9, 2, 10)])
    labels = np.array([label_kind(label) for label in (9, 10, 30)])
    assert user_positions(users, labels).tolist() == [1, 0, -1, 1]
    assert user_positions(users, labels[:0]).tolist() == [-1] * 4
    assert user_positions(users[:0], labels).size == 0
