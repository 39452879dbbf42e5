"""The tasks of the workers of a fit.

Each part of the users stays with a worker, and the blocks of items rotate between the workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.recommenders._pairs import GAINS, Pairs
from podium.recommenders.factorization import _exact_kernels, _kernels, _loss_kernels
from podium.recommenders.factorization._plan import (
    FOLD,
    STEPS,
    Blocks,
    Cells,
    choose_n_blocks,
    task_seed,
)

Floats = NDArray[np.float32]

KINDS = {
    "robirank": _loss_kernels.TYPE_1,
    "type2": _loss_kernels.TYPE_2,
    "identity": _loss_kernels.IDENTITY,
    "bpr": _loss_kernels.BPR,
    "softmax": _loss_kernels.SOFTMAX,
}
"""The numbers of the losses in the kernels, by name."""

DECAYS = ("linear", "none")
XI = ("running", "exact")
NEGATIVES = ("unseen", "all")

_LINE = 64  # bytes of a cache line


@dataclass(frozen=True)
class Settings:
    """The checked settings that, with the data, determine all steps."""

    loss: str
    n_factors: int
    n_negatives: int
    learning_rate: float
    decay: str
    l2: float
    n_epochs: int
    n_blocks: int
    seed: int
    memory: float
    exact: bool
    only_unseen: bool
    item_bias: bool

    def rate(self, epoch: int) -> float:
        """Return the step of a pass: decreasing linearly to zero, or constant."""
        share = epoch / self.n_epochs if self.decay == "linear" else 0.0
        return self.learning_rate * (1.0 - share)


def read_settings(model: Any, pairs: Pairs | None = None, *, cap_blocks: bool = False) -> Settings:
    """Return the checked settings of a model, with a number of blocks that suits the pairs.

    Without pairs there is one block, as for new users in `fold_in`. If more blocks were requested
    than are possible, `cap_blocks` reduces them to the maximum instead of raising an error.
    """
    _check.choice(model.gain, "gain", GAINS)
    _check.cutoff(model.patience, name="patience", required=False)
    _check.cutoff(model.n_blocks, name="n_blocks", required=False)
    exact = _check.choice(model.xi, "xi", XI) == "exact"
    return Settings(
        loss=_check.choice(model.loss, "loss", list(KINDS)),
        n_factors=_check.cutoff(model.n_factors, name="n_factors"),
        n_negatives=_check.cutoff(model.n_negatives, name="n_negatives"),
        learning_rate=_check.number(model.learning_rate, "learning_rate", low=0.0, strict=True),
        decay=_check.choice(model.decay, "decay", DECAYS),
        l2=_check.number(model.l2, "l2", low=0.0),
        n_epochs=_check.cutoff(model.n_epochs, name="n_epochs"),
        n_blocks=1 if pairs is None else _n_blocks(model, pairs, cap_blocks),
        seed=_check.seed(model.random_state, "random_state"),
        memory=_check.number(model.xi_rate, "xi_rate", low=0.0, high=1.0, strict=not exact),
        exact=exact,
        only_unseen=_check.choice(model.negatives, "negatives", NEGATIVES) == "unseen",
        item_bias=_check.flag(model.item_bias, "item_bias"),
    )


def _n_blocks(model: Any, pairs: Pairs, cap_blocks: bool) -> int:
    n_blocks = _check.cutoff(model.n_blocks, name="n_blocks", required=False)
    if n_blocks is None:
        n_factors = _check.cutoff(model.n_factors, name="n_factors")
        return choose_n_blocks(*pairs.shape, pairs.items.size, n_factors)
    if n_blocks > min(pairs.shape) and cap_blocks:
        return min(pairs.shape)
    if n_blocks > min(pairs.shape):
        raise ArgumentError(
            f"n_blocks must be at most the number of users and of items, {pairs.n_users} and "
            f"{pairs.n_items}, got {n_blocks}."
        )
    return n_blocks


@dataclass(frozen=True, eq=False)
class Block:
    """The factors and biases of some items, in the order of their places."""

    rows: Floats
    bias: Floats

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.rows).all() and np.isfinite(self.bias).all())

    def writeable(self) -> Block:
        """Return the block itself, or a copy if its memory is read-only."""
        if self.rows.flags.writeable and self.bias.flags.writeable:
            return self
        rows = aligned(*self.rows.shape)
        rows[:] = self.rows
        return Block(rows, self.bias.copy())


def aligned(n_rows: int, width: int) -> Floats:
    """Return float32 rows that begin at a cache line, so that a row takes fewer fetches."""
    n_bytes = n_rows * width * 4
    memory = np.empty(n_bytes + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + n_bytes].view(np.float32).reshape(n_rows, width)


def regrouped(
    number: int, layout: Blocks, old_layout: Blocks, old_blocks: tuple[Block, ...]
) -> Block:
    """Return a block of a layout; its items are gathered from the blocks of the previous layout."""
    items = layout.items()[number]
    old_block_numbers = old_layout.block_of[items]
    rows = aligned(items.size, old_blocks[0].rows.shape[1])
    bias = np.empty(items.size, np.float32)
    for b, block in enumerate(old_blocks):
        positions = np.flatnonzero(old_block_numbers == b)
        place = old_layout.place[items[positions]] - int(old_layout.bounds[b])
        rows[positions], bias[positions] = block.rows[place], block.bias[place]
    return Block(rows, bias)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of a pass over a part.

    They are the users' rows, the running means, and the sum of costs with its number of steps.
    """

    users: Floats
    mean_costs: Floats
    cost: float
    n_steps: float

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.users).all())


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
    mean_costs : float32, (n_pairs,)
        The initial mean cost of each positive; copied too.
    """

    def __init__(
        self, number: int, settings: Settings, pairs: Pairs, users: Floats, mean_costs: Floats
    ) -> None:
        self.number, self.settings, self.pairs = number, settings, pairs
        self._users, self._mean_costs, self._is_copied = users, mean_costs, False

    def begin(self, epoch: int, layout: Blocks, old_layout: Blocks, *old_blocks: Block) -> Block:
        """Prepare a pass and return its first block, gathered from the blocks of the last pass."""
        self._copy_data()
        layout = layout.writeable()
        self._epoch = epoch
        self._cells = Cells.lay_out(layout, self.pairs.offsets, self.pairs.items)
        self._sums = np.zeros(2)
        if self.settings.exact:
            self._set_exact_means(old_layout, old_blocks)
        return regrouped(self.number, layout, old_layout, old_blocks)

    def step(self, block_number: int, block: Block) -> Block:
        """Take one step for each positive of the part inside a block; return the block."""
        block = block.writeable()
        settings = self.settings
        descend(
            settings,
            (self._cells, block_number),
            self.pairs,
            self._mean_costs,
            self._users,
            block,
            self._sums,
            rate=settings.rate(self._epoch),
            seed=task_seed(settings.seed, STEPS, self._epoch, self.number, block_number),
        )
        return block

    def finish(self) -> Outcome:
        """Return the results of the pass for this part."""
        return Outcome(self._users, self._mean_costs, *self._sums.tolist())

    def _copy_data(self) -> None:
        """Copy the part's data once into memory of this worker, which the steps may change."""
        if not self._is_copied:
            self.pairs = self.pairs.writeable()
            users, self._mean_costs = self._users, self._mean_costs.copy()
            self._users = aligned(*users.shape)
            self._users[:] = users
            self._is_copied = True

    def _set_exact_means(self, old_layout: Blocks, old_blocks: tuple[Block, ...]) -> None:
        """Set the mean cost of each positive to its exact value over all items."""
        all_items = regrouped(0, Blocks.single(old_layout.place.size), old_layout, old_blocks)
        self._mean_costs[:] = exact_means(self.settings, self.pairs, self._users, all_items)


