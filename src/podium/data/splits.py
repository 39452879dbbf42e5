"""Splits: the rows for training, for validation and for testing.

All functions return positions of rows, increasing. Shares are rounded down to whole rows, so that
training always has rows. Random draws depend only on the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._text import counted
from podium.data.convert import as_integers, to_ids
from podium.data.ids import codes_of
from podium.data.source import Source, as_column
from podium.data.times import Times, keys_of, read_times
from podium.errors import ArgumentError, arg, warn
from podium.types import RowIndex

_TEST = 0.2  # the share of the rows for testing
_ROWS, _GROUPS = 1, 2  # parts of the seeds that separate the draws of rows and of groups
_SPLIT = Source("The split")

Sizes: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""The numbers of rows for testing and for validation."""


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
    timestamp: ArrayLike | Times,
    *,
    test: float | None = None,
    valid: float = 0.0,
    at: Any = None,
    valid_at: Any = None,
) -> Split:
    """Split rows by time: the latest rows for testing, and the rows before them for validation.

    Parameters
    ----------
    timestamp : (n_rows,)
        Numbers, or dates and times, of any type or unit. Integers and dates are compared exactly.
    test, valid : float, optional
        The shares of rows, in [0, 1), 0.2 and 0 by default. Rows of equal time are in the same
        part. A part can therefore be larger than its share.
    at, valid_at : number, or date or time, optional
        The times at which the test and validation parts begin, instead of shares. A time without a
        zone is by the clock of the timestamps: local time if they have a zone. A time with a zone
        requires timestamps with a zone.

    Returns
    -------
    Split
        The positions of the rows.

    Raises
    ------
    ArgumentError
        If no row remains for training, no row remains for testing (unless test is 0), a time is
        missing, both a share and a time are given for a part, or valid_at is not before the test
        part.

    Examples
    --------
    >>> split = by_time([10, 40, 20, 30, 40], test=0.2)
    >>> split.train.tolist(), split.test.tolist()
    ([0, 2, 3], [1, 4])
    >>> by_time([10, 40, 20, 30, 40], at=25).test.tolist()
    [1, 3, 4]
    """
    refuse_both({"test": test, "valid": valid or None}, {"at": at, "valid_at": valid_at})
    share = _TEST if test is None and at is None else test or 0.0
    times = _times(timestamp)
    n_test, n_valid = _shares(np.array([len(times)]), share, valid)
    keys = keys_of(times)[0]
    sorted_keys = np.sort(keys)
    is_test = _from(keys, sorted_keys, int(n_test[0])) if at is None else _since(times, at, "at")
    if valid_at is not None:
        is_valid = _since(times, valid_at, "valid_at")
        if (is_test & ~is_valid).any():
            first = int(np.flatnonzero(is_test)[np.argmin(keys[is_test])])
            raise ArgumentError(
                f"{arg.valid_at} must come before the test part, got {valid_at!r}, but the test "
                f"part begins at {times.label(first)}."
            )
    else:
        n_last = int(is_test.sum()) + int(n_valid[0])
        is_valid = _from(keys, sorted_keys, n_last) if n_valid[0] else is_test
    split = _split(is_test, is_valid & ~is_test)
    last = times.label(int(np.argmax(keys)))
    return _checked(split, last, requires_test=at is not None or share > 0)


def by_time_per_user(
    user: ArrayLike, timestamp: ArrayLike | Times, *, test: float = _TEST, valid: float = 0.0
) -> Split:
    """Split the rows of each user by time: the latest for testing, those before for validation.

    Parameters
    ----------
    user, timestamp : (n_rows,)
        Ids, and numbers or dates and times. Rows of a user with equal times are in row order, and
        a warning counts the users whose parts depend on it.
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
    return _latest(user, timestamp, lambda sizes: _shares(sizes, test, valid))


def leave_last_out(
    user: ArrayLike, timestamp: ArrayLike | Times, *, n: int = 1, n_valid: int = 0
) -> Split:
    """Split off the last n rows of each user for testing, and n_valid before them for validation.

    Parameters
    ----------
    user, timestamp : (n_rows,)
        Ids, and numbers or dates and times. Rows of a user with equal times are in row order, and
        a warning counts the users whose parts depend on it.
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
    counts = (
        _check.cutoff(n, name="n"),
        0 if n_valid == 0 else _check.cutoff(n_valid, name="n_valid"),
    )

    def of_users(sizes: NDArray[np.int64]) -> Sizes:
        n_test, n_before = (np.where(sizes > sum(counts), count, 0) for count in counts)
        return n_test, n_before

    return _latest(user, timestamp, of_users)


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
        raise ArgumentError(f"{arg.user} must have n_rows={count} values, got {codes.size}.")
    later = _shares(sizes, test, valid)
    draw = np.random.default_rng([_check.seed(seed), _ROWS]).random(count)
    return _last(codes, np.lexsort((draw, codes)), later)


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


