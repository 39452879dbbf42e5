"""The lists of a run under conventions, made once; what reads them has no convention left.

A convention decides which rows of the run are in a list (unjudged, score_above), which users have
one (missing), what counts (min_relevance, low_grades, unretrieved, n_items) and the order of the
rows (single_precision, ties, ties_seed). All of them are read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import rank_rows, read_only
from podium._ties import tie_keys
from podium.data import _kernels
from podium.data.columns import threshold
from podium.data.convert import Ids
from podium.data.ids import joined_ids, share
from podium.data.join import MIN_SHARE, Join, PartIds, Side, check_common
from podium.data.runs import Run, Truth
from podium.data.signs import SampleSigns
from podium.errors import ArgumentError, DataError, arg
from podium.groups import Groups, row_offsets, rows_between
from podium.metrics import Measure
from podium.protocol import Conventions
from podium.ranking import Ranking, count_between, kept_offsets, merged
from podium.types import Counts, Labels, Mask, Offsets, PerRow, Unjudged

_UNJUDGED: tuple[Unjudged, ...] = ("negative", "skip", "error", "bounds")
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Whole:
    """Facts of whole tables that the lists of some of their users depend on.

    Attributes
    ----------
    lowest : float
        The smallest relevance of the truth. If it is not positive, the truth contains negatives.
    lists_whole : bool
        Whether each list of the run contains exactly the truth's items.
    grades : float64, (n_grades,)
        The distinct relevances of the truth.
    """

    lowest: float = 0.0
    lists_whole: bool = True
    grades: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @classmethod
    def stated(
        cls, truth: Truth, conventions: Conventions, lowest: float, lists_whole: bool | None
    ) -> Whole:
        """Return the facts that a caller states who has some users, `truth`, of larger tables.

        Raises
        ------
        ArgumentError
            If `lowest` is wrong, or `lists_whole` is missing, but matters.
        """
        lowest = _check.number(lowest, "lowest", low=0.0)
        lowest_here = truth.relevance.min(initial=np.inf)
        if lowest_here < lowest:
            raise ArgumentError(
                f"lowest must be the smallest relevance of the whole truth, got {lowest:g}, but a "
                f"user has {lowest_here:g}."
            )
        can_be_whole = lowest < threshold_of(truth, conventions) and conventions.n_items is None
        if can_be_whole and lists_whole is None and conventions.missing == "zero":
            raise ArgumentError(
                f"lists_whole is required with {arg.missing('zero')} and lowest={lowest:g}. Pass "
                "True if each list of the run has exactly the items of the truth for its user, "
                "otherwise False."
            )
        return cls(lowest, lists_whole=can_be_whole and bool(lists_whole))


class OfSome(NamedTuple):
    """What the lists of some users state of the lists of all users.

    Attributes
    ----------
    signs : SampleSigns
    first_short : label or None
        The first user whose list does not contain exactly the truth's items.
    has_absent : bool
        Whether a user has no list, which counts as the worst one.
    all_users : bool
        Whether a user without a list is an error.
    """

    signs: SampleSigns
    first_short: Any
    has_absent: bool
    all_users: bool

    @property
    def has_whole_absent(self) -> bool:
        """Whether absent lists were taken for whole, as all other lists of these users are."""
        return self.has_absent and self.first_short is None


def check_some(parts: Sequence[OfSome | None], ids: PartIds) -> None:
    """Check the ids of all users as those of whole tables, and the lists of the first part."""
    first = next(part for part in parts if part is not None)
    first.signs.warn(ids.check(all_users=first.all_users), ids.names[1])


@dataclass(frozen=True, eq=False)
class Listed:
    """Some items of the lists of a run, best first.

    Attributes
    ----------
    groups : Groups
        The users, with items or not.
    item : ids, (n_rows,)
    run : str
        The name of the run in messages.
    """

    groups: Groups
    item: Ids
    run: str

    @classmethod
    def joined(cls, parts: list[Listed]) -> Listed:
        """Return the items of all users, given those of disjoint parts of them, in any order."""
        if len(parts) == 1:
            return parts[0]
        labels = np.concatenate([part.groups.labels for part in parts])
        offsets = row_offsets(np.concatenate([part.groups.sizes for part in parts]))
        item = joined_ids([part.item for part in parts])
        return cls(Groups(labels, offsets), item, parts[0].run)

    def of(self, group: int) -> Ids:
        """Return the items of a user."""
        start, end = self.groups.offsets[group : group + 2]
        return self.item[start:end]

    def check_items(self, table: Any, role: str, name: str, *, least: float = MIN_SHARE) -> None:
        """Raise or warn if a table has none or few of the items; see `check_common`."""
        sides = Side("the run", self.run, self.item), Side(role, name, table.item)
        check_common(share(self.item, table.item), "item", *sides, min_share=least)


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of a run for the users of a truth, best rank first.

    Attributes
    ----------
    ranking : Ranking
        The relevance at each rank, which metrics read.
    grades : float64, (n_grades,), or None
        The relevances that an unjudged item can have, if its judgement is left open.
    """

    ranking: Ranking
    grades: NDArray[np.float64] | None
    _join: Join
    _item: NDArray[np.int64]
    _score: PerRow
    _conventions: Conventions

    @classmethod
    def of(
        cls,
        truth: Truth,
        run: Run,
        conventions: Conventions,
        whole: Whole | None = None,
        *,
        measures: Iterable[Measure] = (),
        with_items: bool = False,
    ) -> Lists:
        """Rank the items that a run lists for each user of a truth.

        Parameters
        ----------
        truth, run : Truth, Run
            Whole tables, or all rows of some users. The run may then have none.
        conventions : Conventions
        whole : Whole, optional
            The facts of the whole tables, if these are some of their users. What whole tables are
            checked for (users and items in common, missing users, signs of samples) is then left to
            the caller, who has `part_ids` and `of_some`; missing users are left out.
        measures : iterable of Measure
            The measures of these lists. Judged items are marked only if one reads them.
        with_items : bool
            Whether to keep the items, without which only `ranking` can be read.

        Raises
        ------
        ArgumentError, DataError
            As in `podium.data.ranking`.
        """
        run = in_precision(run, conventions, has_rows=whole is None)
        threshold_of(truth, conventions)  # or raise, before ids are compared
        join = Join.of(truth, run)
        n_items = 0
        if whole is None:
            n_items = join.check(all_users=conventions.missing == "error")
        mark_judged = any(measure.metric.judgements for measure in measures)
        rows = Rows.of(join, conventions, whole, with_items=with_items, mark_judged=mark_judged)
        item, score = NOTHING, np.empty(0)
        if with_items and rows.item is not None:
            order = rows.order(conventions)  # before relevance, a tie key, is reordered
            item, score = rows.item[order], rows.score[order]
        ranking = rows.ranking(conventions)
        if whole is None:
            SampleSigns.of(ranking).warn(n_items, run.name)
        grades = None
        if conventions.unjudged == "bounds":
            grades = np.unique(truth.relevance) if whole is None else whole.grades
        return cls(ranking, grades, rows.join, item, score, conventions)

    @property
    def has_default_threshold(self) -> bool:
        """Whether nobody chose the smallest relevance of a positive item."""
        return self._conventions.min_relevance is None

    def part_ids(self) -> PartIds:
        """Return the ids of both tables, if these are some users of larger ones."""
        return self._join.part_ids()

    def of_some(self) -> OfSome:
        """Return what the lists of these users state of those of all users."""
        absent, is_short = self.ranking.absent, self.ranking.n_items < 0
        is_short = is_short if absent is None else is_short & ~absent
        return OfSome(
            SampleSigns.of(self.ranking),
            self.labels[is_short.argmax()] if is_short.any() else None,
            absent is not None and bool(absent.any()),
            self._conventions.missing == "error",
        )

    @property
    def labels(self) -> Labels:
        """The users, (n_users,)."""
        return self.ranking.groups.labels

    def listed(self) -> Listed:
        """Return all items, in the order of the ranking."""
        return self._listed(self.ranking.groups.offsets, slice(None))

    def first(self, k: int) -> Listed:
        """Return the k first items of each list, in the order of the ranking."""
        groups = self.ranking.groups
        return self._listed(*rows_between(groups.offsets[:-1], np.minimum(groups.sizes, k)))

    def top(self, k: int) -> Listed:
        """Return the k first items of each list, as they are shown to users.

        Of equal scores, the lower id is first, whatever its relevance, unless an order was drawn.
        """
        is_drawn = self.ranking.ties == "random"
        keys = np.arange(self._item.size) if is_drawn else self._join.items.value_keys(self._item)
        return self._listed(*top_rows(self.ranking.groups, self._score, keys, k))

    def unjudged(self) -> tuple[Listed, NDArray[np.int64]]:
        """Return the items that are marked as not judged, and their ranks, from 1."""
        judged, before = self.ranking.judged, self.ranking.groups.offsets
        is_unjudged = np.zeros(self._item.size, np.bool_) if judged is None else ~judged
        rows, offsets = np.flatnonzero(is_unjudged), kept_offsets(is_unjudged, before)
        return self._listed(offsets, rows), rows + 1 - np.repeat(before[:-1], np.diff(offsets))

    def _listed(self, offsets: Offsets, rows: NDArray[np.int64] | slice) -> Listed:
        groups, item = Groups(self.labels, offsets), self._join.items.ids(self._item[rows])
        return Listed(groups, item, self._join.run.name)

    def positives(self, group: int) -> Ids:
        """Return the relevant items of a user that count, the most relevant first.

        Those that the list lacks are among them.
        """
        join, least = self._join, self.ranking.min_relevance
        rows = join.truths.rows_of(join.truth_group[group])
        relevance = join.truth.relevance[rows]
        best = np.argsort(-relevance, kind="stable")
        codes = join.items.left[rows[best[relevance[best] >= least]]]
        if self._conventions.unretrieved == "drop" and not join.is_absent[group]:
            of_run = join.runs.rows_of(join.run_group[group])
            codes = codes[np.isin(codes, join.items.right[of_run])]
        return join.items.ids(codes)

    def is_same(self, other: Lists, depth: int | None) -> bool:
        """Return whether other lists have the same items in the same order, with the same ties.

        Scores need not be equal. All items with the score of the last item that counts are
        compared, because a tie rule can choose any of them.

        Parameters
        ----------
        other : Lists
            The lists of another run for the same truth.
        depth : int or None
            The number of items of each list to compare; None for the whole list.
        """
        items = share(self.listed().item, other.listed().item, ordered=False)
        both = (self, items.left), (other, items.right)
        parts = [(one.labels, one._join.is_absent, *one._blocks(c, depth)) for one, c in both]
        return all(np.array_equal(*pair) for pair in zip(*parts, strict=True))

    def _blocks(self, codes: NDArray[np.int64], depth: int | None) -> tuple[NDArray[np.int64], ...]:
        """Return the user, item and first rank of its tie, from 0, of the rows above a depth."""
        groups = self.ranking.groups
        is_new = np.append(True, self._score[1:] != self._score[:-1])[: codes.size]
        is_new[groups.offsets[:-1][groups.sizes > 0]] = True
        first = np.maximum.accumulate(np.where(is_new, np.arange(codes.size), 0))
        rank = first - groups.offsets[groups.index]
        keep = slice(None) if depth is None else rank < depth
        return groups.index[keep], codes[np.lexsort((codes, first))][keep], rank[keep]


