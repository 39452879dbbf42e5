"""The plan of a pass: users in parts that stay, items in blocks that rotate.

In round r of a pass, part t takes its steps inside block ``(t + r) % n_blocks``. The tasks of a
round share no user and no item, so that they can run in any order or at the same time. The plan
depends only on the shape of the data and on a seed, never on the machine.

Blocks are redrawn for each pass, because a positive is compared only with negatives of the
same block. With fixed blocks, items of two different blocks would never be compared. On
MovieLens-1M, 32 fixed blocks lowered ndcg@10 by 0.012, and redrawn blocks did not lower it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from podium.groups import row_offsets
from podium.recommenders._pairs import Floats, Ints
from podium.recommenders.factorization import _plan_kernels

Codes = NDArray[np.int32]
Data = TypeVar("Data", bound=Any)

_LINE = 64  # bytes of a cache line
_CACHE = 2**20  # bytes of item factors in a block that stay in the cache
_FEWEST_BLOCKS = 8  # so that a few workers have tasks in each round
_MOST_BLOCKS = 1024
_PAIRS = 2.0  # the least mean number of pairs per user and block: each block fetches the user's row
_ITEMS = 64  # the least number of items per block, because negatives come only from it

_PARTITION, STEPS, FOLD = 2, 3, 4  # numbers of the purposes in the seeds of random draws


def choose_n_blocks(n_users: int, n_items: int, n_pairs: int, n_factors: int) -> int:
    """Return a number of blocks that suits data of this shape, the same on every machine.

    It is at least 8 and so large that the item factors of a block take at most 1 MiB. It is at most
    so large that each block has two positives per user and 64 items, and each part has one user.
    The upper limit takes precedence.
    """
    n_blocks_for_cache = -(-n_items * n_factors * 4 // _CACHE)
    n_blocks_with_pairs = int(n_pairs / max(n_users, 1) / _PAIRS)
    max_n_blocks = min(n_blocks_with_pairs, n_items // _ITEMS, n_users, _MOST_BLOCKS)
    return max(1, min(max(n_blocks_for_cache, _FEWEST_BLOCKS), max_n_blocks))


def task_seed(seed: int, purpose: int, epoch: int, part: int, block: int) -> np.uint64:
    """Return the random bits that seed the steps of a part inside a block."""
    state = np.random.SeedSequence([seed, purpose, epoch, part, block])
    return state.generate_state(1, np.uint64)[0]


def cut_users(offsets: Ints, n_parts: int) -> Ints:
    """Return the bounds of parts with about equal numbers of pairs."""
    pair_cuts = np.linspace(0, int(offsets[-1]), n_parts + 1)
    user_cuts = np.searchsorted(offsets, pair_cuts).astype(np.int64)
    user_cuts[0], user_cuts[-1] = 0, offsets.size - 1
    return user_cuts


@dataclass(frozen=True, eq=False)
class Blocks:
    """The assignment of items to blocks in one pass, and the place of each item's factors.

    Attributes
    ----------
    bounds : int64, (n_blocks + 1,)
        Block b has the places ``bounds[b] : bounds[b + 1]``.
    place : int32, (n_items,)
        The place of each item.
    block_of : int32, (n_items,)
        The block of each item.
    """

    bounds: Ints
    place: Codes
    block_of: Codes

    @classmethod
    def draw(cls, n_items: int, n_blocks: int, seed: int, epoch: int) -> Blocks:
        """Draw a random partition of the items into blocks of equal size."""
        rng = np.random.default_rng([seed, _PARTITION, epoch])
        place = rng.permutation(np.arange(n_items, dtype=np.int32))
        bounds = np.linspace(0, n_items, n_blocks + 1).astype(np.int64)
        block_of = np.repeat(np.arange(n_blocks, dtype=np.int32), np.diff(bounds))[place]
        return cls(bounds, place, block_of)

    @classmethod
    def single(cls, n_items: int) -> Blocks:
        """Return a single block of all items, each at its own place."""
        place = np.arange(n_items, dtype=np.int32)
        return cls(np.array([0, n_items]), place, np.zeros(n_items, np.int32))

    @property
    def count(self) -> int:
        return self.bounds.size - 1

    def items(self) -> list[Codes]:
        """Return the items of each block, in the order of their places."""
        item_at_place = np.empty_like(self.place)
        item_at_place[self.place] = np.arange(item_at_place.size, dtype=item_at_place.dtype)
        return np.split(item_at_place, self.bounds[1:-1])


class Cells(NamedTuple):
    """The pairs of some users, sorted by block of items, then by user, then in input order.

    A cell is the set of pairs in one block. A run is the set of pairs of one user in a cell.

    Attributes
    ----------
    pair_bounds, run_bounds : int64, (n_blocks + 1,)
        The bounds of each cell's pairs and runs.
    positives : int32, (n_pairs,)
        The places of the items in their block, cell by cell.
    origins : int32, (n_pairs,)
        The position of each pair among the pairs of its user in the input.
    run_users, run_starts
        The users of each cell, and the positions where their pairs begin; see `fill_cells`.
    """

    pair_bounds: Ints
    run_bounds: Ints
    positives: Codes
    origins: Codes
    run_users: Codes
    run_starts: Ints

    @classmethod
    def lay_out(cls, blocks: Blocks, offsets: Ints, items: Codes) -> Cells:
        """Sort the pairs of a CSR matrix into cells, with a counting sort."""
        n_pairs, n_runs = np.zeros(blocks.count, np.int64), np.zeros(blocks.count, np.int64)
        _plan_kernels.count_cells(offsets, items, blocks.block_of, n_pairs, n_runs)
        cells = cls(
            row_offsets(n_pairs),
            row_offsets(n_runs),
            np.empty(items.size, np.int32),
            np.empty(items.size, np.int32),
            np.empty(int(n_runs.sum()), np.int32),
            np.empty(int(n_runs.sum()) + blocks.count, np.int64),
        )
        _plan_kernels.fill_cells(
            offsets, items, blocks.block_of, blocks.place, blocks.bounds, cells
        )
        return cells

    def runs(self, block: int) -> tuple[Codes, Ints]:
        """Return the users of a cell, and the bounds of their pairs."""
        lo, hi = int(self.run_bounds[block]), int(self.run_bounds[block + 1])
        return self.run_users[lo:hi], self.run_starts[lo + block : hi + block + 1]


@dataclass(frozen=True, eq=False)
class Block:
    """The factors and biases of some items, in the order of their places."""

    rows: Floats
    bias: Floats

    def is_sound(self, largest: float) -> bool:
        """Return whether the biases are finite and all factors are between -largest and largest."""
        return are_below(largest, self.rows) and are_below(np.inf, self.bias)


def aligned(*shape: int, dtype: Any = np.float32) -> NDArray[Any]:
    """Return an array that begins at a cache line, so that its rows take fewer fetches."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


