"""Source: an open table, and how to read columns from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium._forks import Pool, thread_named
from podium.data.columns import Kind, Role, resolve
from podium.errors import DataError

# Code that uses Polars' threads calls `POLARS.enter` first, see `podium._forks`. The threads read
# and write files, collect lazy frames, sort, filter and examine texts. Conversions of column types
# and the numbering of strings do not use them. A thread gets its name when it first runs, so on a
# busy machine the first thread may be named last.
POLARS = Pool("Polars", lambda: thread_named(r"polars-\d|async-executor"))

Column: TypeAlias = "NDArray[Any] | pl.Series"
Fetch: TypeAlias = Callable[[Mapping[str, Kind]], Mapping[str, Column]]
_UNREAD = (np.dtype(np.longdouble),) if np.dtype(np.longdouble) != np.dtype(np.float64) else ()
FORMATS = ("parquet", "csv", "tsv", "arrow", "trec", "svmlight", "jsonl", "lists")


@dataclass(frozen=True)
class Places:
    """Where the rows of a table stand: in lines of a text file, or else at numbers.

    Attributes
    ----------
    line : function, optional
        For text formats, the function that returns the line of a row, from 1.
    first_row : int or None
        The number of the first row; None if the rows come from several places of a larger table.
    kept : int64, optional
        The numbers of the rows that were kept, if others were dropped.
    """

    line: Callable[[int], int] | None = None
    first_row: int | None = 0
    kept: NDArray[np.int64] | None = None

    def of(self, *rows: int) -> str:
        """Return the place of one or two rows: lines of a text file, or else numbers from 0."""
        if self.kept is not None:
            rows = tuple(int(self.kept[row]) for row in rows)
        if self.line is not None:
            return numbered("line", *map(self.line, rows))
        if self.first_row is None:
            return "a row"
        return numbered("row", *(self.first_row + row for row in rows))


ROWS = Places()
"""The places of rows with numbers from 0."""

NOWHERE = Places(first_row=None)
"""The places of rows that come from several places of a larger table."""


def nobody() -> NDArray[np.int64]:
    """Return the ids of no users."""
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Source:
    """An open table: its name in messages, its columns, and a function that reads them.

    Attributes
    ----------
    name : str
    names : tuple of str
        The names of the columns.
    fetch : function
        It reads the columns of some names, each as a kind. Columns of text formats, in which
        numbers and ids are both text, are texts; others have the source's types.
    places : Places
        The places of the rows in messages.
    text_ids : bool
        Whether ids of items are text even if they look like integers.
    can_be_empty : bool
        Whether a table without rows is no error.
    kind : str
        The package of the frame, see `podium.data.frames.Origin`.
    named : mapping of role to str
        The columns that the caller names.
    empty : ids
        The users without rows, if the source names them: users with an empty list.
    stored : StoredTable, optional
        The blocks of a parquet or Arrow table, which can also be read one by one.
    """

    name: str
    names: tuple[str, ...] = ()
    fetch: Fetch = field(default=lambda kinds: {}, repr=False)
    places: Places = field(default=ROWS, repr=False)
    text_ids: bool = False
    can_be_empty: bool = False
    kind: str = ""
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    empty: Column = field(default_factory=nobody)
    stored: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, name: str, columns: Any, **facts: Any) -> Source:
        """Return the table of a frame or of a mapping of columns that are Series or arrays."""
        names = columns.columns if isinstance(columns, pl.DataFrame) else columns
        return cls(name, tuple(names), lambda kinds: {n: columns[n] for n in kinds}, **facts)

    def resolve(self, roles: Sequence[Role]) -> dict[str, str]:
        """Return the name of the column of each role that the table has; see `resolve`."""
        return resolve(self.names, roles, self.named, self.name)

    @property
    def text(self) -> bool:
        return self.places.line is not None

    def rows(self, kept: NDArray[np.int64]) -> Source:
        """Return the table of some of the rows; messages name their places in the whole table."""

        def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
            return {name: column[kept] for name, column in self.fetch(kinds).items()}

        places = replace(self.places, kept=kept)
        return replace(self, fetch=fetch, places=places, stored=None)

    def with_ranks(self, name: str) -> Source:
        """Return the table with a column of ranks: the numbers of the rows, from 1."""

        def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
            columns = dict(self.fetch({n: kind for n, kind in kinds.items() if n != name}))
            n_rows = max(map(len, columns.values()), default=0)
            return {**columns, name: np.arange(1, n_rows + 1)} if name in kinds else columns

        return replace(self, names=(*self.names, name), fetch=fetch, stored=None)


def numbered(unit: str, *numbers: int) -> str:
    """Return numbers with their unit, such as "row 3" or "lines 2 and 5"."""
    return f"{unit}{'s' * (len(numbers) > 1)} {' and '.join(map(str, numbers))}"


def as_column(values: Any, name: str, source: Source) -> Column:
    """Return one column as a Series, or as an array if its type is plain.

    Raises
    ------
    DataError
        If it does not have one axis, has a mask, or has values without a common type.
    """
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(
            f"{source.name}: {name} is a masked array, whose mask would be ignored. "
            "Pass the rows that are not masked, or the result of filled()."
        )
    array = None if isinstance(values, list) else np.asarray(_check.on_host(values))
    if array is not None and array.ndim != 1:
        raise DataError(
            f"{source.name}: {name} must have one dimension, got shape {array.shape}. "
            "Pass one of its columns."
        )
    if array is not None and array.dtype.kind in "mM":
        return _times(array, name, source)
    if array is not None and (array.dtype.kind == "c" or array.dtype in _UNREAD):
        raise DataError(
            f"{source.name}: {name} must hold numbers, strings or times, got {array.dtype}. "
            "Convert the column, for example to float64."
        )
    # Arrays of objects, byte strings and variable strings are converted to Series.
    if array is not None and array.dtype.kind not in "OST":
        return array
    value_list = cast("list[Any]", values) if array is None else array.tolist()
    return _series(value_list, name, source)


def _series(values: list[Any], name: str, source: Source) -> pl.Series:
    with_nulls = [None if is_missing(value) else value for value in values]
    kinds = set(map(type, with_nulls)) - {type(None)}
    try:
        series = pl.Series(name, with_nulls, strict=False)
        is_mixed = series.dtype == pl.Object or series.null_count() > with_nulls.count(None)
        is_mixed = is_mixed or (len(kinds) > 1 and bool(kinds & {list, tuple, dict, np.ndarray}))
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        series, is_mixed = pl.Series(name, [], pl.Null), True
    if is_mixed:
        raise DataError(
            f"{source.name}: {name} must hold numbers, strings or times of one kind, "
            f"got {' and '.join(sorted(kind.__name__ for kind in kinds))}. Convert the column."
        )
    return series


def _times(array: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
    """Return times in a unit that Polars has: the given one if possible, else microseconds."""
    if np.datetime_data(array.dtype)[0] in ("D", "ms", "us", "ns") and array.dtype.kind == "M":
        return array
    times = array.astype(f"{array.dtype.kind}8[us]")
    if not (np.isnat(array) | (times.astype(array.dtype) == array)).all():
        raise DataError(
            f"{source.name}: {name} has times of {array.dtype} that can't be represented in "
            "microseconds. Convert the column."
        )
    return times


def is_missing(value: Any) -> bool:
    """Return whether a value is None or a missing value of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")
