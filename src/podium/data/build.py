"""Building a Ranking from a truth and a run: a join by columns, one group at a time."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import rank_rows, read_only
from podium._ties import TIES_OF_LISTS
from podium.data import _kernels
from podium.data.columns import threshold
from podium.data.ids import codes_of
from podium.data.join import (
    MISSING,
    NOTHING,
    UNJUDGED,
    UNRETRIEVED,
    Join,
    Missing,
    Rows,
    Unjudged,
    Unretrieved,
)
from podium.data.runs import Run, read_run, read_truth
from podium.data.shared_names import with_shared_names
from podium.errors import ArgumentError, DataError, PodiumWarning
from podium.groups import Groups
from podium.ranking import Ranking, count_between
from podium.types import Labels, PerRow, Ties

_LEAST_USERS = 20  # with fewer users, short lists may contain all targets by chance
_OF_ONE_LENGTH = 0.9  # share of equally long lists; some lists lose repeated draws or the target
_SHORT = 0.5  # share of the run's items; longer lists may be a catalogue without seen items


class RankingOptions(TypedDict, total=False):
    """The keyword arguments of `ranking`, for functions that pass them on."""

    ties: Ties
    min_relevance: float | None
    missing: Missing
    unjudged: Unjudged
    unretrieved: Unretrieved
    single_precision: bool
    score_above: float | None
    n_items: int | None
    seed: int
    user: str | None
    item: str | None
    relevance: str | None
    score: str | None
    rank: str | None
    mark_judged: bool


def ranking(
    truth: Any,
    run: Any,
    *,
    ties: Ties = "worst",
    min_relevance: float | None = None,
    missing: Missing = "error",
    unjudged: Unjudged = "negative",
    unretrieved: Unretrieved = "count",
    single_precision: bool = False,
    score_above: float | None = None,
    n_items: int | None = None,
    seed: int = 0,
    user: str | None = None,
    item: str | None = None,
    relevance: str | None = None,
    score: str | None = None,
    rank: str | None = None,
    mark_judged: bool = False,
) -> Ranking:
    """Rank the items that a run lists for each user of the truth, with the truth's relevances.

    The groups are the truth's users in increasing order. Users who are only in the run are left
    out.

    Parameters
    ----------
    truth, run : path, frame, mapping or tuple of arrays, sparse matrix; or Truth, Run
        The tables, see `read_truth` and `read_run`. Ids are integers or strings. If they are
        integers in one table only, both are compared as strings.
    ties : {"worst", "best", "average", "id", "random", "threshold"}
        The order of equal scores, see `Ranking.from_scores`.
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default. It is required if the relevance
        comes from a column named rating, because otherwise every rating would be positive.
    missing : {"error", "zero", "skip"}
        The treatment of users of the truth who are not in the run: raise an error, give them the
        worst possible value, or leave them out.
    unjudged : {"negative", "skip", "error", "bounds"}
        The treatment of items of the run that the truth does not contain for the user: relevance 0,
        remove them from the list, or raise an error. "bounds" gives them relevance 0 and marks
        them in `Ranking.judged`, so that `podium.evaluation.judgement_bounds` can compute the range
        over all their judgements.
    unretrieved : {"count", "drop"}
        The treatment of relevant items that the user's list lacks: they count as relevant, or not
        at all, as in packages that see only the listed items. With "drop", each list is whole.
    single_precision : bool
        Whether to compare scores in single precision, as trec_eval does, so that nearly equal
        scores are ties.
    score_above : float, optional
        Items with this score or less are not retrieved: they are removed from the list, but still
        count as relevant. torchmetrics does so with 0.
    n_items : int, optional
        The number of items that each user could have been shown. By default, a list is known to be
        whole only if the truth contains negatives and the run lists exactly the truth's items.
    seed : int
        The seed of ties="random". The order of equal scores depends only on seed, user and item.
    user, item, relevance, score, rank : str, optional
        The names of columns without a usual name. user and item apply to each table that has such
        a column; the other table is read by its usual names.
    mark_judged : bool
        Whether to mark the judged items, for bpref and judged@k. `podium.measure` does so if a
        measure needs it.

    Returns
    -------
    Ranking
        The lists of the truth's users.

    Raises
    ------
    ArgumentError
        If an option is unknown, users are missing with missing="error", items are not judged with
        unjudged="error", unjudged="bounds" is combined with unretrieved="drop" or score_above, or
        the order of equal scores depends on judgements, a user has more than n_items items, or
        relevances are ratings and min_relevance is missing.
    DataError
        If a file or table is wrong (see `read_run`), a (user, item) pair occurs twice, the tables
        have no user or no item in common, or a score is too large for single_precision.

    Warns
    -----
    PodiumWarning
        If the tables have few ids in common, some ids are the same number in two spellings, or the
        lists look like sampled candidates.

    Notes
    -----
    A list that unjudged="skip" empties is kept as an empty list. Rows in messages are counted from
    0.
    Cost: one pass over both tables if their rows are grouped by user, else a counting sort before
    it. String ids are hashed first.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
    >>> run = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
    >>> r = ranking(truth, run)
    >>> r.groups.labels.tolist(), r.relevance.tolist(), r.n_pos.tolist()
    ([1, 2], [1.0, 0.0, 0.0], [2, 1])
    """
    tie_rule = _check.choice(ties, "ties", TIES_OF_LISTS)
    missing_rule = _check.choice(missing, "missing", MISSING)
    unjudged_rule = _check.choice(unjudged, "unjudged", UNJUDGED)
    total = _check.cutoff(n_items, name="n_items", required=False)
    _check.choice(unretrieved, "unretrieved", UNRETRIEVED)
    least = None if score_above is None else _check.number(score_above, "score_above", low=-np.inf)
    if unjudged_rule == "bounds" and (unretrieved == "drop" or least is not None):
        raise ArgumentError(
            "unjudged='bounds' can't be combined with unretrieved='drop' or score_above, because a "
            "judgement would also change which items count. Leave one of them out."
        )
    pair = with_shared_names({"user": user, "item": item}, (truth, run))
    judged = read_truth(truth, **pair, relevance=relevance)
    listed = read_run(run, **pair, score=score, rank=rank)
    if _check.flag(single_precision, "single_precision"):
        listed = in_single_precision(listed)
    if least is not None:
        refuse_order(listed)
    positive = threshold(judged.name, min_relevance, ratings=judged.is_rating)
    join = Join.of(judged, listed, missing_rule, ids_ordered=tie_rule == "id")
    rows = join.look_up(
        judged,
        listed,
        positive,
        unjudged_rule,
        with_items=tie_rule in ("id", "random"),
        mark_judged=mark_judged,
    )
    if unjudged_rule == "bounds":
        refuse_tied(rows, join.labels, tie_rule)
    if unretrieved == "drop":
        rows = rows.listed_only()
    if least is not None:
        rows = rows.above(least)
    result = ranked(join, rows, positive, tie_rule, missing_rule, total, seed)
    _warn_of_samples(result, join.common_items.n_right, listed.name)
    return result


def refuse_order(run: Run) -> None:
    """Raise if a run has an order of items, but no scores, where score_above is passed."""
    if run.is_order:
        raise ArgumentError(
            f"score_above requires scores, but {run.name} has ranks, or integers beyond 2 ** 53. "
            "Pass a run with scores, or leave score_above out."
        )


def in_single_precision(run: Run) -> Run:
    """Return a run with its scores in single precision; ranks remain.

    Raises
    ------
    DataError
        If a score is too large.
    """
    if run.is_order:
        return run
    scores = to_single(run.score)
    wrong_rows = np.flatnonzero(np.isinf(scores))
    if wrong_rows.size:
        raise DataError(
            f"{run.name}: single_precision=True requires scores up to 3.4e38, got "
            f"{run.score[wrong_rows[0]]:g} at row {wrong_rows[0]}. Scale the scores."
        )
    return replace(run, score=scores)


def to_single(scores: PerRow) -> PerRow:
    """Return scores rounded to single precision; those beyond 3.4e38 become infinite."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


