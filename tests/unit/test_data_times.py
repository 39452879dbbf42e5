"""Times: the order of integers and dates is exact, whatever the type, unit, zone or spelling.

Columns that no type can compare exactly are refused.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.raised import raises

import podium
from podium.data import read_interactions, splits
from podium.data.source import Source
from podium.data.splitting import How, split_events
from podium.data.times import Times, keys_of, read_times
from podium.errors import ArgumentError, DataError, PodiumWarning

TABLE = Source("The table", (), lambda kinds: {})
TOKYO, NINE = ZoneInfo("Asia/Tokyo"), timezone(timedelta(hours=9))


def read(values: Any) -> Times:
    return read_times(values, "time", TABLE)


def order(*columns: Any) -> list[int]:
    """Return the dense ranks of the values of all columns."""
    keys = np.concatenate(keys_of(*map(read, columns)))
    return np.unique(keys, return_inverse=True)[1].tolist()


def ranks(values: list[Any]) -> list[int]:
    distinct = sorted(set(values))
    return [distinct.index(value) for value in values]


# Each column is in an order other than that of its rows, which is 1, 2, 0 as numbers of ranks.
ORDERED: dict[str, Any] = {
    "7 decimals and a sentinel": [
        "2024-01-02T00:00:00.1234567", "9999-12-31T00:00:00", "2024-01-01",
    ],
    "9 decimals and a sentinel": [
        "2024-01-02T00:00:00.123456789Z", "9999-12-31T23:59:59.999999999Z", "2024-01-01T00:00Z",
    ],
    "before 1970": ["1500-01-01T00:00:00.5", "1500-01-01T00:00:00.75", "1500-01-01T00:00:00.25"],
    "offsets": ["2024-01-01T09:00+09:00", "2024-01-01T00:00:01Z", "2023-12-31T23:00:00-00:30"],
    "seconds": np.array(["2024-01-02", "9999-12-31", "2024-01-01"], "datetime64[s]"),
    "months": np.array(["2024-01", "9999-12", "2023-12"], "datetime64[M]"),
    "dates": [date(2024, 1, 2), date(9999, 12, 31), date(2024, 1, 1)],
    "dates and times": [datetime(2024, 1, 2), datetime(9999, 12, 31), date(2024, 1, 1)],
    "several offsets": [datetime(2024, 1, 1, 9, tzinfo=NINE), datetime(2024, 1, 1, 1, tzinfo=UTC),
                        datetime(2024, 1, 1, 8, tzinfo=TOKYO)],
    "units in a list": [np.datetime64("2024-01-02T00:00:00.000001"), np.datetime64("9999-01-01"),
                        np.datetime64("2024-01-02")],
    "pandas nanoseconds": [pd.Timestamp(f"2024-01-01T00:00:00.00000000{i}") for i in (2, 3, 1)],
    "pandas zone": pd.Series(pd.to_datetime([2, 3, 1], unit="ns")).dt.tz_localize("Asia/Tokyo"),
    "pandas seconds with a zone": pd.Series(
        np.array(["2024-01-02", "9999-12-31", "2024-01-01"], "datetime64[s]")
    ).dt.tz_localize("UTC"),
    "integers and floats": [2**53 + 1, 2**53 + 2, 0.5],
    "decimals and floats": [Decimal("1700000000.5"), 1700000001.0, 1.5],
    "exponents": ["1.5e3", "1501", "1499.9"],
    "below 0": ["-0.25", "-0.125", "-.5"],
    "signs and blanks": [" +5", "6 ", "-7.0"],
    "floats": np.array([0.5, 0.75, -0.5]),
    "half precision": np.array([0.5, 0.75, -0.5], np.float16),
}  # fmt: skip


@pytest.mark.parametrize("values", ORDERED.values(), ids=ORDERED)
def test_any_column_is_in_its_order(values: Any) -> None:
    assert order(values) == [1, 2, 0]
    assert splits.leave_last_out([1, 1, 1], values).test.tolist() == [1]
    assert splits.by_time(values, test=0.34).test.tolist() == [1]
    assert splits.by_time_per_user([1, 1, 1], values, test=0.34).test.tolist() == [1]


number_texts = st.builds(
    "{}{}".format, st.integers(-(2**62), 2**62) | st.integers(-3, 3), st.sampled_from(["", ".5"])
)


def value_of(texts: list[str]) -> list[Any]:
    kind = float if any("." in text for text in texts) else int
    return [kind(text) for text in texts]


@given(st.lists(number_texts, min_size=2, max_size=8))
def test_texts_are_integers_or_floats(texts: list[str]) -> None:
    assert order(texts) == ranks(value_of(texts))


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(-(2.0**70), 2.0**70)


@given(st.lists(st.integers(-5, 2**63 - 1), min_size=1), st.lists(numbers.map(float), min_size=1))
def test_integers_and_floats_are_compared_exactly(whole: list[int], floats: list[float]) -> None:
    column = np.array(floats)
    expected = ranks([*map(Fraction, whole), *map(Fraction, floats)])
    if all(int(float(value)) == value for value in whole):
        assert order(whole, column) == expected
    else:
        with pytest.raises(ArgumentError, match="float64"):
            order(whole, column)


moments = st.tuples(st.sampled_from(["D", "s", "ms", "us", "ns"]), st.integers(-(10**6), 10**6))
_TICKS = {"D": Fraction(86400)} | {
    unit: Fraction(1, 1000**i) for i, unit in enumerate(("s", "ms", "us", "ns"))
}


@given(moments, moments)
@example(("D", -106751), ("ns", 0))
@example(("D", 106752), ("ns", 0))
def test_units_are_compared_exactly(first: tuple[str, int], second: tuple[str, int]) -> None:
    times = [_TICKS[unit] * ticks for unit, ticks in (first, second)]
    columns = [np.array([ticks]).view(f"datetime64[{unit}]") for unit, ticks in (first, second)]
    finest = min(_TICKS[unit] for unit, _ in (first, second))
    if max(map(abs, times)) / finest < 2**63:
        assert order(*columns) == ranks(times)
    else:
        with pytest.raises(ArgumentError, match="Convert one of the columns"):
            order(*columns)


MIXED = ["2024-01-02T00:00:00.123456789", "9999-12-31T23:59:59.999999999", "2024-01-03"]
SECONDS = np.array(["2024-01-02", "9999-12-31", "2024-01-03"], "datetime64[s]")
AT: list[tuple[Any, Any, list[int]]] = [
    (MIXED, "2024-01-03", [1, 2]),
    ([2**53, 2**53 + 1, 5], "9007199254740993", [1]),
    ([2**53, 2**53 + 1, 5], 2**53 + 1, [1]),
    ([1_200, 1_199], "1.2e3", [0]),
    ([10, 40, 20], 15.5, [1, 2]),
    (np.array(["2262-01-02", "1700-01-01"], "datetime64[ns]"), "2262-01-01", [0]),
    (np.array(["1677-12-01", "1970-01-01"], "datetime64[s]"), "1900-01-01", [1]),
]
AT_REFUSED = [
    (SECONDS, "2024-01-03T00:00:00.000000001"),
    (np.array([2.0**53, 2.0**53 + 2, 5]), 2**53 + 1),
    ([2**53 + 1, 5], 0.5),
]


@pytest.mark.parametrize(("values", "at", "test"), AT)
def test_at_is_compared_exactly(values: Any, at: Any, test: list[int]) -> None:
    assert splits.by_time(values, at=at).test.tolist() == test


@pytest.mark.parametrize(("values", "at"), AT_REFUSED)
def test_at_that_no_type_can_compare_is_refused(values: Any, at: Any) -> None:
    with pytest.raises(ArgumentError, match="compared exactly"):
        splits.by_time(values, at=at)


def test_moment_without_a_zone_is_by_the_clock_of_the_column() -> None:
    local = pl.Series(["2024-02-03T09:00", "2024-02-03T08:00", "2024-02-02T23:30"])
    naive = local.str.to_datetime("%Y-%m-%dT%H:%M")
    zoned = naive.dt.replace_time_zone("Asia/Tokyo")
    texts = (local + "+09:00").to_list()
    for column in (naive, zoned, texts, zoned.to_list(), zoned.to_pandas()):
        for at in ("2024-02-03", date(2024, 2, 3), np.datetime64("2024-02-03")):
            assert splits.by_time(column, at=at).test.tolist() == [0, 1]
    for at in ("2024-02-03T00:00+00:00", datetime(2024, 2, 3, tzinfo=UTC)):
        assert splits.by_time(zoned, at=at).test.tolist() == [0]  # 09:00 in Tokyo
        assert splits.by_time(texts, at=at).test.tolist() == [0]
        with raises(ArgumentError, "at"):
            splits.by_time(naive, at=at)


def test_moments_that_a_clock_does_not_settle_are_refused() -> None:
    hours = pl.datetime_range(
        datetime(2024, 10, 26), datetime(2024, 10, 28), "1h", time_zone="Europe/Paris", eager=True
    )
    with raises(ArgumentError, "at"):
        splits.by_time(hours, at="2024-10-27T02:30")  # the hour occurs twice
    test = splits.by_time(hours, at="2024-10-27T02:30+01:00").test
    assert hours[int(test[0])] == datetime(2024, 10, 27, 3, tzinfo=ZoneInfo("Europe/Paris"))
    with raises(ArgumentError, "valid_at"):
        splits.by_time(["2024-03-01T00:00+01:00", "2024-06-01T00:00+02:00"], valid_at="2024-04-01")


REFUSED: list[Any] = [
    [time(10), time(11)],
    [timedelta(1), timedelta(2)],
    np.array([1, 2], "timedelta64[s]"),
    np.array([2**62, 5], "datetime64[h]"),  # beyond microseconds
    np.array([5, 6, 4], "datetime64[ps]"),
    np.array([True, False]),
    np.array([1j, 2j]),
    ["1", "2", "soon"],
    ["2024-01-01", "5", "2024-01-02"],
    ["2024-01-01T00:00Z", "2024-01-02"],
    [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)],
    ["2024-02-30", "2024-01-01"],
    ["1e99999999999999999999", "1"],
    [1.0, np.inf],
    ["1.5", "inf"],
]


@pytest.mark.parametrize("values", REFUSED)
def test_columns_without_an_order_are_refused(values: Any) -> None:
    n = len(values)
    table = {"user": [1, 2, 1][:n], "item": [1, 2, 1][:n], "timestamp": values}
    for call in (
        lambda: splits.by_time(values),
        lambda: split_events(table, How("leave-last")),
        lambda: podium.audit(table, table),
    ):
        with pytest.raises(ArgumentError, match="time"):
            call()


def write(path: Path, times: list[Any]) -> Path:
    """Write the times of items x, z, y … of one user."""
    rows = zip("xzyq", times, strict=False)
    if path.suffix == ".jsonl":
        path.write_text("".join(f'{{"user":1,"item":"{i}","timestamp":{t}}}\n' for i, t in rows))
    else:
        separator = "\t" if path.suffix == ".tsv" else ","
        lines = [separator.join(("1", item, str(time))) for item, time in rows]
        header = separator.join(("user", "item", "timestamp"))
        path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("suffix", "times"),
    [
        (suffix, [f"170000000012345678{i}" for i in (8, 9, 7)])
        for suffix in (".csv", ".tsv", ".jsonl")
    ],
)
def test_numbers_of_files_are_not_rounded(tmp_path: Path, times: list[str], suffix: str) -> None:
    path = write(tmp_path / f"events{suffix}", times)
    assert split_events(path, How("leave-last")).frames["test"]["item"].to_list() == ["z"]
    parts = split_events(path, How("time", at=times[0])).frames
    assert sorted(parts["test"]["item"]) == ["x", "z"]
    events = read_interactions(path)
    assert events.timestamp is not None
    assert np.argmax(events.timestamp) == 1
    assert splits.leave_last_out([1, 1, 1], events.timestamp).test.tolist() == [1]
    late, early = (tmp_path / f"{name}{suffix}" for name in ("train", "test"))
    found = podium.audit(write(late, times[1:2]), write(early, times[:1]))
    assert {f.check for f in found.findings} >= {"future-of-user"}
    found = podium.audit(write(late, times[:1]), write(early, times[1:2]))
    assert "future-of-user" not in {f.check for f in found.findings}


def pair(train: Any, test: Any) -> set[str]:
    columns = {"user": [1, 2], "item": [5, 6]}
    swapped = {"user": [1, 2], "item": [6, 5]}
    found = podium.audit({**columns, "timestamp": train}, {**swapped, "timestamp": test})
    return {finding.check for finding in found.findings}


def test_audit_compares_units_types_and_zones() -> None:
    fine = np.array(["2024-01-01T00:00:00.000000002"] * 2, "datetime64[ns]")
    zoned, naive = ["2024-02-03T12:00:00+09:00"] * 2, ["2024-02-03T10:00:00"] * 2
    for train, test, is_late in (
        (fine, ["2024-01-01T00:00:00.000000001"] * 2, True),
        (fine, ["2024-01-01T00:00:00.000000003"] * 2, False),
        ([2**53] * 2, np.array([2.0**53 - 1] * 2), True),
        (zoned, ["2024-02-03T02:00Z"] * 2, True),  # 03:00 in UTC
        (zoned, ["2024-02-03T04:00Z"] * 2, False),
    ):
        assert ("future-of-user" in pair(train, test)) == is_late
    for train, test in ((zoned, naive), (naive, zoned)):
        with pytest.raises(ArgumentError, match="zone"):
            pair(train, test)


def test_digits_that_no_type_holds_are_cut() -> None:
    """Decimal numbers are float64; dates beyond the years of nanoseconds are microseconds."""
    table = {"user": [1, 1], "item": [1, 2]}
    plain = read_interactions({**table, "time": ["1700000000.1234567", "-0.5"]}).timestamp
    assert plain is not None
    assert (plain.dtype, plain.tolist()) == (np.float64, [1700000000.1234567, -0.5])
    cut = read_interactions({**table, "time": ["9999-12-31", "2024-01-01T00:00:00.1234567"]})
    assert cut.timestamp is not None
    assert cut.timestamp[1] == np.datetime64("2024-01-01T00:00:00.123456")


def test_users_whose_parts_the_order_of_rows_decides_are_counted() -> None:
    user = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    times = [1, 5, 5, 1, 1, 5, 5, 5, 9, 7]  # user 1 has two last rows, users 2 and 3 have one
    with pytest.warns(PodiumWarning, match="For 1 user of 4"):
        assert splits.leave_last_out(user, times).test.tolist() == [2, 5, 8]
    with pytest.warns(PodiumWarning, match="For 3 users of 4"):
        splits.leave_last_out(user, times, n_valid=1)  # the validation rows are open as well
    with pytest.warns(PodiumWarning, match="For 1 user of 4"):
        splits.by_time_per_user(user, times, test=0.34)
    splits.leave_last_out([2, 2, 2], [1, 1, 5])


def test_split_by_time_at_a_moment_has_no_default_share() -> None:
    times = np.arange(100)
    split = splits.by_time(times, at=95, valid=0.85)
    assert [part.size for part in (split.train, split.valid, split.test)] == [10, 85, 5]
    with pytest.raises(ArgumentError):
        splits.by_time(times, valid_at=50, valid=0.1)


def test_split_keeps_the_times_of_a_text_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps({"user": 1, "item": i, "time": i / 2}) for i in range(4)))
    assert split_events(path, How("leave-last")).frames["test"]["timestamp"].to_list() == [1.5]


@pytest.mark.parametrize("form", ["arrow", "pandas", "pyarrow"])
@pytest.mark.parametrize("last", [2**40, 2**62])
def test_seconds_keep_their_order_or_are_refused(tmp_path: Path, form: str, last: int) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    arrow = pytest.importorskip("pyarrow")
    seconds = np.array([last, 5, last - 1], "datetime64[s]")
    columns = {"user": [1, 1, 1], "item": [1, 2, 3], "timestamp": seconds}
    table: Any = pd.DataFrame(columns) if form == "pandas" else arrow.table(columns)
    if form == "arrow":
        feather.write_feather(table, tmp_path / "a.arrow", compression="uncompressed")
        table = tmp_path / "a.arrow"
    if last == 2**62:  # microseconds cannot hold it
        with pytest.raises(DataError):
            read_interactions(table)
        return
    times = read_interactions(table).timestamp
    assert times is not None
    assert np.argsort(times).tolist() == [1, 2, 0]
