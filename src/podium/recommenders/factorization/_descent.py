"""Stochastic descent on the linearised ranking loss, one pass after another."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError, NoWorkerError, WorkerLost, arg
from podium.executors import Executor, Held
from podium.recommenders._pairs import Floats, Pairs
from podium.recommenders.factorization._parts import Outcome, Part, fold_part
from podium.recommenders.factorization._plan import (
    Block,
    Blocks,
    aligned,
    aligned_copy,
    cut_users,
    directed,
    mean_direction,
    unit_rows,
)
from podium.recommenders.factorization._settings import Settings

_INITIAL = 1  # the number of this purpose in the seeds of random draws
_CHUNK = 2**14  # users whose factors are folded in at a time
_MOST_LOSSES = 5  # losses of workers in one pass after which the fit fails
_HIGHEST = 10.0  # mean cost of a pair above which a pass has diverged; equal scores cost 1
# The product of two greater factors exceeds 2**24, beyond which float32 does not hold differences
# of 1, the unit of the losses. The lengths of factors have no effect on cosines.
_LARGEST = 2.0**12


@dataclass(eq=False)
class Factors:
    """The factors of users and items, and a bias per item."""

    users: Floats
    items: Floats
    bias: Floats

    @classmethod
    def draw(
        cls, pairs: Pairs, n_factors: int, seed: int, purpose: tuple[int, ...] = (_INITIAL,)
    ) -> Factors:
        """Draw normal numbers of variance 1 / n_factors; users without a pair get zeros."""
        rng = np.random.default_rng([seed, *purpose])
        scale = np.float32(1.0 / np.sqrt(n_factors))
        sides = [aligned(n, n_factors) for n in pairs.shape]
        for factors in sides:
            rng.standard_normal(dtype=np.float32, out=factors)
            factors *= scale
        sides[0][np.diff(pairs.offsets) == 0] = 0.0
        return cls(sides[0], sides[1], np.zeros(pairs.n_items, np.float32))

    def copy(self) -> Factors:
        """Return a copy of the factors."""
        return Factors(aligned_copy(self.users), aligned_copy(self.items), self.bias.copy())

    def scoring(self, *, cosine: bool) -> Factors:
        """Return the factors whose products are the scores: with `cosine`, unit vectors.

        Cosines have no bias that would order the items of a user without a pair. Such a user gets
        the mean direction of the other users.
        """
        if not cosine:
            return self
        users = directed(unit_rows(self.users), mean_direction(self.users))
        return Factors(users, unit_rows(self.items), self.bias)


@dataclass(eq=False)
class State:
    """The input of a pass: factors, and the running mean cost of each positive."""

    factors: Factors
    states: Floats

    @classmethod
    def draw(cls, pairs: Pairs, settings: Settings) -> State:
        """Return the state before the first pass; mean costs are 1, as for equal scores."""
        factors = Factors.draw(pairs, settings.n_factors, settings.seed)
        return cls(factors, np.ones(pairs.items.size, np.float32))


class Descent:
    """A state and the workers that improve it: `epoch` makes a pass over all pairs.

    The state changes only after a complete pass, and then as a whole. A pass that was interrupted,
    diverged or lost a worker leaves it unchanged.

    Attributes
    ----------
    interrupted : bool
        Whether an interrupt arrived while the state changed, and was therefore deferred.
    """

    def __init__(self, pairs: Pairs, settings: Settings, executor: Executor, state: State) -> None:
        self.pairs, self.settings, self.executor, self.state = pairs, settings, executor, state
        self._user_bounds = cut_users(pairs.offsets, settings.n_blocks).tolist()
        self._item_counts = pairs.item_counts() if settings.popularity else None
        self.interrupted = False
        self._held: Held | None = None
        self._layout, self._blocks = Blocks.single(pairs.n_items), list[Any]()

    def epoch(self, number: int) -> float | None:
        """Make a pass over all positives and return the mean cost of the compared pairs.

        The result is None if the pass diverged. A pass that lost a worker is repeated from its
        beginning by the remaining or new workers, which gives the same factors.
        """
        for n_losses in itertools.count(1):
            try:
                return self._pass(number, self._hold())
            except NoWorkerError:  # the executor has already waited for other workers
                raise
            except WorkerLost:
                self.close()
                if n_losses == _MOST_LOSSES:
                    raise
        return None

    def close(self) -> None:
        """Release the workers; a later pass starts new ones from the state."""
        if self._held is not None:
            self._held.release()
        self._held, self._blocks = None, []
        self._layout = Blocks.single(self.pairs.n_items)

    def _pass(self, number: int, held: Held) -> float | None:
        executor, count = self.executor, self.settings.n_blocks
        layout = Blocks.draw(self.pairs.n_items, count, self.settings.seed, number)
        old_blocks = [executor.put(self._layout), *self._blocks]
        shared_layout = executor.put(layout)
        blocks = [
            held.call(part, "begin", number, shared_layout, *old_blocks) for part in range(count)
        ]
        for round_number in range(count):
            for part in range(count):
                block = (part + round_number) % count
                blocks[block] = held.call(part, "step", block, blocks[block])
        outcomes: list[Outcome] = executor.get([held.call(i, "finish") for i in range(count)])
        new_blocks: list[Block] = executor.get(blocks)
        cost = _mean_cost(outcomes, self.pairs.n_items)
        largest = np.inf if self.settings.cosine else _LARGEST
        results = (*outcomes, *new_blocks)
        if not (cost < _HIGHEST and all(result.is_sound(largest) for result in results)):
            return None
        self._update_state(layout, outcomes, new_blocks)
        self._layout, self._blocks = layout, blocks
        return cost

    def _hold(self) -> Held:
        """Return the workers with their parts; create them from the state if there are none."""
        if self._held is None:
            factors = self.state.factors
            parts = [
                self._part(number, *bounds)
                for number, bounds in enumerate(itertools.pairwise(self._user_bounds))
            ]
            self._held = self.executor.hold(parts)
            self._blocks = [self.executor.put(Block(factors.items, factors.bias))]
        return self._held

    def _part(self, number: int, first: int, stop: int) -> Part:
        pairs, state = self.pairs, self.state
        pair_range = slice(int(pairs.offsets[first]), int(pairs.offsets[stop]))
        users, states = state.factors.users[first:stop], state.states[pair_range]
        counts = self._item_counts
        return Part(number, self.settings, pairs.part(first, stop), users, states, counts)

    def _update_state(self, layout: Blocks, outcomes: list[Outcome], blocks: list[Block]) -> None:
        """Write the results of a pass into the state, in a thread: an interrupt is deferred."""
        writer = Thread(target=self._write_state, args=(layout, outcomes, blocks))
        while writer.ident is None or writer.is_alive():
            try:
                if writer.ident is None:
                    writer.start()
                writer.join()
            except KeyboardInterrupt:
                self.interrupted = True

    def _write_state(self, layout: Blocks, outcomes: list[Outcome], blocks: list[Block]) -> None:
        factors = self.state.factors
        for (first, stop), outcome in zip(
            itertools.pairwise(self._user_bounds), outcomes, strict=True
        ):
            factors.users[first:stop] = outcome.users
            pair_range = slice(int(self.pairs.offsets[first]), int(self.pairs.offsets[stop]))
            self.state.states[pair_range] = outcome.states
        for items, block in zip(layout.items(), blocks, strict=True):
            factors.items[items], factors.bias[items] = block.rows, block.bias


def _mean_cost(outcomes: list[Outcome], n_items: int) -> float:
    n_steps = sum(outcome.n_steps for outcome in outcomes)
    if not n_steps and n_items == 1:
        raise ArgumentError(
            f"{arg.user_items} has one item, which can't be ranked. Fit the model to at least two "
            "items."
        )
    if not n_steps:
        raise ArgumentError(
            f"{arg.user_items} has no pair to learn from, because no block of items has another "
            f"item to compare a positive with. Pass a smaller {arg.n_blocks}, or "
            f"{arg.negatives('all')}."
        )
    return sum(outcome.cost for outcome in outcomes) / n_steps


def fold_in(
    pairs: Pairs,
    known: Factors,
    item_counts: NDArray[np.int64] | None,
    settings: Settings,
    executor: Executor,
) -> Floats:
    """Return factors of new users beside the fixed items of a model, a chunk of users at a time."""
    users = np.empty((pairs.n_users, known.items.shape[1]), np.float32)
    starts = range(0, pairs.n_users, _CHUNK)
    parts = [pairs.part(start, min(start + _CHUNK, pairs.n_users)) for start in starts]
    fold = partial(fold_part, settings=settings)
    folded = executor.map(fold, parts, Block(known.items, known.bias), item_counts)
    for start, rows in zip(starts, folded, strict=True):
        users[start : start + _CHUNK] = rows
    return directed(unit_rows(users), mean_direction(known.users)) if settings.cosine else users
