"""Splits: the rows for training, for validation and for testing.

All functions return positions of rows, increasing. Shares are rounded down to whole rows, so that
training always has rows. Random draws depend only on the seed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.data.convert import as_integers, to_ids, to_times
from podium.data.ids import codes_of
from podium.data.source import Source, as_column
from podium.errors import ArgumentError
from podium.types import RowIndex

_PLAIN = re.compile(r"\d{4}(-\d\d(-\d\d([T ][\d:.]+)?)?)?")
_FIRST_YEAR, _LAST_YEAR = 1678, 2261  # whole years of times in nanoseconds

_ROWS, _GROUPS = 1, 2  # parts of the seeds that separate the draws of rows and of groups
_SPLIT = Source("The split", (), lambda kinds: {})


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of rows, int64 and increasing; every row is in exactly one part.

    Attributes
    ----------
    train, test : int64
        The rows for training and for testing.
    valid : int64
        The rows for validation, empty if none were requested.
    """

    train: RowIndex
    test: RowIndex
    valid: RowIndex


def by_time(
    timestamp: ArrayLike,
    *,
    test: float = 0.2,
    valid: float = 0.0,
    at: Any = None,
    valid_at: Any = None,
) -> Split:
    """Split rows by time: the latest rows for testing, and the rows before them for validation.

    Parameters
    ----------
    timestamp : (n_rows,)
        Numbers, or dates and times. Times with a zone are converted to UTC.
    test, valid : float
        The shares of rows, in [0, 1). Rows of equal time are in the same part. A part can therefore
        be larger than its share.
    at, valid_at : number, or date or time, optional
        The times at which the test and validation parts begin, used instead of shares.

    Returns
    -------
    Split
        The positions of the rows.

    Raises
    ------
    ArgumentError
        If no row remains for training, no row remains for testing (unless test is 0), a time is
        missing, or valid_at is not before the test part.

    Examples
    --------
    >>> split = by_time([10, 40, 20, 30, 40], test=0.2)
    >>> split.train.tolist(), split.test.tolist()
    ([0, 2, 3], [1, 4])
    >>> by_time([10, 40, 20, 30, 40], at=25).test.tolist()
    [1, 3, 4]
    """
    times = _times(timestamp)
    n_test, n_valid = _shares(np.array([times.size]), test, valid)
    sorted_times = np.sort(times)
    if at is not None:
        is_test = times >= _moment(at, "at", times)
    else:
        is_test = _from(times, sorted_times, int(n_test[0]))
    if valid_at is not None:
        is_valid = times >= _moment(valid_at, "valid_at", times)
        if (is_test & ~is_valid).any():
            raise ArgumentError(
                f"valid_at must come before the test part, got {valid_at!r}, but the test part "
                f"begins at {times[is_test].min()}."
            )
    else:
        n_last = int(is_test.sum()) + int(n_valid[0])
        is_valid = _from(times, sorted_times, n_last) if n_valid[0] else is_test
    split = _split(is_test, is_valid & ~is_test)
    return _checked(split, times, requires_test=at is not None or test > 0)


def by_time_per_user(
    user: ArrayLike, timestamp: ArrayLike, *, test: float = 0.2, valid: float = 0.0
) -> Split:
    """Split the rows of each user by time: the latest for testing, those before for validation.

    Parameters
    ----------
    user, timestamp : (n_rows,)
        Ids, and numbers or dates and times. Rows of a user with equal times are in row order.
    test, valid : float
        The shares of each user's rows, in [0, 1), rounded down. If a user has few rows, all stay in
        training.

    Returns
    -------
    Split
        The positions of the rows.

    Examples
    --------
    >>> split = by_time_per_user([7, 7, 8, 8], [2, 1, 1, 2], test=0.5)
    >>> split.train.tolist(), split.test.tolist()
    ([1, 2], [0, 3])
    """
    codes, sizes = _users(user, "user")
    times = _times(timestamp)
    _check.equal_length(user=codes, timestamp=times)
    n_test, n_valid = _shares(sizes, test, valid)
    return _last(codes, sizes, times, n_test, n_valid)


