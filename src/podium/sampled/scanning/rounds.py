"""Rounds in which a model scores listed items, then random ones, for open targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil

import numpy as np

from podium.sampled import _kernels
from podium.sampled._draws import DrawPlan, draw_bits
from podium.sampled.design import Floats, Ints
from podium.sampled.scanning.order import ProxyOrder
from podium.sampled.scanning.ranks import Counts
from podium.sampled.scanning.rest import draw_rest
from podium.sampled.scanning.scorers import Scorer

_LIST_GROWTH, _DRAW_GROWTH = 1.5, 1.25
_FIRST_DRAWS = 8
_BLOCK = 2**22  # drawn items in memory
_AUDIT = 5  # purpose number in a seed


class Rounds:
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
            listed = partial(self._order.items, start=depth, stop=stop)
            above, n_items = self._scored(targets, listed, stop)
            counts.above_listed[targets] += above
            counts.n_listed[targets] += n_items
            yield "listed items"

    def _drawn_rounds(self, total: int) -> Iterator[str]:
        counts = self.counts
        while True:
            size = int(counts.n_drawn.max())
            is_open = self._above < self._k
            is_open &= (counts.n_drawn == size) & (self._n_rest > size)
            targets = np.flatnonzero(is_open)
            stop = self._next(size, _FIRST_DRAWS, _DRAW_GROWTH, targets, total)
            if stop <= size:
                return
            drawn = partial(self._drawn, start=size, stop=stop)
            above, n_items = self._scored(targets, drawn, stop)
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

    def _scored(
        self, targets: Ints, items_of: Callable[[Ints], Ints], width: int
    ) -> tuple[Ints, Ints]:
        """Score items of some targets; return how many are above each target, and their number.

        `items_of` holds at most `width` items per target in memory.
        """
        above, n_items = np.zeros((2, targets.size), np.int64)
        size = max(1, _BLOCK // width)
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

    def audited(self, total: int) -> Ints:
        """Rank random open targets among all items; return the items above, -1 for others."""
        counts, above_all = self.counts, np.full(self._plan.targets.size, -1)
        n_left = self._n_rest - counts.n_drawn
        open_targets = np.flatnonzero((self._above < self._k) & (n_left > 0))
        if not total or not open_targets.size:
            return above_all
        n_audited = min(total // int(n_left[open_targets].max()), open_targets.size)
        order = np.empty(open_targets.size)
        keys = self._plan.keys[self._plan.rows[open_targets]]
        items = self._plan.targets[open_targets]
        _kernels.units(draw_bits(self._seed, _AUDIT), keys, items, order)
        chosen = np.sort(open_targets[np.argsort(order)[:n_audited]])
        size, n_rest = int(counts.n_drawn.max()), int(self._n_rest[chosen].max())
        above, _ = self._scored(chosen, partial(self._drawn, start=size, stop=n_rest), n_rest)
        above_all[chosen] = self._above[chosen] + above
        return above_all

    @property
    def _above(self) -> Ints:
        """The number of scored items above each target: int64, (n_targets,)."""
        return self.counts.above_listed + self.counts.above_drawn
