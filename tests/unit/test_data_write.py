"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from podium import data
from podium.data.write import atomic
from podium.errors import ArgumentError, DataError

READ = {
    "parquet": pl.read_parquet,
    "csv": pl.read_csv,
    "csv.gz": pl.read_csv,
    "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "tsv.gz": lambda path: pl.read_csv(path, separator="\t"),
    "arrow": pl.read_ipc,
    "feather": pl.read_ipc,
}


@pytest.mark.parametrize("suffix", list(READ))
def test_table_reads_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table.{suffix}"
    columns = {"user": np.array([1, 2]), "item": ["a", "b,\tc"], "score": np.array([0.1, 1e-9])}
    data.write_table(columns, path)
    assert READ[suffix](path).to_dict(as_series=False) == {
        "user": [1, 2],
        "item": ["a", "b,\tc"],
        "score": [0.1, 1e-9],
    }
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_equal_tables_give_equal_files(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        data.write_table({"x": np.arange(100)}, tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.gz"])
def test_unknown_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match=r"path must end in '\.parquet'"):
        data.write_table({"x": [1]}, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def stop_halfway() -> None:
        with atomic(path) as place:
            place.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop_halfway()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_success_replaces_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic(path) as place:
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        data.write_table({"x": [1]}, tmp_path / "nowhere" / "a.csv")


def test_columns_of_different_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="x and y must have equal length, got 2 and 1"):
        data.write_table({"x": [1, 2], "y": [1]}, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", [[{"a": 1}, "b"], [1, "two"], [2**200, 1.5, None, "x"]])
def test_columns_of_several_kinds_are_refused(values: list[Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^column 'item' must hold numbers, texts or times"):
        data.to_frame({"item": values})


def test_parts_of_a_series_are_rows_whatever_its_index(tmp_path: Path) -> None:
    series = pd.Series([1, 2, 3], index=[5.0, 6.0, 7.0])
    data.write_parts({"a": series}, tmp_path / "parts", n_rows=2)
    assert pl.read_parquet(tmp_path / "parts" / "*.parquet")["a"].to_list() == [1, 2, 3]
