"""Ranks and rankings of a whole catalogue from scores and a sparse truth, in blocks of users."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import AVERAGE, BEST, ID, RANDOM, WORST, ideal_order, read_only
from podium._ties import TIES, random_bits
from podium.catalogue._kernels import Tie
from podium.catalogue.counting import Table, count_above
from podium.catalogue.devices import read_on_device
from podium.catalogue.source import Scores, read
from podium.catalogue.sparse import (
    Overlap,
    Rows,
    read_excluded,
    read_relevant,
    split_overlap,
    storage_order,
)
from podium.executors import Executor
from podium.executors.local import or_threads
from podium.groups import Groups, row_offsets
from podium.metrics import Measure
from podium.ranking import Ranking, relevance_rule
from podium.types import Counts, LowGrades, PerGroup, PerRow, Ties

RULES = dict(zip(TIES, (WORST, BEST, AVERAGE, ID, RANDOM), strict=True))
"""The code of each tie rule in kernels."""

_PARTS = 4  # parts of the users per worker
_LISTED = 2**22  # items of the lists of one Ranking


def target_ranks(
    scores: Scores,
    targets: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    ties: Ties = "worst",
    seed: int = 0,
    device: str | None = None,
    executor: Executor | None = None,
) -> PerRow:
    """Return the rank of each target among all items of its user that are not excluded.

    The ranks equal those of `rank_blocks` with depth=None, but nothing is sorted.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        The scores, see `rank_blocks`.
    targets : scipy.sparse matrix, (n_users, n_items)
        The stored pairs are the targets. Their values are relevances >= 0, which affect only the
        order of equal scores.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not ranked for a user: all stored entries, whatever their values.
    overlap : {"error", "drop"}
        The treatment of targets that are in exclude: raise an error, or return nan as their rank.
    ties : {"worst", "best", "average", "id", "random"}
        The order of equal scores. With "worst", a target ranks after the items of the same score,
        except targets of higher relevance, or of the same relevance and a higher item number. With
        "average", the rank is the mean rank of all items with this score and can end in one half.
        With "id", higher column numbers rank first.
    seed : int
        The seed of ties="random", see `rank_blocks`.
    device : str, optional
        The device that counts, see `top_k`.
    executor : Executor, optional
        The executor of parts of the users, such as ``Ray("auto")`` on a cluster. Each node receives
        `scores` once. Default: the threads of this process.

    Returns
    -------
    float64, (n_targets,)
        Ranks from 1, in the order of ``targets.tocsr().data``; nan for dropped targets.

    Raises
    ------
    ArgumentError
        If `rank_blocks` would raise it.

    Notes
    -----
    Cost: one vectorised comparison per target and item of its user.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> target_ranks([[3.0, 2.0, 1.0, 2.0]], csr_array([[1, 0, 0, 1]]))
    array([1., 3.])
    """
    table = read_on_device(scores, device) or read(scores)
    seen = read_excluded(exclude, table.shape)
    relevant = read_relevant(targets, "targets", table.shape)
    visible, is_excluded = split_overlap(relevant, "targets", seen, overlap)
    tie = Tie(RULES[_check.choice(ties, "ties", TIES)], 0, random_bits(seed))
    ranks = np.full(is_excluded.size, np.nan)
    if executor is None:
        ranks[~is_excluded] = 1.0 + count_above(table, visible, seen, tie)
    else:
        parts = _parts(visible, seen, table.shape[0], or_threads(executor).n_workers)
        of_parts = executor.map(_ranks_of_part, parts, table, tie)
        ranks[~is_excluded] = np.concatenate([np.empty(0), *of_parts])
    in_storage_order = np.empty_like(ranks)
    in_storage_order[storage_order(targets)] = ranks
    return in_storage_order


def _parts(
    targets: Rows, seen: Rows, n_users: int, n_workers: int
) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield the first user, the targets and the seen items of several parts for each worker."""
    size = max(1, math.ceil(n_users / (_PARTS * n_workers)))
    for start in range(0, n_users, size):
        stop = min(start + size, n_users)
        yield start, targets.block(start, stop), seen.block(start, stop)


