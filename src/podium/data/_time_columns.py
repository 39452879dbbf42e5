"""Columns of times of any type as values, rests and a zone, without rounding."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data._time_texts import Parts, iso, of_texts
from podium.data.source import Column, Source, as_column
from podium.errors import DataError

_INT64 = np.iinfo(np.int64)
_MOST_DAYS = _INT64.max // 86_400  # days whose seconds are in int64
_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # the unit that replaces others


def of_column(values: Any, name: str, source: Source) -> Parts:
    """Read a column of times; see `podium.data.times.read_times`."""
    column = time_column(values, name, source)
    _refuse_missing(column, name, source)
    if isinstance(column, np.ndarray) and column.dtype.kind not in "UST":
        return _of_array(column, name, source)
    return _of_series(pl.Series(column), name, source)


def time_column(values: Any, name: str, source: Source) -> Column:
    """Return a column of times as a Series or array, without rounding.

    Lists of dates and times, and lists of numbers that float64 would round, become texts.
    """
    if hasattr(values, "dtype") and getattr(values.dtype, "tz", None) is not None:  # from pandas
        return pl.Series(values)
    if isinstance(values, pl.Series | np.ma.MaskedArray):
        return as_column(values, name, source)
    if not isinstance(values, list):
        array: NDArray[Any] = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind == "M":
            return array
        if array.ndim != 1 or array.dtype != object:
            return as_column(values, name, source)
    value_list: list[Any] = list(cast("Any", values))
    known = [None if _is_missing(value) else value for value in value_list]
    given = [value for value in known if value is not None]
    if given and all(isinstance(value, date | np.datetime64) for value in given):
        return pl.Series(name, [None if v is None else iso(v) for v in known], pl.String)
    if not _is_one_type(given):
        return pl.Series(name, [None if v is None else str(v) for v in known], pl.String)
    return as_column(values, name, source)


def _is_one_type(values: list[Any]) -> bool:
    """Return whether int64 or float64 holds the values, or they are no numbers."""
    if not all(isinstance(value, int | float | Decimal | np.number) for value in values):
        return True
    is_float = [isinstance(value, float | np.floating) for value in values]
    is_narrow = (_INT64.min <= value <= _INT64.max for value in values)
    return all(is_float) or not (any(is_float) or not all(is_narrow))


def whole(array: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the values as int64, or None if it does not hold them."""
    if not array.size or array.dtype == np.int64:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f" and (array != np.trunc(array)).any():
        return None
    is_within = int(array.min()) >= _INT64.min and int(array.max()) <= _INT64.max
    return array.astype(np.int64) if is_within else None


def _of_array(array: NDArray[Any], name: str, source: Source) -> Parts:
    kind = array.dtype.kind
    if kind == "M":
        return _in_known_unit(array, name, source), None, None
    if kind == "f":
        values = array.astype(np.float64)
        if (values != array).any():
            raise DataError(
                f"{source.name}: {name} must hold times that float64 can represent, got "
                f"{array.dtype}. Convert the column."
            )
        return values, None, None
    if kind in "iu":
        return _narrow(array), None, None
    raise _wrong_kind(array.dtype.name, name, source)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return integers as int64 if it holds them."""
    narrow = whole(array)
    return array if narrow is None else narrow


def _in_known_unit(array: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
    unit, count = np.datetime_data(array.dtype)
    wanted = _UNITS.get(unit, unit)
    days = array.astype("datetime64[D]").view(np.int64) if wanted == "D" else np.zeros(1, np.int64)
    is_in_range = max(-int(days.min(initial=0)), int(days.max(initial=0))) <= _MOST_DAYS
    if unit == wanted and count == 1 and is_in_range:
        return np.ascontiguousarray(array, f"datetime64[{unit}]")
    values = array.astype(f"datetime64[{wanted}]")
    if not is_in_range or (values.astype(array.dtype) != array).any():
        raise DataError(
            f"{source.name}: {name} has times of {array.dtype} that can't be represented in "
            f"datetime64[{wanted}]. Convert the column."
        )
    return values


def _of_series(series: pl.Series, name: str, source: Source) -> Parts:
    kind = series.dtype
    if isinstance(kind, pl.Categorical | pl.Enum | pl.Decimal):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        return of_texts(series, name, source)
    if isinstance(kind, pl.Date | pl.Datetime):
        unit = kind.time_unit if isinstance(kind, pl.Datetime) else "D"
        values = series.to_physical().cast(pl.Int64).rechunk().to_numpy()
        zone = kind.time_zone if isinstance(kind, pl.Datetime) else None
        return values.view(f"datetime64[{unit}]"), None, zone
    if isinstance(kind, pl.Int128 | pl.UInt128):
        return of_texts(series.cast(pl.String), name, source)
    if kind.is_integer():
        return _narrow(series.rechunk().to_numpy()), None, None
    if kind.is_float():
        return series.cast(pl.Float64).rechunk().to_numpy(), None, None
    raise _wrong_kind(str(kind), name, source)


def _wrong_kind(kind: str, name: str, source: Source) -> DataError:
    words = {"Time": "times of day", "Duration": "durations"}
    kind = "Duration" if kind.startswith(("Duration", "timedelta")) else kind
    return DataError(
        f"{source.name}: {name} must hold numbers or dates and times, got "
        f"{words.get(kind, kind)}. Convert the column."
    )


def _refuse_missing(column: Column, name: str, source: Source) -> None:
    is_missing, word = _missing(column), "missing"
    if not is_missing.any() and _holds_floats(column):
        is_missing, word = ~np.isfinite(np.asarray(column)), "non-finite"
    n_missing = int(is_missing.sum())
    if n_missing:
        row = int(np.argmax(is_missing))
        raise DataError(
            f"{source.name}: {name} has {n_missing} {word} value{'s' if n_missing > 1 else ''}, "
            f"first at {source.place_of(row)}. Drop those rows, or fill them."
        )


def _holds_floats(column: Column) -> bool:
    if isinstance(column, pl.Series):
        return column.dtype.is_float()
    return column.dtype.kind == "f"


def _missing(column: Column) -> NDArray[np.bool_]:
    if isinstance(column, pl.Series):
        return column.is_null().to_numpy()
    return np.isnat(column) if column.dtype.kind in "mM" else np.zeros(column.size, np.bool_)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    # nan and NaT differ from themselves
    return isinstance(value, float | np.floating | Decimal | np.datetime64) and value != value
