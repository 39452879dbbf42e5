"""Ranking: the relevance at each rank of each group's list, with a rule for equal scores.

A Ranking holds no scores and no ids. It holds the relevance at each rank, the relevances of the
best possible list, and the number of items to rank. Metrics need nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._ties import TIES_OF_LISTS, in_order, text_order, tie_keys
from podium.errors import ArgumentError, arg
from podium.groups import Groups, row_offsets
from podium.types import Counts, LowGrades, Mask, Offsets, PerRow, Ties

LOW_GRADES: tuple[LowGrades, ...] = ("zero", "keep")

_MARKED = ("worst", "average", "threshold")  # the rules under which tied ranks are marked
_UNKNOWN = -1  # n_items of a group whose list may be incomplete


@dataclass(frozen=True, eq=False)
class Ranking:
    """Lists of relevances in groups, best rank first.

    Build one with `from_scores`, with ``podium.data.ranking(truth, run)`` or with
    ``podium.catalogue``. The constructor takes prepared arrays as they are.

    Attributes
    ----------
    groups : Groups
        The labels and offsets of the n_groups lists.
    relevance : float64, (n_rows,)
        The relevance at each rank, one list after the other.
    ideal_offsets, ideal : int64 (n_groups + 1,), float64
        The relevances > 0 of each group in decreasing order, and the offsets of the groups in
        them. They include items that were not retrieved.
    n_items : int64, (n_groups,)
        The number of items to rank; -1 if unknown.
    min_relevance : float
        The smallest relevance of a positive item.
    ties : {"worst", "best", "average", "id", "random", "threshold"}
        The rule that ordered equal scores.
    tied : bool, (n_rows,)
        Whether the next rank has the same score. Empty with ties="best", "id" and "random".
    absent : bool, (n_groups,), or None
        Groups without a list, which get the worst possible value.
    judged : bool, (n_rows,), or None
        Ranks whose item has a known relevance. Other ranks have relevance 0, and most metrics
        count their items as not relevant. None means that all are judged or, if `n_judged` is not
        None, that they are not marked.
    n_judged : int64, (n_groups,), or None
        The number of judged items of each group, in the list or not. None means those in the list
        and the relevant ones.
    low_grades : {"zero", "keep"}
        Whether relevances below min_relevance count as 0 ("zero"; the arrays then hold none), or
        still have gains in graded measures.
    of_truth : (int64 (n_groups + 1,), float64), or None
        The offsets and the relevances > 0 of the truth, if `ideal` leaves some out: those of items
        that the list lacks, or low grades. None means that they are those of `ideal`.

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
    n_judged: Counts | None = None
    low_grades: LowGrades = "keep"
    of_truth: tuple[Offsets, PerRow] | None = None

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        relevance: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        min_relevance: float | None = None,
        low_grades: LowGrades | None = None,
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
            The scores, higher first, and the relevances, >= 0. Integer scores of any size keep
            their exact order.
        qid : (n_rows,), optional
            The integer or string label of each row's group. By default, all rows are one group.
        min_relevance : float, optional
            The smallest relevance of a positive item, 1 by default.
        low_grades : {"zero", "keep"}, optional
            The treatment of relevances below min_relevance: "zero" counts them as 0 in all
            measures, also in graded ones such as ndcg. "keep" lets graded measures gain from them.
            Default: "zero" if min_relevance is passed, else "keep".
        ties : {"worst", "best", "average", "id", "random", "threshold"}
            The order of equal scores: "worst" ranks relevant items last, so that a tie counts as an
            error. "best" ranks them first. "id" orders by decreasing
            `item`, compared as text, as in trec_eval.
            "random" draws an order. "average" is the mean over all orders. It is available only for
            measures for which this mean can be computed exactly. For pap and pauc, each tied
            pair counts one half instead. "threshold" gives all items of a tie the last of their
            ranks, as in scikit-learn's average precision. It is available only for ap.
        item : (n_rows,), optional
            Integer or string ids; required by ties="id". The order of ties="random" is determined
            by the seed, the group's label and the item, or without items by the row's position in
            its group.
        n_items : int, optional
            The number of items to rank in each group. By default, the rows are the whole list
            or, if `unretrieved` is passed, part of a list of unknown length.
        unretrieved : pair (relevance, qid), optional
            Relevant items that are not among the rows. They rank below all rows.
        judged : bool, (n_rows,), optional
            Whether the relevance of each row is known. By default, all are known. Rows keep
            their order if neither score, tie rule nor relevance determines it.
        seed : int
            The seed of ties="random".

        Raises
        ------
        ArgumentError
            If lengths differ, a score is not finite, a relevance is negative, a rule is unknown, a
            group has more than n_items items, or a row with relevance > 0 is not judged.
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
            low_grades=low_grades,
            ties=ties,
            item=None if item is None else groups.gather(_item(item, groups.n_rows, ties)),
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
        min_relevance: float | None = None,
        low_grades: LowGrades | None = None,
        ties: Ties = "worst",
        item: NDArray[Any] | None = None,
        absent: Mask | None = None,
        judged: Mask | None = None,
        n_judged: Counts | None = None,
        seed: int = 0,
    ) -> Ranking:
        """Rank rows that are already in group order; used by builders of rankings.

        `relevance` is reordered in place and becomes the Ranking's array. `ideal` is (offsets,
        relevances > 0) of each group in any order. `n_items` is -1 if unknown. Lists with strictly
        decreasing scores are only read.
        """
        from podium._kernels import ideal_order, rank_rows, read_only

        rule = _check.choice(ties, "ties", TIES_OF_LISTS)
        threshold, low = relevance_rule(min_relevance, low_grades)
        sort_keys, sign = tie_keys(rule, groups, relevance, item, seed)
        if judged is not None:  # before relevance is reordered, because it may be the keys
            flags = judged.astype(np.float64)
            keys = np.where(judged, relevance, -1.0) if rule in ("worst", "best") else sort_keys
            rank_rows(groups.offsets, read_only(scores), keys, sign, flags, np.empty(0, np.bool_))
            judged = flags > 0
        tied = np.zeros(relevance.size if rule in _MARKED else 0, np.bool_)
        rank_rows(groups.offsets, read_only(scores), sort_keys, sign, relevance, tied)
        best = np.empty_like(ideal[1])
        ideal_order(ideal[0], read_only(ideal[1]), best)
        ranking = cls(
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
            n_judged,
        )
        return ranking.without_low_grades() if low == "zero" else ranking

    @property
    def n_groups(self) -> int:
        """The number of groups, with or without items."""
        return self.groups.n_groups

    @cached_property
    def n_pos(self) -> Counts:
        """The number of items of each group with relevance >= min_relevance, retrieved or not."""
        return count_between(self.ideal >= self.min_relevance, self.ideal_offsets)

    @cached_property
    def n_pos_of_truth(self) -> Counts:
        """The number of positives of each group in the truth, also those that don't count."""
        if self.of_truth is None:
            return self.n_pos
        offsets, relevance = self.of_truth
        return count_between(relevance >= self.min_relevance, offsets)

    @cached_property
    def n_relevant(self) -> Counts:
        """The number of items of each group with relevance > 0, retrieved or not."""
        return np.diff(self.ideal_offsets)

    @cached_property
    def n_neg(self) -> Counts:
        """The number of items of each group below min_relevance; -1 if n_items is unknown."""
        return np.where(self.n_items < 0, _UNKNOWN, self.n_items - self.n_pos)

    @cached_property
    def whole(self) -> Mask:
        """True for a group whose list holds all its items."""
        return self.groups.sizes == self.n_items

    def without_low_grades(self) -> Ranking:
        """Return the same lists with relevance 0 for all items below min_relevance."""
        keep = self.ideal >= self.min_relevance
        return replace(
            self,
            relevance=np.where(self.relevance >= self.min_relevance, self.relevance, 0.0),
            ideal_offsets=kept_offsets(keep, self.ideal_offsets),
            ideal=self.ideal[keep],
            of_truth=self.of_truth or (self.ideal_offsets, self.ideal),
            low_grades="zero",
        )

    def averaged(self, values: PerRow) -> PerRow:
        """Return values per rank, averaged over the orders of equal scores if ties="average"."""
        if self.ties != "average":
            return values
        from podium._kernels import average_ties

        means = values.copy()
        average_ties(self.groups.offsets, self.tied, means)
        return means


