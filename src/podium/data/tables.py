"""Tables: any object with named columns, read by column.

`open_table` examines only names and first lines. `Source.fetch` then reads the requested columns,
and `RoleColumns` converts those that have a role.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data.columns import RANK, Kind, Role, is_usual, missing
from podium.data.convert import Ids, finite, to_ids, to_numbers
from podium.data.delimited import (
    open_delimited,
    open_headerless,
    open_jsonl,
    open_lists,
    open_trec,
    refuse_columns,
)
from podium.data.files import File, error_line, format_of_suffix, open_arrow_stream
from podium.data.frames import kind_of
from podium.data.parts import open_stored
from podium.data.source import POLARS, Column, Source, as_column
from podium.data.svmlight import open_svmlight
from podium.data.times import Times, read_times, time_column
from podium.errors import ArgumentError, DataError, PodiumError, arg
from podium.groups import rows_between


def open_table(
    source: Any,
    noun: str,
    roles: Sequence[Role],
    named: Mapping[str, str | None] | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Source:
    """Open a file, frame, mapping, sparse matrix or tuple of arrays as a table.

    Parameters
    ----------
    source : path, frame or arrays; or Source
        The table, see `podium.data`. An open one is not opened again.
    noun : str
        The kind of the table, such as "run" or "truth", for messages.
    roles : sequence of Role
        The roles of the columns of a tuple (in this order) and of a sparse matrix (the first
        three).
    named : mapping of role to str, optional
        The columns that the caller names.
    format : str, optional
        One of FORMATS, for a file whose format is determined neither by its name nor its content.
    columns : sequence of str, optional
        The names of the columns of a text file without a header, in their order.

    Returns
    -------
    Source
        The open table.

    Raises
    ------
    DataError
        If the file is missing, empty or unreadable.
    ArgumentError
        If the source is another kind of object, or the format is unknown.
    """
    given = {role: name for role, name in (named or {}).items() if name is not None}
    if isinstance(source, Source):
        return replace(source, named={**source.named, **given}) if given else source
    if isinstance(source, str | Path | File):
        table = _open_file(source, noun, format, columns)
    else:
        refuse_columns(columns, type(source).__name__)
        if format is not None:
            raise ArgumentError(
                f"{arg.format} applies only to files, got {type(source).__name__}. Leave it out."
            )
        opened = _open_object(source, noun, roles, [*given.values()])
        table = replace(opened, kind=kind_of(source))
    return replace(table, named=given)


def _open_object(source: Any, noun: str, roles: Sequence[Role], named: Sequence[str]) -> Source:
    role_names = [role.name for role in roles]
    name = f"The {noun}"
    if _check.is_sparse(source):
        return _open_columns(name, _from_sparse(source, role_names))
    if isinstance(source, tuple):
        return _open_columns(name, _from_tuple(cast("tuple[Any, ...]", source), role_names, noun))
    if isinstance(source, Mapping):
        mapping = cast("Mapping[Any, Any]", source)
        if mapping and _has_lists(mapping, roles, named):
            return _open_lists(mapping, roles, name)
        return _open_columns(name, mapping)
    return _open_frame(source, name, noun)


def _open_frame(source: Any, name: str, noun: str) -> Source:
    try:
        frame: Any = nw.from_native(source, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            names = tuple(frame.collect_schema())
            return Source(name, names, lambda kinds: _collected(frame, kinds))
        if not isinstance(frame, nw.DataFrame) and hasattr(frame, "__arrow_c_stream__"):
            POLARS.refuse_lost()  # to convert texts and categories, Polars uses its threads
            frame = nw.from_native(pl.DataFrame(frame))
        is_frame = isinstance(frame, nw.DataFrame)
        columns = {str(column): frame[column] for column in frame.columns} if is_frame else {}
    except PodiumError:
        raise
    except Exception as error:  # such as two columns of a name; a foreign exporter can raise any
        raise DataError(f"{name} can't be read as columns: {error_line(error)}") from error
    if is_frame:
        return _open_columns(name, columns)
    raise ArgumentError(
        f"{noun} must be a path, a Polars, pandas or Arrow table, a mapping or tuple of columns, "
        "a mapping of users to {item: value} or to lists of items, or a sparse matrix, got "
        f"{type(source).__name__}."
    )


def _collected(lazy: Any, kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
    POLARS.enter()
    return lazy.select(list(kinds)).collect("polars").to_native().to_dict()


def _native(values: Any) -> Any:
    """Return a column of a frame as a Series, or as an array; other values stay as they are."""
    if not isinstance(values, nw.Series):
        return values
    dtype = values.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_unit == "s" and dtype.time_zone is None:
        return values.to_numpy()  # Polars would wrap seconds that milliseconds can't hold
    if not values.implementation.is_polars():
        POLARS.refuse_lost()  # to convert texts and categories, Polars uses its threads
    try:
        return values.to_polars()
    except Exception:  # a column that Arrow lacks, such as a sparse one of pandas
        return values.to_numpy()


def _open_columns(name: str, columns: Mapping[str, Any]) -> Source:
    named = {str(key): values for key, values in columns.items()}
    for key, values in named.items():
        if isinstance(values, str | bytes) or not _check.has_length(values):
            raise DataError(
                f"{name}: {key} must be a column of values, got {values!r}. Put it into a list."
            )
    if len({len(values) for values in named.values()}) > 1:
        _check.equal_length(**named)
    unread = Source(name, tuple(named), lambda kinds: {})

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        read = {key: time_column if kind == "time" else as_column for key, kind in kinds.items()}
        return {key: reader(_native(named[key]), key, unread) for key, reader in read.items()}

    return replace(unread, fetch=fetch)


def _from_sparse(matrix: Any, columns: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return users (rows), items (columns) and values, with stored zeros.

    Values of the same cell are added, as SciPy defines the matrix.
    """
    coo = matrix.tocoo()
    row, col, data = coo.row, coo.col, coo.data
    cells, place = np.unique(row.astype(np.int64) * coo.shape[1] + col, return_inverse=True)
    if cells.size < data.size:
        data = np.bincount(place, data.astype(np.float64))  # small integers would overflow
        row, col = np.divmod(cells, coo.shape[1])
    return dict(zip(columns[:3], (row, col, data), strict=False))


