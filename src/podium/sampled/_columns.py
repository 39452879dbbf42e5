"""Checked columns that observations of all kinds have: labels, weights, and sizes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError, arg
from podium.sampled.design import Floats, Ints

_LARGEST_INTEGER = 2**53 - 1  # the largest integer that float64 distinguishes from its neighbours


def labels(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return a copy of labels, integers or strings: (n,).

    Raises
    ------
    ArgumentError
        If there is another object, such as None, or nan.
    """
    column = _check.one_dimensional(_check.array(values, name).copy(), name)
    if column.dtype.kind == "O":
        if not all(isinstance(label, str) for label in column):
            raise ArgumentError(f"{name} must hold integers or strings, got other objects.")
        return column.astype(str)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise ArgumentError(
            f"{name} must hold integers or strings, got nan at row "
            f"{int(np.argmax(np.isnan(column)))}."
        )
    return column


def items(values: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return the item of each row, integers or strings; None without items."""
    if values is None:
        return None
    column = labels(values, "item")
    if column.size != n_rows:
        raise ArgumentError(
            f"{arg.item} must have one label for each of the {n_rows} rows, got {column.size}."
        )
    return column


def weights(values: ArrayLike | None, n_rows: int) -> Floats | None:
    """Return weights of rows, at least 0 and not all 0; None without weights."""
    if values is None:
        return None
    column = _check.weights(values, n_rows, name="row_weights")
    if not column.any():
        raise ArgumentError("row_weights must hold a weight above 0, got 0 for all rows.")
    return column


def about_mean(values: Floats, shares: Floats) -> Floats:
    """Return values with the same mean, whose variance gives the error of the weighted mean.

    A weighted mean divides by the sum of the weights, so that only the difference of a user from
    the mean counts, times the user's weight.

    Parameters
    ----------
    values : float64, (n_users,)
        The value of each user, times the weight. The mean is the weighted mean.
    shares : float64, (n_users,)
        The weights, with the mean 1.
    """
    return values + values.mean() * (1.0 - shares)


def sizes(values: ArrayLike, name: str, n_rows: int) -> NDArray[Any]:
    """Return one number for each row: (n_rows,); a single number holds for all rows."""
    column = _check.array(values, name)
    if column.shape not in ((), (n_rows,)):
        raise ArgumentError(
            f"{name} must be one number or one for each of the {n_rows} rows, got shape "
            f"{column.shape}."
        )
    return np.broadcast_to(column, n_rows)


def integers(values: ArrayLike, name: str) -> Ints:
    """Return integers as int64, or raise for other numbers."""
    array = _check.array(values, name)
    if array.dtype.kind in "iu":
        numbers = _check.one_dimensional(array, name)
        is_whole = numbers <= _LARGEST_INTEGER
    else:
        numbers = _check.column(values, name)
        is_whole = _check.whole(numbers, _LARGEST_INTEGER)
    if not is_whole.all():
        row = int(np.argmin(is_whole))
        limit = " below 2 ** 53" if np.abs(numbers[row]) > _LARGEST_INTEGER else ""
        raise ArgumentError(
            f"{name} must be whole numbers{limit}, got {numbers[row]:g} at row {row}."
        )
    return numbers.astype(np.int64)


def span(size: int | Ints) -> str:
    """Return one size, or the smallest and the largest, as text."""
    low, high = int(np.min(size)), int(np.max(size))
    return str(low) if low == high else f"{low} .. {high}"


class RowsOfUsers:
    """Rows of users, who have the same weight unless rows have weights."""

    user: Any
    row_weights: Floats | None

    @property
    def n_rows(self) -> int:
        """The number of targets."""
        raise NotImplementedError

    @property
    def n_users(self) -> int:
        """The number of users; without users, that of targets."""
        return self.n_rows if self.user is None else int(self._owner_and_sizes[1].size)

    @cached_property
    def owner(self) -> Ints:
        """The number of each row's user, from 0 to n_users - 1: int64, (n,)."""
        return np.arange(self.n_rows) if self.user is None else self._owner_and_sizes[0]

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row: float64, (n,). They sum to 1.

        By default, a weight is 1 / (n_users * number of the user's rows).
        """
        if self.row_weights is not None:
            return self.row_weights / self.row_weights.sum()
        if self.user is None:
            return np.full(self.n_rows, 1.0 / self.n_rows)
        owner, sizes = self._owner_and_sizes
        return 1.0 / (sizes.size * sizes[owner])

    @cached_property
    def _owner_and_sizes(self) -> tuple[Ints, Ints]:
        """Return the number of each row's user, and each user's number of rows."""
        labels: NDArray[Any] = np.asarray(self.user)
        unique = np.unique(labels, return_inverse=True, return_counts=True)
        return unique[1].astype(np.int64), unique[2].astype(np.int64)