def descend(
    settings: Settings,
    cell: tuple[Cells, int],
    pairs: Pairs,
    mean_costs: Floats,
    users: Floats,
    block: Block,
    sums: NDArray[np.float64],
    *,
    rate: float,
    seed: np.uint64,
    learn_items: bool = True,
) -> None:
    """Take the steps of some users inside a block.

    `users`, `block`, `mean_costs` and `sums` are changed in place.
    """
    f = np.float32
    cells, number = cell
    with np.errstate(over="ignore"):  # an infinite value is later detected as divergence
        step, decay = f(rate), f(rate * settings.l2)
    steps = _kernels.Steps(
        n_negatives=settings.n_negatives,
        only_unseen=settings.only_unseen,
        learn_items=learn_items,
        rate=step,
        decay=decay,
        bias_rate=f(settings.item_bias),
        seed=seed,
        n_items=pairs.n_items,
    )
    kind = KINDS[settings.loss]
    loss = _loss_kernels.Loss(
        kind,
        f(np.log2(np.e)) if kind in (_loss_kernels.BPR, _loss_kernels.SOFTMAX) else f(1.0),
        1.0,
        1.0,
        0.0,
        1.0,
        settings.memory,
    )
    _kernels.descend(
        steps,
        loss,
        _kernels.Cell(*cells.runs(number), cells.positives, cells.origins),
        _kernels.WeightedPairs(pairs.offsets, pairs.weights, mean_costs),
        _kernels.Rows(users, block.rows, block.bias),
        sums,
    )


def n_others(pairs: Pairs, settings: Settings) -> NDArray[np.int64]:
    """Return the number of items that each positive is compared with."""
    sizes = np.diff(pairs.offsets)
    others = pairs.n_items - (sizes if settings.only_unseen else 1)
    return np.repeat(np.broadcast_to(others, sizes.shape), sizes)


def cost_sums(settings: Settings, pairs: Pairs, users: Floats, items: Block) -> NDArray[np.float64]:
    """Return the exact sum of pair costs of each positive, over all items that it is compared with.

    Cost: pairs x items multiplications, users x items powers.
    """
    totals = np.empty(pairs.items.size)
    _exact_kernels.pair_sums(
        KINDS[settings.loss],
        settings.only_unseen,
        pairs.offsets,
        pairs.items,
        users,
        items.rows,
        items.bias,
        totals,
    )
    return totals


def exact_means(
    settings: Settings, pairs: Pairs, users: Floats, items: Block
) -> NDArray[np.float64]:
    """Return the mean pair cost of each positive, over all items that it is compared with."""
    totals = cost_sums(settings, pairs, users, items)
    return totals / np.maximum(n_others(pairs, settings), 1)


def fold_part(pairs: Pairs, items: Block, *, settings: Settings) -> Floats:
    """Return factors of users: the same descent, from zero and with fixed item factors.

    A user draws the same negatives whichever other users there are, so that the factors depend only
    on the user's own pairs.
    """
    pairs, items = pairs.writeable(), items.writeable()
    users = aligned(pairs.n_users, items.rows.shape[1])
    users[:] = 0.0
    cells = Cells.lay_out(Blocks.single(pairs.n_items), pairs.offsets, pairs.items)
    mean_costs = np.ones(pairs.items.size, np.float32)
    for epoch in range(settings.n_epochs):
        if settings.exact:
            mean_costs[:] = exact_means(settings, pairs, users, items)
        descend(
            settings,
            (cells, 0),
            pairs,
            mean_costs,
            users,
            items,
            np.zeros(2),
            rate=settings.rate(epoch),
            seed=task_seed(settings.seed, FOLD, epoch, 0, 0),
            learn_items=False,
        )
    return users
