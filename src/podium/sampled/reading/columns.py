"""The columns of tables of samples, read by their roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import SCORE as USUAL_SCORE
from podium.data.columns import USER, Kind, Role
from podium.data.convert import Ids, finite, to_ids, to_numbers, to_scores
from podium.data.source import Source
from podium.data.tables import fetch, open_table
from podium.sampled.design import Floats

OPTIONAL_USER = Role("user", USER.usual, required=False)
RANK = Role("rank", ("rank", "sampled_rank"))
N_NEGATIVES = Role("n_negatives", ("n_negatives", "negatives"), required=False)
HISTORY = Role("history", ("history", "n_history", "n_train"), required=False)
SCORE = Role("score", USUAL_SCORE.usual)
TARGET = Role("target", ("target", "is_target", "relevance", "label"))
STRATUM = Role("stratum", ("stratum",))

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("user", "item", "stratum"), "id"),
    **dict.fromkeys(("rank", "n_negatives", "score", "target", "history"), "number"),
}


@dataclass(frozen=True, eq=False)
class Columns:
    """An open table, with the names and the values of its columns by role."""

    table: Source
    names: dict[str, str]
    values: dict[str, Any]

    @classmethod
    def read(
        cls, source: Any, noun: str, roles: tuple[Role, ...], columns: Mapping[str, str] | None
    ) -> Columns:
        """Read the columns that a table has; `columns` are names that are not the usual ones."""
        table = open_table(source, noun, roles, columns)
        names = table.resolve(roles)
        kinds: dict[str, Kind] = {role.name: _KINDS[role.name] for role in roles}
        return cls(table, names, fetch(table, names, kinds))

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.table.name

    @cached_property
    def user(self) -> Ids | None:
        """The user of each row, if there is such a column."""
        return self.ids("user") if "user" in self.values else None

    @property
    def pairs(self) -> tuple[Ids, Ids]:
        """The user and the item of each row."""
        return self.ids("user"), self.ids("item")

    def ids(self, role: str) -> Ids:
        """Return a column of ids."""
        return to_ids(self.values[role], self.names[role], self.table)

    def numbers(self, role: str, rows: NDArray[np.bool_] | None = None) -> Floats:
        """Return a column of numbers, which only the given rows must have."""
        return to_numbers(self.values[role], self.names[role], self.table, self.user, rows)

    def scores(self) -> Floats:
        """Return the finite scores."""
        return to_scores(self.table, self.names["score"], self.values["score"], self.user)[0]

    def is_target(self) -> NDArray[np.bool_]:
        """Return whether each row is a target."""
        return finite(self.numbers("target"), self.names["target"], self.user, self.table) > 0
