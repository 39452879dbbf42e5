"""The split of a table of events into files: training, validation and test part, and a record.

The table is read, and rows are dropped as requested; then they are divided.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import __version__, _check
from podium._files import Named, is_stream, making, refuse_same
from podium.data import splits
from podium.data.appending import atomic, writing
from podium.data.columns import SPLIT, missing, standard_names
from podium.data.convert import EXACT, to_ids
from podium.data.event_rows import kept_rows, one_row, read_events
from podium.data.ids import codes_of, pair_codes
from podium.data.source import POLARS, Source
from podium.data.tables import open_table
from podium.data.times import Times
from podium.errors import ArgumentError, arg
from podium.types import RowIndex

BY = ("time", "user-time", "leave-last", "random", "user-random", "group")
"""The ways to split: `splits.by_time`, `by_time_per_user`, `leave_last_out`, `random` over all rows
and per user, and `by_group`."""

UNIQUE = ("first", "last", "count")
"""The rows of a pair that a part keeps: the first one, the last one, or the last one with the
number of rows as its weight."""

PAIRS = ("new", "repeat", "all")
"""The pairs of the later parts: those that their user did not have before, those that the user had,
or all pairs."""

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
        The shares of rows, or of users with "group". With "leave-last", the numbers of rows per
        user. The default is 0.2 (or 1 row) for testing, and none for validation.
    at, valid_at : number, or text of a date or time, optional
        The times at which the parts begin, for "time".
    seed : int, optional
        The seed of random splits, 0 by default.
    least : int
        Users with fewer events are left out.
    drop_missing : bool
        Whether rows without a user, an item or a time are dropped first.
    where : str, optional
        An SQL expression of Polars, such as "Quantity > 0". Rows for which it is not true are
        dropped first.
    unique : {"first", "last", "count"}, optional
        The row that each part keeps of a pair with several rows: the first or last one by time (by
        row, without times), or the last one, with the number of rows as its weight.
    pairs : {"new", "repeat", "all"}, optional
        The task. With "new", the pairs that a user had in an earlier part are dropped from the test
        and validation parts. With "repeat", the others are dropped.
    """

    by: str
    test: float | None = None
    valid: float | None = None
    at: Any = None
    valid_at: Any = None
    seed: int | None = None
    least: int = 1
    drop_missing: bool = False
    where: str | None = None
    unique: str | None = None
    pairs: str | None = None

    def check(self) -> None:
        """Raise an ArgumentError if arguments are invalid or contradict each other."""
        _check.choice(self.by, "by", BY)
        _check.cutoff(self.least, name="least")
        _check.seed(self.seed or 0)
        _check.flag(self.drop_missing, "drop_missing")
        for name, ways in (("unique", UNIQUE), ("pairs", PAIRS)):
            if vars(self)[name] is not None:
                _check.choice(vars(self)[name], name, ways)
        given = asdict(self)
        readers = {"at": ("time",), "valid_at": ("time",), "seed": _DRAWN}
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
        del values["seed"], values["pairs"]
        return {name: value for name, value in values.items() if value not in (None, False)}

    @property
    def asks_valid(self) -> bool:
        """Whether a validation part is requested."""
        return bool(self.valid) or self.valid_at is not None


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a table of events, and how they were made.

    Attributes
    ----------
    frames : dict of str to frame
        "train", "test" and, if requested, "valid".
    record : dict
        The input with its checksum, the options, the task, the number of dropped rows by reason,
        the share of each later part's pairs that their user had before, and the numbers of rows,
        users and items.
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
    rating: str | None = None,
    weight: str | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Parts:
    """Split a table of events.

    The columns of users, items, times, ratings and weights get their standard names: user, item,
    timestamp, rating and weight. The rows keep all columns and their ids.

    Parameters
    ----------
    source : path, frame or mapping of columns
        The table, see `podium.data`.
    how : How
        The way to split and its options.
    user, item, timestamp : str, optional
        The names of columns without a usual name.
    rating, weight : str, optional
        The name of the column of ratings, or of weights of the events.
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
    >>> parts.frames["test"].to_dicts()
    [{'user': 2, 'item': 7, 'timestamp': 4}]
    """
    how.check()
    given = {"user": user, "item": item, "timestamp": timestamp, "rating": rating, "weight": weight}
    is_counted = how.unique == "count"
    splits.refuse_both({"rating": rating}, {"weight": weight})
    for role, name in (("rating", rating), ("weight", weight)):
        splits.refuse_both({role: name}, {"unique": is_counted or None})
    table = open_table(source, "interactions", SPLIT, given, format, columns)
    is_timed = how.by in _TIMED
    names = _columns(table, timed=is_timed)
    needed = [names[role.name] for role in SPLIT[:3] if role.name in names]
    kept, dropped = kept_rows(table, needed, where=how.where, drop_missing=how.drop_missing)
    has_order = is_timed or (how.unique is not None and "timestamp" in names)
    frame, times = read_events(kept, names, timed=has_order)
    described = _described(source, table, frame.height + sum(dropped.values()))
    chosen = _frequent(frame[names["user"]], names["user"], how.least)
    if chosen is not None:
        dropped["least"] = frame.height - chosen.size
        frame, times = frame[chosen], None if times is None else times.rows(chosen)
    split = _divided(frame, times if is_timed else None, names["user"], how)
    _refuse_empty(frame, split, how)
    renamed = standard_names(table.names, names, counted=is_counted)
    parts, shares = _parts(frame.rename(renamed), split, times, how, dropped)
    record = {
        "podium": __version__,
        "input": described,
        "columns": {new: old for old, new in renamed.items()},
        "options": how.options(),
        "task": how.pairs,
        "seed": (how.seed or 0) if how.by in _DRAWN else None,
        "dropped": dropped,
        "had_before": shares,
        "parts": {part: _counts(rows) for part, rows in parts.items()},
    }
    return Parts(parts, record)