def ranked(
    join: Join,
    rows: Rows,
    min_relevance: float,
    ties: Ties,
    missing: Missing,
    n_items: int | None,
    seed: int,
) -> Ranking:
    """Rank the joined rows."""
    return Ranking.from_grouped(
        Groups(join.labels, rows.offsets),
        rows.score,
        rows.relevance,
        ideal=rows.ideal,
        n_items=rows.n_whole if n_items is None else join.check_total(rows.n_distinct, n_items),
        min_relevance=min_relevance,
        ties=ties,
        item=join.tie_items(rows.item, ties),
        absent=join.run_group < 0 if missing == "zero" else None,
        judged=rows.judged,
        n_judged=rows.n_judged,
        seed=seed,
    )


def top_items(run: Any, k: int, **columns: str | None) -> tuple[Groups, NDArray[np.int64], Labels]:
    """Return the k best items of each user of a run, best first.

    Parameters
    ----------
    run : path, frame, mapping or tuple of arrays, sparse matrix; or Run
        The run, see `read_run`.
    k : int
        The cutoff in items, at least 1. Shorter lists are returned whole.
    **columns
        The names of columns, see `read_run`.

    Returns
    -------
    Groups, codes int64 (n_rows,), ids (n_distinct,)
        The rows, grouped by user in rank order. ``ids[codes]`` are their items; `ids` are all items
        of the run, increasing.

    Raises
    ------
    DataError
        If a file or table is wrong (see `read_run`), or an item is twice in a user's list of k
        items.

    Notes
    -----
    Ties: the lower id ranks first, so that the result does not depend on row order.
    Cost: one pass, with an insertion for each row that is among the k best so far.

    Examples
    --------
    >>> groups, codes, ids = top_items({"user": [1, 1], "item": ["b", "a"], "score": [1, 2]}, 1)
    >>> ids[codes].tolist()
    ['a']
    """
    cutoff = _check.cutoff(k)
    listed = read_run(run, **columns)
    codes, ids = codes_of(listed.item)
    users, names = codes_of(listed.user)
    groups = Groups.from_qid(users)
    offsets = np.zeros(groups.n_groups + 1, np.int64)
    rows = np.empty(int(np.minimum(groups.sizes, cutoff).sum()), np.int64)
    order = NOTHING if groups.order is None else groups.order
    _kernels.top_rows(
        groups.offsets, order, read_only(listed.score), read_only(codes), cutoff, offsets, rows
    )
    top = Groups(names[groups.labels], offsets)
    _refuse_duplicates(listed.name, top, codes[rows], ids)
    return top, codes[rows], ids


