"""(truth, run) -> Ranking: a join by columns, group by group."""

from __future__ import annotations

import warnings
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import read_only
from podium.data import _kernels
from podium.data.columns import threshold
from podium.data.ids import codes_of
from podium.data.join import MISSING, NOTHING, UNJUDGED, Join, Missing, Unjudged
from podium.data.runs import read_run, read_truth
from podium.errors import DataError, PodiumWarning
from podium.groups import Groups
from podium.ranking import TIES, Ranking, count_between
from podium.types import Labels, Ties

_LEAST_USERS = 20  # fewer may all have their item in a short list by chance
_OF_ONE_LENGTH = 0.9  # a few lists lose items that were drawn twice, or were the target
_SHORT = 0.5  # of all items that a run names: longer lists may be a catalogue without seen items


class RankingOptions(TypedDict, total=False):
    """The keyword arguments of `ranking`, for those that pass them on."""

    ties: Ties
    min_relevance: float | None
    missing: Missing
    unjudged: Unjudged
    n_items: int | None
    seed: int
    user: str | None
    item: str | None
    relevance: str | None
    score: str | None
    rank: str | None


def ranking(
    truth: Any,
    run: Any,
    *,
    ties: Ties = "worst",
    min_relevance: float | None = None,
    missing: Missing = "error",
    unjudged: Unjudged = "negative",
    n_items: int | None = None,
    seed: int = 0,
    user: str | None = None,
    item: str | None = None,
    relevance: str | None = None,
    score: str | None = None,
    rank: str | None = None,
) -> Ranking:
    """Rank what a run lists for each user of the truth, by what the truth says of it.

    The groups are the truth's users in rising order. Users whom only the run knows are left out.

    Parameters
    ----------
    truth, run : path, frame, mapping or tuple of arrays, sparse matrix; or Truth, Run
        See `read_truth` and `read_run`. Ids are integers or strings; if they are integers on one
        side only, both are compared as strings.
    ties : {"worst", "best", "average", "id", "random"}
        How equal scores are ordered, see `Ranking.from_scores`.
    min_relevance : float, optional
        Relevance from which an item is positive: 1 unless given. A truth whose relevance comes
        from a column named rating needs it, because every rating would be positive.
    missing : {"error", "zero", "skip"}
        Users of the truth whom the run lacks: refused, kept with the worst value there is, or
        left out.
    unjudged : {"negative", "skip", "error"}
        Items of the run that the truth does not name for that user: relevance 0, taken out of
        the list, or refused.
    n_items : int, optional
        Items that each user could have been shown. Without it, a list is known to be whole only
        where the truth names negatives too and the run lists exactly the truth's items.
    seed : int
        For ties="random": the order of equal scores follows from seed, user and item alone.
    user, item, relevance, score, rank : str, optional
        Names of columns that don't have their usual name; user and item in both tables.

    Raises
    ------
    ArgumentError
        If an option is unknown, users or items are missing where that is an error, a user has
        more than n_items items, or a rating comes without min_relevance.
    DataError
        If a file or table is wrong (see `read_run`), a (user, item) pair comes twice, or no user
        or no item is in both.

    Warns
    -----
    PodiumWarning
        If few items are in both, some ids are the same number written in two ways, or the lists
        look like sampled candidates.

    Notes
    -----
    A list that unjudged="skip" empties stays, as an empty list. Rows in messages count from 0.
    Cost: one pass over both tables where rows are grouped by user, a counting sort before it
    where they are not; string ids are hashed first.

    Examples
    --------
    >>> truth = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
    >>> run = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
    >>> r = ranking(truth, run)
    >>> r.groups.labels.tolist(), r.relevance.tolist(), r.n_pos.tolist()
    ([1, 2], [1.0, 0.0, 0.0], [2, 1])
    """
    rule = _check.choice(ties, "ties", TIES)
    absence = _check.choice(missing, "missing", MISSING)
    outside = _check.choice(unjudged, "unjudged", UNJUDGED)
    total = _check.cutoff(n_items, name="n_items", required=False)
    judged = read_truth(truth, user=user, item=item, relevance=relevance)
    listed = read_run(run, user=user, item=item, score=score, rank=rank)
    positive = threshold(judged.name, min_relevance, ratings=judged.is_rating)
    join = Join.of(judged, listed, absence, ids_ordered=rule == "id")
    rows = join.look_up(judged, listed, positive, outside, wants_item=rule in ("id", "random"))
    result = Ranking.from_grouped(
        Groups(join.labels, rows.offsets),
        rows.score,
        rows.relevance,
        ideal=rows.ideal,
        n_items=rows.n_whole if total is None else join.check_total(rows.n_distinct, total),
        min_relevance=positive,
        ties=rule,
        item=join.drawn_from(rows.item) if rule == "random" else rows.item,
        absent=join.run_group < 0 if absence == "zero" else None,
        seed=seed,
    )
    _warn_of_samples(result, join.met.n_right, listed.name)
    return result


def top_items(run: Any, k: int, **columns: str | None) -> tuple[Groups, NDArray[np.int64], Labels]:
    """Return the k best items of each user of a run, best first.

    Parameters
    ----------
    run : path, frame, mapping or tuple of arrays, sparse matrix; or Run
        See `read_run`.
    k : int
        At least 1; a shorter list is taken whole.
    **columns
        Names of columns, as in `read_run`.

    Returns
    -------
    Groups, codes int64 (n_rows,), ids (n_distinct,)
        Rows are grouped by user in rank order; ``ids[codes]`` are the items, and `ids` are all
        the items that the run names anywhere, rising.

    Raises
    ------
    DataError
        If a file or table is wrong (see `read_run`), or an item is among a user's best twice.

    Notes
    -----
    Equal scores: the lower id first, so that the result does not depend on row order.
    Cost: one pass, with an insertion into the k best where a row belongs there.

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
    _refuse_twice(listed.name, top, codes[rows], ids)
    return top, codes[rows], ids


def _refuse_twice(name: str, top: Groups, codes: NDArray[np.int64], ids: Labels) -> None:
    """Raise if one list holds an item twice."""
    order = np.lexsort((codes, top.index))
    item, group = codes[order], top.index[order]
    twice = np.flatnonzero((item[1:] == item[:-1]) & (group[1:] == group[:-1]))
    if twice.size:
        user = _check.label(top.labels[group[twice[0]]])
        shown = _check.label(ids[item[twice[0]]])
        raise DataError(f"{name} lists item {shown} twice for user {user}. Keep one.")


def _warn_of_samples(ranking: Ranking, n_items: int, name: str) -> None:
    """Warn where lists look like a target among sampled items, as in 1 + 99.

    That is: nine in ten lists are of one length, none is longer than half of the n_items that the
    run names, and each holds the user's one positive.
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
            f"{name} lists {counts.argmax()} of {n_items} items for each user, and always the one "
            "that is relevant. Such lists look like sampled candidates, and their measures are not "
            "those of ranking all items: podium estimate (podium.sampled) estimates these.",
            PodiumWarning,
            stacklevel=3,
        )
