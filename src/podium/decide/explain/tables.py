"""How two truths, or two runs, differ before any measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._kernels import rank_rows, read_only
from podium.data import Run, Truth
from podium.data.ids import Shared, compared, share
from podium.groups import Groups
from podium.ranking import count_between

_MOST_EXAMPLES = 3


@dataclass(frozen=True)
class Line:
    """One number of each of two tables.

    Attributes
    ----------
    label : str
        What is counted.
    n_yours, n_theirs : int
        The numbers in the first and the second table.
    examples : tuple of str
        Up to three of them.
    """

    label: str
    n_yours: int
    n_theirs: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Differences:
    """The differences of two truths or of two runs.

    Attributes
    ----------
    kind : {"truth", "run"}
    lines : tuple of Line
        Counts of each table.
    n_common_pairs : int
        The pairs of a user and an item in both.
    n_changed_pairs : int
        Those with another relevance or, in runs, another score.
    n_users_reordered : int
        The users whose common items have another order; 0 for truths.
    """

    kind: str
    lines: tuple[Line, ...]
    n_common_pairs: int
    n_changed_pairs: int
    n_users_reordered: int = 0


def differences(first_table: Truth | Run, second_table: Truth | Run) -> Differences:
    """Compare two truths or two runs by their ids and values.

    Parameters
    ----------
    first_table, second_table : Truth or Run
        Two tables of the same kind.
    """
    users, items = (share(*compared(first_table, second_table, kind)) for kind in ("user", "item"))
    pairs = _Pairs(users, items)
    first, second = pairs.left, pairs.right
    lines = [
        Line("users", np.unique(users.left).size, np.unique(users.right).size),
        _only("users only here", users.left, users.right, users.label),
        Line("pairs", first.size, second.size),
        _only("pairs only here", first, second, pairs.label),
    ]
    common, at_first, at_second = np.intersect1d(first, second, return_indices=True)
    values = _values(first_table)[at_first], _values(second_table)[at_second]
    if isinstance(first_table, Truth):
        grades = [np.unique(_values(table)).size for table in (first_table, second_table)]
        lines.append(Line("distinct relevances", grades[0], grades[1]))
        return Differences("truth", tuple(lines), common.size, _n_unequal(*values))
    tied = [
        _n_tied_users(codes, table)
        for codes, table in ((users.left, first_table), (users.right, second_table))
    ]
    lines.append(Line("users with equal scores", tied[0], tied[1]))
    reordered = _n_reordered(users.left[at_first], *values)
    return Differences("run", tuple(lines), common.size, _n_unequal(*values), reordered)


class _Pairs:
    """One code per pair of a user and an item, common to both tables."""

    def __init__(self, users: Shared, items: Shared) -> None:
        self._users, self._items = users, items
        self._user_codes = np.unique(np.concatenate([users.left, users.right]))
        self._item_codes = np.unique(np.concatenate([items.left, items.right]))
        self.left = self._codes(users.left, items.left)
        self.right = self._codes(users.right, items.right)

    def _codes(self, user: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.int64]:
        positions = np.searchsorted(self._user_codes, user)
        return positions * self._item_codes.size + np.searchsorted(self._item_codes, item)

    def label(self, code: Any) -> str:
        user, item = divmod(int(code), self._item_codes.size)
        user_label = self._users.label(self._user_codes[user])
        return f"({user_label}, {self._items.label(self._item_codes[item])})"


def _only(label: str, left: NDArray[np.int64], right: NDArray[np.int64], name_of: Any) -> Line:
    """Count the codes that only one side has, with examples."""
    only = np.setdiff1d(left, right), np.setdiff1d(right, left)
    examples = [*only[0][:_MOST_EXAMPLES], *only[1][:_MOST_EXAMPLES]][:_MOST_EXAMPLES]
    return Line(label, only[0].size, only[1].size, tuple(str(name_of(code)) for code in examples))


def _values(table: Truth | Run) -> NDArray[np.float64]:
    return table.relevance if isinstance(table, Truth) else table.score


def _n_unequal(first: NDArray[np.float64], second: NDArray[np.float64]) -> int:
    return int((first != second).sum())


def _n_tied_users(users: NDArray[np.int64], run: Truth | Run) -> int:
    """Count the users with two equal scores."""
    groups = Groups.from_qid(users)
    score = groups.gather(_values(run))
    tied = np.zeros(score.size, np.bool_)
    rank_rows(groups.offsets, read_only(score), np.empty(0), 1.0, np.zeros(score.size), tied)
    return int((count_between(tied, groups.offsets) > 0).sum())


def _n_reordered(
    users: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> int:
    """Count the users for whom two scores of the same items give different orders."""
    order = np.lexsort((first, users))
    user, by_first, by_second = users[order], first[order], second[order]
    is_same_user = user[1:] == user[:-1]
    falls = is_same_user & (by_first[1:] > by_first[:-1]) & (by_second[1:] <= by_second[:-1])
    splits = is_same_user & (by_first[1:] == by_first[:-1]) & (by_second[1:] != by_second[:-1])
    return int(np.unique(user[1:][falls | splits]).size)