def same_lists(
    truth: Truth, runs: tuple[Run, Run], conventions: Conventions, depth: int | None
) -> bool:
    """Return whether two runs have the same lists for all users of a truth; see `Lists.is_same`.

    Examples
    --------
    >>> truth = Truth(np.array([1]), np.array([7]), np.array([1.0]))
    >>> users, scores = np.array([1, 1]), np.array([0.9, 0.1])
    >>> one, other = Run(users, np.array([7, 8]), scores), Run(users, np.array([7, 9]), scores)
    >>> [same_lists(truth, (one, other), Conventions(), k) for k in (1, 2)]
    [True, False]
    """
    if conventions.unretrieved == "drop":
        # Items below the depth and the least score decide which relevant items count.
        conventions, depth = replace(conventions, score_above=None), None
    one, other = (Lists.of(truth, run, conventions, Whole(), with_items=True) for run in runs)
    return one.is_same(other, depth)


def threshold_of(truth: Truth, conventions: Conventions) -> float:
    """Return the smallest relevance of a positive item of a truth."""
    return threshold(truth.name, conventions.min_relevance, ratings=truth.is_rating)


def in_precision(run: Run, conventions: Conventions, *, has_rows: bool = True) -> Run:
    """Return a run in the precision of the conventions; ranks remain.

    Errors give row numbers if `has_rows`: if the run is a whole table.

    Raises
    ------
    ArgumentError
        If the run has an order of items, but no scores, and score_above is passed.
    DataError
        If a score is too large.
    """
    if run.is_order and conventions.score_above is not None:
        raise ArgumentError(
            f"{arg.score_above} requires scores, but {run.name} has ranks, or integers beyond 2 ** "
            f"53. Pass a run with scores, or leave {arg.score_above} out."
        )
    if run.is_order or not conventions.single_precision:
        return run
    scores = to_single(run.score)
    wrong_rows = np.flatnonzero(np.isinf(scores))
    if wrong_rows.size:
        raise DataError(
            f"{run.name}: {arg.single_precision(True)} requires scores up to 3.4e38, got "
            f"{run.score[wrong_rows[0]]:g}{f' at row {wrong_rows[0]}' if has_rows else ''}. Scale "
            "the scores."
        )
    return replace(run, score=scores)