def _refuse_duplicates(name: str, top: Groups, codes: NDArray[np.int64], ids: Labels) -> None:
    """Raise if one list contains an item twice."""
    pairs = np.sort(top.index * ids.size + codes)
    repeated = np.flatnonzero(pairs[1:] == pairs[:-1])
    if repeated.size:
        group, item = divmod(int(pairs[repeated[0]]), ids.size)
        user, item_label = _check.label(top.labels[group]), _check.label(ids[item])
        raise DataError(f"{name} lists item {item_label} twice for user {user}. Keep one.")


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
            f"unjudged='bounds' requires an order that no judgement changes, but {groups.size} of "
            f"{labels.size} users, first {_check.label(labels[groups[0]])}, have unjudged items "
            f"with equal scores, which ties='{ties}' orders by relevance. Use ties='id' or "
            "'random'."
        )


def _warn_of_samples(ranking: Ranking, n_items: int, name: str) -> None:
    """Warn if the lists look like one target among sampled items, for example 1 + 99.

    This is the case if at least nine in ten lists have the same length, no list is longer than half
    of the `n_items` items of the run, and each list contains the single positive of its user.
    """
    sizes = ranking.groups.sizes
    if sizes.size < _LEAST_USERS or not 1 < sizes.max() <= _SHORT * n_items:
        return
    counts = np.bincount(sizes)
    if counts.max() < _OF_ONE_LENGTH * sizes.size or not (ranking.n_pos == 1).all():
        return
    positive = ranking.relevance >= ranking.min_relevance
    if (count_between(positive, ranking.groups.offsets) == 1).all():
        warnings.warn(
            f"{name} lists {counts.argmax()} of {n_items} items for each user, always with the "
            "relevant item. Such lists look like sampled candidates. Their measures differ from "
            "those of a ranking of all items, which podium estimate (podium.sampled) estimates.",
            PodiumWarning,
            stacklevel=3,
        )
