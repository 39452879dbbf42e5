"""The tasks of the workers of a fit.

Each part of the users stays with a worker, and the blocks of items rotate between the workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.recommenders._pairs import Floats, Ints, Pairs
from podium.recommenders.factorization import _batch_kernels, _kernels
from podium.recommenders.factorization._plan import (
    FOLD,
    STEPS,
    Block,
    Blocks,
    Cells,
    aligned,
    aligned_copy,
    are_below,
    regrouped,
    task_seed,
    unit_rows,
    writeable,
)
from podium.recommenders.factorization._settings import Settings

_SMALL = 1e-6  # a sum of unit vectors whose entries are all smaller has no direction


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of a pass over a part.

    They are the users' rows, the states, and the sum of costs with its number of steps.
    """

    users: Floats
    states: Floats
    cost: float
    n_steps: float

    def is_sound(self, largest: float) -> bool:
        """Return whether all factors are between -largest and largest."""
        return are_below(largest, self.users)


class Part:
    """Users with their pairs and factors, which stay with a worker during the whole fit.

    Parameters
    ----------
    number : int
        The number of the part, which begins each pass with the block of the same number.
    settings : Settings
        The settings of the fit.
    pairs : Pairs
        The pairs of the users of this part.
    users : float32, (n_users, n_factors)
        The factors at the start of the first pass. They are copied, so that the caller's rows do
        not change.
    states : float32, (n_pairs,)
        The initial mean cost of each positive; copied too.
    item_counts : int64, (n_items,), optional
        The number of users of each item, if it has an effect on the draws.
    """

    def __init__(
        self,
        number: int,
        settings: Settings,
        pairs: Pairs,
        users: Floats,
        states: Floats,
        item_counts: Ints | None = None,
    ) -> None:
        self.number, self.settings, self.pairs = number, settings, pairs
        self._users, self._states, self._is_copied = users, states, False
        self._item_counts = item_counts

    def begin(self, epoch: int, layout: Blocks, old_layout: Blocks, *old_blocks: Block) -> Block:
        """Prepare a pass and return its first block, gathered from the blocks of the last pass."""
        self._copy_data()
        layout = writeable(layout)
        self._epoch = epoch
        self._cells = Cells.lay_out(layout, self.pairs.offsets, self.pairs.items)
        self._sums = np.zeros(2)
        if self._item_counts is not None:
            self._counts_by_block = [self._item_counts[items] for items in layout.items()]
        return regrouped(self.number, layout, old_layout, old_blocks)

    def step(self, block_number: int, block: Block) -> Block:
        """Take one step for each positive of the part inside a block; return the block."""
        block = writeable(block)
        settings, has_counts = self.settings, self._item_counts is not None
        descend(
            settings,
            (self._cells, block_number),
            self.pairs,
            self._states,
            self._users,
            block,
            self._sums,
            rate=settings.rate(self._epoch),
            seed=task_seed(settings.seed, STEPS, self._epoch, self.number, block_number),
            item_counts=self._counts_by_block[block_number] if has_counts else None,
        )
        return block

    def finish(self) -> Outcome:
        """Return the results of the pass for this part."""
        return Outcome(self._users, self._states, *self._sums.tolist())

    def _copy_data(self) -> None:
        """Copy the part's data once into memory of this worker, which the steps may change."""
        if not self._is_copied:
            self.pairs = writeable(self.pairs)
            self._users, self._states = aligned_copy(self._users), self._states.copy()
            self._is_copied = True


def fold_part(
    pairs: Pairs, items: Block, item_counts: Ints | None, *, settings: Settings
) -> Floats:
    """Return factors of users: the same descent, with fixed item factors.

    It starts from zeros. With cosines, which are undefined for them, it starts from the direction
    of the sum of the user's items.

    A user draws the same negatives whichever other users there are, so that the factors depend only
    on the user's own pairs.
    """
    pairs, items = writeable(pairs), writeable(items)
    users = aligned(pairs.n_users, items.rows.shape[1])
    users[:] = _item_directions(pairs, items) if settings.cosine else 0.0
    cells = Cells.lay_out(Blocks.single(pairs.n_items), pairs.offsets, pairs.items)
    states = np.ones(pairs.items.size, np.float32)
    for epoch in range(settings.n_epochs):
        descend(
            settings,
            (cells, 0),
            pairs,
            states,
            users,
            items,
            np.zeros(2),
            rate=settings.rate(epoch),
            seed=task_seed(settings.seed, FOLD, epoch, 0, 0),
            item_counts=item_counts,
            learn_items=False,
        )
    return users


def _item_directions(pairs: Pairs, items: Block) -> Floats:
    """Return the direction of the sum of each user's items; zeros for users without a pair."""
    units = unit_rows(items.rows)
    sums: Any = replace(pairs, weights=np.ones_like(pairs.weights)).matrix() @ units
    is_small = np.abs(sums).max(axis=1, initial=0.0) < _SMALL
    cancelled = np.flatnonzero(is_small & (np.diff(pairs.offsets) > 0))
    sums[cancelled] = units[pairs.items[pairs.offsets[cancelled]]]
    return unit_rows(sums)


def descend(
    settings: Settings,
    cell: tuple[Cells, int],
    pairs: Pairs,
    states: Floats,
    users: Floats,
    block: Block,
    sums: NDArray[np.float64],
    *,
    rate: float,
    seed: np.uint64,
    item_counts: Ints | None = None,
    learn_items: bool = True,
) -> None:
    """Take the steps of some users inside a block.

    `users`, `block`, `states` and `sums` are changed in place. `item_counts` are the numbers of
    users of the block's items, if they have an effect.
    """
    f = np.float32
    cells, number = cell
    with np.errstate(over="ignore"):  # an infinite value is later detected as divergence
        step, decay = f(rate), f(rate * settings.l2)
    steps = _kernels.Steps(
        n_negatives=settings.n_negatives,
        only_unseen=settings.only_unseen,
        learn_items=learn_items,
        cosine=settings.cosine,
        rate=step,
        decay=decay,
        bias_rate=f(settings.item_bias),
        seed=seed,
        n_items=pairs.n_items,
    )
    _kernels.descend(
        steps,
        settings.loss.in_kernel(settings.memory),
        _kernels.Cell(*cells.runs(number), cells.positives, cells.origins),
        _kernels.WeightedPairs(pairs.offsets, pairs.weights, states),
        _kernels.Rows(users, block.rows, block.bias),
        _sampling(settings, item_counts),
        sums,
    )


def _sampling(settings: Settings, item_counts: Ints | None) -> _batch_kernels.Sampling:
    """Return the chances of the block's items to be drawn, and their weights."""
    if item_counts is None:
        return _batch_kernels.Sampling(np.empty(0), np.empty(0, np.float32))
    popularity = np.maximum(item_counts, 1) ** settings.popularity
    chances, n = popularity / popularity.sum(), item_counts.size
    n_drawn = min(settings.n_negatives, n)
    is_drawn = -np.expm1(n_drawn * np.log1p(-np.minimum(chances, 1.0 - 1e-12)))
    weights = n_drawn / n / is_drawn
    return _batch_kernels.Sampling(np.cumsum(chances), weights.astype(np.float32))