def leave_last_out(user: ArrayLike, timestamp: ArrayLike, *, n: int = 1, n_valid: int = 0) -> Split:
    """Split off the last n rows of each user for testing, and n_valid before them for validation.

    Parameters
    ----------
    user, timestamp : (n_rows,)
        Ids, and numbers or dates and times. Rows of a user with equal times are in row order.
    n, n_valid : int
        The numbers of rows per user. If no row of a user would remain for training, all stay in
        training.

    Returns
    -------
    Split
        The positions of the rows.

    Examples
    --------
    >>> leave_last_out(["a", "a", "b"], [1, 2, 1]).test.tolist()
    [1]
    """
    codes, sizes = _users(user, "user")
    times = _times(timestamp)
    _check.equal_length(user=codes, timestamp=times)
    n_test = _check.cutoff(n, name="n")
    n_before = 0 if n_valid == 0 else _check.cutoff(n_valid, name="n_valid")
    has_enough = sizes > n_test + n_before
    return _last(
        codes, sizes, times, np.where(has_enough, n_test, 0), np.where(has_enough, n_before, 0)
    )


def random(
    n_rows: int,
    *,
    user: ArrayLike | None = None,
    test: float = 0.2,
    valid: float = 0.0,
    seed: int = 0,
) -> Split:
    """Split rows at random, over all rows or per user.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    user : (n_rows,), optional
        Ids. If given, the shares apply to each user's rows.
    test, valid : float
        The shares of rows, in [0, 1), rounded down.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split
        The positions of the rows.

    Examples
    --------
    >>> split = random(10, test=0.3, seed=1)
    >>> split.train.size, split.test.size
    (7, 3)
    """
    count = _check.cutoff(n_rows, name="n_rows")
    codes, sizes = (
        (np.zeros(count, np.int64), np.array([count])) if user is None else _users(user, "user")
    )
    if codes.size != count:
        raise ArgumentError(f"user must have n_rows={count} values, got {codes.size}.")
    n_test, n_valid = _shares(sizes, test, valid)
    draw = np.random.default_rng([_check.seed(seed), _ROWS]).random(count)
    return _last(codes, sizes, draw, n_test, n_valid)


def by_group(qid: ArrayLike, *, test: float = 0.2, valid: float = 0.0, seed: int = 0) -> Split:
    """Split at random by whole groups.

    Parameters
    ----------
    qid : (n_rows,)
        Ids; rows of one group stay together.
    test, valid : float
        The shares of groups, in [0, 1), rounded down.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split
        The positions of the rows.

    Examples
    --------
    >>> split = by_group([1, 1, 2, 3], test=0.5, seed=0)
    >>> split.train.size + split.test.size
    4
    """
    codes, sizes = _users(qid, "qid")
    n_test, n_valid = _shares(np.array([sizes.size]), test, valid)
    draw = np.random.default_rng([_check.seed(seed), _GROUPS]).random(sizes.size)
    group_order = np.argsort(draw, kind="stable")
    part_of_group = np.zeros(sizes.size, np.int64)
    part_of_group[group_order[: n_test[0]]] = 1
    part_of_group[group_order[n_test[0] : n_test[0] + n_valid[0]]] = 2
    return _split(part_of_group[codes] == 1, part_of_group[codes] == 2)


def _split(is_test: NDArray[np.bool_], is_valid: NDArray[np.bool_]) -> Split:
    return Split(
        np.flatnonzero(~is_test & ~is_valid), np.flatnonzero(is_test), np.flatnonzero(is_valid)
    )


def _checked(split: Split, times: NDArray[Any], *, requires_test: bool) -> Split:
    """Raise if a split by time has no rows for training, or lacks requested rows for testing."""
    if not split.train.size:
        raise ArgumentError(
            f"by_time leaves no rows for training: all {times.size} rows are in the later parts. "
            "Rows of equal time stay together. Pass smaller shares, or a later at= or valid_at=."
        )
    if requires_test and not split.test.size:
        raise ArgumentError(
            f"by_time leaves none of the {times.size} rows for testing. Pass a larger test=, or an "
            f"at= that is not after the last time, {times.max()}."
        )
    return split


