"""The split of a table of events into files: training, validation and test part, and a record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from podium import __version__, _check
from podium._files import Named, is_stream, making, refuse_same
from podium.data import splits
from podium.data.appending import atomic, writing
from podium.data.columns import ITEM, TIMESTAMP, USER, Kind, column_list, missing, resolve
from podium.data.convert import EXACT, as_integers, to_ids
from podium.data.delimited import typed
from podium.data.ids import codes_of
from podium.data.source import POLARS, Column, Source
from podium.data.tables import open_table
from podium.data.times import Times, read_times
from podium.errors import ArgumentError, DataError, arg
from podium.types import RowIndex

BY = ("time", "user-time", "leave-last", "random", "user-random", "group")
"""The ways to split: `splits.by_time`, `by_time_per_user`, `leave_last_out`, `random` over all rows
and per user, and `by_group`."""

_TEST = 0.2  # the share of the test part
RECORD = "split.json"
_TIMED = ("time", "user-time", "leave-last")
_DRAWN = ("random", "user-random", "group")


@dataclass(frozen=True)
class How:
    """How to split a table of events.

    Attributes
    ----------
    by : str
        One of `BY`.
    test, valid : float, optional
        The shares of rows, or of groups with "group". With "leave-last", the numbers of rows per
        user. The default is 0.2 (or 1 row) for testing, and none for validation.
    at, valid_at : number, or text of a date or time, optional
        The times at which the parts begin, for "time".
    seed : int, optional
        The seed of random splits, 0 by default.
    least : int
        Users with fewer events are left out.
    group : str, optional
        The column of groups, for "group"; that of users by default.
    """

    by: str
    test: float | None = None
    valid: float | None = None
    at: Any = None
    valid_at: Any = None
    seed: int | None = None
    least: int = 1
    group: str | None = None

    def check(self) -> None:
        """Raise an ArgumentError if arguments are invalid or contradict each other."""
        _check.choice(self.by, "by", BY)
        _check.cutoff(self.least, name="least")
        _check.seed(self.seed or 0)
        given = asdict(self)
        readers = {"at": ("time",), "valid_at": ("time",), "seed": _DRAWN, "group": ("group",)}
        for name, ways in readers.items():
            if given[name] is not None and self.by not in ways:
                raise ArgumentError(
                    f"{arg[name]} has no effect with {arg.by(self.by)}. Leave it out, or use it "
                    f"with {_check.listed(ways)}."
                )
        splits.refuse_both(
            {"test": self.test, "valid": self.valid}, {"at": self.at, "valid_at": self.valid_at}
        )
        if self.by == "leave-last":
            for name in ("test", "valid"):
                _whole(given[name], name)
        elif self.test == 0:
            raise ArgumentError(
                f"{arg.test} must be > 0, because the test part would have no rows."
            )

    def sizes(self) -> dict[str, Any]:
        """Return the sizes of the parts as arguments of the functions in `splits`."""
        if self.by == "leave-last":
            return {"n": _whole(self.test, "test") or 1, "n_valid": _whole(self.valid, "valid")}
        test = _TEST if self.test is None and self.at is None else self.test
        return {"valid": self.valid or 0.0, **({} if test is None else {"test": test})}

    def options(self) -> dict[str, Any]:
        """Return the options with their defaults, without the seed and without those not given."""
        values = asdict(self)
        if self.by == "leave-last":
            values["test"] = values["test"] or 1
        elif self.at is None:
            values["test"] = self.sizes()["test"]
        del values["seed"]
        return {name: value for name, value in values.items() if value is not None}

    @property
    def asks_valid(self) -> bool:
        """Whether a validation part is requested."""
        return bool(self.valid) or self.valid_at is not None


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a table of events, with the caller's columns, and how they were made.

    Attributes
    ----------
    frames : dict of str to frame
        "train", "test" and, if requested, "valid".
    record : dict
        The input with its checksum, the options, and the numbers of rows, users and items.
    """

    frames: dict[str, pl.DataFrame]
    record: dict[str, Any]

    def write(self, folder: str | Path) -> None:
        """Write one parquet file per part, and `split.json`, into a folder; all or none of them.

        The folder is made if it does not exist. Files of an earlier split are replaced.

        Raises
        ------
        ArgumentError
            If a file to write is the file that was read.
        DataError
            If the folder or a file can't be written.
        """
        target = Path(folder)
        names = {part: target / f"{part}.parquet" for part in self.frames}
        written = [Named("the part", path) for path in (*names.values(), target / RECORD)]
        source = self.record["input"]["path"]
        refuse_same([] if source is None else [Named("the table", Path(source))], written)
        POLARS.enter()
        with (
            writing(target),
            making(target),
            ExitStack() as files,
        ):  # all are complete before the first is moved
            place = files.enter_context(atomic(target / RECORD))
            place.write_text(json.dumps(self.record, indent=2) + "\n", encoding="utf-8")
            for part, path in names.items():
                self.frames[part].write_parquet(files.enter_context(atomic(path)))
        if "valid" not in self.frames:  # of an earlier split
            (target / "valid.parquet").unlink(missing_ok=True)