def to_single(scores: PerRow) -> PerRow:
    """Return scores rounded to single precision; those beyond 3.4e38 become infinite."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a run that are in the lists, by user, and what the truth says of them.

    Attributes
    ----------
    join : Join
        The users; their run is in the precision of the conventions.
    offsets : int64, (n_users + 1,)
    score, relevance : float64, (n_rows,)
    item : int64, (n_rows,), or None
        The codes of items, if they are needed.
    ideal : (int64 (n_users + 1,), float64)
        The offsets of users, and the relevances above 0 that count.
    n_distinct, n_whole, n_judged : int64, (n_users,)
        The items in the run or the truth; the length of a list with exactly the truth's items, or
        -1; the judged items.
    judged : bool, (n_rows,), or None
    of_truth : (int64 (n_users + 1,), float64), or None
        The relevances above 0 of the truth, if `ideal` lacks some of them.
    """

    join: Join
    offsets: Offsets
    score: PerRow
    relevance: PerRow
    item: NDArray[np.int64] | None
    ideal: tuple[Offsets, PerRow]
    n_distinct: Counts
    n_whole: Counts
    n_judged: Counts
    judged: Mask | None
    of_truth: tuple[Offsets, PerRow] | None = None

    @classmethod
    def of(
        cls,
        join: Join,
        conventions: Conventions,
        whole: Whole | None = None,
        *,
        with_items: bool,
        mark_judged: bool,
    ) -> Rows:
        """Look up the rows of the run in the truth, and keep those that the conventions keep.

        `whole` has the facts of the whole tables if these are some of their users.
        """
        if conventions.missing != "zero" and join.is_absent.any():
            join = join.of_users(~join.is_absent)
        unjudged, is_absent = conventions.unjudged, join.is_absent
        marks = mark_judged or unjudged == "bounds"
        with_items = with_items or conventions.ties in ("id", "random")
        n_truth = join.truths.sizes[join.truth_group]
        n_rows = int(join.runs.sizes[join.run_group[~is_absent]].sum())
        keeps_scores = join.keeps_rows and unjudged != "skip"
        offsets, ideal_offsets = np.zeros((2, n_truth.size + 1), np.int64)
        n_distinct, n_whole = np.empty((2, n_truth.size), np.int64)
        lowest = join.truth.relevance.min() if whole is None else whole.lowest
        score = np.empty(0 if keeps_scores else n_rows)
        relevance = np.empty(n_rows)
        item = np.empty(n_rows if with_items else 0, np.int64)
        is_judged = np.empty(n_rows if marks else 0, np.bool_)
        ideal = np.empty(int(n_truth.sum()))
        problem = np.zeros(3, np.int64)
        n_written, n_positives = _kernels.join_groups(
            _table(join.run_group, join.runs, join.items.right, join.run.score),
            _table(join.truth_group, join.truths, join.items.left, join.truth.relevance),
            bool(lowest < threshold_of(join.truth, conventions)),
            _UNJUDGED.index(unjudged),
            _kernels.Joined(
                *(offsets, score, relevance, item, n_distinct, n_whole, is_judged),
                *(ideal_offsets, ideal),
            ),
            problem,
        )
        if problem[0]:
            raise _problem(join, *problem.tolist(), has_rows=whole is None)
        if (whole is None or whole.lists_whole) and (n_whole[~is_absent] >= 0).all():
            # All other lists contain exactly the truth's items; absent ones would do so too.
            n_whole[is_absent] = n_truth[is_absent]
        rows = cls(
            join,
            offsets,
            read_only(join.run.score) if keeps_scores else read_only(score[:n_written]),
            relevance[:n_written],
            item[:n_written] if with_items else None,
            (ideal_offsets, ideal[:n_positives]),
            n_distinct,
            n_whole,
            n_truth,
            is_judged[:n_written] if marks else None,
        )
        if unjudged == "bounds":
            rows.refuse_tied(conventions)
        if conventions.unretrieved == "drop":
            rows = rows.listed_only(is_absent & (conventions.missing == "zero"))
        least = conventions.least_score
        return rows if least is None else rows.kept(rows.score > least)

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

    def refuse_tied(self, conventions: Conventions) -> None:
        """Raise if unjudged items have tied scores, and the rule would order them by relevance."""
        if self.judged is None or conventions.ties in ("id", "random"):
            return
        is_judged = self.judged.astype(np.float64)
        is_tied = np.zeros(is_judged.size, np.bool_)
        rank_rows(self.offsets, read_only(self.score), np.empty(0), 1.0, is_judged, is_tied)
        in_tie = is_tied.copy()  # `is_tied` excludes the last row of each tie
        in_tie[1:] |= is_tied[:-1]
        wrong_rows = np.flatnonzero(in_tie & (is_judged == 0))
        if wrong_rows.size:
            labels = self.join.labels
            groups = np.unique(np.searchsorted(self.offsets, wrong_rows, side="right") - 1)
            raise ArgumentError(
                f"{arg.unjudged('bounds')} requires an order that no judgement changes, but "
                f"{groups.size} of {labels.size} users, first {_check.label(labels[groups[0]])}, "
                f"have unjudged items with equal scores, which {arg.ties(conventions.ties)} orders "
                f"by relevance. Use {arg.ties('id', 'random')}."
            )

    def order(self, conventions: Conventions) -> NDArray[np.int64]:
        """Return the rows in rank order."""
        groups = Groups(self.join.labels, self.offsets)
        items, seed = self._tie_keys(conventions), conventions.ties_seed
        keys, sign = tie_keys(conventions.ties, groups, self.relevance, items, seed)
        order = np.arange(self.score.size, dtype=np.float64)
        rank_rows(self.offsets, read_only(self.score), keys, sign, order, np.empty(0, np.bool_))
        return order.astype(np.int64)

    def ranking(self, conventions: Conventions) -> Ranking:
        """Return the ranking of these rows, whose relevance it reorders in place."""
        total = conventions.n_items
        ranking = Ranking.from_grouped(
            Groups(self.join.labels, self.offsets),
            self.score,
            self.relevance,
            ideal=self.ideal,
            n_items=self.n_whole if total is None else self._totals(total),
            min_relevance=threshold_of(self.join.truth, conventions),
            low_grades=conventions.low_grades,
            ties=conventions.ties,
            item=self._tie_keys(conventions),
            absent=self.join.is_absent if conventions.missing == "zero" else None,
            judged=self.judged,
            n_judged=self.n_judged,
            seed=conventions.ties_seed,
        )
        return ranking if self.of_truth is None else replace(ranking, of_truth=self.of_truth)

    def _tie_keys(self, conventions: Conventions) -> NDArray[np.int64] | None:
        """Return what orders items with equal scores, if it is the items."""
        ties, items = conventions.ties, self.join.items
        if self.item is None or ties not in ("id", "random"):
            return None
        return items.text_keys(self.item) if ties == "id" else items.drawn_keys(self.item)

    def _totals(self, total: int) -> Counts:
        """Return n_items of each group, or raise if a user has more items than that."""
        over = np.flatnonzero(self.n_distinct > total)
        if over.size:
            raise ArgumentError(
                f"{arg.n_items} must be at least the number of items of each user in run and "
                f"truth, got {total}, but user {_check.label(self.join.labels[over[0]])} has "
                f"{self.n_distinct[over[0]]}."
            )
        return np.full(self.n_distinct.size, total)


