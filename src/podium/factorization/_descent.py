"""Stochastic descent on the linearised ranking loss: factors, and one pass after another."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.executors import Executor
from podium.factorization import _kernels
from podium.factorization._pairs import Pairs
from podium.factorization._plan import Blocks, Cells, cut_users, task_seed

Floats = NDArray[np.float32]

KINDS = {
    "robirank": _kernels.TYPE_1,
    "type2": _kernels.TYPE_2,
    "identity": _kernels.IDENTITY,
    "bpr": _kernels.BPR,
}
"""Losses by name, as the kernels know them."""

_INITIAL, _FOLD = 1, 4  # purpose numbers in the seeds of draws
_LINE = 64  # bytes that memory is fetched in
_CHUNK = 2**14  # users whose factors are found at a time, with the items' fixed


@dataclass(frozen=True)
class Settings:
    """All that the steps follow from, checked."""

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
        """Return the step of a pass: falling in a straight line to zero, or constant."""
        fallen = epoch / self.n_epochs if self.decay == "linear" else 0.0
        return self.learning_rate * (1.0 - fallen)


@dataclass(eq=False)
class Factors:
    """Rows of users and items, and a bias of each item."""

    users: Floats
    items: Floats
    bias: Floats

    @classmethod
    def draw(cls, pairs: Pairs, n_factors: int, seed: int) -> Factors:
        """Draw normal numbers of variance 1 / n_factors; zeros for users without a pair."""
        rng = np.random.default_rng([seed, _INITIAL])
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

    def moved(self, place: NDArray[np.int32]) -> Factors:
        """Return the same users, and items in new memory: item y at place[y]."""
        items, bias = aligned(*self.items.shape), np.empty_like(self.bias)
        items[place], bias[place] = self.items, self.bias
        return Factors(self.users, items, bias)

    @property
    def finite(self) -> bool:
        return all(bool(np.isfinite(f).all()) for f in (self.users, self.items, self.bias))


def aligned(n_rows: int, width: int) -> Floats:
    """Return float32 rows that begin where memory is fetched from: fewer fetches a row."""
    n_bytes = n_rows * width * 4
    memory = np.empty(n_bytes + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + n_bytes].view(np.float32).reshape(n_rows, width)


class Descent:
    """Factors on their way: `epoch` makes a pass over all pairs, `undo` takes it back."""

    def __init__(self, pairs: Pairs, settings: Settings, executor: Executor) -> None:
        self.pairs, self.settings, self.executor = pairs, settings, executor
        self.factors = Factors.draw(pairs, settings.n_factors, settings.seed)
        self.mean_costs = np.ones(pairs.items.size, np.float32)  # what equal scores cost
        self._cuts = cut_users(pairs.offsets, settings.n_blocks)
        self._before = self.factors.copy()

    def epoch(self, number: int) -> float:
        """Make a pass over all positives; return the mean cost of the pairs that were compared.

        Nothing but `factors` and `mean_costs` changes, so an interrupted pass can be undone.
        """
        factors, before = self.factors, self._before
        np.copyto(before.users, factors.users)
        before.items, before.bias = factors.items, factors.bias
        pairs, settings = self.pairs, self.settings
        blocks = Blocks.draw(pairs.n_items, settings.n_blocks, settings.seed, number)
        bounds = list(itertools.pairwise(self._cuts.tolist()))
        cells = self.executor.map(
            lambda part: Cells.lay_out(blocks, pairs.offsets, pairs.items, *part), bounds
        )
        if settings.exact:
            self._sweep()
        moved = factors.moved(blocks.place)
        sums = np.zeros((blocks.count, blocks.count, 2))
        for turn in range(blocks.count):
            tasks = [(part, (part + turn) % blocks.count) for part in range(blocks.count)]
            self.executor.map(
                lambda task: self._steps(number, task, blocks, cells[task[0]], moved, sums[task]),
                tasks,
            )
        back = np.empty_like(blocks.place)
        back[blocks.place] = np.arange(back.size, dtype=back.dtype)
        self.factors = moved.moved(back)
        cost, steps = sums.sum(axis=(0, 1))
        return float(cost / steps) if steps else 0.0

    def undo(self) -> None:
        """Bring back the factors that the last pass, whole or not, began with."""
        np.copyto(self.factors.users, self._before.users)
        self.factors.items, self.factors.bias = self._before.items, self._before.bias

    def _steps(
        self,
        epoch: int,
        task: tuple[int, int],
        blocks: Blocks,
        cells: Cells,
        factors: Factors,
        sums: NDArray[np.float64],
    ) -> None:
        part, block = task
        settings = self.settings
        first, stop = blocks.bounds[block : block + 2].tolist()
        descend(
            settings,
            settings.rate(epoch),
            task_seed(settings.seed, epoch, part, block),
            (first, stop - first),
            cells,
            cells.runs(block),
            self.pairs,
            self.mean_costs,
            factors,
            sums,
        )

    def _sweep(self) -> None:
        """Make the mean cost of each positive's pairs exact."""
        totals = cost_sums(self.pairs, self.factors, self.settings, self.executor)
        self.mean_costs[:] = totals / np.maximum(n_others(self.pairs, self.settings), 1)