def refuse_both(shares: Mapping[str, Any], moments: Mapping[str, Any]) -> None:
    """Raise if the size of a part is given and also the time at which it begins."""
    for (share, size), (moment, at) in zip(shares.items(), moments.items(), strict=True):
        if size is not None and at is not None:
            raise ArgumentError(f"{arg[share]} and {arg[moment]} exclude each other. Keep one.")


def _checked(split: Split, last: str, *, requires_test: bool) -> Split:
    """Raise if a split by time has no rows for training, or lacks requested rows for testing."""
    n_rows = split.train.size + split.valid.size + split.test.size
    if not split.train.size:
        raise ArgumentError(
            f"by_time leaves no rows for training: all {n_rows} rows are in the later parts. Rows "
            f"of equal time stay together. Pass smaller shares, or a later {arg.at()} or "
            f"{arg.valid_at()}."
        )
    if requires_test and not split.test.size:
        raise ArgumentError(
            f"by_time leaves none of the {n_rows} rows for testing. Pass a larger {arg.test()}, or "
            f"an earlier {arg.at()}: the last time is {last}."
        )
    return split


def _latest(user: Any, timestamp: Any, later: Callable[[NDArray[np.int64]], Sizes]) -> Split:
    """Use each user's latest rows, and warn if equal times leave open which these are.

    `later` returns the sizes of the later parts from the numbers of rows of all users.
    """
    codes, sizes = _users(user, "user")
    times = _times(timestamp)
    _check.equal_length(user=codes, timestamp=times)
    n_test, n_valid = later(sizes)
    keys = keys_of(times)[0]
    order = np.lexsort((keys, codes))
    starts, ends = np.cumsum(sizes) - sizes, np.cumsum(sizes)
    is_open = np.zeros(sizes.size, np.bool_)
    for n_later in (n_test, n_test + n_valid):
        first = ends - n_later  # the place of the first row of the later parts
        is_cut = (first > starts) & (first < ends)
        before, after = order[first[is_cut] - 1], order[first[is_cut]]
        is_open[is_cut] |= keys[before] == keys[after]
    if is_open.any():
        warn(
            f"For {counted(int(is_open.sum()), 'users')} of {sizes.size:,}, rows of equal time are "
            "in different parts, as the order of the rows decides. Sort the rows of equal time to "
            "choose another order, or split by one moment for all users, which keeps them together."
        )
    return _last(codes, order, (n_test, n_valid))


def _last(codes: NDArray[np.int64], order: NDArray[np.int64], later: Sizes) -> Split:
    """Use the last rows of each user in an order for testing, and those before for validation."""
    sizes, (n_test, n_valid) = np.bincount(codes), later
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


def _since(times: Times, at: Any, name: str) -> NDArray[np.bool_]:
    """Mark the rows that are not before a moment."""
    keys, first = keys_of(times, times.moment(at, name))
    return keys >= first[0]


def _shares(sizes: NDArray[np.int64], test: float, valid: float) -> Sizes:
    test_share = _check.number(test, "test", low=0.0, high=1.0)
    valid_share = _check.number(valid, "valid", low=0.0, high=1.0)
    if test_share + valid_share >= 1:
        raise ArgumentError(
            f"{arg.test} + {arg.valid} must be < 1, got {test_share:g} + {valid_share:g}."
        )
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


def _times(timestamp: Any) -> Times:
    """Return times, of which there is at least one."""
    times = read_times(timestamp, "timestamp", _SPLIT)
    if not len(times):
        raise ArgumentError(f"{arg.timestamp} must hold numbers or dates and times, got 0 values.")
    return times
