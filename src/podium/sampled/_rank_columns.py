"""Columns of sampled ranks: checked, and told what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError

_HIGHEST = 2**53 - 1  # the largest that float64 tells from its neighbours


def integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return whole numbers as int64."""
    array = _check.array(values, name)
    if array.dtype.kind in "iu":
        numbers = _check.one_dimensional(array, name)
        whole = numbers <= _HIGHEST
    else:
        numbers = _check.column(values, name)
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _HIGHEST)  # False for nan
    if not whole.all():
        row = int(np.argmin(whole))
        limit = " below 2 ** 53" if np.abs(numbers[row]) > _HIGHEST else ""
        raise ArgumentError(
            f"{name} must be whole numbers{limit}, got {numbers[row]:g} at row {row}."
        )
    return numbers.astype(np.int64)


def sizes(values: ArrayLike, name: str, n_rows: int) -> int | NDArray[np.int64]:
    """Return one size >= 1, or one of each row."""
    if np.ndim(values) == 0:
        return _check.cutoff(values, name=name)
    found = integers(values, name)
    if found.size != n_rows:
        raise ArgumentError(
            f"{name} must be one number or one for each of the {n_rows} ranks, got {found.size}."
        )
    if found.min() < 1:
        row = int(np.argmin(found))
        raise ArgumentError(f"{name} must be >= 1, got {found[row]} at row {row}.")
    return found


def users(user: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """Return a label of each row, or None."""
    if user is None:
        return None
    labels = _check.one_dimensional(_check.array(user, "user").copy(), "user")
    if labels.dtype.kind == "O":
        if not all(isinstance(label, str) for label in labels):
            raise ArgumentError("user must hold integers or strings, got other objects.")
        labels = labels.astype(str)
    if labels.size != n_rows:
        raise ArgumentError(
            f"user must have one label for each of the {n_rows} ranks, got {labels.size}."
        )
    return labels


def own_items(
    history: ArrayLike | None, n_items: int | NDArray[np.int64], n_rows: int
) -> NDArray[np.int64] | None:
    """Return each row's number of the user's own items, all of them other than the target."""
    if history is None:
        return None
    found = integers(history, "history")
    if found.size != n_rows:
        raise ArgumentError(
            f"history must have one number for each of the {n_rows} ranks, got {found.size}."
        )
    most = np.broadcast_to(n_items, n_rows) - 1
    bad = (found < 0) | (found > most)
    if bad.any():
        row = int(np.argmax(bad))
        raise ArgumentError(
            f"history must lie from 0 to n_items - 1 = {most[row]}, got {found[row]} at row {row}: "
            "it counts the user's own items in the catalogue, without the target."
        )
    return found


def span(values: int | NDArray[np.int64]) -> str:
    """Return one size, or the least and the largest, as text."""
    low, high = int(np.min(values)), int(np.max(values))
    return str(low) if low == high else f"{low} .. {high}"
