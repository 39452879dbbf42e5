"""The columns of a table that have a role, read and converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import Kind, Role
from podium.data.convert import Ids, finite, to_ids, to_numbers
from podium.data.source import Source
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
        return tuple(role for role in ("user", "item") if self._is_whole(role))

    def _is_whole(self, role: str) -> bool:
        column = self.read.get(role, ())
        # The ids of a column are only converted if its first text ends so.
        ends_so = self.table.text and len(column) > 0 and str(column[0]).endswith(".0")
        return ends_so and isinstance(self.ids(role), np.ndarray)

    def numbers(self, role: str, users: Ids | None = None) -> NDArray[np.float64]:
        """Return finite numbers; `users` are the ids that messages name."""
        name = self.names[role]
        return finite(to_numbers(self.read[role], name, self.table, users), name, users, self.table)

    def times(self) -> Times | None:
        """Return the times of events, or None if the table has none."""
        if "timestamp" not in self:
            return None
        return read_times(self.read["timestamp"], self.names["timestamp"], self.table)
