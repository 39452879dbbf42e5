"""The join of a run with its truth: groups are matched by user, rows by item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium._kernels import rank_rows, read_only
from podium._ties import label_keys, text_order
from podium.data import _kernels
from podium.data.convert import one_chunk
from podium.data.ids import Shared, compared, share
from podium.data.overlap import CommonIds, Side, check_common
from podium.data.runs import Run, Truth
from podium.errors import ArgumentError, DataError, arg
from podium.groups import Groups, find, row_offsets
from podium.ranking import count_between, kept_offsets
from podium.types import Counts, Labels, Mask, Missing, Offsets, PerRow, Ties, Unjudged

_UNJUDGED: tuple[Unjudged, ...] = ("negative", "skip", "error", "bounds")

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Rows:
    """The joined rows, in group order."""

    offsets: Offsets
    score: NDArray[np.float64]
    relevance: NDArray[np.float64]
    item: NDArray[np.int64] | None
    ideal: tuple[Offsets, NDArray[np.float64]]
    n_distinct: Counts
    n_whole: Counts
    n_judged: Counts
    judged: Mask | None
    of_truth: tuple[Offsets, NDArray[np.float64]] | None = None
    """The relevances above 0 of the truth, if `ideal` lacks some of them."""

    def listed_only(self, absent: Mask) -> Rows:
        """Return the rows with the relevances of listed items only; each list is then whole.

        Groups with `absent` have no list: all their relevances remain.
        """
        sizes = np.diff(self.offsets)
        is_relevant = self.relevance > 0
        listed = kept_offsets(is_relevant, self.offsets), self.relevance[is_relevant]
        n_judged = sizes if self.judged is None else count_between(self.judged, self.offsets)
        return replace(
            self,
            ideal=_chosen(absent, self.ideal, listed),
            n_distinct=sizes,
            n_whole=np.where(absent, -1, sizes),
            n_judged=n_judged,
            of_truth=self.ideal,
        )

    def above(self, score: float) -> Rows:
        """Return the rows with a higher score; the relevances of the others still count."""
        return self.kept(self.score > score)

    def kept(self, keep: Mask) -> Rows:
        """Return some of the rows; the relevances of the others still count."""
        return replace(
            self,
            offsets=kept_offsets(keep, self.offsets),
            score=self.score[keep],
            relevance=self.relevance[keep],
            item=None if self.item is None else self.item[keep],
            judged=None if self.judged is None else self.judged[keep],
        )


def _chosen(
    is_first: Mask, first: tuple[Offsets, PerRow], second: tuple[Offsets, PerRow]
) -> tuple[Offsets, PerRow]:
    """Return the offsets and values of `first` in some groups, and of `second` in the others."""
    sizes = [np.diff(offsets) for offsets, _ in (first, second)]
    group = [np.repeat(np.arange(is_first.size), size) for size in sizes]
    keep = is_first[group[0]], ~is_first[group[1]]
    groups = np.concatenate([g[k] for g, k in zip(group, keep, strict=True)])
    values = np.concatenate([v[k] for (_, v), k in zip((first, second), keep, strict=True)])
    return row_offsets(np.where(is_first, *sizes)), values[np.argsort(groups, kind="stable")]


@dataclass(frozen=True)
class Whole:
    """Facts of whole tables that the join of some of their users depends on.

    Attributes
    ----------
    lowest : float
        The smallest relevance of the truth. If it is not positive, the truth contains negatives.
    lists_whole : bool
        Whether each list of the run contains exactly the truth's items.
    """

    lowest: float
    lists_whole: bool = True


@dataclass(frozen=True, eq=False)
class Join:
    """The matched groups of the run and the truth."""

    users: Shared
    items: Shared
    runs: Groups
    truths: Groups
    run_group: NDArray[np.int64]
    truth_group: NDArray[np.int64]
    labels: Labels

    @classmethod
    def of(cls, truth: Truth, run: Run, missing: Missing, *, ids_ordered: bool) -> Join:
        """Match the users. With `ids_ordered`, item codes increase with the ids."""
        users = share(*compared(truth, run, "user"))
        truths, runs = Groups.from_qid(users.left), Groups.from_qid(users.right)
        run_position = find(runs.labels, truths.labels)
        # The groups, their labels and their order must not depend on the type of the run's ids.
        # Therefore the groups are in the order of the truth's own ids.
        truth_group = np.argsort(_truth_labels(truth, users, truths.labels), kind="stable")
        if missing == "skip":
            truth_group = truth_group[run_position[truth_group] >= 0]
        run_group = run_position[truth_group]
        items = share(*compared(truth, run, "item"), ordered=ids_ordered)
        labels = _truth_labels(truth, users, truths.labels[truth_group])
        return cls(users, items, runs, truths, run_group, truth_group, labels)

    def check(self, truth: Truth, run: Run, missing: Missing) -> CommonIds:
        """Raise or warn if the tables have few ids in common, and return the common items.

        Raises
        ------
        DataError
            If they have no user or no item in common.
        ArgumentError
            If missing="error" and the run lacks users.
        """
        users = replace(self.users, left=self.truths.labels, right=self.runs.labels)
        check_common(users, "user", *_sides(truth, run, "user"))
        if missing == "error":
            self.refuse_absent(run.name)
        return check_common(self.items, "item", *_sides(truth, run, "item"))

    def refuse_absent(self, run: str) -> None:
        """Raise if the run lacks users of the truth."""
        is_absent = find(self.runs.labels, self.truths.labels) < 0
        if is_absent.any():
            first = self.users.label(self.truths.labels[is_absent.argmax()])
            raise missing_users(run, int(is_absent.sum()), is_absent.size, first)

    @property
    def result_is_run(self) -> bool:
        """Whether the run's rows, in their given order, are the rows of the result."""
        run_groups = self.run_group[self.run_group >= 0]
        is_increasing = bool(np.all(run_groups[1:] > run_groups[:-1]))
        return self.runs.order is None and is_increasing and run_groups.size == self.runs.n_groups

    def look_up(
        self,
        truth: Truth,
        run: Run,
        threshold: float,
        unjudged: Unjudged,
        *,
        with_items: bool,
        mark_judged: bool = False,
        whole: Whole | None = None,
    ) -> Rows:
        """Look up the relevance of each row of the run.

        `whole` describes the whole tables if these are some of their users.
        """
        marks = mark_judged or unjudged == "bounds"
        n_groups = self.run_group.size
        run_groups = self.run_group[self.run_group >= 0]
        n_rows = int(self.runs.sizes[run_groups].sum())
        keeps_scores = self.result_is_run and unjudged != "skip"
        offsets, ideal_offsets = np.zeros((2, n_groups + 1), np.int64)
        counts = np.empty((2, n_groups), np.int64)
        lowest = truth.relevance.min() if whole is None else whole.lowest
        score = np.empty(0 if keeps_scores else n_rows)
        relevance = np.empty(n_rows)
        item = np.empty(n_rows if with_items else 0, np.int64)
        is_judged = np.empty(n_rows if marks else 0, np.bool_)
        ideal = np.empty(int(self.truths.sizes[self.truth_group].sum()))
        problem = np.zeros(3, np.int64)
        n_written, n_positives = _kernels.join_groups(
            _table(self.run_group, self.runs, self.items.right, run.score),
            _table(self.truth_group, self.truths, self.items.left, truth.relevance),
            bool(lowest < threshold),
            _UNJUDGED.index(unjudged),
            _kernels.Joined(offsets, score, relevance, item, counts[0], counts[1], is_judged),
            _kernels.Ideal(ideal_offsets, ideal),
            problem,
        )
        if problem[0]:
            raise self._problem(truth, run, *problem.tolist(), has_rows=whole is None)
        if whole is None or whole.lists_whole:
            self._complete_absent(counts[1])
        return Rows(
            offsets,
            read_only(run.score) if keeps_scores else read_only(score[:n_written]),
            relevance[:n_written],
            item[:n_written] if with_items else None,
            (ideal_offsets, ideal[:n_positives]),
            counts[0],
            counts[1],
            self.truths.sizes[self.truth_group],
            is_judged[:n_written] if marks else None,
        )

    def tie_items(self, item: NDArray[np.int64] | None, ties: Ties) -> NDArray[np.int64] | None:
        """Return the values of items that order equal scores; 7 and '7' have equal values."""
        names = self.items.names
        if item is None:
            return None
        if ties == "id":
            return text_order(item) if names is None else item
        return item if names is None else label_keys(names.to_numpy())[item].view(np.int64)

    def _complete_absent(self, n_whole: Counts) -> None:
        """Set the whole length of absent lists if all others contain exactly the truth's items."""
        absent = self.run_group < 0
        if (n_whole[~absent] >= 0).all():
            n_whole[absent] = self.truths.sizes[self.truth_group][absent]

    def check_total(self, n_distinct: Counts, total: int) -> Counts:
        """Return n_items of each group, or raise if a user has more items than that."""
        over = np.flatnonzero(n_distinct > total)
        if over.size:
            raise ArgumentError(
                f"{arg.n_items} must be at least the number of items of each user in run and "
                f"truth, got {total}, but user {_check.label(self.labels[over[0]])} has "
                f"{n_distinct[over[0]]}."
            )
        return np.full(n_distinct.size, total)

    def _problem(
        self, truth: Truth, run: Run, kind: int, group: int, row: int, *, has_rows: bool
    ) -> ArgumentError:
        """Return the error of a row; rows of some users of a table have no numbers."""
        user = _check.label(self.labels[group])
        of_truth = kind == _kernels.DUPLICATE_TRUTH
        table, codes = (truth, self.items.left) if of_truth else (run, self.items.right)
        item = _check.label(self.items.label(codes[row]))
        if kind == _kernels.UNJUDGED:
            place = f" ({table.places.of(row)})" if has_rows else ""
            return ArgumentError(
                f"{table.name} lists item {item} for user {user}{place}, which the truth does not "
                f"judge. Pass {arg.unjudged('negative')} to count such items as not relevant, or "
                f"{arg.unjudged('skip')} to leave them out."
            )
        users = self.users.left if of_truth else self.users.right
        duplicates = np.flatnonzero((users == users[row]) & (codes == codes[row]))
        places = f" ({table.places.of(*duplicates[:2].tolist())})" if has_rows else ""
        return DataError(f"{table.name} lists item {item} twice for user {user}{places}. Keep one.")


