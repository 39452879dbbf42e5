"""Ranks and rankings of a whole catalogue from scores and a sparse truth, in blocks of users."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium._kernels import AVERAGE, BEST, ID, RANDOM, WORST, ideal_order, read_only
from podium._ties import TIES, random_bits
from podium.catalogue import _kernels
from podium.catalogue._kernels import Lists, Tie
from podium.catalogue.counting import Counter, count_above
from podium.catalogue.devices import read_on_device
from podium.catalogue.source import Floats, Scores, Source, of_users, read, require_finite
from podium.catalogue.sparse import (
    Overlap,
    Rows,
    read_excluded,
    read_relevant,
    split_overlap,
    storage_order,
)
from podium.errors import ArgumentError, arg
from podium.executors import Executor
from podium.executors.local import or_threads
from podium.groups import Groups, row_offsets
from podium.metrics import Measure
from podium.ranking import Ranking, kept_offsets, relevance_rule
from podium.types import LowGrades, Mask, Offsets, PerGroup, PerRow, Ties

if TYPE_CHECKING:
    from podium.catalogue.devices import DeviceScores

RULES: dict[Ties, int] = {
    "worst": WORST,
    "best": BEST,
    "average": AVERAGE,
    "id": ID,
    "random": RANDOM,
}


_PARTS = 4  # parts of the users per worker


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
        ranks[~is_excluded] = _ranks(table, visible, seen, tie)
    else:
        parts = _parts(visible, seen, table.shape[0], or_threads(executor).n_workers)
        of_parts = executor.map(_ranks_of_part, parts, scores, tie, device)
        ranks[~is_excluded] = np.concatenate([np.empty(0), *of_parts])
    in_storage_order = np.empty_like(ranks)
    in_storage_order[storage_order(targets)] = ranks
    return in_storage_order


class _Part(NamedTuple):
    """The targets of consecutive users."""

    start: int
    stop: int
    targets: Rows
    seen: Rows


def _parts(targets: Rows, seen: Rows, n_users: int, n_workers: int) -> Iterator[_Part]:
    """Yield parts of the users, several for each worker."""
    size = max(1, math.ceil(n_users / (_PARTS * n_workers)))
    for start in range(0, n_users, size):
        stop = min(start + size, n_users)
        yield _Part(start, stop, targets.block(start, stop), seen.block(start, stop))


def _ranks_of_part(part: _Part, scores: Scores, tie: Tie, device: str | None) -> PerRow:
    some = of_users(scores, part.start, part.stop)
    table = read_on_device(some, device) or read(some)
    tie = tie._replace(first_user=part.start)
    return _ranks(table, part.targets, part.seen, tie)


def _ranks(table: Source | DeviceScores, targets: Rows, seen: Rows, tie: Tie) -> PerRow:
    counter = table.counter()
    if counter is None:  # which a device has
        return _ranks_in_blocks(cast("Source", table), targets, seen, tie)
    return 1.0 + count_above(counter, targets, seen, tie)


def _ranks_in_blocks(table: Source, targets: Rows, seen: Rows, tie: Tie) -> PerRow:
    """Return the ranks of targets from blocks with the scores of all items."""
    ranks = np.empty(targets.items.size)
    for start, block in table.blocks(table.block_size):
        stop = start + block.shape[0]
        place = _kernels.target_ranks(
            block,
            table.limits.lowest,
            seen.block(start, stop),
            targets.block(start, stop),
            tie._replace(first_user=tie.first_user + start),
            ranks[targets.offsets[start] : targets.offsets[stop]],
        )
        require_finite(place, start, block)
    return ranks


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
        By default, all items are listed, which requires a full sort.
    ties : {"worst", "best", "average", "id", "random"}
        The order of equal scores, see `Ranking.from_scores`; ids are column numbers, compared as
        numbers. The rule also selects the items of equal score at the end of a list. With
        "average", the list contains all of them and can be longer than depth.
    min_relevance : float, optional
        The smallest relevance of a positive item, 1 by default.
    low_grades : {"zero", "keep"}, optional
        The treatment of relevances below min_relevance, see `Ranking.from_scores`.
    block_size : int, optional
        The number of users per Ranking. By default it is chosen from the shape, so that memory does
        not grow with the number of users.
    seed : int
        The seed of ties="random". The order of equal scores depends only on seed, user and item.
    device : str, optional
        The device that counts, see `top_k`. It requires a depth, and another rule than "average".

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
    plan = _Plan(
        *table.shape,
        seen,
        judged,
        depth=_check.cutoff(depth, name="depth", required=False),
        ties=_check.choice(ties, "ties", TIES),
        min_relevance=threshold,
        low_grades=low,
        bits=random_bits(seed),
    )
    counter, can_count = table.counter(), depth is not None and ties != "average"
    size = table.block_size if block_size is None else _check.cutoff(block_size, name="block_size")
    if isinstance(table, Source):
        if counter is None or not can_count:
            return (plan.ranking(table, start, block) for start, block in table.blocks(size))
        return plan.counted_rankings(counter, size)
    if not can_count:
        raise ArgumentError(
            f"On a device, rankings need {arg.depth()}, the largest cutoff, and another rule than "
            f"{arg.ties('average')}. Pass these, or scores on the CPU."
        )
    return plan.counted_rankings(table, size)


def rank_all(
    scores: Scores,
    truth: Any,
    *,
    exclude: Any = None,
    overlap: Overlap = "error",
    depth: int | None = None,
    ties: Ties = "worst",
    min_relevance: float | None = None,
    low_grades: LowGrades | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Ranking:
    """Rank every item of a catalogue for every user, as one Ranking.

    The result contains the lists of all users. If it does not fit in memory, pass a depth or use
    `rank_blocks`.

    Parameters
    ----------
    scores, truth, exclude, overlap, depth, ties, min_relevance, low_grades, seed, device
        The arguments of `rank_blocks`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> r = rank_all([[3.0, 2.0, 1.0]], csr_array([[0, 1, 0]]), exclude=csr_array([[1, 0, 0]]))
    >>> r.relevance.tolist(), r.n_items.tolist()
    ([1.0, 0.0], [2])
    """
    parts = list(
        rank_blocks(
            scores,
            truth,
            exclude=exclude,
            overlap=overlap,
            depth=depth,
            ties=ties,
            min_relevance=min_relevance,
            low_grades=low_grades,
            seed=seed,
            device=device,
        )
    )
    first = parts[0]
    offsets = _joined([p.groups.offsets for p in parts])
    return Ranking(
        Groups(np.arange(offsets.size - 1), offsets),
        np.concatenate([p.relevance for p in parts]),
        _joined([p.ideal_offsets for p in parts]),
        np.concatenate([p.ideal for p in parts]),
        np.concatenate([p.n_items for p in parts]),
        first.min_relevance,
        first.ties,
        np.concatenate([p.tied for p in parts]),
        low_grades=first.low_grades,
    )


def measured(scores: Scores, truth: Any, exclude: Any, measure: Measure) -> PerGroup:
    """Return the measure of each user among all items that are not excluded; nan if undefined.

    Pairs of the truth that are excluded are left out.
    """
    depth = None if measure.k is None else 2 * measure.k  # for pap@k; other measures need less
    blocks = rank_blocks(scores, truth, exclude=exclude, overlap="drop", depth=depth)
    return np.concatenate([measure(ranking) for ranking in blocks])


@dataclass(frozen=True, eq=False)
class _Plan:
    """The checked arguments from which each block's Ranking is computed."""

    n_users: int
    n_items: int
    seen: Rows
    truth: Rows
    depth: int | None
    ties: Ties
    min_relevance: float
    low_grades: LowGrades
    bits: np.uint64

    def ranking(self, source: Source, start: int, block: Floats) -> Ranking:
        stop = start + len(block)
        seen, truth = self.seen.block(start, stop), self.truth.block(start, stop)
        depth = self.n_items if self.depth is None else self.depth
        sizes, averages = np.minimum(self.n_items - seen.sizes, depth), self.ties == "average"
        if averages and depth < self.n_items:
            # An exact mean over orders needs all items with the score of the last one.
            best = np.full((len(block), depth), source.limits.below)
            items = np.empty(best.shape, np.int64)
            place = _kernels.best_items(block, source.limits, seen, depth, items, best)
            require_finite(place, start, block)
            floors = np.ascontiguousarray(best[:, -1])
            _kernels.count_reaching(block, seen, floors, sizes)
        else:
            floors = np.empty(len(block), source.dtype)
            _kernels.floors_of_rows(block, source.limits, seen, depth, floors)
        offsets = row_offsets(sizes)
        n_rows = int(offsets[-1])
        items, relevance = np.empty(n_rows, np.int64), np.empty(n_rows)
        lists = Lists(offsets, items, relevance, np.zeros(n_rows * averages, np.bool_))
        tie = Tie(RULES[self.ties], start, self.bits)
        place = _kernels.fill_lists(block, source.limits, seen, truth, floors, tie, lists)
        require_finite(place, start, block)
        return self._made(start, offsets, relevance, truth, lists.tied)

    def _made(
        self, start: int, offsets: Offsets, relevance: PerRow, truth: Rows, tied: Mask
    ) -> Ranking:
        stop = start + truth.sizes.size
        return Ranking(
            Groups(np.arange(start, stop), offsets),
            relevance,
            *_ideal(truth),
            self.n_items - self.seen.block(start, stop).sizes,
            self.min_relevance,
            self.ties,
            tied,
            low_grades=self.low_grades,
        )

    def counted_rankings(self, counter: Counter, size: int) -> Iterator[Ranking]:
        """Yield the rankings of blocks of users from the ranks of the positives, without lists."""
        positives = self.truth.without(self.truth.values <= 0)
        tie = Tie(RULES[self.ties], 0, self.bits)
        depth = self.n_items if self.depth is None else self.depth
        above = count_above(counter, positives, self.seen, tie, most=depth)
        for start in range(0, max(self.n_users, 1), size):
            stop = min(start + size, self.n_users)
            part = slice(int(positives.offsets[start]), int(positives.offsets[stop]))
            yield self._counted(start, stop, positives.block(start, stop), above[part], depth)

    def _counted(
        self, start: int, stop: int, positives: Rows, above: PerRow, depth: int
    ) -> Ranking:
        offsets = row_offsets(np.minimum(self.n_items - self.seen.block(start, stop).sizes, depth))
        relevance = np.zeros(int(offsets[-1]))
        is_listed = above < depth
        places = np.repeat(offsets[:-1], positives.sizes)[is_listed] + above[is_listed]
        relevance[places.astype(np.int64)] = positives.values[is_listed]
        return self._made(start, offsets, relevance, positives, np.zeros(0, np.bool_))


def _ideal(truth: Rows) -> tuple[Offsets, NDArray[np.float64]]:
    """Return the relevances > 0 of each user, decreasing."""
    positive = truth.values > 0
    offsets = kept_offsets(positive, truth.offsets)
    values = read_only(truth.values[positive])
    ideal = np.empty_like(values)
    ideal_order(offsets, values, ideal)
    return offsets, ideal


def _joined(parts: list[Offsets]) -> Offsets:
    return row_offsets(np.concatenate([np.diff(offsets) for offsets in parts]))
