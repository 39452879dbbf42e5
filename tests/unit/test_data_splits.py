"""Splits: every row in one part, the parts by the stated rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.raised import raises

from podium import data
from podium.errors import ArgumentError


@pytest.mark.parametrize(
    "at", ["20120608", "2012-06-08", "2012-06-08T00", "2012-06-08T02:00+02:00", "20120608T000000Z"]
)
def test_forms_of_a_moment_are_the_same_moment(at: str) -> None:
    days = pd.date_range("2010-01-01", "2020-12-31").to_numpy().astype("datetime64[ns]")
    if at.endswith(("00", "Z")):
        column: Any = pl.Series(days).dt.replace_time_zone("UTC")
    else:
        column = days
    test = data.splits.by_time(column, at=at).test
    assert days[test[0]] == np.datetime64("2012-06-08")


@pytest.mark.parametrize(("at", "lacking"), [("2300-01-01", "testing"), ("1500", "training")])
def test_moments_outside_of_nanoseconds_are_compared(at: str, lacking: str) -> None:
    days = pd.date_range("2010-01-01", "2020-12-31").to_numpy().astype("datetime64[ns]")
    assert days[data.splits.by_time(days, at="2012").test[0]] == np.datetime64("2012")
    with pytest.raises(ArgumentError, match=f"for {lacking}"):
        data.splits.by_time(days, at=at)


def test_by_time_at_a_moment() -> None:
    split = data.splits.by_time([1, 5, 3, 4], at=4, valid_at=3)
    assert split.train.tolist() == [0]
    assert split.valid.tolist() == [2]
    assert split.test.tolist() == [1, 3]
    days = np.array(["2011-10-01", "2011-09-30"], "datetime64[D]")
    assert data.splits.by_time(days, at="2011-10-01").test.tolist() == [0]
    assert data.splits.by_time([1, 2, 3], at=np.int64(3)).test.tolist() == [2]
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


@pytest.mark.parametrize(
    "times",
    [
        [1.0, np.nan, 3.0],
        np.array(["2020-01-01", "NaT", "2020-01-03"], "datetime64[D]"),
        [1, None, 3],
        pl.Series([1, None, 3]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-03"])),
        pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-03"])).dt.tz_localize("UTC"),
    ],
    ids=["nan", "nat", "none", "polars", "nullable", "pandas", "zone"],
)
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
        lambda: data.splits.random(10, test=0.6, valid=0.5),
        lambda: data.splits.random(3, user=[1, 2]),
        lambda: data.splits.random(5, seed=-1),
        lambda: data.splits.random(2, user=pd.Series(["a", pd.NA])),
        lambda: data.splits.by_group([1, 2], seed=1.5),  # type: ignore[arg-type]
        lambda: data.splits.by_group(["a", None]),
        lambda: data.splits.leave_last_out([1, 1], [1]),
        lambda: data.splits.leave_last_out([1], [1], n=0),
        lambda: data.splits.by_time(["yesterday"]),
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
