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
    """Options of the parts."""

    panel: ClassVar[str] = "Parts"

    by: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="How the events of the test part are selected:\n\n"
            "time: the latest events;\n\n"
            "user-time: the latest events of each user;\n\n"
            "leave-last: the last N events of each user;\n\n"
            "random: random events;\n\n"
            "user-random: random events of each user;\n\n"
            "group: all events of random users, or of random values of --column group=NAME.",
        ),
    ]
    test: Annotated[
        float | None,
        typer.Option(
            metavar="P|N",
            help="Share of the events in the test part; with group, share of the groups; with "
            "leave-last, number of events per user. Default: 0.2; with leave-last 1.",
        ),
    ] = None
    valid: Annotated[
        float | None,
        typer.Option(
            metavar="P|N",
            help="The same for a validation part. Default: no such part.",
        ),
    ] = None
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="With --by time, the time at which the test part begins, instead of --test: a "
            "number, or a date or time such as 2011-10-01, by the clock of the column of times.",
        ),
    ] = None
    valid_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="With --by time, the time at which the validation part begins, instead of "
            "--valid.",
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of random splits. Default: 0.")
    ] = None
    least: Annotated[
        int,
        typer.Option(metavar="N", help="Leave out users with fewer than N events."),
    ] = 1


@dataclass(frozen=True)
class Columns(ColumnNames):
    """The names of columns that differ from the default names."""

    roles: ClassVar[tuple[str, ...]] = ("user", "item", "timestamp", "group")


def split(
    events: Annotated[
        Path,
        typer.Argument(
            help="Table with one row per event: user, item and, for a split by time, timestamp.",
            metavar="EVENTS",
        ),
    ],
    parts: Parts,
    columns: Columns,
    file: EventFile,
    out: Annotated[
        Path,
        WRITTEN,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for train.parquet, test.parquet, valid.parquet and split.json.",
        ),
    ],
) -> None:
    """Split a table of events into a training, a test and, if requested, a validation part.

    All columns and ids of EVENTS are kept. split.json contains the options, the seed, the checksum
    of EVENTS, and the numbers of rows, users and items of each part.

    Example: podium split ratings.csv --by user-time --test 0.2 --out parts
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