def _has_lists(table: Mapping[Any, Any], roles: Sequence[Role], named: Sequence[str]) -> bool:
    """Return whether a mapping has the items of users, rather than columns with known names."""
    if len(roles) < 2:
        return False
    if all(isinstance(values, Mapping) for values in table.values()):
        return True
    if any(key in named or is_usual(str(key), *roles[:2]) for key in table):
        return False
    return all(_check.has_length(v) and not isinstance(v, str | bytes) for v in table.values())


def _open_lists(table: Mapping[Any, Collection[Any]], roles: Sequence[Role], name: str) -> Source:
    """Open the items of users: ``{item: value}``, or lists or sets of items.

    The items of a list in a run have ranks in its order. Users without items are `Source.empty`.
    """
    if all(any(user in role.usual for user in table) for role in roles[:2]):
        raise DataError(
            f"{name} is a mapping of columns to mappings, as pandas' to_dict() returns. Pass the "
            "frame itself, or to_dict('list')."
        )
    counts = np.fromiter(map(len, table.values()), np.int64, len(table))
    users = pl.Series(_ids(list(table), "user", name))
    items = [*chain.from_iterable(map(_items, table.values()))]
    if any(issubclass(kind, float) for kind in {*map(type, items)}):  # scores, not ids
        raise missing([*map(str, table)], roles[:2], name)
    columns: dict[str, Any] = {
        roles[0].name: users.gather(np.repeat(np.arange(counts.size), counts)),
        roles[1].name: _ids(items, "item", name),
    }
    if _has_values([items for items in table.values() if len(items)], name):
        values = [*chain.from_iterable(cast("Any", v).values() for v in table.values() if len(v))]
        is_plain = {*map(type, values)} in ({int}, {float})
        columns[roles[2].name] = np.array(values) if is_plain else values
    elif RANK in roles:
        _refuse_sets(table, name)
        columns[RANK.name] = rows_between(np.ones_like(counts), counts)[1]
    return replace(_open_columns(name, columns), empty=users.filter(counts == 0))


def _has_values(lists: Sequence[Collection[Any]], name: str) -> bool:
    """Return whether items have values, or raise if those of some users only have them."""
    is_valued = {isinstance(items, Mapping) for items in lists}
    if len(is_valued) > 1:
        raise DataError(
            f"{name} has users with {{item: value}} and users with lists. Use one form."
        )
    return True in is_valued


def _refuse_sets(table: Mapping[Any, Collection[Any]], name: str) -> None:
    if any(isinstance(items, Set) and len(items) > 1 for items in table.values()):
        raise DataError(f"{name} has sets of items, which have no order. Pass lists, best first.")


def _items(items: Collection[Any]) -> list[Any]:
    if isinstance(items, Set):
        return sorted(items, key=str)  # the order of a set changes from process to process
    return cast("Any", items).tolist() if hasattr(items, "tolist") else list(items)


