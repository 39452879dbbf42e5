"""Ranks of targets by counting the items above them, without lists and without all scores at once.

The catalogue is passed through in tiles of users x items. With `most`, a target is no longer
counted once that many items are above it, which happens early for targets far below the top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from podium._one_thread import blas_threads, one_blas_thread
from podium.catalogue import _counting_kernels
from podium.catalogue._counting_kernels import Hidden, Targets
from podium.catalogue._kernels import Tie
from podium.catalogue.exact import Floats, Ints, Products
from podium.catalogue.sparse import Rows
from podium.types import PerRow

_USERS = 2**10  # users per block
_FIRST = 2**7  # items of the first tile, which closes the targets that are far from the top
_TILE = 2**20  # scores of a tile: few enough for a cache, enough for a matrix product


class Block(Protocol):
    """The scores of a block of users."""

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        """Return the exact scores of pairs, and the slack of their users in a tile: (n,) each."""
        ...

    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        """Add the number of items that rank above each target to `above`.

        Counts of at least `most` may be incomplete.
        """
        ...


class Counter(Protocol):
    """Scores of users and items, whose blocks count the items above targets."""

    @property
    def n_threads(self) -> int:
        """The number of blocks that can be counted at the same time."""
        ...

    @property
    def block_size(self) -> int:
        """The number of users per block."""
        ...

    def block(self, first: int, n_users: int) -> Block:
        """Return the scores of the users from `first`."""
        ...


@dataclass(frozen=True, eq=False)
class CountedProducts:
    """Products of factors by NumPy."""

    products: Products

    @property
    def block_size(self) -> int:
        return _USERS

    @property
    def n_threads(self) -> int:
        return blas_threads()

    def block(self, first: int, n_users: int) -> Block:
        """Return the products of the users from `first`."""
        return _ProductBlock(self.products.of_users(first, n_users))


@dataclass(frozen=True, eq=False)
class _ProductBlock:
    products: Products

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        return self.products.pairs(rows, items), self.products.slack[rows]

    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        users, items = self.products.users, self.products.items
        kind = users.dtype.type
        lowest = kind(-np.inf)
        hidden = Hidden(seen.offsets, seen.items, seen.offsets[:-1].copy())
        tiles = list(_tiles(users.shape[0], items.shape[0]))
        buffer = np.empty(users.shape[0] * max(stop - start for start, stop in tiles), kind)
        for start, stop in tiles:
            if not targets.n_open.any():
                return
            shape = users.shape[0], stop - start
            tile = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(users, items[start:stop].T, out=tile)
            _counting_kernels.count_tile(
                tile, start, (users, items), targets, hidden, tie, lowest, most, above
            )


def _tiles(n_users: int, n_items: int) -> Iterator[tuple[int, int]]:
    """Divide the items into tiles that grow from a small one."""
    start, size = 0, _FIRST
    while start < n_items:
        stop = min(start + size, n_items)
        yield start, stop
        start, size = stop, min(2 * size, max(_FIRST, _TILE // n_users))


def count_above(
    counter: Counter,
    truth: Rows,
    seen: Rows,
    tie: Tie,
    *,
    most: float = np.inf,
) -> PerRow:
    """Return the number of items that rank above each target: float64, (n_targets,).

    Parameters
    ----------
    counter : Counter
    truth, seen : Rows
        The targets, and the items that are not ranked; they have no pair in common.
    tie : Tie
        The order of equal scores; its user is the first one.
    most : float
        The number of items above a target from which its count may be incomplete.
    """
    above = np.zeros(truth.items.size)
    n_users = truth.offsets.size - 1
    size = _even_size(n_users, counter)

    def count(start: int) -> None:
        stop = min(start + size, n_users)
        part = slice(int(truth.offsets[start]), int(truth.offsets[stop]))
        if part.stop > part.start:
            block = counter.block(start, stop - start)
            targets = _targets(block, truth.block(start, stop))
            here = tie._replace(first_user=tie.first_user + start)
            block.count(targets, seen.block(start, stop), here, most, above[part])

    starts = range(0, n_users, size)
    n_threads = max(1, min(counter.n_threads, len(starts)))
    with one_blas_thread, ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(count, starts))
    return above


def _even_size(n_users: int, counter: Counter) -> int:
    """Return a number of users per block with which all threads have equally many blocks."""
    if n_users <= counter.block_size:
        return counter.block_size
    n_rounds = math.ceil(n_users / (counter.block_size * counter.n_threads))
    return math.ceil(n_users / (n_rounds * counter.n_threads))


def _targets(block: Block, truth: Rows) -> Targets:
    """Prepare the targets of a block: their scores, and the limits of near scores."""
    user = np.repeat(np.arange(truth.sizes.size), truth.sizes)
    score, slack = block.scores(user, truth.items)
    # The sums are rounded, so that the limits are moved on by one number.
    low, high = np.nextafter(score - slack, -np.inf), np.nextafter(score + slack, np.inf)
    is_exact = slack == 0
    return Targets(
        truth.offsets,
        truth.items,
        truth.values,
        score,
        np.where(is_exact, score, low).astype(score.dtype),
        np.where(is_exact, score, high).astype(score.dtype),
        np.arange(truth.items.size),
        truth.sizes,
    )
