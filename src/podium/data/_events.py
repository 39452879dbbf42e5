"""The table of events that is split: all its columns, and its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from podium import _check
from podium.data.columns import ITEM, TIMESTAMP, USER, column_list, missing, resolve
from podium.data.convert import EXACT, as_integers, to_ids
from podium.data.delimited import typed
from podium.data.source import Column, Kind, Source
from podium.data.times import Times, read_times
from podium.errors import DataError, arg


def refuse_lacking(
    table: Source, explicit: Mapping[str, str | None], group: str | None, *, timed: bool
) -> None:
    """Raise with all columns that the table lacks."""
    needed = (USER, ITEM, TIMESTAMP) if timed else (USER, ITEM)
    absent = [
        role
        for role in needed
        if explicit[role.name] is None
        and not resolve(table.names, (replace(role, required=False),), {}, table.name)
    ]
    given = [name for name in (*explicit.values(), group) if name is not None]
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
