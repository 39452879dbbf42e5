"""Scans: rounds in which a model scores listed items of open targets, and then random items."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium import _check
from podium.catalogue.source import Scores
from podium.catalogue.sparse import Overlap
from podium.progress import or_silent
from podium.sampled._draws import DrawPlan, read_plan
from podium.sampled.design import Floats, Ints
from podium.sampled.scanning.checkpoint import ScanCheckpoint
from podium.sampled.scanning.order import ProxyOrder, read_order
from podium.sampled.scanning.ranks import Counts, ScannedRanks
from podium.sampled.scanning.rest import draw_rest
from podium.sampled.scanning.scorers import PairScores, Scorer
from podium.types import Progress

_DEEPEST = 8  # listed items per target, at most, as a multiple of the budget
_LIST_GROWTH, _DRAW_GROWTH = 1.5, 1.25
_FIRST_DRAWS = 8
_BLOCK = 2**22  # drawn items in memory


def scan(
    scorer: PairScores | Scores,
    targets: Any,
    *,
    k: int,
    proxy: Scores | ArrayLike | None = None,
    lists: ArrayLike | None = None,
    budget: float = 99,
    list_share: float = 0.5,
    exclude: Any = None,
    overlap: Overlap = "error",
    other_targets: str = "keep",
    users: ArrayLike | None = None,
    ties: str = "worst",
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> ScannedRanks:
    """Rank targets by an expensive model that scores few items, in the order of a cheap proxy.

    Parameters
    ----------
    scorer : function, or scores
        A function of two int64 arrays of equal length, rows of users and items, that returns their
        scores. Higher is better. It is called with many pairs at a time, in about 15 rounds. Scores
        in the forms of `podium.catalogue.rank_blocks` are read without a function.
    targets : scipy.sparse matrix, (n_users, n_items)
        The held-out items as stored entries, one or several per user.
    k : int
        The largest cutoff of the measures to estimate, at least 1.
    proxy : scores, or (n_items,), optional
        The scores of a cheap model in the forms of `podium.catalogue.rank_blocks`, or one score per
        item, such as its popularity. The better the proxy predicts which items the model ranks
        first, the smaller the error.
    lists : int, (n_users, depth), optional
        The items of each user in the order of a proxy, best first, and -1 after the last one. Give
        either `proxy` or `lists`.
    budget : float
        The mean number of items that may be scored per target, at least 1. The target itself does
        not count.
    list_share : float
        The share of the budget for listed items, above 0 and at most 1. The rest is for items that
        are drawn from the other candidates. With 1, items that the proxy misses are never scored.
    exclude, overlap, other_targets, users
        The parameters of `sample_ranks`.
    ties : {"worst", "best"}
        Whether items with the target's score count as above it.
    seed : int
        The seed of the draws. A target's draws depend only on the seed, the user's label, the item
        and the listed items.
    checkpoint : path, optional
        A file that stores the counts after each round.
    resume : bool
        Whether to continue from the checkpoint, if it exists.
    progress : callable, optional
        A function that is called with (scored items, budget of all items, name of the round).

    Returns
    -------
    ScannedRanks

    Raises
    ------
    ArgumentError
        If shapes differ, if a score is not finite, or for a reason listed in `sample_ranks`.
    DataError
        If the checkpoint is damaged or belongs to another scan.

    Warns
    -----
    PodiumWarning
        If the proxy ranks more than half of the targets first. They may have been in its training
        data.

    Notes
    -----
    A target needs no more scores as soon as k items are above it, because measures at k are then
    exactly 0. In the first rounds, the items of the list are scored from its top down, until
    `list_share` of the budget is spent. The listed items are then known for certain. In the other
    rounds, the rest of the catalogue is sampled without replacement, with more draws in each round,
    until the budget is spent. All targets take part in each round until they are settled, so that
    depths and sizes depend only on the number of open targets.
    The proxy only determines which items are scored. With a worse proxy, estimates are less
    precise. With lists in random order, they can also be biased: use `sample_ranks` instead.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rng = np.random.default_rng(0)
    >>> proxy = rng.normal(size=(50, 1000))
    >>> scores = proxy + 0.1 * rng.normal(size=proxy.shape)
    >>> items = np.argsort(-proxy, axis=1)[:, 4]
    >>> held_out = csr_array((np.ones(50), (np.arange(50), items)), proxy.shape)
    >>> scan(lambda rows, items: scores[rows, items], held_out, k=10, proxy=proxy)
    ScannedRanks(50 targets of 50 users, k=10, 99 items scored per target, 100.0% open)
    """
    plan = read_plan(
        targets, exclude=exclude, overlap=overlap, other_targets=other_targets, users=users
    )
    budget = _check.number(budget, "budget", low=1)
    share = _check.number(list_share, "list_share", low=0, high=1, strict=True)
    k = _check.cutoff(k)
    order = read_order(plan, proxy, lists, max(k, ceil(_DEEPEST * budget)))
    order.warn_of_leak()
    rounds = _Rounds(
        plan,
        order,
        Scorer(scorer, plan),
        k,
        _check.choice(ties, "ties", ("worst", "best")),
        _check.seed(seed),
    )
    settings = {"k": k, "budget": budget, "list_share": share, "ties": ties, "seed": seed}
    stored = None if checkpoint is None else ScanCheckpoint(checkpoint, plan, order, settings)
    if stored is not None and _check.flag(resume, "resume"):
        rounds.counts = stored.read() or rounds.counts
    total, show = int(budget * plan.targets.size), or_silent(progress)
    for name in rounds.run(total, share):
        show(rounds.n_scored, total, name)
        if stored is not None:
            stored.write(rounds.counts)
    counts = rounds.counts
    return ScannedRanks(
        *(counts.above_listed, counts.n_listed, counts.above_drawn, counts.n_drawn),
        plan.n_items,
        k=k,
        user=plan.user,
    )


class _Rounds:
    """The rounds of a scan, and the counts so far."""

    def __init__(
        self, plan: DrawPlan, order: ProxyOrder, scorer: Scorer, k: int, ties: str, seed: int
    ) -> None:
        self._plan, self._order, self._scorer = plan, order, scorer
        self._k, self._seed, self._is_strict = k, seed, ties == "best"
        self._target_scores: Floats = scorer.targets()
        self.counts = Counts(*np.zeros((4, plan.targets.size), np.int64))

    @property
    def n_scored(self) -> int:
        return int((self.counts.n_listed + self.counts.n_drawn).sum())

    def run(self, total: int, share: float) -> Iterator[str]:
        """Spend the share of the total on lists, then the rest on draws; yield after each round."""
        if not self.counts.n_drawn.any():
            yield from self._listed_rounds(int(total * share))
        yield from self._drawn_rounds(total if share < 1 else 0)

    def _listed_rounds(self, total: int) -> Iterator[str]:
        counts = self.counts
        while True:
            depth = int(counts.n_listed.max())
            is_open = (counts.above_listed < self._k) & (self._order.lengths > depth)
            targets = np.flatnonzero(is_open)
            stop = self._next(depth, self._k, _LIST_GROWTH, targets, total)
            if stop <= depth:
                return
            above, n_items = self._scored(
                targets, partial(self._order.items, start=depth, stop=stop)
            )
            counts.above_listed[targets] += above
            counts.n_listed[targets] += n_items
            yield "listed items"

    def _drawn_rounds(self, total: int) -> Iterator[str]:
        counts = self.counts
        while True:
            size = int(counts.n_drawn.max())
            is_open = counts.above_listed + counts.above_drawn < self._k
            is_open &= (counts.n_drawn == size) & (self._n_rest > size)
            targets = np.flatnonzero(is_open)
            stop = self._next(size, _FIRST_DRAWS, _DRAW_GROWTH, targets, total)
            if stop <= size:
                return
            above, n_items = self._scored(targets, partial(self._drawn, start=size, stop=stop))
            counts.above_drawn[targets] += above
            counts.n_drawn[targets] += n_items
            yield "random items"

    @property
    def _n_rest(self) -> Ints:
        """The number of items of each target that are not listed: int64, (n_targets,)."""
        return self._plan.n_items - 1 - self.counts.n_listed

    def _next(self, size: int, first: int, growth: float, targets: Ints, total: int) -> int:
        """Return the next number of items per open target, as far as the budget allows."""
        if not targets.size:
            return size
        affordable = size + max(total - self.n_scored, 0) // targets.size
        return min(max(ceil(size * growth), first), affordable)

    def _drawn(self, targets: Ints, start: int, stop: int) -> Ints:
        n_listed = self.counts.n_listed[targets]
        return draw_rest(self._plan, self._order, targets, n_listed, stop, self._seed)[:, start:]

    def _scored(self, targets: Ints, items_of: Callable[[Ints], Ints]) -> tuple[Ints, Ints]:
        """Score items of some targets; return how many are above each target, and their number."""
        above, n_items = np.zeros((2, targets.size), np.int64)
        size = max(1, _BLOCK // max(2 * int(self.counts.n_drawn.max()), 256))
        for start in range(0, targets.size, size):
            part = slice(start, start + size)
            items = items_of(targets[part])
            is_item = items >= 0
            owners = np.repeat(targets[part], is_item.sum(axis=1))
            scores = self._scorer.pairs(self._plan.rows[owners], items[is_item])
            floors = self._target_scores[owners]
            is_above = scores > floors if self._is_strict else scores >= floors
            first = np.searchsorted(targets[part], owners)
            above[part] = np.bincount(first, is_above, minlength=items.shape[0])
            n_items[part] = is_item.sum(axis=1)
        return above, n_items