def relevance_rule(
    min_relevance: float | None, low_grades: LowGrades | None
) -> tuple[float, LowGrades]:
    """Return the threshold of positives and the treatment of lower grades, with their defaults.

    A threshold that is passed divides the relevant items from the others in all measures.

    Examples
    --------
    >>> relevance_rule(None, None), relevance_rule(4, None), relevance_rule(4, "keep")
    ((1.0, 'keep'), (4.0, 'zero'), (4.0, 'keep'))
    """
    if low_grades is None:
        low_grades = "keep" if min_relevance is None else "zero"
    threshold = 1.0 if min_relevance is None else min_relevance
    return (
        _check.positive(threshold, "min_relevance"),
        _check.choice(low_grades, "low_grades", LOW_GRADES),
    )


def count_between(flags: Mask, offsets: Offsets) -> Counts:
    """Count the True flags of each group."""
    return np.diff(kept_offsets(flags, offsets))


def kept_offsets(keep: Mask, offsets: Offsets) -> Offsets:
    """Return the offsets of groups among the rows that are kept.

    Examples
    --------
    >>> kept_offsets(np.array([True, False, True, True]), np.array([0, 2, 2, 4]))
    array([0, 1, 1, 3])
    """
    if keep.all():  # often the case of positives, if relevances are integers
        return offsets
    return np.concatenate([[0], np.cumsum(keep)])[offsets]