def _last(
    codes: NDArray[np.int64],
    sizes: NDArray[np.int64],
    keys: NDArray[Any],
    n_test: NDArray[np.int64],
    n_valid: NDArray[np.int64],
) -> Split:
    """Use each user's rows with the highest keys for testing, and the next ones for validation."""
    order = np.lexsort((keys, codes))
    ends = np.cumsum(sizes)
    n_later = np.empty(codes.size, np.int64)  # number of later rows of the same user
    n_later[order] = np.repeat(ends, sizes) - 1 - np.arange(codes.size)
    is_test = n_later < n_test[codes]
    return _split(is_test, ~is_test & (n_later < (n_test + n_valid)[codes]))


def _from(times: NDArray[Any], in_order: NDArray[Any], n_last: int) -> NDArray[np.bool_]:
    """Mark the last n rows by time, or all if n is larger, and rows of equal time with them."""
    if n_last == 0:
        return np.zeros(times.size, np.bool_)
    return times >= in_order[max(times.size - n_last, 0)]


def _shares(
    sizes: NDArray[np.int64], test: float, valid: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    test_share = _check.number(test, "test", low=0.0, high=1.0)
    valid_share = _check.number(valid, "valid", low=0.0, high=1.0)
    if test_share + valid_share >= 1:
        raise ArgumentError(f"test + valid must be < 1, got {test_share:g} + {valid_share:g}.")
    return _rounded(sizes, test_share), _rounded(sizes, valid_share)


def _rounded(sizes: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    # 0.29 * 100 is 28.999…, so a small number is added before rounding down.
    return np.floor(sizes * share + 1e-9).astype(np.int64)


def _users(user: Any, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a code for each row, and the number of rows of each code.

    Codes of texts such as "10" are in the order of the integers, because draws depend on it.
    """
    ids = to_ids(as_column(user, name, _SPLIT), name, _SPLIT)
    codes = codes_of(as_integers(ids) if isinstance(ids, pl.Series) else ids)[0]
    return codes, np.bincount(codes)


def _times(timestamp: Any) -> NDArray[Any]:
    """Return finite numbers, or datetime64 in UTC."""
    if getattr(getattr(timestamp, "dtype", None), "tz", None) is not None:  # from pandas
        timestamp = np.asarray(timestamp, "datetime64[ns]")
    column = as_column(timestamp, "timestamp", _SPLIT)
    if isinstance(column, pl.Series) or column.dtype.kind == "U":
        column = to_times(column, "timestamp", _SPLIT)
    if not column.size or column.dtype.kind not in "iufM":
        raise ArgumentError(
            f"timestamp must hold numbers or dates and times, got {column.size} values of "
            f"{column.dtype}."
        )
    missing = np.flatnonzero(np.isnat(column) if column.dtype.kind == "M" else np.isnan(column))
    if missing.size:
        raise ArgumentError(
            f"timestamp has {missing.size} missing value{'s' if missing.size > 1 else ''}, "
            f"first at row {missing[0]}. Drop those rows, or fill them."
        )
    return column


def _moment(at: Any, name: str, times: NDArray[Any]) -> Any:
    """Return the argument as a number or time that can be compared with the times."""
    if times.dtype.kind != "M":
        if isinstance(at, bool) or not isinstance(at, Real) or at != at:
            raise ArgumentError(f"{name} must be a number, as the timestamps are, got {at!r}.")
        return at
    try:
        moment = _as_datetime64(at)
    except (TypeError, ValueError):
        moment = np.datetime64("NaT")
    if np.isnat(moment):
        raise ArgumentError(f"{name} must be a date or time such as '2011-10-01', got {at!r}.")
    year = int(moment.astype("datetime64[Y]").astype(np.int64)) + 1970
    if np.datetime_data(times.dtype)[0] == "ns" and not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ArgumentError(
            f"{name} must be between {_FIRST_YEAR} and {_LAST_YEAR}, as times in nanoseconds are, "
            f"got {at!r}."
        )
    return moment


def _as_datetime64(at: Any) -> np.datetime64:
    """Return a date or time, in UTC if it has a zone."""
    if isinstance(at, str) and not _PLAIN.fullmatch(at):
        at = datetime.fromisoformat(at)  # NumPy would read 20120608 as a year
    if isinstance(at, datetime) and at.tzinfo is not None:
        at = at.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(at)