def _table(
    group: NDArray[np.int64], groups: Groups, item: NDArray[np.int64], value: NDArray[np.float64]
) -> _kernels.Table:
    order = NOTHING if groups.order is None else groups.order
    return _kernels.Table(group, groups.offsets, order, read_only(item), read_only(value))


def _sides(truth: Truth, run: Run, kind: Literal["user", "item"]) -> tuple[Side, Side]:
    left, right = compared(truth, run, kind)
    return Side("the truth", truth.name, left), Side("the run", run.name, right)


def _truth_labels(truth: Truth, users: Shared, codes: NDArray[np.int64]) -> Labels:
    """Return the truth's users of the codes, as integers if they are integers in the truth."""
    labels = users.labels(codes)
    if not isinstance(truth.user, np.ndarray) or labels.dtype.kind in "iu":
        return labels
    numbers = pl.Series(labels).str.strip_suffix(".0").cast(pl.Int64)  # "7.0" as it is written
    return one_chunk(numbers)


def missing_users(run: str, n_missing: int, n_users: int, first: Any) -> ArgumentError:
    """Return the error for users of the truth that the run lacks."""
    return ArgumentError(
        f"{run} lacks {n_missing} of {n_users} users, first {_check.label(first)}. Pass "
        f"{arg.missing('zero')} to score them 0, or {arg.missing('skip')} to leave them out."
    )


def refuse_tied(rows: Rows, labels: Labels, ties: Ties) -> None:
    """Raise if unjudged items have tied scores, and the rule would order them by relevance."""
    if rows.judged is None or ties in ("id", "random"):
        return
    is_judged = rows.judged.astype(np.float64)
    is_tied = np.zeros(is_judged.size, np.bool_)
    rank_rows(rows.offsets, read_only(rows.score), np.empty(0), 1.0, is_judged, is_tied)
    in_tie = is_tied.copy()  # `is_tied` excludes the last row of each tie
    in_tie[1:] |= is_tied[:-1]
    wrong_rows = np.flatnonzero(in_tie & (is_judged == 0))
    if wrong_rows.size:
        groups = np.unique(np.searchsorted(rows.offsets, wrong_rows, side="right") - 1)
        raise ArgumentError(
            f"{arg.unjudged('bounds')} requires an order that no judgement changes, but "
            f"{groups.size} of {labels.size} users, first {_check.label(labels[groups[0]])}, have "
            f"unjudged items with equal scores, which {arg.ties(ties)} orders by relevance. Use "
            f"{arg.ties('id', 'random')}."
        )