def split_events(
    source: Any,
    how: How,
    *,
    user: str | None = None,
    item: str | None = None,
    timestamp: str | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Parts:
    """Split a table of events; the rows keep all columns, their names and their ids.

    Parameters
    ----------
    source : path, frame or mapping of columns
        The table, see `podium.data`.
    how : How
        The way to split and its options.
    user, item, timestamp : str, optional
        The names of columns without a usual name.
    format, columns
        The format of a file, and the names of columns of a text file without a header; see
        `podium.data.read_interactions`.

    Returns
    -------
    Parts
        The parts and the record.

    Raises
    ------
    ArgumentError
        If an option is invalid, or a part would have no rows.
    DataError
        If the table is wrong, or lacks the column of times that the split needs.

    Examples
    --------
    >>> events = {"userId": [1, 1, 2, 2], "movieId": [5, 6, 5, 7], "timestamp": [1, 2, 3, 4]}
    >>> parts = split_events(events, How("time", test=0.25))
    >>> parts.frames["test"].rows()
    [(2, 7, 4)]
    """
    how.check()
    roles = (USER, ITEM, TIMESTAMP)
    given = {"user": user, "item": item, "timestamp": timestamp}
    table = open_table(source, "interactions", roles, given, format, columns)
    is_timed = how.by in _TIMED
    _refuse_lacking(table, how.group, timed=is_timed)
    names = table.resolve(roles)
    frame, times = read_events(table, names, how.group, timed=is_timed)
    chosen = _frequent(frame[names["user"]], names["user"], how.least)
    events = frame if chosen is None else frame[chosen]
    times = times if times is None or chosen is None else times.rows(chosen)
    parts = _frames(events, _divided(events, times, names["user"], how), how)
    record = {
        "podium": __version__,
        "input": _described(source, table, frame),
        "columns": names,
        "options": how.options(),
        "seed": (how.seed or 0) if how.by in _DRAWN else None,
        "rows_left_out": frame.height - events.height,
        "parts": {part: _counts(rows, names) for part, rows in parts.items()},
    }
    return Parts(parts, record)


def _counts(frame: pl.DataFrame, names: dict[str, str]) -> dict[str, int]:
    users, items = frame[names["user"]].n_unique(), frame[names["item"]].n_unique()
    return {"rows": frame.height, "users": users, "items": items}


def _frequent(users: pl.Series, name: str, least: int) -> RowIndex | None:
    """Return the rows of users with at least so many events, or None for all."""
    if least == 1:
        return None
    codes = codes_of(to_ids(users, name, Source(name)))[0]
    rows = np.flatnonzero(np.bincount(codes)[codes] >= least)
    if not rows.size:
        raise ArgumentError(
            f"{arg.least(least)} leaves no rows: every user has fewer events. Lower {arg.least}."
        )
    return rows


def _divided(frame: pl.DataFrame, times: Times | None, user_name: str, how: How) -> splits.Split:
    user, sizes = frame[user_name], how.sizes()
    seed = how.seed or 0
    if times is not None:
        if how.by == "time":
            return splits.by_time(times, **sizes, at=how.at, valid_at=how.valid_at)
        way: Callable[..., splits.Split] = (
            splits.by_time_per_user if how.by == "user-time" else splits.leave_last_out
        )
        return way(user, times, **sizes)
    if how.by == "group":
        return splits.by_group(frame[how.group or user_name], **sizes, seed=seed)
    per_user = user if how.by == "user-random" else None
    return splits.random(frame.height, user=per_user, **sizes, seed=seed)


def _frames(frame: pl.DataFrame, split: splits.Split, how: How) -> dict[str, pl.DataFrame]:
    """Return the parts, or raise if one that is requested has no rows."""
    names = ["train", "test", *(["valid"] if how.asks_valid else [])]
    rows = {"train": split.train, "test": split.test, "valid": split.valid}
    empty = next((part for part in names if not rows[part].size), None)
    if empty is not None:
        raise ArgumentError(
            f"The {empty} part would have no rows: {arg.by(how.by)} divides {frame.height} rows "
            f"into {split.train.size} for training, {split.valid.size} for validation and "
            f"{split.test.size} for testing. Change {arg.test} and {arg.valid}, or the way to "
            "split."
        )
    return {part: frame[positions] for part, positions in rows.items() if part in names}


def _described(source: Any, table: Source, frame: pl.DataFrame) -> dict[str, Any]:
    """Return the name, checksum and number of rows of the input."""
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and is_stream(path):  # which can't be read again
        path = None
    return {
        "path": None if path is None else str(path),
        "sha256": None if path is None else _checksum(path),
        "rows": frame.height,
        "columns": list(table.names),
    }


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _whole(number: float | None, name: str) -> int:
    """Return a number of rows per user, 0 for None."""
    if number is None or (number == 0 and name == "valid"):
        return 0
    if not (1 <= number < EXACT and float(number).is_integer()):
        raise ArgumentError(
            f"{arg[name]} must be a number of rows per user with {arg.by('leave-last')}, got "
            f"{number!r:.20}."
        )
    return int(number)


def _refuse_lacking(table: Source, group: str | None, *, timed: bool) -> None:
    """Raise with all columns that the table lacks."""
    needed = (USER, ITEM, TIMESTAMP) if timed else (USER, ITEM)
    absent = [
        role
        for role in needed
        if role.name not in table.named
        and not resolve(table.names, (replace(role, required=False),), {}, table.name)
    ]
    given = [name for name in (*table.named.values(), group) if name is not None]
    unknown = [repr(name) for name in given if name not in table.names]
    if len(unknown) + len(absent) > 1 and unknown:
        words = [
            *(f"no {role.name} column" for role in absent),
            *(f"no column {n}" for n in unknown),
        ]
        raise DataError(
            f"{table.name} has {', '.join(words[:-1])} and {words[-1]}: "
            f"{column_list(table.names)}. Give the names of these columns in the table."
        )
    if absent:
        raise missing(table.names, absent, table.name)
    if group is not None and group not in table.names:
        raise DataError(
            f"{table.name} has no column {group!r} for "
            f"{arg.group}.{_check.nearest(group, table.names)}"
        )


def read_events(
    table: Source, names: Mapping[str, str], group: str | None, *, timed: bool
) -> tuple[pl.DataFrame, Times | None]:
    """Return all columns, users and items as they are read everywhere, and the times to split by.

    Times are read from the table's own values, before the values of texts are guessed.
    """
    time = names["timestamp"] if timed else None
    ids = [names["user"], names["item"], *([] if group is None else [group])]
    kinds: dict[str, Kind] = dict.fromkeys(table.names, "id" if table.text else "any")
    columns = table.fetch(kinds)
    _refuse_missing({name: columns[name] for name in [*ids, *([time] if time else [])]}, table)
    times = None
    if time is not None and columns and len(columns[time]):
        own = columns if table.text else table.fetch({time: "time"})
        times = read_times(own[time], time, table)
    frame: dict[str, Any] = {}
    for name, column in columns.items():
        if name in ids:
            guess = not (table.text_ids and name == names["item"])
            frame[name] = to_ids(column, name, table, guess=guess)
        else:
            frame[name] = _value(pl.Series(column)) if table.text else column
    read = pl.DataFrame(frame)
    if not read.height:
        raise DataError(f"{table.name} has no rows. Pass a table with rows.")
    return read, times


def _refuse_missing(columns: Mapping[str, Column], table: Source) -> None:
    """Raise with all columns that lack values, if there are several."""
    nulls = {name: pl.Series(column).is_null() for name, column in columns.items()}
    lacking = {name: is_null for name, is_null in nulls.items() if is_null.any()}
    if len(lacking) > 1:
        places = [
            f"{name} has {is_null.sum()} (first at {table.place_of(int(is_null.arg_max() or 0))})"
            for name, is_null in lacking.items()
        ]
        raise DataError(
            f"{table.name} has missing values in {len(lacking)} columns: {', '.join(places)}. Drop "
            "those rows, or fill them."
        )


def _value(texts: pl.Series) -> Any:
    """Return numbers if all texts are numbers; codes such as 007 and long integers stay texts."""
    if texts.dtype != pl.String:
        return texts
    if texts.drop_nulls().str.contains(r"^\s*[-+]?0\d").any():
        return texts if texts.null_count() else as_integers(texts)
    numbers = typed(texts)
    if numbers.dtype != pl.Float64:
        return numbers
    is_integer = texts.str.contains(r"^\s*[-+]?\d+\s*$")
    return texts if (is_integer & (numbers.abs() >= EXACT)).any() else numbers
