"""Conversion of a source's columns to ids and numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data.source import POLARS, Column, Source
from podium.errors import DataError

Ids: TypeAlias = "NDArray[np.int64] | pl.Series"  # integers, or strings as a Polars String Series

_HIGHEST = np.iinfo(np.int64).max
EXACT = 2.0**53  # float64 represents all integers up to here
_EXACT_OF = {"Float32": 2.0**24, "Float16": 2.0**11}


def to_ids(column: Column, name: str, source: Source, *, guess: bool = True) -> Ids:
    """Return int64 ids (without a copy of int64 columns) or a String Series.

    Columns of text formats are strings. They are converted to integers only if every value is
    written as a plain integer (without leading zeros, plus sign or blanks; "007" remains a string).
    With guess=False they remain strings. An integer followed by ".0", as in tables of floats, is
    that integer.
    """
    series = pl.Series(column)
    no_null(series, name, source)
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        series = without_zero(series)
        return as_integers(series) if source.text and guess else series
    if series.dtype == pl.Int128:  # Python integers of more than 64 bits
        return series.cast(pl.String)
    if series.dtype.is_float():
        return _whole_floats(series, name, source)
    if not series.dtype.is_integer():
        raise DataError(
            f"{source.name}: {name} must hold integers or strings, got {_kind(series)}. "
            "Convert the column."
        )
    wide = series.dtype == pl.UInt64 and bool((series > _HIGHEST).any())
    return series.cast(pl.String) if wide else one_chunk(series.cast(pl.Int64))


def holds_numbers(column: Column) -> bool:
    """Return whether the values of a column are numbers or booleans."""
    kind = pl.Series(column).dtype
    return kind.is_numeric() or kind == pl.Boolean


def _kind(series: pl.Series) -> str:
    """Return the kind of a column's values in words, and its first value."""
    if series.dtype == pl.Null:
        return "only missing values"
    values = series.drop_nulls()
    if series.dtype == pl.String:
        odd = values.filter(values.str.strip_chars().cast(pl.Float64, strict=False).is_null())
        return f"strings, first {(odd if len(odd) else values)[0]!r}" if len(values) else "strings"
    return str(series.dtype)


def to_numbers(
    column: Column,
    name: str,
    source: Source,
    user: Ids | None = None,
    is_read: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Return float64 values, without a copy of float64 columns.

    `user` is used in the message about a missing value. `is_read` are the rows that must have a
    value, by default all; missing values of other rows become nan.
    """
    series = pl.Series(column)
    if not holds_numbers(series):
        raise DataError(
            f"{source.name}: {name} must hold numbers, got {_kind(series)}. Convert the column."
        )
    no_null(series, name, source, user, is_read)
    return one_chunk(series.cast(pl.Float64))


def to_scores(
    table: Source, name: str, column: Column, user: Ids | None
) -> tuple[NDArray[np.float64], bool]:
    """Return finite float64 values in the order of the column's values, and whether they are these.

    These are the column's own values, or, if it contains integers that float64 would round, their
    dense ranks among the distinct integers. Distinct integers therefore remain distinct.
    """
    values = finite(to_numbers(column, name, table, user), name, user, table)
    if not values.size or max(values.max(), -values.min()) < EXACT:
        return values, True
    POLARS.enter()
    exact = pl.Series(table.fetch({name: "id"})[name] if table.text else column)
    if exact.dtype == pl.String:
        exact = exact.str.strip_chars().cast(pl.Int128, strict=False)
    if not exact.dtype.is_integer() or exact.null_count():
        return values, True
    return one_chunk(exact.rank("dense").cast(pl.Float64)), False


def finite(
    values: NDArray[np.float64], name: str, user: Ids | None, source: Source
) -> NDArray[np.float64]:
    """Return the values, or raise with the number of non-finite ones and the row of the first."""
    if values.size and not np.isfinite([values.min(), values.max()]).all():
        bad = np.flatnonzero(~np.isfinite(values))
        raise _bad_values(bad, "non-finite", "give them a finite value", name, source, user)
    return values


def _bad_values(
    rows: NDArray[np.int64], kind: str, remedy: str, name: str, source: Source, user: Ids | None
) -> DataError:
    """Return the error about some values: their number and the row of the first one."""
    first = int(rows[0])
    return DataError(
        f"{source.name}: {name} has {rows.size} {kind} value{'s' if rows.size > 1 else ''}, "
        f"first at {source.places.of(first)}{of_user(user, first)}. Drop those rows, or {remedy}."
    )


def as_integers(series: pl.Series) -> Ids:
    """Return strings as int64 if all are plain integers."""
    numbers = series.cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.cast(pl.String) == series).all():
        return series
    return one_chunk(numbers)


def without_zero(ids: pl.Series) -> pl.Series:
    """Return strings in which n.0 is n.

    Examples
    --------
    >>> without_zero(pl.Series(["7.0", "2.10"])).to_list()
    ['7', '2.10']
    """
    POLARS.enter()
    if not ids.str.ends_with(".0").any():
        return ids
    return ids.str.replace(r"^(-?\d+)\.0$", "${1}")


def of_user(user: Ids | None, row: int) -> str:
    """Return " (user 'u93')" for messages."""
    return "" if user is None else f" (user {_check.label(user[row])})"


def one_chunk(series: pl.Series) -> NDArray[Any]:
    """Return a numeric Series as an array, copied only if it is in pieces or has nulls (nan)."""
    return series.rechunk().to_numpy()


def no_null(
    series: pl.Series,
    name: str,
    source: Source,
    user: Ids | None = None,
    is_read: NDArray[np.bool_] | None = None,
) -> None:
    """Raise if values are missing, with their number and the row of the first."""
    if not series.null_count():
        return
    is_null = series.is_null().to_numpy()
    rows = np.flatnonzero(is_null if is_read is None else is_null & is_read)
    if rows.size:
        raise _bad_values(rows, "missing", "fill them", name, source, user)


def _whole_floats(series: pl.Series, name: str, source: Source) -> NDArray[np.int64]:
    values = one_chunk(series.cast(pl.Float64))
    kind = str(series.dtype)
    largest = _EXACT_OF.get(kind, EXACT)
    is_whole = _check.whole(values, largest - 1)
    if is_whole.all():
        return values.astype(np.int64)
    row = int(np.argmin(is_whole))
    advice = "Convert the column."
    if np.isfinite(values[row]) and np.abs(values[row]) >= largest:
        advice = f"{kind} does not distinguish all integers from {largest:.0f} on: write integers."
    raise DataError(
        f"{source.name}: {name} must hold integers or strings, got {values[row]:.17g} at "
        f"{source.places.of(row)}. {advice}"
    )