def descend(
    settings: Settings,
    rate: float,
    seed: np.uint64,
    block: tuple[int, int],
    cells: Cells,
    runs: tuple[NDArray[np.int32], NDArray[np.int64]],
    pairs: Pairs,
    mean_costs: Floats,
    factors: Factors,
    sums: NDArray[np.float64],
    *,
    learn_items: bool = True,
) -> None:
    """Take the steps of some users inside a block, given as its first place and its size."""
    f = np.float32
    _kernels.descend(
        KINDS[settings.loss],
        settings.n_negatives,
        settings.only_unseen,
        learn_items,
        f(rate),
        f(1.0 - rate * settings.l2),
        f(0.0 if settings.exact else settings.memory),
        seed,
        1 if learn_items else 0,
        *block,
        *runs,
        cells.positives,
        cells.origins,
        pairs.offsets,
        pairs.weights,
        mean_costs,
        factors.users,
        factors.items,
        factors.bias,
        f(settings.item_bias),
        sums,
    )


def n_others(pairs: Pairs, settings: Settings) -> NDArray[np.int64]:
    """Return how many items each positive is compared with."""
    sizes = np.diff(pairs.offsets)
    others = pairs.n_items - (sizes if settings.only_unseen else 1)
    return np.repeat(np.broadcast_to(others, sizes.shape), sizes)


def cost_sums(
    pairs: Pairs, factors: Factors, settings: Settings, executor: Executor
) -> NDArray[np.float64]:
    """Return the exact sum of pair costs of each positive, over all items that it is held to.

    Cost: pairs x items multiplications, users x items powers.
    """
    totals = np.empty(pairs.items.size)
    cuts = cut_users(pairs.offsets, settings.n_blocks).tolist()

    def part(bounds: tuple[int, int]) -> None:
        first, stop = bounds
        own = slice(int(pairs.offsets[first]), int(pairs.offsets[stop]))
        _kernels.pair_sums(
            KINDS[settings.loss],
            settings.only_unseen,
            first,
            pairs.offsets[first : stop + 1] - pairs.offsets[first],
            pairs.items[own],
            factors.users,
            factors.items,
            factors.bias,
            totals[own],
        )

    executor.map(part, itertools.pairwise(cuts))
    return totals


def fold_in(
    pairs: Pairs, items: Floats, bias: Floats, settings: Settings, executor: Executor
) -> Floats:
    """Return factors of new users: the same descent from zero, the items' factors fixed.

    A user draws the same negatives whoever else is there, so its factors depend on its own
    pairs alone.
    """
    settings = replace(settings, exact=False)
    factors = Factors(aligned(pairs.n_users, settings.n_factors), items, bias)
    factors.users[:] = 0.0
    place = np.arange(pairs.n_items, dtype=np.int32)
    bounds = np.array([0, pairs.n_items])
    everything = Blocks(bounds, place, np.zeros(pairs.n_items, np.int32))
    mean_costs = np.ones(pairs.items.size, np.float32)

    def part(first: int) -> None:
        stop = min(first + _CHUNK, pairs.n_users)
        cells = Cells.lay_out(everything, pairs.offsets, pairs.items, first, stop)
        for epoch in range(settings.n_epochs):
            descend(
                settings,
                settings.rate(epoch),
                task_seed(settings.seed, epoch, _FOLD, 0),
                (0, pairs.n_items),
                cells,
                cells.runs(0),
                pairs,
                mean_costs,
                factors,
                np.zeros(2),
                learn_items=False,
            )

    executor.map(part, range(0, pairs.n_users, _CHUNK))
    return factors.users
