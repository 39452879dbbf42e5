"""Checked columns that observations of all kinds have: labels, weights, and sizes."""

from __future__ import annotations

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
