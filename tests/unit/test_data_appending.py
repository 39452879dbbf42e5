"""Tables written piece by piece: the same as written at once, or no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from podium.data.appending import append_table
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
