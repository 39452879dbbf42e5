"""Sources of scores: a matrix, two factors or a function, each read in blocks of users."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from podium import _check
from podium._one_thread import blas_threads
from podium._text import counted
from podium.catalogue import _counting_kernels, _kernels
from podium.catalogue._counting_kernels import Targets
from podium.catalogue._kernels import Limits, Tie
from podium.catalogue.counting import (
    Block,
    Floats,
    GivenBlock,
    Ints,
    Table,
    count_tiles,
    refuse_score,
    tiles,
)
from podium.catalogue.sparse import Rows
from podium.errors import ArgumentError
from podium.types import PerRow

_EXACT = 2**53  # float64 represents all integers up to here
_BLOCK = 2**22  # scores per block: small enough for a cache, large enough for a matrix product
_LEAST_USERS = 16  # users per block, at least: each block reads all item factors once
_MOST_BYTES = 2**26  # bytes per block, unless a single user needs more
_MOST_USERS = 2**8  # users per block of products that propose items: the scores fit into the cache
_USERS = 2**10  # users per block of products that are counted
SPARE = 2  # items that are first proposed in addition to k
WIDER = 8  # growth of the number of proposals for users that are not settled
_MOST = 2**22  # proposals at a time


@dataclass(frozen=True, eq=False)
class ScoreFunction:
    """Scores that a function computes for a block of users, without a matrix or factors.

    Parameters
    ----------
    function : (users) -> (n, n_items)
        A function of the row numbers of users: int64, consecutive and at least one. Its result is
        read before the next call, so it may return the same array each time.
    n_users, n_items : int
        The number of users and of items.
    dtype : {float32, float64}
        The type in which scores are ranked. A block of a type that it cannot represent is an error.

    Examples
    --------
    >>> from podium.catalogue import top_k
    >>> likes = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> similar = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]])
    >>> top_k(ScoreFunction(lambda users: likes[users] @ similar, 2, 3), 2)[0]
    array([[0, 1],
           [2, 1]])
    """

    function: Callable[[NDArray[np.int64]], ArrayLike]
    n_users: int
    n_items: int
    dtype: DTypeLike = np.float64


Scores: TypeAlias = "ArrayLike | tuple[ArrayLike, ArrayLike] | ScoreFunction"
"""A (n_users, n_items) matrix, the pair (user_factors, item_factors), or a function."""


@dataclass(frozen=True, eq=False)
class Source(Table):
    """Scores of n_users x n_items, float32 or float64, computed one block at a time."""

    n_users: int
    n_items: int
    dtype: np.dtype[Any]

    @abc.abstractmethod
    def rows(self, start: int, stop: int) -> Floats:
        """Return the contiguous scores of some users; the next call may overwrite them."""

    def blocks(self, size: int) -> Iterator[tuple[int, Floats]]:
        """Yield (first user, contiguous scores). Each block may overwrite the previous one."""
        for start in range(0, self.n_users, size):
            yield start, self.rows(start, min(start + size, self.n_users))

    @property
    def limits(self) -> Limits:
        """The smallest finite number and minus infinity, in the scores' type."""
        return Limits(np.finfo(self.dtype).min, self.dtype.type(-np.inf))

    @property
    def block_size(self) -> int:
        """The number of users per block, which depends on the shape and not on the machine."""
        n_items = max(self.n_items, 1)
        max_users = _MOST_BYTES // (n_items * self.dtype.itemsize)
        return max(1, min(max(_BLOCK // n_items, _LEAST_USERS), max_users))

    def block(self, first: int, n_users: int) -> Block:
        """Return the scores of the users from `first`."""
        return GivenBlock(first, self.rows(first, first + n_users))

    def best(self, k: int, hidden: Rows) -> tuple[Ints, Floats]:
        """Return each user's k best items and their scores; -1 and -inf if there are fewer."""
        return self._best_of_blocks(k, hidden, self.block_size)

    def _best_of_blocks(self, k: int, hidden: Rows, size: int) -> tuple[Ints, Floats]:
        items: Ints = np.full((self.n_users, k), -1)
        best = np.full((self.n_users, k), self.limits.below)
        for start, block in self.blocks(size):
            stop = start + block.shape[0]
            seen = hidden.block(start, stop)
            outputs = items[start:stop], best[start:stop]
            user, item = _kernels.best_items(block, self.limits, seen, k, *outputs)
            if user >= 0:
                refuse_score(start + user, item, block[user, item])
        return items, best


@dataclass(frozen=True, eq=False)
class _Matrix(Source):
    values: NDArray[Any]

    @property
    def n_threads(self) -> int:
        return blas_threads()

    def rows(self, start: int, stop: int) -> Floats:
        return np.ascontiguousarray(self.values[start:stop], dtype=self.dtype)


class Proposed(NamedTuple):
    """Items proposed to some users, best first: (n, width) each, filled with -1 and -inf."""

    items: Ints
    scores: Floats


@dataclass(frozen=True, eq=False)
class Factors(Source, Block):
    """The products of two factors, and a bound on the difference of a score between two orders.

    Attributes
    ----------
    users, items : float32 or float64, (n_users, n_factors), (n_items, n_factors)
    slack : (n_users,)
        The largest difference between a user's exact score and that in a matrix product.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    slack: Floats

    @property
    def block_size(self) -> int:
        """The number of users per block that is counted."""
        return _USERS

    @property
    def n_threads(self) -> int:
        """The number of blocks that can be counted at the same time."""
        return blas_threads()

    def rows(self, start: int, stop: int) -> Floats:
        """Return the matrix product of some users."""
        return self.users[start:stop] @ self.items.T

    def block(self, first: int, n_users: int) -> Factors:
        """Return the products of consecutive users."""
        part = slice(first, first + n_users)
        return replace(self, n_users=n_users, users=self.users[part], slack=self.slack[part])

    def scores(self, rows: Ints, items: Ints) -> tuple[Floats, Floats]:
        """Return the exact scores of pairs, and the slack of their users in a tile: (n,) each."""
        scores = np.empty(rows.size, self.dtype)
        _counting_kernels.pair_products(self.users, self.items, rows, items, scores)
        return scores, self.slack[rows]

    def count(self, targets: Targets, seen: Rows, tie: Tie, most: float, above: PerRow) -> None:
        """Add the number of items that rank above each target to `above`, tile by tile."""
        n_users = self.users.shape[0]
        sizes = (stop - start for start, stop in tiles(n_users, self.n_items))
        buffer = np.empty(n_users * max(sizes, default=0), self.dtype)

        def multiply(start: int, stop: int) -> tuple[Floats, int]:
            tile = buffer[: n_users * (stop - start)].reshape(n_users, stop - start)
            np.matmul(self.users, self.items[start:stop].T, out=tile)
            return tile, 0

        count_tiles((self.users, self.items), multiply, targets, seen, tie, most, above)

    def best(self, k: int, hidden: Rows) -> tuple[Ints, Floats]:
        """Let matrix products propose items, and compute their exact scores."""
        size = min(super().block_size, _MOST_USERS)

        def propose(rows: Ints, width: int) -> Proposed:
            some = replace(self, n_users=rows.size, users=self.users[rows])
            return Proposed(*some._best_of_blocks(width, hidden.of(rows), size))

        return self.best_of(propose, k)

    def best_of(self, propose: Callable[[Ints, int], Proposed], k: int) -> tuple[Ints, Floats]:
        """Return each user's k best items and their scores; -1 and -inf if there are fewer.

        The result for a user depends only on the user's factors and the items' factors. Among equal
        scores the lower item number is first.

        Parameters
        ----------
        propose : (users, width) -> Proposed
            A function that returns the best items of some users by a matrix product.
        k : int
        """
        items: Ints = np.full((self.n_users, k), -1)
        scores = np.full((self.n_users, k), -np.inf, self.dtype)
        unsettled: Ints = np.arange(self.n_users, dtype=np.int64)
        width = min(k + SPARE, self.n_items + 1)
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
            width = min(WIDER * width, self.n_items + 1)
        return items, scores


@dataclass(frozen=True, eq=False)
class _Function(Source):
    function: Callable[[NDArray[np.int64]], ArrayLike]

    def rows(self, start: int, stop: int) -> Floats:
        users = np.arange(start, stop)
        block = _matrix(self.function(users), "scores", "users x items")
        self.check(block.shape, _float_type(block.dtype), users.size)
        return np.ascontiguousarray(block, dtype=self.dtype)

    def check(self, shape: tuple[int, ...], dtype: DTypeLike, n_users: int) -> None:
        """Raise if a block is not n_users x n_items, or if `self.dtype` cannot represent it."""
        if shape != (n_users, self.n_items):
            raise ArgumentError(
                f"scores must have shape {n_users} x {self.n_items} for {n_users} users, got a "
                f"block of {shape[0]} x {shape[1]}."
            )
        if np.dtype(dtype) != self.dtype != np.float64:
            raise ArgumentError(
                f"scores must be {self.dtype}, got a block of {np.dtype(dtype)}. Pass "
                f"dtype='float64' to ScoreFunction, or return {self.dtype}."
            )


def read(scores: Scores) -> Source:
    """Check scores of any form."""
    if isinstance(scores, tuple) and len(scores) == 2:
        return read_factors(*scores)
    return read_function(scores) if isinstance(scores, ScoreFunction) else read_matrix(scores)


def read_function(scores: ScoreFunction) -> _Function:
    """Check a ScoreFunction; its blocks are checked when they are computed."""
    if not callable(scores.function):
        raise ArgumentError(f"function must be callable, got {scores.function!r}.")
    dtype: np.dtype[Any] = np.dtype(scores.dtype)
    if dtype.name not in ("float32", "float64"):
        raise ArgumentError(f"dtype must be float32 or float64, got {dtype}.")
    n_users = _check.count(scores.n_users, "n_users")
    n_items = _check.count(scores.n_items, "n_items")
    return _Function(n_users, n_items, dtype, scores.function)


def read_matrix(scores: ArrayLike) -> Source:
    """Check a matrix of scores; its values are checked when they are ranked."""
    values = _matrix(scores, "scores", "users x items")
    return _Matrix(values.shape[0], values.shape[1], _float_type(values.dtype), values)


def read_factors(user_factors: ArrayLike, item_factors: ArrayLike) -> Factors:
    """Check a pair of factors and convert them to one type."""
    users = _matrix(user_factors, "user_factors", "users x factors")
    items = _matrix(item_factors, "item_factors", "items x factors")
    if users.shape[1] != items.shape[1]:
        raise ArgumentError(
            "user_factors and item_factors must have the same number of columns, got "
            f"{users.shape[1]} and {items.shape[1]}."
        )
    dtype = _float_type(users.dtype, items.dtype)
    users, items = (np.ascontiguousarray(factor, dtype=dtype) for factor in (users, items))
    for name, factor in (("user_factors", users), ("item_factors", items)):
        is_finite = np.isfinite(factor).all(axis=1)
        if not is_finite.all():
            raise ArgumentError(
                f"{name} has a non-finite value, first in row {int(np.argmin(is_finite))}. "
                "Refit the model, or drop that row."
            )
    return Factors(users.shape[0], items.shape[0], dtype, users, items, _slack(users, items))


def _slack(users: Floats, items: Floats) -> Floats:
    """Return the largest difference of a user's scores between two orders of summation.

    The rounding error of a dot product is at most terms x eps x |u| |v| (Cauchy-Schwarz). It is
    taken at the longest item. Each order of summation errs by at most half of eps per term.
    """
    limits = np.finfo(users.dtype)
    largest = _lengths(users) * _lengths(items).max(initial=0.0)
    if (largest > limits.max / 4).any():
        raise ArgumentError(
            "scores must be finite, but products of these factors can be too large for "
            f"{users.dtype}. Pass smaller factors, or float64."
        )
    n_terms = np.count_nonzero(users, axis=1)
    rounding = np.where(n_terms > 1, n_terms + 4, 0) * limits.eps
    return (rounding * largest).astype(users.dtype)


def _lengths(factors: Floats) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", factors, factors, dtype=np.float64))


def _matrix(values: Any, name: str, axes: str) -> NDArray[Any]:
    array = _check.array(values, name)
    if array.dtype.kind not in "fiub":
        received = type(values).__name__ if array.ndim == 0 else f"an array of {array.dtype}"
        raise ArgumentError(f"{name} must be a dense matrix of numbers, got {received}.")
    if array.ndim != 2:
        raise ArgumentError(f"{name} must have two dimensions ({axes}), got shape {array.shape}.")
    # float64 would round large integers, so that different ones could become equal.
    is_integer = array.dtype.kind in "iu" and array.size > 0
    if is_integer and max(-int(array.min()), int(array.max())) > _EXACT:
        n = int(((array > _EXACT) | (array < -_EXACT)).sum())
        raise ArgumentError(
            f"{name} has {counted(n, 'integers')} beyond 2 ** 53, which float64 rounds. Pass "
            "their ranks within each user, or smaller numbers."
        )
    return array


def _float_type(*types: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 if it represents all values exactly, else float64."""
    fits_float32 = np.result_type(*types, np.float32) == np.float32
    return np.dtype(np.float32 if fits_float32 else np.float64)