def _ids(ids: list[Any], noun: str, name: str) -> pl.Series | NDArray[np.int64]:
    """Return ids as a column, if all are integers or all are strings."""
    kinds = set(map(type, ids))
    if all(issubclass(kind, str) for kind in kinds):
        return pl.Series(ids, dtype=pl.String)
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return np.array(ids)
    advice = (
        "Pass (item, score) pairs as dict(pairs)." if kinds & {tuple, list} else "Convert them."
    )
    raise DataError(
        f"{name}: {noun}s must all be integers or all be strings, got "
        f"{' and '.join(sorted(kind.__name__ for kind in kinds))}. {advice}"
    )


def _from_tuple(arrays: tuple[Any, ...], columns: Sequence[str], noun: str) -> dict[str, Any]:
    if not 2 <= len(arrays) <= len(columns):
        raise ArgumentError(
            f"{noun} as a tuple must be ({', '.join(columns)}), got {len(arrays)} arrays."
        )
    return dict(zip(columns, arrays, strict=False))


def _open_file(
    place: str | Path | File, noun: str, format: str | None, columns: Sequence[str] | None
) -> Source:
    """Open a file in the given format, or in that of its suffix or content."""
    if not isinstance(place, File):
        path = Path(place)
        if path.is_dir() and format is None and columns is None:
            return open_stored(path, noun)
        place = File.of(path, noun)
    if columns is not None:
        suffix_format = format_of_suffix(place.path)
        if format is not None or suffix_format not in (None, "csv", "tsv"):
            refuse_columns(columns, f"a file of the format {format or suffix_format}")
        return open_headerless(place, columns)
    kind = place.format(format)
    if kind in ("csv", "tsv"):
        return open_delimited(place, "," if kind == "csv" else "\t")
    if kind in _READERS:
        return _READERS[kind](place)
    if kind == "arrow" and not place.first_line.startswith("ARROW1"):
        return open_arrow_stream(place)
    return open_stored(place, noun, kind)


_READERS: dict[str, Callable[[File], Source]] = {
    "trec": open_trec,
    "svmlight": open_svmlight,
    "jsonl": open_jsonl,
    "lists": open_lists,
}


@dataclass(frozen=True, eq=False)
class RoleColumns:
    """Columns of a table, by role.

    Attributes
    ----------
    table : Source
    names : mapping of role to str
        The name of each role's column in the table.
    read : mapping of role to column
        The columns that were read. A role without a column in the table is not in it.

    Examples
    --------
    >>> from podium.data.columns import ITEM, USER, VALUE
    >>> from podium.data.tables import open_table
    >>> roles = (USER, ITEM, VALUE)
    >>> source = {"user": [1], "movie": [5], "rating": [4]}
    >>> table = open_table(source, "interactions", roles, {"item": "movie"})
    >>> columns = RoleColumns.of(table, roles)
    >>> columns.ids("item").tolist(), columns.numbers("value").tolist()
    ([5], [4.0])
    """

    table: Source
    names: Mapping[str, str]
    read: Mapping[str, Any]

    @classmethod
    def of(cls, table: Source, roles: Sequence[Role]) -> RoleColumns:
        """Find and read the columns of some roles."""
        return cls.named(table, roles, table.resolve(roles))

    @classmethod
    def named(cls, table: Source, roles: Sequence[Role], names: Mapping[str, str]) -> RoleColumns:
        """Read the columns of some roles by their names."""
        kinds: dict[str, Kind] = {names[r.name]: r.kind for r in roles if r.name in names}
        columns: Mapping[str, Any] = table.fetch(kinds) if kinds else {}
        if kinds and not table.can_be_empty and not any(map(len, columns.values())):
            raise DataError(f"{table.name} has no rows. Pass a table with rows.")
        read = {r.name: columns[names[r.name]] for r in roles if r.name in names}
        return cls(table, names, read)

    def __contains__(self, role: str) -> bool:
        return role in self.read

    def ids(self, role: str) -> Ids:
        """Return the ids of users or items; see `to_ids`.

        Ids of items remain text if the format says that they are text.
        """
        guess = role != "item" or not self.table.text_ids
        return to_ids(self.read[role], self.names[role], self.table, guess=guess)

    def numbers(self, role: str, users: Ids | None = None) -> NDArray[np.float64]:
        """Return finite numbers; `users` are the ids that messages name."""
        name = self.names[role]
        return finite(to_numbers(self.read[role], name, self.table, users), name, users, self.table)

    def times(self) -> Times | None:
        """Return the times of events, or None if the table has none."""
        if "timestamp" not in self:
            return None
        return read_times(self.read["timestamp"], self.names["timestamp"], self.table)
