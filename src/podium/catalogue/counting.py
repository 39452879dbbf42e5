"""Ranks of targets by counting the items above them, without lists and without all scores at once.

The catalogue is passed through in tiles of users x items. With `most`, a target is no longer
counted once that many items are above it, which happens early for targets far below the top.

*Exact products.* The summation order of a matrix product depends on its shape, the number of
threads and the device. Therefore matrix products only select pairs of a user and an item. The
scores of these pairs are computed again in a fixed order. A bound on the rounding errors of both
computations shows which pairs the matrix product cannot decide.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium._one_thread import one_blas_thread
from podium.catalogue import _counting_kernels
from podium.catalogue._counting_kernels import Hidden, Targets
from podium.catalogue._kernels import Tie
from podium.catalogue.sparse import Rows
from podium.errors import ArgumentError
from podium.types import PerRow

Floats: TypeAlias = "NDArray[np.floating[Any]]"  # float32 or float64
Ints: TypeAlias = "NDArray[np.int64]"

_FIRST = 2**7  # items of the first tile, which closes the targets that are far from the top
_TILE = 2**20  # scores of a tile: few enough for a cache, enough for a matrix product


class Block(ABC):
    """The scores of a block of users."""

    @abstractmethod
    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        """Return the exact scores of pairs, and the slack of their users in a tile: (n,) each."""

    @abstractmethod
    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        """Add the number of items that rank above each target to `above`.

        Counts of at least `most` may be incomplete.
        """


class Table(ABC):
    """Scores of n_users x n_items in any form.

    Attributes
    ----------
    n_users, n_items : int
    """

    n_users: int
    n_items: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_users, self.n_items

    @property
    def n_threads(self) -> int:
        """The number of blocks that can be counted at the same time."""
        return 1

    @property
    @abstractmethod
    def block_size(self) -> int:
        """The number of users per block."""

    @abstractmethod
    def block(self, first: int, n_users: int) -> Block:
        """Return the scores of the users from `first`."""

    @abstractmethod
    def best(self, k: int, hidden: Rows) -> tuple[Ints, Floats]:
        """Return each user's k best items and their scores; -1 and -inf if there are fewer."""


def refuse_score(user: int, item: int, score: Any) -> NoReturn:
    """Raise an error for a score that is not finite."""
    raise ArgumentError(
        f"scores must be finite, got {score:g} for user {user} and item {item}. Put items that "
        "must not be ranked into exclude; give others a low finite score."
    )


@dataclass(frozen=True, eq=False)
class GivenBlock(Block):
    """The scores of the users from `first`, which are exact as they are: (n_users, n_items)."""

    first: int
    values: Floats

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        """Return the scores of pairs, and a slack of 0."""
        scores = self.values[rows, items]
        return scores, np.zeros_like(scores)

    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        """Check that all visible scores are finite, and count them in tiles."""
        self._refuse_not_finite(seen)
        # Hidden items get another score, but not in the matrix of the caller.
        values = self.values.copy() if seen.items.size else self.values
        factors = tuple(np.empty((n, 0), values.dtype) for n in values.shape)
        count_tiles(factors, lambda start, _: (values, start), targets, seen, tie, most, above)

    def _refuse_not_finite(self, seen: Rows) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(self.values.sum()):
                return
        is_odd = ~np.isfinite(self.values)
        is_odd[seen.users, seen.items] = False
        for user, item in np.argwhere(is_odd)[:1]:
            refuse_score(self.first + user, item, self.values[user, item])


def count_tiles(
    factors: tuple[Floats, ...],
    tile: Callable[[int, int], tuple[Floats, int]],
    targets: Targets,
    seen: Rows,
    tie: Tie,
    most: float,
    above: PerRow,
) -> None:
    """Count the items above targets in tiles.

    `tile` returns scores that contain those of the items start .. stop, and the column of the first
    one. The factors of users and items give the exact scores of near items. They have no columns if
    the tiles are exact.
    """
    users, items = factors
    lowest = users.dtype.type(-np.inf)
    hidden = Hidden(seen.offsets, seen.items, seen.offsets[:-1].copy())
    for start, stop in tiles(users.shape[0], items.shape[0]):
        if not targets.n_open.any():
            return
        scores, column = tile(start, stop)
        columns = column, column + stop - start
        _counting_kernels.count_tile(
            scores, columns, start, factors, targets, hidden, tie, lowest, most, above
        )


def tiles(n_users: int, n_items: int) -> Iterator[tuple[int, int]]:
    """Divide the items into tiles that grow from a small one."""
    start, size = 0, _FIRST
    while start < n_items:
        stop = min(start + size, n_items)
        yield start, stop
        start, size = stop, min(2 * size, max(_FIRST, _TILE // n_users))


def count_above(
    table: Table,
    truth: Rows,
    seen: Rows,
    tie: Tie,
    *,
    most: float = np.inf,
) -> PerRow:
    """Return the number of items that rank above each target: float64, (n_targets,).

    Parameters
    ----------
    table : Table
    truth, seen : Rows
        The targets of consecutive users, and the items that are not ranked; they have no pair in
        common.
    tie : Tie
        The order of equal scores, and the first one of these users.
    most : float
        The number of items above a target from which its count may be incomplete.
    """
    above = np.zeros(truth.items.size)
    n_users = truth.offsets.size - 1
    size = _even_size(n_users, table)

    def count(start: int) -> None:
        stop = min(start + size, n_users)
        part = slice(int(truth.offsets[start]), int(truth.offsets[stop]))
        here = tie._replace(first_user=tie.first_user + start)
        block = table.block(here.first_user, stop - start)
        targets = _targets(block, truth.block(start, stop))
        block.count(targets, seen.block(start, stop), here, most, above[part])

    starts = range(0, n_users, size)
    n_threads = min(table.n_threads, len(starts))
    if n_threads > 1:
        with one_blas_thread, ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(count, starts))
    else:
        for start in starts:
            count(start)
    return above


def _even_size(n_users: int, table: Table) -> int:
    """Return a number of users per block with which all threads have equally many blocks."""
    if n_users <= table.block_size:
        return table.block_size
    n_rounds = math.ceil(n_users / (table.block_size * table.n_threads))
    return math.ceil(n_users / (n_rounds * table.n_threads))


def _targets(block: Block, truth: Rows) -> Targets:
    """Prepare the targets of a block: their scores, and the limits of near scores."""
    score, slack = block.scores(truth.users, truth.items)
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
