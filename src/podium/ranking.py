"""Ranking: what each group's list looks like from the top, under a stated tie rule.

A Ranking knows no scores and no ids any more. It holds the relevance at each rank, what the
best possible list would hold, and how many items there were to rank: all that a metric reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import TIES, in_order, tie_keys
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.types import Counts, Mask, Offsets, PerRow, Ties

_UNKNOWN = -1  # n_items of a group whose list may go on


@dataclass(frozen=True, eq=False)
class Ranking:
    """Lists of relevances in groups, best rank first.

    Build one with `from_scores`, with ``podium.data.ranking(truth, run)`` or with
    ``podium.catalogue``; the constructor takes prepared arrays as they are.

    Attributes
    ----------
    groups : Groups
        Labels and offsets of the n_groups lists.
    relevance : float64, (n_rows,)
        Relevance at each rank, list after list.
    ideal_offsets, ideal : int64 (n_groups + 1,), float64
        All relevances > 0 of each group, falling, retrieved or not.
    n_items : int64, (n_groups,)
        Items that there were to rank; -1 where it is not known.
    min_relevance : float
        Relevance from which an item counts as positive.
    ties : {"worst", "best", "average", "id", "random"}
        The rule that ordered equal scores.
    tied : bool, (n_rows,)
        Under "average": True where the next rank has the same score. Otherwise empty.
    absent : bool, (n_groups,), or None
        Groups for which no list was given and that score the worst value there is.
    judged : bool, (n_rows,), or None
        Ranks that hold an item whose relevance is known. Others have relevance 0, and metrics
        count them as not relevant. None means that all are judged.

    Examples
    --------
    >>> r = Ranking.from_scores([3.0, 2.0, 1.0], [1, 0, 1], qid=[7, 7, 7])
    >>> r.relevance.tolist(), r.n_pos.tolist(), r.n_neg.tolist()
    ([1.0, 0.0, 1.0], [2], [1])
    """

    groups: Groups
    relevance: PerRow
    ideal_offsets: Offsets
    ideal: NDArray[np.float64]
    n_items: Counts
    min_relevance: float
    ties: Ties
    tied: Mask
    absent: Mask | None = None
    judged: Mask | None = None

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        relevance: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        min_relevance: float = 1.0,
        ties: Ties = "worst",
        item: ArrayLike | None = None,
        n_items: int | None = None,
        unretrieved: tuple[ArrayLike, ArrayLike] | None = None,
        judged: ArrayLike | None = None,
        seed: int = 0,
    ) -> Ranking:
        """Rank rows by score within their group, in any row order.

        Parameters
        ----------
        scores, relevance : (n_rows,)
            Higher scores rank first, integers of any size in their exact order; relevance is
            >= 0.
        qid : (n_rows,), optional
            Integer or string label of each row's group; all rows are one group without it.
        min_relevance : float
            Relevance from which an item counts as positive.
        ties : {"worst", "best", "average", "id", "random"}
            How equal scores are ordered: relevant items last ("worst": a tie is an error),
            first, as the mean over all orders (only for measures where that mean is exact; pap
            and pauc count half of each tied pair), by falling `item` (trec_eval's rule), or at
            random.
        item : (n_rows,), optional
            Integer or string ids; needed by ties="id". With them, the order under ties="random"
            follows from the seed, the group's label and the item alone; without them, from the
            row's place within its group.
        n_items : int, optional
            Items that there were to rank in each group. Without it the rows are the whole
            list, or, where `unretrieved` is given, part of a list of unknown length.
        unretrieved : pair (relevance, qid), optional
            Relevant items that are not among the rows. They rank below all rows.
        judged : bool, (n_rows,), optional
            Whether each row's relevance is known; all are without it. Where neither the tie rule
            nor relevance orders two rows of one score, they keep their order.
        seed : int
            For ties="random".

        Raises
        ------
        ArgumentError
            For lengths that differ, a non-finite score, a negative relevance, an unknown rule,
            more items in a group than n_items, or relevance > 0 in a row that is not judged.
        """
        labels = None if qid is None else _check.array(qid, "qid")
        score_column = _check.scores(in_order(scores), labels)
        grades = _check.relevance(relevance, labels)
        if labels is None:
            _check.equal_length(scores=score_column, relevance=grades)
            groups = Groups.single(grades.size)
        else:
            _check.equal_length(scores=score_column, relevance=grades, qid=labels)
            groups = Groups.from_qid(labels)
        ordered = groups.gather(grades)
        extra = _unretrieved(unretrieved, groups)
        return cls.from_grouped(
            groups,
            groups.gather(score_column),
            ordered.copy() if ordered is grades else ordered,
            ideal=_positives(ordered, groups.offsets, extra),
            n_items=_totals(groups, n_items, extra),
            min_relevance=min_relevance,
            ties=ties,
            item=None if item is None else groups.gather(_item(item, groups.n_rows)),
            judged=None if judged is None else groups.gather(_judged(judged, grades)),
            seed=seed,
        )

    @classmethod
    def from_grouped(
        cls,
        groups: Groups,
        scores: PerRow,
        relevance: PerRow,
        *,
        ideal: tuple[Offsets, NDArray[np.float64]],
        n_items: Counts,
        min_relevance: float = 1.0,
        ties: Ties = "worst",
        item: NDArray[Any] | None = None,
        absent: Mask | None = None,
        judged: Mask | None = None,
        seed: int = 0,
    ) -> Ranking:
        """Rank rows that stand in group order already; for builders.

        `relevance` is reordered in place and becomes the Ranking's; `ideal` is (offsets,
        relevances > 0) of each group in any order; `n_items` is -1 where unknown. Lists whose
        scores fall strictly are only read.
        """
        from podium._kernels import ideal_order, rank_rows, read_only

        rule = _check.choice(ties, "ties", TIES)
        threshold = _check.number(min_relevance, "min_relevance", low=0.0, strict=True)
        keys, sign = tie_keys(rule, groups, relevance, item, seed)
        if judged is not None:  # before relevance, which may be the keys, moves
            flags = judged.astype(np.float64)
            rank_rows(groups.offsets, read_only(scores), keys, sign, flags, np.empty(0, np.bool_))
            judged = flags > 0
        tied = np.zeros(relevance.size if rule == "average" else 0, np.bool_)
        rank_rows(groups.offsets, read_only(scores), keys, sign, relevance, tied)
        best = np.empty_like(ideal[1])
        ideal_order(ideal[0], read_only(ideal[1]), best)
        return cls(
            Groups(groups.labels, groups.offsets),
            relevance,
            ideal[0],
            best,
            n_items,
            threshold,
            rule,
            tied,
            absent,
            judged,
        )

    @property
    def n_groups(self) -> int:
        return self.groups.n_groups

    @cached_property
    def n_pos(self) -> Counts:
        """Items of each group with relevance >= min_relevance, retrieved or not."""
        return count_between(self.ideal >= self.min_relevance, self.ideal_offsets)

    @cached_property
    def n_relevant(self) -> Counts:
        """Items of each group with relevance > 0, retrieved or not."""
        return np.diff(self.ideal_offsets)

    @cached_property
    def n_neg(self) -> Counts:
        """Items of each group below min_relevance; -1 where n_items is not known."""
        return np.where(self.n_items < 0, _UNKNOWN, self.n_items - self.n_pos)

    @cached_property
    def whole(self) -> Mask:
        """True for a group whose list holds all its items."""
        return self.groups.sizes == self.n_items

    def averaged(self, values: PerRow) -> PerRow:
        """Return values per rank, in the mean over the orders of equal scores if so asked."""
        if self.ties != "average":
            return values
        from podium._kernels import average_ties

        result = values.copy()
        average_ties(self.groups.offsets, self.tied, result)
        return result


def count_between(flags: Mask, offsets: Offsets) -> Counts:
    """Count the True flags of each group."""
    total = np.concatenate([[0], np.cumsum(flags)])
    return total[offsets[1:]] - total[offsets[:-1]]


def _positives(
    relevance: PerRow, offsets: Offsets, extra: tuple[Offsets, PerRow] | None
) -> tuple[Offsets, PerRow]:
    """Return the relevances > 0 of each group, with the unretrieved ones after them."""
    found = relevance > 0
    bounds = np.concatenate([[0], np.cumsum(count_between(found, offsets))])
    values = relevance[found]
    if extra is None:
        return bounds, values
    both = np.concatenate([values, extra[1]])
    group = np.concatenate(
        [np.repeat(np.arange(b.size - 1), np.diff(b)) for b in (bounds, extra[0])]
    )
    return bounds + extra[0], both[np.argsort(group, kind="stable")]


def _unretrieved(
    unretrieved: tuple[ArrayLike, ArrayLike] | None, groups: Groups
) -> tuple[Offsets, PerRow] | None:
    if unretrieved is None:
        return None
    labels = np.asarray(unretrieved[1])
    grades = _check.relevance(unretrieved[0], labels, name="unretrieved relevance")
    _check.equal_length(**{"unretrieved relevance": grades, "unretrieved qid": labels})
    place = np.searchsorted(groups.labels, labels)
    known = place < groups.n_groups
    known[known] = groups.labels[place[known]] == labels[known]
    if not known.all():
        first = _check.label(labels[~known][0])
        raise ArgumentError(f"unretrieved names qid {first}, of which scores has no row.")
    keep = grades > 0
    counts = np.bincount(place[keep], minlength=groups.n_groups)
    order = np.argsort(place[keep], kind="stable")
    return np.concatenate([[0], np.cumsum(counts)]), grades[keep][order]


def _judged(judged: ArrayLike, relevance: PerRow) -> Mask:
    flags = _check.one_dimensional(_check.array(judged, "judged"), "judged")
    _check.equal_length(relevance=relevance, judged=flags)
    if flags.dtype != np.bool_ and flags.size:
        raise ArgumentError(f"judged must hold True or False, got {flags.dtype}.")
    flags = flags.astype(np.bool_, copy=False)
    wrong = np.flatnonzero(~flags & (relevance > 0))
    if wrong.size:
        raise ArgumentError(
            f"judged must be True where relevance is > 0, but {wrong.size} such rows are not "
            f"judged, first row {wrong[0]}. Give them relevance 0."
        )
    return flags


def _totals(groups: Groups, n_items: int | None, extra: tuple[Offsets, PerRow] | None) -> Counts:
    """Return n_items of each group: as given, the rows there are, or unknown."""
    if n_items is None:
        return groups.sizes if extra is None else np.full(groups.n_groups, _UNKNOWN)
    total = _check.cutoff(n_items, name="n_items")
    known = groups.sizes if extra is None else groups.sizes + np.diff(extra[0])
    longer = np.flatnonzero(known > total)
    if longer.size:
        raise ArgumentError(
            f"n_items must be at least the length of every list and its unretrieved items, got "
            f"{total} where qid {_check.label(groups.labels[longer[0]])} has {known[longer[0]]}."
        )
    return np.full(groups.n_groups, total)


def _item(item: ArrayLike, n_rows: int) -> NDArray[Any]:
    ids = _check.one_dimensional(_check.array(item, "item"), "item")
    if ids.size != n_rows:
        raise ArgumentError(f"scores and item must have equal length, got {n_rows} and {ids.size}.")
    return ids
