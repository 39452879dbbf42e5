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

        group: all events of random users, or of random values of --column group=NAME.
    test : P|N
        Share of the events in the test part; with group, share of the groups; with leave-last,
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
        Leave out users with fewer than N events.
    """

    panel: ClassVar[str] = "Parts"

    by: str
    test: float | None = None
    valid: float | None = None
    at: str | None = None
    valid_at: str | None = None
    seed: int | None = None
    least: int = 1


@dataclass(frozen=True)
class Columns(ColumnNames):
    """The names of columns that differ from the default names."""

    roles: ClassVar[tuple[str, ...]] = ("user", "item", "timestamp", "group")


def split(
    *,
    events: Annotated[Path, typer.Argument()],
    out: Annotated[Path, WRITTEN, typer.Option("--out", "-o")],
    parts: Parts,
    columns: Columns,
    file: EventFile,
) -> None:
    """Split a table of events into a training, a test and, if requested, a validation part.

    All columns and ids of EVENTS are kept. split.json contains the options, the seed, the checksum
    of EVENTS, and the numbers of rows, users and items of each part.

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
    result = split_events(
        events,
        How(**vars(parts), group=names.pop("group", None)),
        **names,
        **file.of_file(),
    )
    result.write(out)
    typer.echo(_table(result.record["parts"]))
    for note in _notes(result.record, result.frames):
        _messages.say(note)
    _messages.say(f"wrote {out}")


def _table(counts: dict[str, dict[str, int]]) -> str:
    from podium.report.tables import to_text

    rows = [[part, *map(str, numbers.values())] for part, numbers in counts.items()]
    return to_text({"columns": ["part", "rows", "users", "items"], "rows": rows})


def _notes(record: dict[str, Any], frames: dict[str, pl.DataFrame]) -> list[str]:
    """Return the number of rows that were left out, and of users without training rows."""
    user, notes = record["columns"]["user"], list[str]()
    if record["rows_left_out"]:
        notes.append(
            f"{record['rows_left_out']} of {record['input']['rows']} rows left out, because their "
            f"users have fewer than {record['options']['least']} events."
        )
    known = set(frames["train"][user].unique())
    for part in ("valid", "test"):
        users = set(frames[part][user].unique()) if part in frames else set[Any]()
        n_new = len(users - known)
        if n_new:
            notes.append(f"{n_new} of {len(users)} users of the {part} part have no training row.")
    return notes
