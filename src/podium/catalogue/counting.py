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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium._one_thread import blas_threads, one_blas_thread
from podium.catalogue import _counting_kernels
from podium.catalogue._counting_kernels import Hidden, Targets
from podium.catalogue._kernels import Tie
from podium.catalogue.sparse import Rows
from podium.errors import ArgumentError
from podium.types import PerRow

Floats: TypeAlias = "NDArray[np.floating[Any]]"  # float32 or float64
Ints: TypeAlias = "NDArray[np.int64]"

SPARE = 2  # items that are first proposed in addition to k
WIDER = 8  # growth of the number of proposals for users that are not settled
_MOST = 2**22  # proposals at a time
_USERS = 2**10  # users per block
_FIRST = 2**7  # items of the first tile, which closes the targets that are far from the top
_TILE = 2**20  # scores of a tile: few enough for a cache, enough for a matrix product


class Proposed(NamedTuple):
    """Items proposed to some users, best first: (n, width) each, filled with -1 and -inf."""

    items: Ints
    scores: Floats


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


class Counter(ABC):
    """Scores of users and items, whose blocks count the items above targets."""

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


class Table(Counter):
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

    def counter(self) -> Counter:
        """Return what counts the items above targets."""
        return self

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
        _count_tiles(factors, lambda start, _: (values, start), targets, seen, tie, most, above)

    def _refuse_not_finite(self, seen: Rows) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(self.values.sum()):
                return
        is_odd = ~np.isfinite(self.values)
        is_odd[seen.users, seen.items] = False
        for user, item in np.argwhere(is_odd)[:1]:
            refuse_score(self.first + user, item, self.values[user, item])


@dataclass(frozen=True, eq=False)
class Products(Counter, Block):
    """Two factors of one type, and a bound on the difference of a score between two orders.

    Attributes
    ----------
    users, items : float32 or float64, (n_users, n_factors), (n_items, n_factors)
    slack : (n_users,)
        The largest difference between a user's score here and in a matrix product.
    could_overflow : bool
        Whether a score could be too large for the type of the factors; there are no bounds then.
    """

    users: Floats
    items: Floats
    slack: Floats
    could_overflow: bool

    @classmethod
    def of(cls, users: Floats, items: Floats) -> Products:
        """Compute the bounds.

        The rounding error of a dot product is at most terms x eps x |u| |v| (Cauchy-Schwarz). It is
        taken at the longest item. Each order of summation errs by at most half of eps per term.
        """
        largest = _lengths(users) * _lengths(items).max(initial=0.0)
        n_terms = np.count_nonzero(users, axis=1)
        rounding = np.where(n_terms > 1, n_terms + 4, 0) * np.finfo(users.dtype).eps
        could_overflow = bool((largest > np.finfo(users.dtype).max / 4).any())
        slack = np.zeros_like(largest) if could_overflow else rounding * largest
        return cls(users, items, slack.astype(users.dtype), could_overflow)

    @property
    def block_size(self) -> int:
        """The number of users per block."""
        return _USERS

    @property
    def n_threads(self) -> int:
        """The number of blocks that can be counted at the same time."""
        return blas_threads()

    def block(self, first: int, n_users: int) -> Products:
        """Return the products of consecutive users."""
        part = slice(first, first + n_users)
        return replace(self, users=self.users[part], slack=self.slack[part])

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        """Return the exact scores of pairs, and the slack of their users in a tile: (n,) each."""
        scores = np.empty(rows.size, self.users.dtype)
        _counting_kernels.pair_products(self.users, self.items, rows, items, scores)
        return scores, self.slack[rows]

    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        """Add the number of items that rank above each target to `above`, tile by tile."""
        n_users = self.users.shape[0]
        sizes = (stop - start for start, stop in _tiles(n_users, self.items.shape[0]))
        buffer = np.empty(n_users * max(sizes, default=0), self.users.dtype)

        def multiply(start: int, stop: int) -> tuple[Floats, int]:
            tile = buffer[: n_users * (stop - start)].reshape(n_users, stop - start)
            np.matmul(self.users, self.items[start:stop].T, out=tile)
            return tile, 0

        _count_tiles((self.users, self.items), multiply, targets, seen, tie, most, above)

    def best(self, k: int, propose: Callable[[Ints, int], Proposed]) -> tuple[Ints, Floats]:
        """Return each user's k best items and their scores; -1 and -inf if there are fewer.

        The result for a user depends only on the user's factors and the items' factors. Among equal
        scores the lower item number is first.

        Parameters
        ----------
        k : int
        propose : (users, width) -> Proposed
            A function that returns the best items of some users by a matrix product.
        """
        n_users, n_items = self.users.shape[0], self.items.shape[0]
        items: Ints = np.full((n_users, k), -1)
        scores = np.full((n_users, k), -np.inf, self.users.dtype)
        unsettled: Ints = np.arange(n_users, dtype=np.int64)
        width = min(k + SPARE, n_items + 1)
        while unsettled.size:
            is_settled = np.empty(unsettled.size, np.bool_)
            step = max(1, _MOST // width)
            for start in range(0, unsettled.size, step):
                part = unsettled[start : start + step]
                marks = is_settled[start : start + step]
                proposals = part, *propose(part, width)
                factors = self.users, self.items, self.slack
                _counting_kernels.settle(*factors, *proposals, items, scores, marks)
            unsettled = np.compress(~is_settled, unsettled)
            # If all items and one more are proposed, the last one is -1, which settles the user.
            width = min(WIDER * width, n_items + 1)
        return items, scores


def _lengths(factors: Floats) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", factors, factors, dtype=np.float64))


def _count_tiles(
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
    for start, stop in _tiles(users.shape[0], items.shape[0]):
        if not targets.n_open.any():
            return
        scores, column = tile(start, stop)
        columns = column, column + stop - start
        _counting_kernels.count_tile(
            scores, columns, start, factors, targets, hidden, tie, lowest, most, above
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
        block = counter.block(start, stop - start)
        targets = _targets(block, truth.block(start, stop))
        here = tie._replace(first_user=tie.first_user + start)
        block.count(targets, seen.block(start, stop), here, most, above[part])

    starts = range(0, n_users, size)
    n_threads = min(counter.n_threads, len(starts))
    if n_threads > 1:
        with one_blas_thread, ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(count, starts))
    else:
        for start in starts:
            count(start)
    return above


def _even_size(n_users: int, counter: Counter) -> int:
    """Return a number of users per block with which all threads have equally many blocks."""
    if n_users <= counter.block_size:
        return counter.block_size
    n_rounds = math.ceil(n_users / (counter.block_size * counter.n_threads))
    return math.ceil(n_users / (n_rounds * counter.n_threads))


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
