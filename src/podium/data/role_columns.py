"""The columns of a table that have a role, read and converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import Role, resolve
from podium.data.convert import Ids, finite, to_ids, to_numbers
from podium.data.source import Kind, Source
from podium.data.tables import fetch
from podium.data.times import Times, read_times


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
    >>> table = open_table({"user": [1], "movie": [5], "rating": [4]}, "interactions", roles)
    >>> columns = RoleColumns.of(table, roles, item="movie")
    >>> columns.ids("item").tolist(), columns.numbers("value").tolist()
    ([5], [4.0])
    """

    table: Source
    names: Mapping[str, str]
    read: Mapping[str, Any]

    @classmethod
    def of(cls, table: Source, roles: Sequence[Role], **explicit: str | None) -> RoleColumns:
        """Find and read the columns of some roles; `explicit` are the given names of columns."""
        return cls.named(table, roles, resolve(table.names, roles, explicit, table.name))

    @classmethod
    def named(cls, table: Source, roles: Sequence[Role], names: Mapping[str, str]) -> RoleColumns:
        """Read the columns of some roles by their names."""
        kinds: dict[str, Kind] = {role.name: role.kind for role in roles if role.name in names}
        return cls(table, names, fetch(table, names, kinds) if kinds else {})

    def __contains__(self, role: str) -> bool:
        return role in self.read

    def ids(self, role: str) -> Ids:
        """Return the ids of users or items; see `to_ids`.

        Ids of items remain text if the format says that they are text.
        """
        guess = role != "item" or not self.table.text_ids
        return to_ids(self.read[role], self.names[role], self.table, guess=guess)

    def whole(self) -> tuple[str, ...]:
        """Return the roles of ids that are integers, but written with ".0"."""
        roles = [r for r in ("user", "item") if r in self.read and self.table.text]
        return tuple(r for r in roles if is_whole(self.read[r], partial(self.ids, r), self.table))

    def numbers(self, role: str, users: Ids | None = None) -> NDArray[np.float64]:
        """Return finite numbers; `users` are the ids that messages name."""
        name = self.names[role]
        return finite(to_numbers(self.read[role], name, self.table, users), name, users, self.table)

    def times(self) -> Times | None:
        """Return the times of events, or None if the table has none."""
        if "timestamp" not in self:
            return None
        return read_times(self.read["timestamp"], self.names["timestamp"], self.table)


def is_whole(column: Any, ids: Callable[[], Ids], table: Source) -> bool:
    """Return whether ids are integers that the table's file writes with ".0".

    The ids of a column are only converted if its first text ends so.
    """
    ends_so = table.text and len(column) > 0 and str(column[0]).endswith(".0")
    return ends_so and isinstance(ids(), np.ndarray)
