"""The plan of a pass: users in parts that stay, items in blocks that rotate.

In round r of a pass, part t takes its steps inside block ``(t + r) % n_blocks``: the tasks of a
round share no user and no item, so they may run in any order, or at once. The plan follows from
the data's shape and a seed alone, never from the machine.

Blocks are drawn anew for each pass. A positive meets only negatives of its own block, and with
blocks that stay, items of two blocks are never compared: on MovieLens-1M 32 such blocks cost
0.012 of ndcg@10, and blocks that change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.recommenders.factorization import _plan_kernels

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_CACHE = 2**20  # bytes of item factors in a block that stay close to the processor
_FEWEST_BLOCKS = 8  # so that a few workers have something to do in each round
_MOST_BLOCKS = 1024
_PAIRS = 2.0  # of a user in a block, on average: a user's row is fetched for no fewer
_ITEMS = 64  # of a block: negatives come from it alone

_PARTITION, STEPS, FOLD = 2, 3, 4  # purpose numbers in the seeds of draws


def choose_n_blocks(n_users: int, n_items: int, n_pairs: int, n_factors: int) -> int:
    """Return how many blocks suit data of this shape: the same on every machine.

    Enough that a block's item factors take 1 MiB, and at least 8; but no more than leaves a
    user two positives in each, a block 64 items, and a part one user.
    """
    small = -(-n_items * n_factors * 4 // _CACHE)
    filled = int(n_pairs / max(n_users, 1) / _PAIRS)
    most = min(filled, n_items // _ITEMS, n_users, _MOST_BLOCKS)
    return max(1, min(max(small, _FEWEST_BLOCKS), most))


def task_seed(seed: int, purpose: int, epoch: int, part: int, block: int) -> np.uint64:
    """Return the bits that the steps of a part inside a block are drawn from."""
    state = np.random.SeedSequence([seed, purpose, epoch, part, block])
    return state.generate_state(1, np.uint64)[0]


def cut_users(offsets: Ints, n_parts: int) -> Ints:
    """Return where parts of about equal numbers of pairs begin, and the end of the last."""
    goal = np.linspace(0, int(offsets[-1]), n_parts + 1)
    cuts = np.searchsorted(offsets, goal).astype(np.int64)
    cuts[0], cuts[-1] = 0, offsets.size - 1
    return cuts


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which items are a block in one pass, and where each item's factors lie in it.

    Attributes
    ----------
    bounds : int64, (n_blocks + 1,)
        Block b has the places ``bounds[b] : bounds[b + 1]``.
    place : int32, (n_items,)
        Place of each item.
    block_of : int32, (n_items,)
        Block of each item.
    """

    bounds: Ints
    place: Codes
    block_of: Codes

    @classmethod
    def draw(cls, n_items: int, n_blocks: int, seed: int, epoch: int) -> Blocks:
        """Put items into blocks of equal size at random."""
        rng = np.random.default_rng([seed, _PARTITION, epoch])
        place = rng.permutation(np.arange(n_items, dtype=np.int32))
        bounds = np.linspace(0, n_items, n_blocks + 1).astype(np.int64)
        block_of = np.repeat(np.arange(n_blocks, dtype=np.int32), np.diff(bounds))[place]
        return cls(bounds, place, block_of)

    @classmethod
    def whole(cls, n_items: int) -> Blocks:
        """Return the one block of all items, each at its own place."""
        place = np.arange(n_items, dtype=np.int32)
        return cls(np.array([0, n_items]), place, np.zeros(n_items, np.int32))

    def writeable(self) -> Blocks:
        """Return itself, or a copy where its memory may only be read: kernels take one kind."""
        if self.place.flags.writeable:
            return self
        return Blocks(self.bounds.copy(), self.place.copy(), self.block_of.copy())

    @property
    def count(self) -> int:
        return self.bounds.size - 1

    def items(self) -> list[Codes]:
        """Return the items of each block, in the order of their places."""
        at = np.empty_like(self.place)
        at[self.place] = np.arange(at.size, dtype=at.dtype)
        return np.split(at, self.bounds[1:-1])


class Cells(NamedTuple):
    """The pairs of some users in each item block: by user, and a user's by its input order.

    Attributes
    ----------
    pair_bounds, run_bounds : int64, (n_blocks + 1,)
        Where the pairs and the users of each cell begin.
    positives : int32, (n_pairs,)
        Places of items in their block, cell after cell.
    origins : int32, (n_pairs,)
        Which of its user's pairs each one is.
    run_users, run_starts
        Users of each cell, and where their pairs begin; see the kernel.
    """

    pair_bounds: Ints
    run_bounds: Ints
    positives: Codes
    origins: Codes
    run_users: Codes
    run_starts: Ints

    @classmethod
    def lay_out(cls, blocks: Blocks, offsets: Ints, items: Codes) -> Cells:
        """Sort the pairs of a CSR matrix into cells, by counting."""
        n_pairs, n_runs = np.zeros(blocks.count, np.int64), np.zeros(blocks.count, np.int64)
        _plan_kernels.count_cells(offsets, items, blocks.block_of, n_pairs, n_runs)
        cells = cls(
            _bounds(n_pairs),
            _bounds(n_runs),
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
        """Return the users of a cell, and where their pairs begin and the last ones end."""
        lo, hi = int(self.run_bounds[block]), int(self.run_bounds[block + 1])
        return self.run_users[lo:hi], self.run_starts[lo + block : hi + block + 1]


def _bounds(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