def merged(*parts: tuple[Offsets, PerRow]) -> tuple[Offsets, PerRow]:
    """Return the values of each group in all parts, given the offsets and the values of each part.

    Examples
    --------
    >>> merged((np.array([0, 1, 1]), np.array([7.0])), (np.array([0, 1, 2]), np.array([8.0, 9.0])))
    (array([0, 2, 3]), array([7., 8., 9.]))
    """
    group = np.concatenate([np.repeat(np.arange(o.size - 1), np.diff(o)) for o, _ in parts])
    values = np.concatenate([values for _, values in parts])
    offsets = np.sum([offsets for offsets, _ in parts], axis=0)
    return offsets, values[np.argsort(group, kind="stable")]


def _positives(
    relevance: PerRow, offsets: Offsets, extra: tuple[Offsets, PerRow] | None
) -> tuple[Offsets, PerRow]:
    """Return the relevances > 0 of each group, followed by its unretrieved ones."""
    is_relevant = relevance > 0
    listed = kept_offsets(is_relevant, offsets), relevance[is_relevant]
    return listed if extra is None else merged(listed, extra)


def _unretrieved(
    unretrieved: tuple[ArrayLike, ArrayLike] | None, groups: Groups
) -> tuple[Offsets, PerRow] | None:
    if unretrieved is None:
        return None
    labels = np.asarray(unretrieved[1])
    grades = _check.relevance(unretrieved[0], labels, name="unretrieved relevance")
    _check.equal_length(**{"unretrieved relevance": grades, "unretrieved qid": labels})
    group_number = np.searchsorted(groups.labels, labels)
    is_known = group_number < groups.n_groups
    is_known[is_known] = groups.labels[group_number[is_known]] == labels[is_known]
    if not is_known.all():
        first_label = _check.label(labels[~is_known][0])
        raise ArgumentError(
            f"unretrieved contains qid {first_label}, which has no row in scores. Leave it out."
        )
    is_relevant = grades > 0
    counts = np.bincount(group_number[is_relevant], minlength=groups.n_groups)
    order = np.argsort(group_number[is_relevant], kind="stable")
    return row_offsets(counts), grades[is_relevant][order]


def _judged(judged: ArrayLike, relevance: PerRow) -> Mask:
    flags = _check.one_dimensional(_check.array(judged, "judged"), "judged")
    _check.equal_length(relevance=relevance, judged=flags)
    if flags.dtype != np.bool_ and flags.size:
        raise ArgumentError(f"judged must hold True or False, got {flags.dtype}.")
    flags = flags.astype(np.bool_, copy=False)
    wrong_rows = np.flatnonzero(~flags & (relevance > 0))
    if wrong_rows.size:
        raise ArgumentError(
            f"judged must be True where relevance is > 0, but {wrong_rows.size} such rows are not "
            f"judged, first row {wrong_rows[0]}. Give them relevance 0."
        )
    return flags


def _totals(groups: Groups, n_items: int | None, extra: tuple[Offsets, PerRow] | None) -> Counts:
    """Return n_items of each group: the argument, the number of rows, or -1 if unknown."""
    if n_items is None:
        return groups.sizes if extra is None else np.full(groups.n_groups, _UNKNOWN)
    total = _check.cutoff(n_items, name="n_items")
    lengths = groups.sizes if extra is None else groups.sizes + np.diff(extra[0])
    longer = np.flatnonzero(lengths > total)
    if longer.size:
        raise ArgumentError(
            f"{arg.n_items} must be at least the number of listed and unretrieved items of each "
            f"group, got {total}, but qid {_check.label(groups.labels[longer[0]])} has "
            f"{lengths[longer[0]]}."
        )
    return np.full(groups.n_groups, total)


def _item(item: ArrayLike, n_rows: int, ties: Ties) -> NDArray[Any]:
    """Return what orders equal scores: the order of the ids as text, or the ids."""
    ids = _check.one_dimensional(_check.array(item, "item"), "item")
    if ids.size != n_rows:
        raise ArgumentError(f"scores and item must have equal length, got {n_rows} and {ids.size}.")
    return text_order(ids) if ties == "id" else ids
