"""The rows of events that a split divides: the table is read, and rows are dropped as requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from podium import _check
from podium.data.columns import Kind, column_list
from podium.data.convert import EXACT, to_ids
from podium.data.delimited import typed
from podium.data.files import BROKEN, error_line
from podium.data.source import POLARS, Column, Source
from podium.data.times import Times, keys_of, read_times
from podium.errors import ArgumentError, DataError, arg
from podium.types import RowIndex


def kept_rows(
    table: Source, needed: Sequence[str], *, where: str | None, drop_missing: bool
) -> tuple[Source, dict[str, int]]:
    """Return the table of the rows to keep, and the number of dropped rows of each option.

    Parameters
    ----------
    table : Source
    needed : sequence of str
        The columns in which `drop_missing` looks for missing values.
    where : str, optional
        An SQL expression of Polars that is true for the rows to keep.
    drop_missing : bool
        Whether rows with a missing value are dropped, before `where` is applied.

    Raises
    ------
    ArgumentError
        If the expression is wrong, or no row is kept.
    DataError
        If the table lacks a column of the expression.
    """
    dropped = dict[str, int]()
    if drop_missing:
        table = _kept(table, _is_complete(table, needed), "drop_missing", dropped)
    if where is not None:
        table = _kept(table, _is_true(table, where, needed[:1]), "where", dropped)
    return table, dropped


def _kept(table: Source, is_kept: pl.Series, option: str, dropped: dict[str, int]) -> Source:
    """Return the table of some rows; the number of the others is noted."""
    if not is_kept.any():
        raise ArgumentError(
            f"{arg[option]} drops all rows of {table.name}. Change it, or leave it out."
        )
    dropped[option] = len(is_kept) - int(is_kept.sum())
    return table.rows(is_kept.arg_true().to_numpy())


def _typed(table: Source, names: Sequence[str]) -> pl.DataFrame:
    """Return columns; texts of a text file that are all numbers are numbers."""
    POLARS.enter()
    columns = table.fetch(dict.fromkeys(names, "id" if table.text else "any"))
    read = {name: _value(pl.Series(c)) if table.text else c for name, c in columns.items()}
    return pl.DataFrame(read)


def _is_complete(table: Source, names: Sequence[str]) -> pl.Series:
    frame = _typed(table, names).with_columns(selectors.float().fill_nan(None))
    return frame.select(pl.all_horizontal(pl.all().is_not_null())).to_series()


def _is_true(table: Source, text: str, names: Sequence[str]) -> pl.Series:
    """Return whether an SQL expression is true for each row; `names` are further columns."""
    try:
        expression = pl.sql_expr(text)
        names = list(dict.fromkeys([*names, *expression.meta.root_names()]))
        unknown = next((name for name in names if name not in table.names), None)
        if unknown is not None:
            raise DataError(
                f"{table.name} has no column {unknown!r} for {arg.where}: "
                f"{column_list(table.names)}.{_check.nearest(unknown, table.names)} "
                "Texts must have single quotes, such as 'POST'."
            )
        result = _typed(table, names).with_columns(kept=expression)["kept"]
    except BROKEN as error:
        raise ArgumentError(
            f'{arg.where} must be an SQL expression of Polars, such as "Quantity > 0 AND Day >= '
            f"DATE '2011-10-31'\", got {text!r}: {error_line(error)}."
        ) from None
    if result.dtype != pl.Boolean:
        raise ArgumentError(
            f"{arg.where} must be true or false for each row, got {text!r} of {result.dtype}. "
            "Compare it with a value, such as in 'Quantity > 0'."
        )
    return result.fill_null(False)


def read_events(
    table: Source, names: Mapping[str, str], *, timed: bool
) -> tuple[pl.DataFrame, Times | None]:
    """Return all columns, users and items as they are read everywhere, and the times to split by.

    Times are read from the table's own values, before the values of texts are guessed.
    """
    time = names["timestamp"] if timed else None
    ids = [names["user"], names["item"]]
    kinds: dict[str, Kind] = dict.fromkeys(table.names, "id" if table.text else "any")
    columns = table.fetch(kinds)
    _refuse_missing({name: columns[name] for name in [*ids, *([time] if time else [])]}, table)
    times = None
    if time is not None and columns and len(columns[time]):
        exact = columns if table.text else table.fetch({time: "time"})
        times = read_times(exact[time], time, table)
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
    """Raise with all columns that lack values."""
    nulls = {name: pl.Series(column).is_null() for name, column in columns.items()}
    places = [
        f"{name} has {is_null.sum()} (first at {table.places.of(int(is_null.arg_max() or 0))})"
        for name, is_null in nulls.items()
        if is_null.any()
    ]
    if places:
        raise DataError(
            f"{table.name} has missing values: {', '.join(places)}. Pass {arg.drop_missing(True)} "
            "to drop these rows, or fill them."
        )


def _value(texts: pl.Series) -> Any:
    """Return numbers if all texts are numbers; codes such as 007 and long integers stay texts."""
    if texts.dtype != pl.String:
        return texts
    if texts.drop_nulls().str.contains(r"^\s*[-+]?0\d").any():
        return texts
    numbers = typed(texts)
    if numbers.dtype != pl.Float64:
        return numbers
    is_integer = texts.str.contains(r"^\s*[-+]?\d+\s*$")
    return texts if (is_integer & (numbers.abs() >= EXACT)).any() else numbers


def one_row(
    rows: RowIndex, pairs: NDArray[np.int64], times: Times | None, keep: str
) -> tuple[RowIndex, NDArray[np.int64]]:
    """Return one row for each pair of some rows, in row order, and the number of its rows.

    Parameters
    ----------
    rows : int64
    pairs : int64, (n_rows of the table,)
        The number of each row's pair.
    times : Times of the table, or None
        Their order decides, and then the order of the rows.
    keep : {"first", "last", "count"}
        Which row is kept; "count" keeps the last one.
    """
    by_time = () if times is None else (keys_of(times)[0][rows],)
    ordered = rows[np.lexsort((*by_time, pairs[rows]))]
    starts = np.flatnonzero(np.append(True, np.diff(pairs[ordered]) != 0)[: ordered.size])
    counts = np.diff(starts, append=ordered.size)
    chosen = ordered[starts if keep == "first" else starts + counts - 1]
    in_row_order = np.argsort(chosen)
    return chosen[in_row_order], counts[in_row_order]
