"""The join of a run with its truth: which users and items are in both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import one_chunk
from podium.data.ids import Shared, compared, distinct_ids, share
from podium.data.overlap import CommonIds, PartIds, Side, check_ids, common_ids
from podium.data.runs import Run, Truth
from podium.groups import Groups, find
from podium.types import Labels, Mask


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
        everyone = replace(truth, user=truth.users), replace(run, user=run.users)
        users = share(*compared(*everyone, "user"))
        truths = Groups.from_qid(users.left).of_first(n_truth)
        runs = Groups.from_qid(users.right).of_first(n_run)
        users = replace(users, left=users.left[:n_truth], right=users.right[:n_run])
        # The groups, their labels and their order must not depend on the type of the run's ids.
        # Therefore the groups are in the order of the truth's own ids.
        labels = _truth_labels(truth, users, truths.labels)
        order = np.argsort(labels, kind="stable")
        run_group = find(runs.labels, truths.labels)[order]
        items = share(*compared(truth, run, "item"), ordered=False)
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

    def check(self, *, all_users: bool) -> CommonIds:
        """Raise or warn if the tables have few ids in common, and return the common items.

        Raises
        ------
        DataError
            If they have no user or no item in common.
        ArgumentError
            If `all_users`, and the run lacks users.
        """
        sides = self._sides("user"), self._sides("item")
        return check_ids(self._distinct_users(), self.items, *sides, all_users=all_users)

    def part_ids(self) -> PartIds:
        """Return the ids of both tables, if these are some users of larger ones."""
        ids = self.users.ids
        common = common_ids(self._distinct_users())
        return PartIds(
            (self.truth.name, self.run.name),
            ("item" in self.truth.whole, "item" in self.run.whole),
            common.both.size,
            ([ids(common.left)], [ids(common.right)]),
            (distinct_ids(self.truth.item), distinct_ids(self.run.item)),
        )

    def _distinct_users(self) -> Shared:
        return replace(self.users, left=self.truths.labels, right=self.runs.labels)

    def _sides(self, kind: Literal["user", "item"]) -> tuple[Side, Side]:
        left, right = compared(self.truth, self.run, kind)
        return Side("the truth", self.truth.name, left), Side("the run", self.run.name, right)

    @property
    def keeps_rows(self) -> bool:
        """Whether the rows of the run, in their given order, are those of the users."""
        run_groups = self.run_group[~self.is_absent]
        is_increasing = bool(np.all(run_groups[1:] > run_groups[:-1]))
        return self.runs.order is None and is_increasing and run_groups.size == self.runs.n_groups


def _truth_labels(truth: Truth, users: Shared, codes: NDArray[np.int64]) -> Labels:
    """Return the truth's users of the codes, as integers if they are integers in the truth."""
    labels = users.labels(codes)
    if not isinstance(truth.user, np.ndarray) or labels.dtype.kind in "iu":
        return labels
    numbers = pl.Series(labels).str.strip_suffix(".0").cast(pl.Int64)  # "7.0" as it is written
    return one_chunk(numbers)
