"""Tables written piece by piece: the same as written at once, or no file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.raised import raises

from podium.data.appending import append_table, text_appender
from podium.errors import ArgumentError, DataError

READ: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".csv.gz": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
}
PARTS = [
    {"user": np.array(["a", "b"]), "score": np.array([0.1, 0.2])},
    {"user": np.array(["c"]), "score": np.array([1 / 3])},
]


@pytest.mark.filterwarnings("ignore:Could not use mmap:RuntimeWarning")
@pytest.mark.parametrize("suffix", READ)
def test_parts_make_one_table(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with append_table(path) as append:
        for part in PARTS:
            append(part)
        assert not path.exists()
    got = READ[suffix](path)
    assert got.columns == ["user", "score"]
    assert got["user"].to_list() == ["a", "b", "c"]
    assert got["score"].to_list() == [0.1, 0.2, 1 / 3]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", READ)
def test_nothing_is_left_after_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"

    def fail() -> None:
        with append_table(path) as append:
            append(PARTS[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run.xlsx", "run", "run.parquet.gz"])
def test_other_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match="path must end in"), append_table(tmp_path / name):
        pass


def test_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match="there is no folder"),
        append_table(tmp_path / "x" / "r.csv"),
    ):
        pass


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"score": np.array([1.0]), "user": np.array(["c"])}, r"got score \(Float64\), user"),
    ({"user": np.array(["c"])}, r"got user \(String\)\. Use"),
    ({**PARTS[1], "item": np.array([1])}, r"item \(Int64\)\. Use"),
    ({"user": np.array([7]), "score": np.array([1.0])}, r"got user \(Int64\), score"),
    ({"user": np.array(["c"]), "score": np.array([1])}, r"score \(Int64\)\. Use"),
    ({"who": np.array(["c"]), "score": np.array([1.0])}, r"got who \(String\)"),
]


@pytest.mark.parametrize("suffix", READ)
@pytest.mark.parametrize(("other", "got"), OTHERS)
def test_columns_must_be_those_of_the_first_call(
    tmp_path: Path, suffix: str, other: dict[str, Any], got: str
) -> None:
    wanted = r"columns must be those of the first call, user \(String\), score \(Float64\), "

    def write() -> None:
        with append_table(tmp_path / f"run{suffix}") as append:
            append(PARTS[0])
            append(other)

    with pytest.raises(ArgumentError, match=wanted + ".*" + got):
        write()
    assert list(tmp_path.iterdir()) == []


def test_columns_of_text_must_be_those_of_the_first_call() -> None:
    file = io.BytesIO()
    append = text_appender(file)
    append(PARTS[0])
    with raises(ArgumentError, "columns"):
        append({"score": np.array([1.0]), "user": np.array(["c"])})
    assert file.getvalue() == b"user,score\na,0.1\nb,0.2\n"


@pytest.mark.parametrize("suffix", READ)
def test_table_that_nothing_was_appended_to_has_no_columns(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with pytest.raises(ArgumentError, match="Nothing was appended to run"), append_table(path):
        pass
    with (
        raises(ArgumentError, "columns"),
        append_table(path) as append,
    ):
        append({})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:Could not use mmap:RuntimeWarning")
@pytest.mark.parametrize("suffix", READ)
def test_table_without_rows_has_its_columns(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with append_table(path) as append:
        append({name: values[:0] for name, values in PARTS[0].items()})
    got = READ[suffix](path)
    assert (got.columns, got.height) == (["user", "score"], 0)


@pytest.mark.filterwarnings("ignore:Could not use mmap:RuntimeWarning")
@pytest.mark.parametrize("suffix", READ)
def test_later_calls_may_bring_other_categories(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    with append_table(path) as append:
        for users in (["a", "b"], ["c", "b", "d"]):
            append({"user": pl.Series(users, dtype=pl.Categorical)})
    assert READ[suffix](path)["user"].to_list() == ["a", "b", "c", "b", "d"]
