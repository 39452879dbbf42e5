"""The columns of tables of samples, read by their roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data.columns import SCORE as USUAL_SCORE
from podium.data.columns import USER, Role, resolve
from podium.data.convert import Ids, finite, to_ids, to_numbers, to_scores
from podium.data.source import Kind, Source
from podium.data.tables import fetch, open_table
from podium.errors import warn
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
        table = open_table(source, noun, roles)
        names = resolve(table.names, roles, columns or {}, table.name)
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


_MOST_ERRORS = 6.0  # Poisson standard errors above the expected number of draws
_LEAST_MISSES = 20  # with fewer, a list of the model's own would hardly miss targets either
_MISS_RATIO = 0.25  # misses of a proxy that was not trained on the targets are more frequent


def warn_of_popular_draws(drawn: NDArray[Any], expected: float, advice: str, source: str) -> None:
    """Warn if an item was drawn more often than the same chance for all items allows.

    Parameters
    ----------
    drawn : (n,)
        The drawn items of all users.
    expected : float
        The largest expected number of draws of an item.
    advice : str
        The sentence after the numbers.
    source : str
        The name of the table.

    Warns
    -----
    PodiumWarning
        If an item has 6 standard errors, and 6 draws, more than expected.
    """
    names, counts = np.unique(drawn, return_counts=True)
    limit = expected + _MOST_ERRORS * np.sqrt(expected) + _MOST_ERRORS
    is_common_list = counts.size > 1 and counts.min() == counts.max()  # the same for all users
    if is_common_list or int(counts.max(initial=0)) <= limit:
        return
    most, n_above = int(np.argmax(counts)), int((counts > limit).sum())
    warn(
        f"{source}: item {_check.label(names[most])} was drawn for {counts[most]} users, but a "
        f"uniform sample has it for about {expected:.0f}. {n_above} of {names.size} drawn "
        f"items have too many draws. {advice}"
    )


def warn_of_known_targets(
    in_list: NDArray[np.bool_], in_top: NDArray[np.bool_], source: str
) -> None:
    """Warn if a proxy lists so many targets that it was probably trained on them.

    Parameters
    ----------
    in_list : bool, (n,)
        Whether the proxy lists each target.
    in_top : bool, (n,)
        Whether the scores place the target in a list of the same length.
    source : str
        The name of the table.

    Warns
    -----
    PodiumWarning
        If the list misses less than a quarter as many targets as the scores, which miss at least
        20.
    """
    n_missed, n_low = int((~in_list).sum()), int((~in_top).sum())
    if n_low < _LEAST_MISSES or n_missed >= _MISS_RATIO * n_low:
        return
    warn(
        f"{source}: the proxy lists {in_list.sum()} of {in_list.size} targets, but by their scores "
        f"only about {in_top.sum()} are among as many items. If the proxy was trained on the "
        "targets, its lists do not help to evaluate a model that was not. If you do not know which "
        "targets it lists, give all targets the stratum 'drawn'."
    )
