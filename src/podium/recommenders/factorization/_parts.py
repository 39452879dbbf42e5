"""The tasks of the workers of a fit.

Each part of the users stays with a worker, and the blocks of items rotate between the workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.recommenders._pairs import Floats, Ints, Pairs
from podium.recommenders.factorization import _batch_kernels, _kernels, _state_kernels
from podium.recommenders.factorization._plan import (
    FOLD,
    STATES,
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
)
from podium.recommenders.factorization._settings import Settings

_MOST_DECAY = 0.5  # the share of a row that one step takes away at most
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
        The initial number of each positive that its loss reads; copied too.
    item_counts : int64, (n_items,), optional
        The number of users of each item, if the settings need it.
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
        layout = layout.writeable()
        self._epoch = epoch
        self._cells = Cells.lay_out(layout, self.pairs.offsets, self.pairs.items)
        self._sums = np.zeros(2)
        if self._item_counts is not None:
            self._counts_by_block = [self._item_counts[items] for items in layout.items()]
        if self.settings.reads_all_items:
            all_items = regrouped(0, Blocks.single(layout.place.size), old_layout, old_blocks)
            seed = task_seed(self.settings.seed, STATES, epoch, 0, 0)
            set_states(self.settings, self.pairs, self._states, self._users, all_items, seed)
        return regrouped(self.number, layout, old_layout, old_blocks)

    def step(self, block_number: int, block: Block) -> Block:
        """Take one step for each positive of the part inside a block; return the block."""
        block = block.writeable()
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
        states = self._states
        if self.settings.factor_loss.has_states:  # computed anew before each pass
            states = np.ones_like(states)
        return Outcome(self._users, states, *self._sums.tolist())

    def _copy_data(self) -> None:
        """Copy the part's data once into memory of this worker, which the steps may change."""
        if not self._is_copied:
            self.pairs = self.pairs.writeable()
            self._users, self._states = aligned_copy(self._users), self._states.copy()
            self._is_copied = True


def set_states(
    settings: Settings, pairs: Pairs, states: Floats, users: Floats, items: Block, seed: np.uint64
) -> None:
    """Write the states of the pairs before a pass: exact mean costs, or those of the loss."""
    if settings.cosine:
        users, items = unit_rows(users), Block(unit_rows(items.rows), items.bias)
    if settings.exact:
        states[:] = exact_means(settings, pairs, users, items)
    else:
        loss = settings.factor_loss
        states[:] = loss.states(pairs, users, items.rows, items.bias, int(seed))


def fold_part(
    pairs: Pairs, items: Block, item_counts: Ints | None, *, settings: Settings
) -> Floats:
    """Return factors of users: the same descent, with fixed item factors.

    It starts from zeros. With cosines, which are undefined for them, it starts from the direction
    of the sum of the user's items.

    A user draws the same negatives whichever other users there are, so that the factors depend only
    on the user's own pairs.
    """
    pairs, items = pairs.writeable(), items.writeable()
    users = aligned(pairs.n_users, items.rows.shape[1])
    users[:] = _item_directions(pairs, items) if settings.cosine else 0.0
    cells = Cells.lay_out(Blocks.single(pairs.n_items), pairs.offsets, pairs.items)
    states = np.ones(pairs.items.size, np.float32)
    for epoch in range(settings.n_epochs):
        if settings.reads_all_items:
            seed = task_seed(settings.seed, STATES, epoch, 0, 0)
            set_states(settings, pairs, states, users, items, seed)
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
    users of the block's items, if the settings need them.
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
    counts = np.diff(pairs.offsets), item_counts
    factors = _decay_factors(settings, float(decay), counts, block.bias.size)
    _kernels.descend(
        steps,
        settings.factor_loss.in_kernel(settings.memory),
        _kernels.Cell(*cells.runs(number), cells.positives, cells.origins),
        _kernels.WeightedPairs(pairs.offsets, pairs.weights, states),
        _kernels.Rows(users, block.rows, block.bias, *factors),
        _sampling(settings, item_counts),
        sums,
    )


def _decay_factors(
    settings: Settings, decay: float, counts: tuple[Ints, Ints | None], n_items: int
) -> tuple[Floats, Floats]:
    """Return the factors of the decay of users and of the block's items."""
    user_counts, item_counts = counts
    if settings.l2_power == 1.0 or item_counts is None:
        return np.ones(user_counts.size, np.float32), np.ones(n_items, np.float32)
    return (
        _decay_factor(settings, decay, user_counts, settings.pairs_per_user),
        _decay_factor(settings, decay, item_counts, settings.pairs_per_item),
    )


def _decay_factor(settings: Settings, decay: float, counts: Ints, mean: float) -> Floats:
    """Return ``(count / mean) ** (l2_power - 1)``, and less where a step would take half a row."""
    factor = (np.maximum(counts, 1) / mean) ** (settings.l2_power - 1.0)
    return np.minimum(factor, _MOST_DECAY / max(decay, 1e-12)).astype(np.float32)


def _sampling(settings: Settings, item_counts: Ints | None) -> _batch_kernels.Sampling:
    """Return the chances of the block's items to be drawn, and their weights."""
    if settings.popularity == 0.0 or item_counts is None:
        return _batch_kernels.Sampling(np.empty(0), np.empty(0, np.float32))
    popularity = np.maximum(item_counts, 1) ** settings.popularity
    share, n = settings.popularity_share, item_counts.size
    chances = share * popularity / popularity.sum() + (1.0 - share) / n
    n_drawn = min(settings.n_negatives, n)
    is_drawn = -np.expm1(n_drawn * np.log1p(-np.minimum(chances, 1.0 - 1e-12)))
    weights = n_drawn / n / is_drawn
    return _batch_kernels.Sampling(np.cumsum(chances), weights.astype(np.float32))


def exact_means(
    settings: Settings, pairs: Pairs, users: Floats, items: Block
) -> NDArray[np.float64]:
    """Return the mean pair cost of each positive, over all items that it is compared with.

    Cost: pairs x items multiplications, users x items powers.
    """
    totals, sizes = np.empty(pairs.items.size), np.diff(pairs.offsets)
    _state_kernels.pair_sums(
        settings.factor_loss.kind,
        settings.only_unseen,
        pairs.offsets,
        pairs.items,
        users,
        items.rows,
        items.bias,
        totals,
    )
    others = pairs.n_items - (sizes if settings.only_unseen else np.ones_like(sizes))
    return totals / np.maximum(np.repeat(others, sizes), 1)
