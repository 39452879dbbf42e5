"""The join of a run with its truth, and the overlap of their ids, also in other spellings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._text import counted, inside
from podium.data import spelling
from podium.data.convert import Ids
from podium.data.ids import (
    Shared,
    distinct,
    distinct_ids,
    first_repeated,
    in_type_of,
    joined_ids,
    label_array,
    share,
    strings,
)
from podium.data.runs import Run, Truth
from podium.errors import ArgumentError, DataError, arg, warn
from podium.groups import Groups, find
from podium.types import Labels, Mask

_ONE_SPELLING = "Use one spelling in all tables."
MIN_SHARE = 0.05
"""The smallest share of common ids, in the table with fewer ids, that gives no warning."""


class Side(NamedTuple):
    """A table whose ids are compared: its role in messages, its name, and its ids.

    `has_rows` states that there is an id for each row.
    """

    role: str
    name: str
    ids: Ids
    has_rows: bool = True

    @property
    def inside(self) -> str:
        """The name inside a sentence."""
        return inside(self.name)

    def rows_of(self, texts: list[str]) -> str:
        """Return " (7 rows)" with the number of rows of some ids, if each row has its id."""
        if not (self.has_rows and texts):
            return ""
        return f" ({counted(int(strings(self.ids).is_in(texts).sum()), 'rows')})"

    def label(self, text: Any) -> str:
        """Return an id as it is written in this table."""
        return str(text) if isinstance(self.ids, np.ndarray) else _check.label(text)


@dataclass(frozen=True, eq=False)
class CommonIds:
    """The codes that are in both columns, only in the left one and only in the right one."""

    both: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def n_left(self) -> int:
        return self.both.size + self.left.size

    @property
    def n_right(self) -> int:
        return self.both.size + self.right.size


def common_ids(shared: Shared) -> CommonIds:
    """Return which ids are in both columns and which in one only."""
    left, right = distinct(shared.left), distinct(shared.right)
    in_both = np.isin(left, right)
    return CommonIds(left[in_both], left[~in_both], right[~np.isin(right, left)])


@dataclass(frozen=True, eq=False)
class PartIds:
    """The ids of a truth and a run for some of their users.

    Attributes
    ----------
    names : (str, str)
        The names of the truth and the run.
    n_both : int
        The number of users of both tables.
    users : (list of ids, list of ids)
        The users of the truth only, and of the run only.
    items : (ids, ids)
        The distinct items of each table.
    """

    names: tuple[str, str]
    n_both: int
    users: tuple[list[Ids], list[Ids]]
    items: tuple[Ids, Ids]

    def __add__(self, other: PartIds) -> PartIds:
        """Return the ids of the users of both."""
        (truth, run), (more_truth, more_run) = self.items, other.items
        return replace(
            self,
            n_both=self.n_both + other.n_both,
            users=(self.users[0] + other.users[0], self.users[1] + other.users[1]),
            items=(_joined(truth, more_truth), _joined(run, more_run)),
        )

    def check(self, *, all_users: bool) -> int:
        """Check the ids of all users as `check_ids` does; return the number of items of the run."""
        users = joined_ids(self.users[0]), joined_ids(self.users[1])
        sides = (_sides(*self.names, *ids, has_rows=False) for ids in (users, self.items))
        shared = share(*users), share(*self.items)
        return check_ids(*shared, *sides, n_more=self.n_both, all_users=all_users)

    def refuse_absent(self) -> None:
        """Raise if the run lacks users of the truth."""
        refuse_absent(self.names[1], joined_ids(self.users[0]), self.n_both)


def _sides(truth: str, run: str, left: Ids, right: Ids, *, has_rows: bool) -> tuple[Side, Side]:
    """Return the ids of a truth and of a run, given their names."""
    return Side("the truth", truth, left, has_rows), Side("the run", run, right, has_rows)


def _joined(*columns: Ids) -> Ids:
    return distinct_ids(joined_ids(columns))


def check_ids(
    users: Shared,
    items: Shared,
    user_sides: Sequence[Side],
    item_sides: Sequence[Side],
    *,
    n_more: int = 0,
    all_users: bool,
) -> int:
    """Check the ids of a truth and a run as `check_common` does; return the number of its items.

    Raises
    ------
    ArgumentError
        If `all_users`, and the run lacks users of the truth. `n_more` further users are in both.
    """
    common = check_common(users, "user", *user_sides, n_more=n_more)
    if all_users:
        refuse_absent(user_sides[1].name, users.ids(common.left), common.both.size + n_more)
    return check_common(items, "item", *item_sides).n_right


def refuse_absent(run: str, absent: Ids, n_both: int) -> None:
    """Raise if a run lacks users of the truth."""
    if len(absent):
        raise ArgumentError(
            f"{run} lacks {len(absent)} of {n_both + len(absent)} users, first "
            f"{_check.label(_smallest(absent))}. Pass {arg.missing('zero')} to score them 0, or "
            f"{arg.missing('skip')} to leave them out."
        )


def refuse_repeated(shared: Shared, noun: str, name: str) -> None:
    """Raise if the left column of a table, which has one row per id, has an id twice."""
    repeated = first_repeated(shared.left)
    if repeated is not None:
        first = _check.label(shared.label(repeated))
        raise DataError(f"{name} has two rows for {noun} {first}. Keep one.")


def check_common(
    shared: Shared,
    noun: str,
    left: Side,
    right: Side,
    *,
    n_more: int = 0,
    min_share: float = MIN_SHARE,
) -> CommonIds:
    """Raise if two columns have no id in common; warn if they have few in common.

    Parameters
    ----------
    shared : Shared
        The codes of the ids.
    noun : str
        The kind of the ids: "user" or "item".
    left, right : Side
        The tables.
    n_more : int
        The number of further ids that are in both columns.
    min_share : float
        The threshold of the warning, as a share of the ids of the table with fewer ids. The default
        is far below the share of a short run of popular items, or of a truth of few users.

    Returns
    -------
    CommonIds
        The common and the other codes.

    Raises
    ------
    DataError
        If no id is in both.

    Warns
    -----
    PodiumWarning
        If few ids are in both, or ids of the two tables are the same but for Unicode form, blanks,
        case or the form of a number.
    """
    common = common_ids(shared)
    pairs = _respelled(shared, common)
    n, rows = len(pairs), left.rows_of([text for text, _ in pairs])
    n_both = common.both.size + n_more
    if not n_both:
        first = pairs[0] if pairs else map(_smallest, (left.ids, right.ids))
        left_id, right_id = (side.label(i) for side, i in zip((left, right), first, strict=True))
        raise DataError(
            f"No {noun} is in both tables: {left.role} has {left_id}, {right.role} has {right_id}. "
            + (
                f"{counted(n, 'ids')} of {right.inside} differ{'s' * (n == 1)} only in "
                f"{spelling.differences(pairs)}{rows}. {_ONE_SPELLING}"
                if pairs
                else f"Check that {left.inside} and {right.inside} use the same {noun} ids."
            )
        )
    if pairs:
        warn(
            f"{n} {noun} id{'s' if n > 1 else ''}{rows} of {left.inside} may be in {right.inside} "
            f"in another spelling: they differ in {spelling.differences(pairs)}, such as "
            f"{left.label(pairs[0][0])} and {right.label(pairs[0][1])}, and count as two {noun}s. "
            f"{_ONE_SPELLING}"
        )
    n_left, n_right = common.n_left + n_more, common.n_right + n_more
    if n_both < min_share * min(n_left, n_right):
        warn(
            f"Only {n_both} of the {n_left} {noun}s of {left.inside} are among the {n_right} of "
            f"{right.inside}. Check that both use the same {noun} ids."
        )
    return common


def _smallest(ids: Ids) -> Any:
    """Return the smallest id, which is the same for any order of rows."""
    return int(ids.min()) if isinstance(ids, np.ndarray) else ids.min()


def _respelled(shared: Shared, common: CommonIds) -> list[tuple[str, str]]:
    """Return the left ids that the right table spells differently, with the other spelling."""
    names = shared.names
    if names is None or not (common.left.size and common.right.size):
        return []
    return spelling.twins(*(names.gather(c).to_list() for c in (common.left, common.right)))


@dataclass(frozen=True, eq=False)
class Join:
    """The users of a truth, with their rows in the truth and in a run.

    Attributes
    ----------
    truth, run : Truth, Run
    users, items : Shared
        The codes of the users and the items of both tables.
    truths, runs : Groups
        The rows of each user of the truth, and of the run.
    truth_group, run_group : int64, (n_users,)
        The groups of each user in them; -1 if the run lacks the user.
    labels : (n_users,)
        The users, in the order of the truth's own ids.
    """

    truth: Truth
    run: Run
    users: Shared
    items: Shared
    truths: Groups
    runs: Groups
    truth_group: NDArray[np.int64]
    run_group: NDArray[np.int64]
    labels: Labels

    @classmethod
    def of(cls, truth: Truth, run: Run) -> Join:
        """Match the users and the items of two tables."""
        n_truth, n_run = len(truth.item), len(run.item)
        users = share(truth.users, run.users)
        truths = Groups.from_qid(users.left).of_first(n_truth)
        runs = Groups.from_qid(users.right).of_first(n_run)
        users = replace(users, left=users.left[:n_truth], right=users.right[:n_run])
        # The groups, their labels and their order must not depend on the type of the run's ids.
        # Therefore the groups are in the order of the truth's own ids.
        labels = label_array(in_type_of(users.ids(truths.labels), truth.user))
        order = np.argsort(labels, kind="stable")
        run_group = find(runs.labels, truths.labels)[order]
        items = share(truth.item, run.item, ordered=False)
        return cls(truth, run, users, items, truths, runs, order, run_group, labels[order])

    @property
    def is_absent(self) -> Mask:
        """Whether the run lacks each user, (n_users,)."""
        return self.run_group < 0

    def of_users(self, mask: Mask) -> Join:
        """Return the join of some of the users."""
        return replace(
            self,
            truth_group=self.truth_group[mask],
            run_group=self.run_group[mask],
            labels=self.labels[mask],
        )

    def check(self, *, all_users: bool) -> int:
        """Raise or warn if the tables have few ids in common; return the number of the run's items.

        Raises
        ------
        DataError
            If they have no user or no item in common.
        ArgumentError
            If `all_users`, and the run lacks users.
        """
        truth, run = self.truth, self.run
        columns = (truth.user, run.user), (truth.item, run.item)
        sides = (_sides(truth.name, run.name, *ids, has_rows=True) for ids in columns)
        return check_ids(self._distinct_users(), self.items, *sides, all_users=all_users)

    def part_ids(self) -> PartIds:
        """Return the ids of both tables, if these are some users of larger ones."""
        ids = self.users.ids
        common = common_ids(self._distinct_users())
        return PartIds(
            (self.truth.name, self.run.name),
            common.both.size,
            ([ids(common.left)], [ids(common.right)]),
            (distinct_ids(self.truth.item), distinct_ids(self.run.item)),
        )

    def _distinct_users(self) -> Shared:
        return replace(self.users, left=self.truths.labels, right=self.runs.labels)

    @property
    def keeps_rows(self) -> bool:
        """Whether the rows of the run, in their given order, are those of the users."""
        run_groups = self.run_group[~self.is_absent]
        is_increasing = bool(np.all(run_groups[1:] > run_groups[:-1]))
        return self.runs.order is None and is_increasing and run_groups.size == self.runs.n_groups