def aligned_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array that begins at a cache line."""
    copy = aligned(*array.shape, dtype=array.dtype)
    copy[:] = array
    return copy


def writeable(data: Data) -> Data:
    """Return a dataclass itself, or with copies of its arrays if they are read-only, as from Ray.

    Kernels are compiled for writeable arrays only.
    """
    arrays: dict[str, NDArray[Any]] = {
        name: value for name, value in vars(data).items() if isinstance(value, np.ndarray)
    }
    if all(array.flags.writeable for array in arrays.values()):
        return data
    return replace(data, **{name: aligned_copy(array) for name, array in arrays.items()})


def are_below(largest: float, values: Floats) -> bool:
    """Return whether all values are between -largest and largest; nan is not."""
    return bool(-largest < values.min(initial=0.0) and values.max(initial=0.0) < largest)


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


def unit_rows(rows: Floats) -> Floats:
    """Return the rows divided by their lengths; a row of zeros stays as it is."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    units = aligned(*rows.shape)
    np.divide(rows, np.where(lengths > 0.0, lengths, 1.0)[:, None], out=units)
    return units


def mean_direction(rows: Floats) -> Floats:
    """Return the direction of the mean of the unit rows; zeros if there is none."""
    return unit_rows(unit_rows(rows).mean(axis=0, dtype=np.float64)[None].astype(np.float32))[0]


def directed(rows: Floats, direction: Floats) -> Floats:
    """Write a direction into the rows of zeros, and return the rows."""
    rows[~rows.any(axis=1)] = direction
    return rows
