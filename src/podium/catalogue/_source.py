"""Where scores come from: a matrix or two factors, either read in blocks of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError

Scores: TypeAlias = "ArrayLike | tuple[ArrayLike, ArrayLike]"
"""A (n_users, n_items) matrix, or the pair (user_factors, item_factors)."""

Floats: TypeAlias = "NDArray[np.floating[Any]]"  # float32 or float64

_BLOCK = 2**22  # scores of a block: small enough for a cache, large enough for a matrix product
_LEAST_USERS = 16  # users of a block, so that a product reads the item factors seldom enough
_MOST_BYTES = 2**26  # of a block, unless one user alone has more


@dataclass(frozen=True, eq=False)
class Source:
    """Scores of n_users x n_items, float32 or float64, that are made a block at a time.

    Attributes
    ----------
    left : (n_users, n_items) scores, or (n_users, n_factors)
    right : (n_items, n_factors), or None where `left` holds the scores.
    """

    left: NDArray[Any]
    right: NDArray[Any] | None

    @property
    def n_users(self) -> int:
        return self.left.shape[0]

    @property
    def n_items(self) -> int:
        return self.left.shape[1] if self.right is None else self.right.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_users, self.n_items

    @property
    def dtype(self) -> np.dtype[Any]:
        return _float_type(self.left, self.right)

    @property
    def lowest(self) -> Any:
        """The least finite number of the scores' type, in that type."""
        return np.finfo(self.dtype).min

    @property
    def below(self) -> Any:
        """Minus infinity, in the scores' type."""
        return self.dtype.type(-np.inf)

    def block_size(self, asked: int | None) -> int:
        """Return the users of a block: as asked, or what the shape (never the machine) tells."""
        if asked is not None:
            return _check.cutoff(asked, name="block_size")
        n_items = max(self.n_items, 1)
        fits = _MOST_BYTES // (n_items * self.dtype.itemsize)
        return max(1, min(max(_BLOCK // n_items, _LEAST_USERS), fits))

    def blocks(self, size: int) -> Iterator[tuple[int, Floats]]:
        """Yield (first user, contiguous scores); a block is overwritten by the next one."""
        buffer = None
        for start in range(0, max(self.n_users, 1), size):
            left = self.left[start : start + size]
            if self.right is None:
                yield start, np.ascontiguousarray(left, dtype=self.dtype)
                continue
            if buffer is None:
                buffer = np.empty((min(size, self.n_users), self.n_items), self.dtype)
            yield start, np.matmul(left, self.right.T, out=buffer[: left.shape[0]])

    def refuse(self, user: int, item: int, score: Any) -> None:
        """Raise for a score that is not finite."""
        raise ArgumentError(
            f"scores must be finite, got {score:g} for user {user} and item {item}. Name items "
            "that are not to be ranked in exclude; give others a low finite score."
        )


def read(scores: Scores) -> Source:
    """Check scores, in either form."""
    if isinstance(scores, tuple) and len(scores) == 2:
        return read_factors(*scores)
    return read_matrix(scores)


def read_matrix(scores: ArrayLike) -> Source:
    """Check a matrix of scores; its values are checked where they are ranked."""
    return Source(_matrix(scores, "scores", "users x items"), None)


def read_factors(user_factors: ArrayLike, item_factors: ArrayLike) -> Source:
    """Check a pair of factors and bring them to one type."""
    users = _matrix(user_factors, "user_factors", "users x factors")
    items = _matrix(item_factors, "item_factors", "items x factors")
    if users.shape[1] != items.shape[1]:
        raise ArgumentError(
            "user_factors and item_factors must have equal width, got "
            f"{users.shape[1]} and {items.shape[1]}."
        )
    dtype = _float_type(users, items)
    pair = [np.ascontiguousarray(f, dtype=dtype) for f in (users, items)]
    for name, factor in zip(("user_factors", "item_factors"), pair, strict=True):
        good = np.isfinite(factor).all(axis=1)
        if not good.all():
            raise ArgumentError(
                f"{name} has a non-finite value, first in row {int(np.argmin(good))}. "
                "Fit the model anew, or drop that row."
            )
    return Source(*pair)


def _matrix(values: Any, name: str, axes: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        got = type(values).__name__ if array.ndim == 0 else f"an array of {array.dtype}"
        raise ArgumentError(f"{name} must be a dense matrix of numbers, got {got}.")
    if array.ndim != 2:
        raise ArgumentError(f"{name} must have two dimensions ({axes}), got shape {array.shape}.")
    return array


def _float_type(left: NDArray[Any], right: NDArray[Any] | None) -> np.dtype[Any]:
    """Return float32 where it holds the values exactly, else float64."""
    both = left.dtype if right is None else np.promote_types(left.dtype, right.dtype)
    single = np.promote_types(both, np.float32) == np.float32
    return np.dtype(np.float32 if single else np.float64)
