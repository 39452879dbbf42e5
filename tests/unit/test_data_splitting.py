"""The split of a table into files: which rows go where, in which form, and the record."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from podium.data import write_table
from podium.data.splitting import How, split_events
from podium.errors import ArgumentError, DataError, PodiumError

N = 400


@pytest.fixture
def events() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "note": [None, "a", "b", "c"] * (N // 4),
            "movieId": [f"{i:03}" for i in rng.integers(50, size=N)],
            "userId": rng.integers(30, size=N),
            "timestamp": rng.permutation(N) + 1_000,
            "shop": rng.integers(8, size=N),
        }
    )


def test_files_keep_ids_and_values_of_a_text_file(events: pl.DataFrame, tmp_path: Path) -> None:
    events = events.with_columns(
        zip=pl.format("0{}", pl.col("shop")),
        x=pl.col("shop") / 2,
        order=pl.format("1234567890123456789{}", pl.col("shop")),  # float64 rounds them to one
    )
    events.write_csv(tmp_path / "events.csv")
    split_events(tmp_path / "events.csv", How("random")).write(tmp_path / "new" / "parts")
    folder = tmp_path / "new" / "parts"
    assert {path.name for path in folder.iterdir()} == {
        "train.parquet", "test.parquet", "split.json",
    }  # fmt: skip
    again = pl.concat(pl.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))
    assert again.sort("timestamp").equals(events.sort("timestamp"))
    record = json.loads((folder / "split.json").read_text())
    content = (tmp_path / "events.csv").read_bytes()
    assert record["input"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert record["options"] == {"by": "random", "test": 0.2, "least": 1}


@pytest.mark.parametrize("at", [1_200, "1200", "1.2e3"])
def test_times_divide_the_parts(events: pl.DataFrame, at: Any) -> None:
    parts = split_events(events, How("time", at=at, valid_at=1_100)).frames
    assert parts["test"]["timestamp"].min() == 1_200
    assert (parts["valid"]["timestamp"].min(), parts["valid"]["timestamp"].max()) == (1_100, 1_199)
    dated = events.with_columns(pl.from_epoch("timestamp", time_unit="d"))
    test = split_events(dated, How("time", at="1973-04-15")).frames["test"]
    assert test["timestamp"].min() == dated["timestamp"].filter(events["timestamp"] == 1_200)[0]


def test_groups_of_another_column_stay_together(events: pl.DataFrame) -> None:
    parts = split_events(events, How("group", test=0.5, group="shop")).frames
    shops = [set(frame["shop"]) for frame in parts.values()]
    assert shops[0] & shops[1] == set()
    least = split_events(events, How("user-random", least=14))
    counts = dict(events.group_by("userId").len().iter_rows())
    users = {user for frame in least.frames.values() for user in frame["userId"]}
    assert users == {user for user, n in counts.items() if n >= 14} != set(counts)
    assert least.record["rows_left_out"] == N - sum(f.height for f in least.frames.values())
    for table, how in (
        (events, How("group", group="shops")),
        (events.clear(), How("random")),
        *((events.drop("timestamp"), How(by)) for by in ("time", "user-time", "leave-last")),
    ):
        with pytest.raises(DataError):
            split_events(table, how)


BAD: list[dict[str, Any]] = [
    {"by": "tme"},
    {"by": "time", "seed": 1},
    {"by": "random", "at": 1},
    {"by": "time", "at": 1, "test": 0.1},
    {"by": "random", "test": 0.6, "valid": 0.4},
    {"by": "random", "test": 0},
    *({"by": "leave-last", "test": n} for n in (0.2, 0, -1, 1e300, 10**400, float("nan"))),
    *({"by": "leave-last", "valid": n} for n in (1.5, float("inf"))),
    {"by": "random", "least": 0},
    {"by": "random", "least": 10_000},
    {"by": "time", "at": 10**6},
    {"by": "time", "at": 0},
    {"by": "leave-last", "test": 100},
    {"by": "group", "valid": 0.001},
    {"by": "time", "at": "2020-01-01"},
]


@pytest.mark.parametrize("options", BAD)
def test_nonsense_is_refused(events: pl.DataFrame, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=list(options)[-1]):
        split_events(events, How(**options))


def test_folder_is_written_completely_or_not_at_all(
    events: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = split_events(events, How("random", valid=0.1))
    first.write(tmp_path / "parts")
    (tmp_path / "parts" / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()}
    second = split_events(events, How("time"))
    write, n_written = pl.DataFrame.write_parquet, 0

    def broken(frame: pl.DataFrame, *args: Any, **options: Any) -> None:
        nonlocal n_written
        n_written += 1
        if n_written == 2:
            raise KeyboardInterrupt
        write(frame, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", broken)
        with pytest.raises(KeyboardInterrupt):
            second.write(tmp_path / "parts")
        n_written = 0
        with pytest.raises(KeyboardInterrupt):
            second.write(tmp_path / "new")
    assert {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()} == before
    assert not (tmp_path / "new").exists()
    second.write(tmp_path / "parts")  # the old validation part is not of this split
    names = {path.name for path in (tmp_path / "parts").iterdir()}
    assert names == {"train.parquet", "test.parquet", "split.json", "notes.txt"}


def test_input_is_not_written_over(events: pl.DataFrame, tmp_path: Path) -> None:
    write_table(events.to_dict(), tmp_path / "train.parquet")
    before = (tmp_path / "train.parquet").read_bytes()
    parts = split_events(tmp_path / "train.parquet", How("random"))
    with pytest.raises(ArgumentError, match="is the same file as"):
        parts.write(tmp_path)
    assert (tmp_path / "train.parquet").read_bytes() == before
    (tmp_path / "file").write_text("")
    for folder in ("file", "file/parts"):
        with pytest.raises(PodiumError):
            parts.write(tmp_path / folder)


def test_all_missing_columns_and_values_are_named_at_once() -> None:
    events = {"user": [1, None], "item": [None, 2], "when": [1, 2]}
    with pytest.raises(DataError) as error:
        split_events(events, How("random"))
    assert "user has 1 (first at row 1), item has 1 (first at row 0)" in str(error.value)
    with pytest.raises(DataError) as error:
        split_events({"uid": [1], "sku": [2]}, How("time", test=0.5), user="usr")
    assert all(name in str(error.value) for name in ("item", "timestamp", "'usr'"))