def task_of(part: str | Path) -> str | None:
    """Return the task, one of `PAIRS`, of the split that has written a file; None without one."""
    task = _record_of(part).get("task")
    return task if task in PAIRS else None


def earlier_parts(part: str | Path) -> pl.DataFrame | None:
    """Return the events of the parts before a part, if a split by time has written its file."""
    record, path = _record_of(part), Path(part)
    earlier = {"valid": ["train"], "test": ["train", "valid"]}.get(path.stem, [])
    if not earlier or record.get("options", {}).get("by") != "time":
        return None
    files = [path.with_stem(name) for name in earlier if name in record["parts"]]
    POLARS.enter()
    frames = [pl.read_parquet(file) for file in files if file.is_file()]
    names = [name for name in ("user", "item", "timestamp") if all(name in f for f in frames)]
    return pl.concat([frame.select(names) for frame in frames]) if frames else None


def _record_of(part: str | Path) -> dict[str, Any]:
    """Return the record of the split that has written a file; empty without one."""
    path = Path(part)
    try:
        record = json.loads((path.parent / RECORD).read_text(encoding="utf-8"))
        return record if path.suffix == ".parquet" and path.stem in record["parts"] else {}
    except (OSError, ValueError, LookupError, TypeError):  # there is none, or it is another file
        return {}


def _parts(
    frame: pl.DataFrame,
    split: splits.Split,
    times: Times | None,
    how: How,
    dropped: dict[str, int],
) -> tuple[dict[str, pl.DataFrame], dict[str, float]]:
    """Return the parts, and the share of each later part's pairs that their user had before.

    The numbers of the rows that are dropped are added to `dropped`.
    """
    pairs = pair_codes(*(to_ids(frame[role], role, Source(role)) for role in ("user", "item")))
    parts, shares, earlier = dict[str, pl.DataFrame](), dict[str, float](), pairs[:0]
    for part in ("train", "valid", "test") if how.asks_valid else ("train", "test"):
        rows: RowIndex = vars(split)[part]
        in_part, n_rows, counts = np.unique(pairs[rows]), rows.size, None
        if how.unique is not None:
            rows, counts = one_row(rows, pairs, times, how.unique)
            dropped["unique"] = dropped.get("unique", 0) + n_rows - rows.size
        weights = {"weight": counts} if how.unique == "count" else {}
        parts[part] = frame[rows].with_columns(**weights)
        if part != "train":
            shares[part] = float(np.isin(in_part, earlier).mean())
            had = np.isin(pairs[rows], earlier)
            if how.pairs in ("new", "repeat"):
                parts[part] = _of_task(parts[part], had, how.pairs, part)
                dropped["task"] = dropped.get("task", 0) + rows.size - parts[part].height
        earlier = np.union1d(earlier, in_part)
    return {part: parts[part] for part in ("train", "test", "valid") if part in parts}, shares


def _of_task(frame: pl.DataFrame, had: NDArray[np.bool_], pairs: str, part: str) -> pl.DataFrame:
    """Return the rows of a later part whose pairs are new, or which the user had before."""
    is_kept = had if pairs == "repeat" else ~had
    if not is_kept.any():
        raise ArgumentError(
            f"{arg.pairs(pairs)} keeps no row of the {part} part: of its {had.size:,} rows, "
            f"{had.sum():,} are of pairs that their user had before. Choose another task."
        )
    return frame.filter(is_kept)


def _counts(frame: pl.DataFrame) -> dict[str, int]:
    users, items = frame["user"].n_unique(), frame["item"].n_unique()
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
        return splits.by_group(user, **sizes, seed=seed)
    per_user = user if how.by == "user-random" else None
    return splits.random(frame.height, user=per_user, **sizes, seed=seed)


def _refuse_empty(frame: pl.DataFrame, split: splits.Split, how: How) -> None:
    """Raise if a part that is requested has no rows."""
    names = ("train", "test", "valid") if how.asks_valid else ("train", "test")
    empty = next((part for part in names if not vars(split)[part].size), None)
    if empty is not None:
        raise ArgumentError(
            f"The {empty} part would have no rows: {arg.by(how.by)} divides {frame.height} rows "
            f"into {split.train.size} for training, {split.valid.size} for validation and "
            f"{split.test.size} for testing. Change {arg.test} and {arg.valid}, or the way to "
            "split."
        )


def _described(source: Any, table: Source, n_rows: int) -> dict[str, Any]:
    """Return the name, checksum and number of rows of the input."""
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and is_stream(path):  # which can't be read again
        path = None
    return {
        "path": None if path is None else str(path),
        "sha256": None if path is None else _checksum(path),
        "rows": n_rows,
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


def _columns(table: Source, *, timed: bool) -> dict[str, str]:
    """Return the name of the column of each role, or raise with all roles that have none."""
    names = table.resolve([replace(role, required=False) for role in SPLIT])
    absent = [role for role in SPLIT[: 3 if timed else 2] if role.name not in names]
    if absent:
        raise missing(table.names, absent, table.name)
    return names