def _chosen(
    is_first: Mask, first: tuple[Offsets, PerRow], second: tuple[Offsets, PerRow]
) -> tuple[Offsets, PerRow]:
    """Return the offsets and values of `first` in some groups, and of `second` in the others."""
    keep = np.repeat(is_first, np.diff(first[0])), np.repeat(~is_first, np.diff(second[0]))
    pairs = zip((first, second), keep, strict=True)
    return merged(*((kept_offsets(k, offsets), values[k]) for (offsets, values), k in pairs))


def _table(
    group: NDArray[np.int64], groups: Groups, item: NDArray[np.int64], value: NDArray[np.float64]
) -> _kernels.Table:
    order = NOTHING if groups.order is None else groups.order
    return _kernels.Table(group, groups.offsets, order, read_only(item), read_only(value))


def _problem(join: Join, kind: int, group: int, row: int, *, has_rows: bool) -> ArgumentError:
    """Return the error of a row; rows of some users of a table have no numbers."""
    user = _check.label(join.labels[group])
    of_truth = kind == _kernels.DUPLICATE_TRUTH
    table, codes = (join.truth, join.items.left) if of_truth else (join.run, join.items.right)
    item = _check.label(join.items.label(codes[row]))
    if kind == _kernels.UNJUDGED:
        place = f" ({table.places.of(row)})" if has_rows else ""
        return ArgumentError(
            f"{table.name} lists item {item} for user {user}{place}, which the truth does not "
            f"judge. Pass {arg.unjudged('negative')} to count such items as not relevant, or "
            f"{arg.unjudged('skip')} to leave them out."
        )
    users = join.users.left if of_truth else join.users.right
    duplicates = np.flatnonzero((users == users[row]) & (codes == codes[row]))
    places = f" ({table.places.of(*duplicates[:2].tolist())})" if has_rows else ""
    way = f", or pass {arg.parent()} if items are parts of documents"
    if of_truth:
        way = ", such as with podium split --unique last"
    return DataError(
        f"{table.name} lists item {item} twice for user {user}{places}. Keep one{way}."
    )


def top_rows(
    groups: Groups, scores: PerRow, keys: NDArray[np.int64], k: int
) -> tuple[Offsets, NDArray[np.int64]]:
    """Return the offsets and the rows of the k best scores of each group, best first.

    Equal scores are in the order of increasing keys.
    """
    offsets = np.zeros(groups.n_groups + 1, np.int64)
    rows = np.empty(int(np.minimum(groups.sizes, k).sum()), np.int64)
    order = np.empty(0, np.int64) if groups.order is None else groups.order
    _kernels.top_rows(groups.offsets, order, read_only(scores), read_only(keys), k, offsets, rows)
    return offsets, rows
