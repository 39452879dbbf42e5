"""Source: a table that is open, and how to read columns from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._forks import Pool, thread_named
from podium.errors import DataError

# Polars' threads. What uses them calls `POLARS.enter` first: see `podium._forks`. They read and
# write files, collect lazy frames, sort, filter and look into texts. Types of columns are
# converted, and strings are numbered, without them.
# A thread gets its name when it first runs, so on a busy machine the first may come last.
POLARS = Pool("Polars", lambda: thread_named(r"polars-\d|async-executor"))

Column: TypeAlias = "NDArray[Any] | pl.Series"
Kind: TypeAlias = Literal["id", "number", "any"]
Fetch: TypeAlias = Callable[[Mapping[str, Kind]], Mapping[str, Column]]
FORMATS = ("parquet", "csv", "tsv", "arrow", "trec", "svmlight")


@dataclass(frozen=True)
class Source:
    """A table that is open: how messages name it, its columns, and how to read some of them.

    line is there for a text format, where numbers and ids are both text: it finds the line of a
    row, from 1. Elsewhere it is None and types are the source's own. text_ids says that items'
    ids are text whatever they look like.
    """

    name: str
    names: tuple[str, ...]
    fetch: Fetch = field(repr=False)
    line: Callable[[int], int] | None = field(default=None, repr=False)
    text_ids: bool = False

    @property
    def text(self) -> bool:
        return self.line is not None

    def at(self, row: int) -> str:
        """Return where a row stands: its line in a text file, its number (from 0) elsewhere."""
        return f"row {row}" if self.line is None else f"line {self.line(row)}"


def as_column(values: Any, name: str, source: Source) -> Column:
    """Return one column as a Series, or as an array where its type is plain.

    Raises
    ------
    DataError
        If it has another number of axes, a mask, or values of no common type.
    """
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(
            f"{source.name}: {name} is a masked array, and its mask would be lost. "
            "Pass its rows that are not masked, or filled()."
        )
    array = None if isinstance(values, list) else np.asarray(values)
    if array is not None and array.ndim != 1:
        raise DataError(
            f"{source.name}: {name} must have one dimension, got shape {array.shape}. "
            "Pass one of its columns."
        )
    if array is not None and array.dtype.kind in "mM":
        return _times(array, name, source)
    # Objects, byte strings and variable strings have no columnar form of their own.
    if array is not None and array.dtype.kind not in "OST":
        return array
    listed = cast("list[Any]", values) if array is None else array.tolist()
    return _series(listed, name, source)


def _series(values: list[Any], name: str, source: Source) -> pl.Series:
    plain = [None if _is_missing(value) else value for value in values]
    kinds = set(map(type, plain)) - {type(None)}
    try:
        series = pl.Series(name, plain, strict=False)
        mixed = series.dtype == pl.Object or series.null_count() > plain.count(None)
        mixed = mixed or (len(kinds) > 1 and bool(kinds & {list, tuple, dict, np.ndarray}))
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        series, mixed = pl.Series(name, [], pl.Null), True
    if mixed:
        raise DataError(
            f"{source.name}: {name} must hold numbers, strings or times of one kind, "
            f"got {' and '.join(sorted(kind.__name__ for kind in kinds))}. Convert the column."
        )
    return series


def _times(array: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
    """Return times in a unit that Polars holds: microseconds, unless theirs is one."""
    if np.datetime_data(array.dtype)[0] in ("D", "ms", "us", "ns") and array.dtype.kind == "M":
        return array
    times = array.astype(f"{array.dtype.kind}8[us]")
    if not (np.isnat(array) | (times.astype(array.dtype) == array)).all():
        raise DataError(
            f"{source.name}: {name} has times of {array.dtype} that microseconds can't hold. "
            "Convert the column."
        )
    return times


def _is_missing(value: Any) -> bool:
    """Tell None, and what pandas puts in its place."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")
