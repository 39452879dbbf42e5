"""Splits: the parts of rows by the stated rules, and the files and the record of a split."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.raised import raises

from podium import data
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
    again = again.rename({"user": "userId", "item": "movieId"})
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


def test_users_with_few_events_are_left_out(events: pl.DataFrame) -> None:
    least = split_events(events, How("user-random", least=14))
    counts = dict(events.group_by("userId").len().iter_rows())
    users = {user for frame in least.frames.values() for user in frame["user"]}
    assert users == {user for user, n in counts.items() if n >= 14} != set(counts)
    assert least.record["dropped"]["least"] == N - sum(f.height for f in least.frames.values())
    for table, how in (
        (events.clear(), How("random")),
        *((events.drop("timestamp"), How(by)) for by in ("time", "user-time", "leave-last")),
    ):
        with pytest.raises(DataError):
            split_events(table, how)


BAD: list[dict[str, Any]] = [
    {"by": "time", "seed": 1},
    {"by": "random", "at": 1},
    {"by": "random", "test": 0},
    *({"by": "leave-last", "test": n} for n in (0.2, 0, -1, 1e300, 10**400, float("nan"))),
    *({"by": "leave-last", "valid": n} for n in (1.5, float("inf"))),
    {"by": "random", "least": 0},
    {"by": "time", "at": 10**6},
    {"by": "time", "at": 0},
    {"by": "leave-last", "test": 100},
    {"by": "group", "valid": 0.001},
    {"by": "time", "at": "2020-01-01"},
    *({"by": "time", "unique": keep} for keep in ("both", "", 1)),
    *({"by": "time", "pairs": task} for task in ("old", "", 1)),
    *({"by": "random", "where": sql} for sql in ("", "shop >", "shop", "shop > 'x'", "shop > 9")),
    {"by": "random", "drop_missing": 1},
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


def test_parts_are_read_without_names() -> None:
    """Columns in the way are kept under other names."""
    log = pl.DataFrame({"who": [1, 2, 1], "user": "a", "sku": [5, 6, 5], "when": [1, 2, 3]})
    log = log.with_columns(overall=pl.col("when") + 1, weight=2, n=7)
    names = {"user": "who", "item": "sku", "timestamp": "when"}
    others = {"other_user": "user", "other_overall": "overall", "other_weight": "weight"}
    for value, unique in (("overall", None), ("n", None), (None, "count")):
        given = {"rating" if value == "overall" else "weight": value}
        how = How("leave-last", unique=unique)
        made = split_events(log, how, **names, **given if value else {})  # type: ignore[arg-type]
        train = made.frames["train"]
        read = data.read_interactions(train)
        assert (read.user.tolist(), read.item.tolist()) == ([1, 2], [5, 6])
        assert read.value_name in given
        before = {new: old for new, old in made.record["columns"].items() if new in others}
        assert before == {new: old for new, old in others.items() if old != value}
        assert set(train.columns) >= before.keys()


def test_all_missing_columns_and_values_are_named_at_once() -> None:
    events = {"user": [1, None], "item": [None, 2], "when": [1, 2]}
    with pytest.raises(DataError) as error:
        split_events(events, How("random"))
    assert "user has 1 (first at row 1), item has 1 (first at row 0)" in str(error.value)
    with pytest.raises(DataError) as error:
        split_events({"uid": [1], "sku": [2]}, How("time", test=0.5), user="uid")
    assert "no item or timestamp column" in str(error.value)


def test_by_time_at_a_moment() -> None:
    days = pd.date_range("2010-01-01", "2020-12-31").to_numpy().astype("datetime64[ns]")
    utc = pl.Series(days).dt.replace_time_zone("UTC")
    for column, at in ((days, "2012-06-08"), (utc, "2012-06-08T02:00+02:00")):
        first = data.splits.by_time(column, at=at).test[0]
        assert days[first] == np.datetime64("2012-06-08")
    for at in ("2300-01-01", "1500"):  # outside of nanoseconds
        with pytest.raises(ArgumentError):
            data.splits.by_time(days, at=at)
    split = data.splits.by_time([1, 5, 3, 4], at=4, valid_at=3)
    assert [part.tolist() for part in (split.train, split.valid, split.test)] == [[0], [2], [1, 3]]
    split = data.splits.by_time([1, 2, 3, 4], test=0, valid=0.25)
    assert (split.test.tolist(), split.valid.tolist()) == ([], [3])


def test_share_of_validation_counts_before_all_rows_of_the_test() -> None:
    """The test part has six rows of one time, although its share is one row."""
    time = [1, 2, 3, 4, 5, 5, 5, 5, 5, 5]
    split = data.splits.by_time(time, test=0.1, valid=0.2)
    assert (split.train.tolist(), split.valid.tolist()) == ([0, 1], [2, 3])


def test_whole_shares_are_not_lost_to_rounding() -> None:
    # 0.29 * 100 is 28.999999999999996 in floating point.
    assert data.splits.random(100, test=0.29).test.size == 29


MISSING = pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-03"])).dt.tz_localize("UTC")


@pytest.mark.parametrize("times", [[1.0, np.nan, 3.0], [1, None, 3], MISSING])
def test_missing_times_are_refused(times: Any) -> None:
    for split in (
        lambda: data.splits.by_time(times, test=0.34),
        lambda: data.splits.by_time_per_user([1, 1, 1], times, test=0.34),
        lambda: data.splits.leave_last_out([1, 1, 1], times),
    ):
        with pytest.raises(ArgumentError, match=r"timestamp has 1 (missing|non-finite) value.*1"):
            split()


EMPTY: list[dict[str, Any]] = [{"test": 0.25}, {"at": 0}, {"test": 0.0, "valid": 0.25}, {"at": 2}]
DAYS = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")


@pytest.mark.parametrize(
    "call",
    [
        lambda: data.splits.random(3, user=[1, 2]),
        lambda: data.splits.random(5, seed=-1),
        lambda: data.splits.random(2, user=pd.Series(["a", pd.NA])),
        lambda: data.splits.by_group([1, 2], seed=1.5),  # type: ignore[arg-type]
        lambda: data.splits.by_group(["a", None]),
        lambda: data.splits.leave_last_out([1, 1], [1]),
        *(
            lambda options=options: data.splits.by_time([1, 1, 1, 1], **options)
            for options in EMPTY
        ),
        *(
            lambda options=options: data.splits.by_time([1, 2, 5, 5, 5, 5], valid=0.5, **options)
            for options in ({"test": 0.1}, {"at": 5})
        ),
        *(
            lambda options=options: data.splits.by_time([1, 2, 3], valid_at=3, **options)
            for options in ({"at": 2}, {"test": 0.7})
        ),
        lambda: data.splits.by_time([1, 2, 3], at=3, valid_at="soon"),
    ],
)
def test_splits_check_their_arguments(call: Any) -> None:
    with pytest.raises(ArgumentError):
        call()


def test_moments_must_be_of_the_timestamps_kind() -> None:
    for times, wrong in (
        (DAYS, ("foo", 5, float("nan"), np.datetime64("NaT"))),
        ([1, 2, 3], ("foo", np.inf, np.nan, np.datetime64("2020-01-01"), True)),
    ):
        for at in wrong:
            with raises(ArgumentError, "at"):
                data.splits.by_time(times, at=at)
