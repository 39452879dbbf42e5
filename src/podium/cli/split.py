"""The command podium split: training, validation and test part of a table of events."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from podium.cli import _messages
from podium.cli._options import WRITTEN, ColumnNames, EventFile

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Parts:
    """Options of the parts.

    Parameters
    ----------
    by : HOW
        How the events of the test part are selected:

        time: the latest events;

        user-time: the latest events of each user;

        leave-last: the last N events of each user;

        random: random events;

        user-random: random events of each user;

        group: all events of random users.
    test : P|N
        Share of the events in the test part; with group, share of the users; with leave-last,
        number of events per user. Default: 0.2; with leave-last 1.
    valid : P|N
        The same for a validation part. Default: no such part.
    at : TIME
        With --by time, the time at which the test part begins, instead of --test: a number, or a
        date or time such as 2011-10-01, by the clock of the column of times.
    valid_at : TIME
        With --by time, the time at which the validation part begins, instead of --valid.
    seed : N
        Seed of random splits. Default: 0.
    least : N
        Drop users with fewer than N events.
    where : SQL
        Keep only the events for which an SQL expression of Polars is true, such as "Quantity > 0"
        or "Code NOT IN ('POST', 'M')".
    drop_missing
        Drop events without a user, an item or a time.
    unique : HOW
        Row that each part keeps of a user's repeated events with an item: first or last, by time;
        or count, which is the last one, with the number of events as its weight.
    pairs : TASK
        Pairs of users and items to predict. new: pairs that the user had in an earlier part are
        dropped from the test and validation parts. repeat: the other pairs are dropped. all: all
        pairs are kept. podium recommend leaves out a user's items of the training part with new,
        and keeps them with repeat and all.
    """

    panel: ClassVar[str] = "Parts"

    by: str
    test: float | None = None
    valid: float | None = None
    at: str | None = None
    valid_at: str | None = None
    seed: int | None = None
    least: int = 1
    where: str | None = None
    drop_missing: bool = False
    unique: str | None = None
    pairs: Annotated[str | None, typer.Option("--task")] = None


@dataclass(frozen=True)
class Columns(ColumnNames):
    """The names of columns that differ from the default names."""

    roles: ClassVar[tuple[str, ...]] = ("user", "item", "timestamp", "rating", "weight")


def split(
    *,
    events: Annotated[Path, typer.Argument()],
    out: Annotated[Path, WRITTEN, typer.Option("--out", "-o")],
    parts: Parts,
    columns: Columns,
    file: EventFile,
) -> None:
    """Split a table of events into a training, a test and, if requested, a validation part.

    The columns of the parts have their standard names: user, item, timestamp, rating or weight. All
    ids and other columns of EVENTS are kept. split.json contains the options, the task, the seed,
    the checksum of EVENTS, the number of dropped events by reason, and the numbers of rows, users
    and items of each part.

    Example: podium split ratings.csv --by user-time --test 0.2 --out parts

    Parameters
    ----------
    events : EVENTS
        Table with one row per event: user, item and, for a split by time, timestamp.
    out : DIR
        Folder for train.parquet, test.parquet, valid.parquet and split.json.
    """
    from podium.data.splitting import How, split_events

    names = columns.names_by_role()
    result = split_events(events, How(**vars(parts)), **names, **file.of_file())
    result.write(out)
    typer.echo(_table(result.record["parts"]))
    for note in _notes(result.record, result.frames):
        _messages.say(note)
    _messages.say(f"wrote {out}")


def _table(counts: dict[str, dict[str, int]]) -> str:
    from podium.report.tables import to_text

    rows = [[part, *map(str, numbers.values())] for part, numbers in counts.items()]
    return to_text({"columns": ["part", "rows", "users", "items"], "rows": rows})


_REASONS = {
    "drop_missing": "without a user, an item or a time",
    "where": "by --where",
    "least": "of users with too few events",
    "unique": "that repeat a pair in their part",
    "task": "by --task",
}
_TASKS = {
    None: "podium recommend leaves out such items. State the task with --task new, repeat or all",
    "new": "--task new drops them",
    "repeat": "--task repeat keeps only them",
    "all": "--task all keeps them",
}


def _notes(record: dict[str, Any], frames: dict[str, pl.DataFrame]) -> list[str]:
    """Return the numbers of dropped rows, of pairs that users had, and of users without history."""
    notes, dropped = list[str](), record["dropped"]
    if any(dropped.values()):
        reasons = "; ".join(f"{n:,} {_REASONS[reason]}" for reason, n in dropped.items() if n)
        n_rows, n_dropped = record["input"]["rows"], sum(dropped.values())
        notes.append(f"{n_dropped:,} of {n_rows:,} rows dropped: {reasons}.")
    for part, share in record["had_before"].items():
        if share:
            repeats = f"{100 * share:.3g} % of the pairs of the {part} part repeat earlier ones"
            notes.append(f"{repeats}; {_TASKS[record['task']]}.")
    known = set(frames["train"]["user"].unique())
    parts = () if record["options"]["by"] == "group" else ("valid", "test")  # groups share no users
    for part in parts:
        users = set(frames[part]["user"].unique()) if part in frames else set[Any]()
        n_new = len(users - known)
        if n_new:
            notes.append(f"{n_new} of {len(users)} users of the {part} part have no training row.")
    return notes