def _ranks_of_part(part: tuple[int, Rows, Rows], table: Table, tie: Tie) -> PerRow:
    start, targets, seen = part
    return 1.0 + count_above(table, targets, seen, tie._replace(first_user=start))


def top_k(
    scores: Scores, k: int, *, exclude: Any = None, device: str | None = None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the k best-scored items of each user, best first.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        The scores, higher is better. float32 and float64 are used as they are; other numbers are
        converted. The scores of a pair are ``user_factors @ item_factors.T``, in float32 if it
        represents both factors exactly, else in float64.
    k : int
        The number of items per user, at least 1.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not returned for a user: all stored entries, whatever their values. Their
        scores are not used and can have any value.
    device : str, optional
        The device that computes, selects and counts, such as "cuda"; "auto" for a GPU if there is
        one. It requires the extra ``podium[torch]``. Tensors, and arrays with DLPack's protocol,
        are by default read where they are. The result is the same on each device.

    Returns
    -------
    items : int64, (n_users, k)
        Column numbers; -1 if a user has fewer than k items.
    scores : float32 or float64, (n_users, k)
        Their scores; -inf where items is -1.

    Raises
    ------
    ArgumentError
        If a score is NaN or infinite (first user and item), a factor is (first row), shapes differ,
        or k < 1.

    Notes
    -----
    Ties: the lower item number ranks first.
    Products of factors are added in an order that does not depend on other users.
    Cost: two passes over the scores and a sort of the k best. All items are sorted only if all
    scores are equal. The scores of one block of users are in memory at a time: at most 64 MiB, or
    one user.

    Examples
    --------
    >>> items, best = top_k([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], 2)
    >>> items
    array([[1, 2],
           [0, 1]])
    >>> user_factors, item_factors = [[1.0, 0.0]], [[0.2, 5.0], [0.3, 5.0]]
    >>> top_k((user_factors, item_factors), 1)
    (array([[1]]), array([[0.3]]))
    """
    width = _check.cutoff(k)
    table = read_on_device(scores, device) or read(scores)
    return table.best(width, read_excluded(exclude, table.shape))


def rank_blocks(
    scores: Scores,
    truth: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    depth: int | None = None,
    ties: Ties = "worst",
    min_relevance: float | None = None,
    low_grades: LowGrades | None = None,
    block_size: int | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Iterator[Ranking]:
    """Rank every item of a catalogue for every user, with one Ranking per block of users.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        A matrix, factors whose products are computed one block at a time (see `top_k`), or
        a function that returns a block.
    truth : scipy.sparse matrix, (n_users, n_items)
        The relevance of the stored pairs, >= 0. All other items have relevance 0.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not ranked for a user: all stored entries, whatever their values. Their
        scores are not used and can have any value.
    overlap : {"error", "drop"}
        The treatment of pairs that are both in truth and in exclude: raise an error, or remove them
        from the truth. A removed pair is not a positive that the list misses.
    depth : int, optional
        The number of items in each user's list: at least the largest cutoff, or 2k - 1 for pap@k.
        By default, all items are listed.
    ties : {"worst", "best", "average", "id", "random"}
        The order of equal scores, see `Ranking.from_scores`; ids are column numbers, compared as
        numbers. The rule also selects the items of equal score at the end of a list. With
        "average", all items that equal a listed positive are listed, so that a list can be longer
        than depth.
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default.
    low_grades : {"zero", "keep"}, optional
        The treatment of relevances below min_relevance, see `Ranking.from_scores`.
    block_size : int, optional
        The number of users per Ranking. By default it follows from the length of the lists, so that
        memory does not grow with the number of users.
    seed : int
        The seed of ties="random". The order of equal scores depends only on seed, user and item.
    device : str, optional
        The device that counts, see `top_k`.

    Returns
    -------
    iterator of Ranking
        Rankings whose groups are labelled by row number. n_items does not count excluded items.
        Users without truth are groups without positives.

    Raises
    ------
    ArgumentError
        If shapes differ, a relevance is negative, a pair is in truth twice or also in exclude, or a
        rule is unknown; during iteration, if a score is NaN or infinite.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> scores = [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]
    >>> truth = csr_array([[0, 0, 1], [0, 1, 0]])
    >>> [r.relevance.tolist() for r in rank_blocks(scores, truth, depth=2)]
    [[0.0, 0.0, 0.0, 1.0]]
    """
    table = read_on_device(scores, device) or read(scores)
    seen = read_excluded(exclude, table.shape)
    judged, _ = split_overlap(read_relevant(truth, "truth", table.shape), "truth", seen, overlap)
    threshold, low = relevance_rule(min_relevance, low_grades)
    if low == "zero":
        judged = judged.without(judged.values < threshold)
    positives = judged.without(judged.values <= 0)
    rule = _check.choice(ties, "ties", TIES)
    tie = Tie(RULES[rule], 0, random_bits(seed), 0.0)
    depth = _check.cutoff(depth, name="depth", required=False) or table.n_items
    size = _check.cutoff(block_size, name="block_size", required=False)
    size = size or max(1, _LISTED // max(min(depth, table.n_items), 1))

    def rankings() -> Iterator[Ranking]:
        above = last = count_above(table, positives, seen, tie, most=depth)
        if rule == "average":  # with the items of equal score
            last = count_above(table, positives, seen, tie._replace(share=1.0))
        for start in range(0, max(table.n_users, 1), size):
            stop = min(start + size, table.n_users)
            part = slice(int(positives.offsets[start]), int(positives.offsets[stop]))
            ranked = _Ranked(positives.block(start, stop), above[part], last[part])
            n_items = table.n_items - seen.block(start, stop).sizes
            yield ranked.ranking(start, n_items, depth, (threshold, rule, low))

    return rankings()


def measured(scores: Scores, truth: Any, exclude: Any, measure: Measure) -> PerGroup:
    """Return the measure of each user among all items that are not excluded; nan if undefined.

    Pairs of the truth that are excluded are left out.
    """
    depth = None if measure.k is None else 2 * measure.k  # for pap@k; other measures need less
    blocks = rank_blocks(scores, truth, exclude=exclude, overlap="drop", depth=depth)
    return np.concatenate([measure(ranking) for ranking in blocks])


class _Ranked(NamedTuple):
    """The positives of a block of users, which have the ranks above + 1 .. last + 1."""

    positives: Rows
    above: PerRow
    last: PerRow

    def ranking(
        self, start: int, n_items: Counts, depth: int, about: tuple[float, Ties, LowGrades]
    ) -> Ranking:
        """Return the lists of the block, with the relevances of positives at their ranks."""
        min_relevance, ties, low_grades = about
        is_listed = self.above < depth
        user = self.positives.users[is_listed]
        ends = self.above, self.last + 1
        first, end = (counts[is_listed].astype(np.int64) for counts in ends)
        sizes = np.minimum(n_items, depth)
        np.maximum.at(sizes, user, end)
        offsets = row_offsets(sizes)
        relevance, tied = np.zeros(int(offsets[-1])), np.zeros(0, np.bool_)
        # The positives of equal score take neighbouring places.
        place = offsets[user] + first
        order = np.argsort(place, kind="stable")
        equal_before = np.arange(place.size) - np.searchsorted(place[order], place[order])
        relevance[place[order] + equal_before] = self.positives.values[is_listed][order]
        if ties == "average":
            steps = np.zeros(relevance.size + 1, np.int64)
            np.add.at(steps, place, 1)
            np.add.at(steps, offsets[user] + end - 1, -1)
            tied = np.cumsum(steps)[:-1] > 0
        grades = read_only(self.positives.values)
        ideal = np.empty_like(grades)
        ideal_order(self.positives.offsets, grades, ideal)
        return Ranking(
            Groups(np.arange(start, start + n_items.size), offsets),
            relevance,
            self.positives.offsets,
            ideal,
            n_items,
            min_relevance,
            ties,
            tied,
            low_grades=low_grades,
        )
