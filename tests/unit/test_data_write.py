"""Tables written at once or piece by piece: the same table, completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from podium import data
from podium.data.appending import append_table
from podium.errors import ArgumentError, DataError

READ: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".csv.gz": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".tsv.gz": lambda path: pl.read_csv(path, separator="\t"),
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
}
PARTS = [
    {"user": np.array(["a", "b,\tc"]), "score": np.array([0.1, 1e-9])},
    {"user": np.array(["c"]), "score": np.array([1 / 3])},
]
each_suffix = pytest.mark.parametrize("suffix", READ)
pytestmark = pytest.mark.filterwarnings("ignore:Could not use mmap:RuntimeWarning")


@each_suffix
def test_parts_make_one_table(tmp_path: Path, suffix: str) -> None:
    path, at_once = tmp_path / f"run{suffix}", tmp_path / f"whole{suffix}"
    with append_table(path) as append:
        for part in PARTS:
            append(part)
        assert not path.exists()
    whole = {name: np.concatenate([part[name] for part in PARTS]) for name in PARTS[0]}
    data.write_table(whole, at_once)
    for written in (path, at_once):
        assert READ[suffix](written).to_dict(as_series=False) == {
            "user": ["a", "b,\tc", "c"],
            "score": [0.1, 1e-9, 1 / 3],
        }
    assert sorted(tmp_path.iterdir()) == [path, at_once]
    again = tmp_path / f"again{suffix}"
    data.write_table(whole, again)
    assert again.read_bytes() == at_once.read_bytes()


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.gz", "nowhere/a.csv"])
def test_unknown_suffix_and_folder_are_refused(tmp_path: Path, name: str) -> None:
    kind = DataError if "/" in name else ArgumentError
    with pytest.raises(kind) as caught:
        data.write_table({"x": [1]}, tmp_path / name)
    assert caught.type is kind
    assert not list(tmp_path.iterdir())


@each_suffix
@pytest.mark.parametrize(
    "other",
    [
        {"score": np.array([1.0]), "user": np.array(["c"])},
        {"user": np.array(["c"])},
        {**PARTS[1], "item": np.array([1])},
        {"user": np.array([7]), "score": np.array([1.0])},
        {},
        None,
    ],
)
def test_columns_must_be_those_of_the_first_call(
    tmp_path: Path, suffix: str, other: dict[str, Any] | None
) -> None:
    def write() -> None:
        with append_table(tmp_path / f"run{suffix}") as append:
            append(PARTS[0])
            if other is None:
                raise KeyboardInterrupt
            append(other)

    with pytest.raises((ArgumentError, KeyboardInterrupt)):
        write()
    assert list(tmp_path.iterdir()) == []


@each_suffix
def test_tables_may_have_no_rows_and_later_categories(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with pytest.raises(ArgumentError), append_table(path):
        pass
    with append_table(path) as append:
        append({name: values[:0] for name, values in PARTS[0].items()})
    assert (READ[suffix](path).columns, READ[suffix](path).height) == (["user", "score"], 0)
    with append_table(path) as append:
        for users in (["a", "b"], ["c", "b", "d"]):
            append({"user": pl.Series(users, dtype=pl.Categorical)})
    assert READ[suffix](path)["user"].to_list() == ["a", "b", "c", "b", "d"]


@pytest.mark.parametrize("values", [[{"a": 1}, "b"], [1, "two"], [2**200, 1.5, None, "x"]])
def test_columns_of_several_kinds_are_refused(values: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="item"):
        data.to_frame({"item": values})


def test_parts_of_a_series_are_rows_whatever_its_index(tmp_path: Path) -> None:
    series = pd.Series([1, 2, 3], index=[5.0, 6.0, 7.0])
    data.write_parts({"a": series}, tmp_path / "parts", n_rows=2)
    assert pl.read_parquet(tmp_path / "parts" / "*.parquet")["a"].to_list() == [1, 2, 3]
    assert len(list((tmp_path / "parts").iterdir())) == 2
    with pytest.raises(DataError, match="it exists"):
        data.write_parts({"a": series}, tmp_path / "parts")
