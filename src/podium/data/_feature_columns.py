"""The feature columns of a table and their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data.columns import ITEM, USER, column_list, is_usual
from podium.data.convert import holds_numbers, one_chunk, to_numbers
from podium.data.source import POLARS, Column, Source
from podium.errors import DataError, arg

# These match neither watch_time, which is a duration, nor valid.
_TIME = re.compile(r"^time$|(^|_)date$|(timestamp|datetime)$", re.IGNORECASE)
_ID = re.compile(r"(^|[\W_])(u|uu|gu)?id$", re.IGNORECASE)
_CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
_INDEX = re.compile(r"^$|^Unnamed: \d+$|^__index_level_\d+__$")  # row numbers written by pandas


def chosen_columns(
    table: Source,
    column_of_role: Mapping[str, str],
    features: Sequence[str] | None,
    ignore: Sequence[str],
) -> list[str]:
    """Return the columns named in `features`, or else all columns that may be features."""
    for name in [*(features or ()), *ignore]:
        if name not in table.names:
            raise DataError(
                f"{table.name} has no column {name!r}: {column_list(table.names)}."
                f"{_check.nearest(name, table.names)}"
            )
    if features is not None:
        return _distinct(table, column_of_role, list(features))
    excluded = {*column_of_role.values(), *ignore}
    excluded |= {*not_features(table.names, excluded)}
    return [name for name in table.names if name not in excluded]


def not_features(names: Sequence[str], others: Collection[str]) -> tuple[str, ...]:
    """Return the columns, other than `others`, whose names are those of times, ids or row numbers.

    Examples
    --------
    >>> not_features(["user", "movieId", "timestamp", "watch_time", "valid"], ["user"])
    ('movieId', 'timestamp')
    """
    return tuple(name for name in names if name not in others and _is_no_feature(name.strip()))


def _is_no_feature(name: str) -> bool:
    patterns = (_TIME, _ID, _CAMEL_ID, _INDEX)
    return is_usual(name, USER, ITEM) or any(pattern.search(name) for pattern in patterns)


def _distinct(table: Source, column_of_role: Mapping[str, str], features: list[str]) -> list[str]:
    roles = {column: role for role, column in column_of_role.items()}
    for position, name in enumerate(features):
        if name in roles:
            raise DataError(
                f"{table.name}: {name!r} is the {roles[name]} column, and can't also be a feature. "
                f"Remove it from {arg.features()}, or name another {roles[name]} column with "
                f"{arg[roles[name]]()}."
            )
        if name in features[:position]:
            raise DataError(f"features contains {name!r} twice. Keep one.")
    return features


def is_feature(column: Column, name: str, table: Source) -> bool:
    """Return whether a column contains numbers; raise if only some of its texts are numbers."""
    if holds_numbers(column):
        return True
    series = pl.Series(column)
    if not table.text or series.dtype != pl.String:
        return False
    POLARS.enter()
    numbers = series.str.strip_chars().cast(pl.Float64, strict=False)
    if not numbers.is_finite().any():  # "inf" and "nan" may be words
        return False
    row = int((numbers.is_null() & series.is_not_null()).arg_max() or 0)
    raise DataError(
        f"{table.name}: {name} must hold numbers, got {series[row]!r} at {table.place_of(row)}. "
        f"Correct the value, or leave {name} out with {arg.ignore()}."
    )


def feature(column: Column, name: str, table: Source) -> NDArray[np.float64]:
    """Return a column's numbers, nan for missing values."""
    series = pl.Series(column)
    if not holds_numbers(series):
        return to_numbers(series, name, table)  # raises an error
    return one_chunk(series.cast(pl.Float64))  # nulls become nan
