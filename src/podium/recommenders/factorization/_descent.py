"""Stochastic descent on the linearised ranking loss: factors, and one pass after another."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError, NoWorkerError
from podium.executors import Executor, Held, WorkerLost
from podium.recommenders._pairs import Pairs
from podium.recommenders.factorization._parts import (
    Block,
    Outcome,
    Part,
    Settings,
    aligned,
    fold_part,
)
from podium.recommenders.factorization._plan import Blocks, cut_users

Floats = NDArray[np.float32]

_INITIAL = 1  # purpose number in the seeds of draws
_CHUNK = 2**14  # users whose factors are found at a time, with the items' fixed
_MOST_LOSSES = 5  # of workers within one pass
_HIGHEST = 10.0  # mean cost of a pair, 1 for equal scores: beyond, the steps have gone wild


@dataclass(eq=False)
class Factors:
    """Rows of users and items, and a bias of each item."""

    users: Floats
    items: Floats
    bias: Floats

    @classmethod
    def draw(
        cls, pairs: Pairs, n_factors: int, seed: int, purpose: tuple[int, ...] = (_INITIAL,)
    ) -> Factors:
        """Draw normal numbers of variance 1 / n_factors; zeros for users without a pair."""
        rng = np.random.default_rng([seed, *purpose])
        scale = np.float32(1.0 / np.sqrt(n_factors))
        rows = [aligned(n, n_factors) for n in pairs.shape]
        for row in rows:
            rng.standard_normal(dtype=np.float32, out=row)
            row *= scale
        rows[0][np.diff(pairs.offsets) == 0] = 0.0
        return cls(rows[0], rows[1], np.zeros(pairs.n_items, np.float32))

    def copy(self) -> Factors:
        """Return factors of their own memory."""
        same = [aligned(*each.shape) for each in (self.users, self.items)]
        same[0][:], same[1][:] = self.users, self.items
        return Factors(same[0], same[1], self.bias.copy())


@dataclass(eq=False)
class State:
    """All that a pass begins with: factors, and the running mean cost of each positive."""

    factors: Factors
    mean_costs: Floats

    @classmethod
    def draw(cls, pairs: Pairs, settings: Settings) -> State:
        """Return the state before the first pass; equal scores cost 1."""
        factors = Factors.draw(pairs, settings.n_factors, settings.seed)
        return cls(factors, np.ones(pairs.items.size, np.float32))


class Descent:
    """A state on its way: `epoch` makes a pass over all pairs.

    The state changes when a pass has ended well, and then as a whole: an interrupted pass, one
    that diverged and one that lost a worker leave it as it was.

    Attributes
    ----------
    interrupted : bool
        An interrupt came while the state changed, and had to wait.
    """

    def __init__(self, pairs: Pairs, settings: Settings, executor: Executor, state: State) -> None:
        self.pairs, self.settings, self.executor, self.state = pairs, settings, executor, state
        self._cuts = cut_users(pairs.offsets, settings.n_blocks).tolist()
        self.interrupted = False
        self._held: Held | None = None
        self._layout, self._blocks = Blocks.whole(pairs.n_items), list[Any]()

    def epoch(self, number: int) -> float | None:
        """Make a pass over all positives; return the mean cost of the pairs that were compared.

        None if the steps have gone wild. A pass that lost a worker is made again from
        its beginning, by those that are left or come instead: the factors are the same.
        """
        for lost in itertools.count(1):
            try:
                return self._pass(number, self._hold())
            except NoWorkerError:  # others have had their time to begin, too
                raise
            except WorkerLost:
                self.close()
                if lost == _MOST_LOSSES:
                    raise
        return None

    def close(self) -> None:
        """Let the workers go; a later pass begins from the state with new ones."""
        if self._held is not None:
            self._held.release()
        self._held, self._blocks = None, []
        self._layout = Blocks.whole(self.pairs.n_items)

    def _pass(self, number: int, held: Held) -> float | None:
        executor, count = self.executor, self.settings.n_blocks
        layout = Blocks.draw(self.pairs.n_items, count, self.settings.seed, number)
        shared = [executor.put(self._layout), *self._blocks]
        told = executor.put(layout)
        blocks = [held.call(part, "begin", number, told, *shared) for part in range(count)]
        for turn in range(count):
            for part in range(count):
                block = (part + turn) % count
                blocks[block] = held.call(part, "step", block, blocks[block])
        outcomes: list[Outcome] = executor.get([held.call(p, "finish") for p in range(count)])
        made: list[Block] = executor.get(blocks)
        cost = _mean_cost(outcomes)
        if not (cost < _HIGHEST and all(each.finite for each in (*outcomes, *made))):
            return None
        self._change(layout, outcomes, made)
        self._layout, self._blocks = layout, blocks
        return cost

    def _hold(self) -> Held:
        """Return the workers with their parts: made from the state where there are none."""
        if self._held is None:
            factors = self.state.factors
            parts = [self._part(i, *ends) for i, ends in enumerate(itertools.pairwise(self._cuts))]
            self._held = self.executor.hold(parts)
            self._blocks = [self.executor.put(Block(factors.items, factors.bias))]
        return self._held

    def _part(self, number: int, first: int, stop: int) -> Part:
        pairs, state = self.pairs, self.state
        own = slice(int(pairs.offsets[first]), int(pairs.offsets[stop]))
        users, costs = state.factors.users[first:stop], state.mean_costs[own]
        return Part(number, self.settings, pairs.part(first, stop), users, costs)

    def _change(self, layout: Blocks, outcomes: list[Outcome], blocks: list[Block]) -> None:
        """Write a pass into the state, in a thread of its own: an interrupt has to wait."""
        writing = Thread(target=self._write, args=(layout, outcomes, blocks))
        while writing.ident is None or writing.is_alive():
            try:
                if writing.ident is None:
                    writing.start()
                writing.join()
            except KeyboardInterrupt:
                self.interrupted = True

    def _write(self, layout: Blocks, outcomes: list[Outcome], blocks: list[Block]) -> None:
        factors = self.state.factors
        for (first, stop), outcome in zip(itertools.pairwise(self._cuts), outcomes, strict=True):
            factors.users[first:stop] = outcome.users
            own = slice(int(self.pairs.offsets[first]), int(self.pairs.offsets[stop]))
            self.state.mean_costs[own] = outcome.mean_costs
        for items, block in zip(layout.items(), blocks, strict=True):
            factors.items[items], factors.bias[items] = block.rows, block.bias


def _mean_cost(outcomes: list[Outcome]) -> float:
    n_steps = sum(outcome.n_steps for outcome in outcomes)
    if not n_steps:
        raise ArgumentError(
            "user_items leaves no pair to learn from: no block of items has another item to "
            "compare a positive with. Ask for fewer n_blocks, or negatives='all'."
        )
    return sum(outcome.cost for outcome in outcomes) / n_steps


def fold_in(
    pairs: Pairs, items: Floats, bias: Floats, settings: Settings, executor: Executor
) -> Floats:
    """Return factors of new users, the items' factors fixed: a chunk of users at a time."""
    users = np.empty((pairs.n_users, items.shape[1]), np.float32)
    starts = range(0, pairs.n_users, _CHUNK)
    parts = [pairs.part(start, min(start + _CHUNK, pairs.n_users)) for start in starts]
    fold = partial(fold_part, settings=settings)
    for start, rows in zip(starts, executor.map(fold, parts, Block(items, bias)), strict=True):
        users[start : start + _CHUNK] = rows
    return users
