"""Column names that a caller gives once for several tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from podium._files import is_read_once
from podium.data.columns import SharedName
from podium.data.tables import open_table
from podium.errors import PodiumError

M = TypeVar("M", bound=Mapping[str, Any])

_ROLES = ("user", "item")


def with_shared_names(options: M, tables: Iterable[Any], roles: Iterable[str] = _ROLES) -> M:
    """Return options in which names of columns apply to the tables that have such a column.

    The other tables are read by their usual names. A name that no table has stays as it is, so
    that the first table is refused without it.

    Parameters
    ----------
    options : mapping
        Options with names of columns by role.
    tables : iterable
        All tables that are read with these names; None and tables already read are ignored.
    roles : iterable of str
        The roles whose names several tables share.

    Examples
    --------
    >>> truth, run = {"who": [1], "item": [5]}, {"user": [1], "item": [5], "score": [1]}
    >>> type(with_shared_names({"user": "who"}, [truth, run])["user"]).__name__
    'SharedName'
    """
    names_by_role = {role: options.get(role) for role in roles}
    names = {
        role: name
        for role, name in names_by_role.items()
        if name is not None and not isinstance(name, SharedName)
    }
    if not names:
        return options
    known_columns = {column for table in tables for column in _columns(table)}
    shared = {role: SharedName(name) for role, name in names.items() if name in known_columns}
    return cast("M", {**options, **shared})


def _columns(table: Any) -> tuple[str, ...]:
    """Return the names of a table's columns, none if it can't be examined before it is read."""
    if isinstance(table, list):
        return tuple(name for part in cast("list[Any]", table) for name in _columns(part))
    if table is None or is_read_once(table):
        return ()
    try:
        return open_table(table, "table", ()).names
    except PodiumError:  # a table already read, or a wrong one, which its reader refuses
        return ()
