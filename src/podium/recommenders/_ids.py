"""Ids of users and items in the arguments of a fitted model, and their positions in it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError, DataError, arg
from podium.groups import find
from podium.types import Labels

IdsLike: TypeAlias = "ArrayLike | Set[Any]"

_NARROW = 8  # bytes of an unsigned integer that int64 may not hold


def id_array(ids: IdsLike, name: str) -> NDArray[Any]:
    """Return ids as integers or text in one dimension, converted as `fit` converts a column.

    Parameters
    ----------
    ids : (n,), set or scalar
        The ids: integers, whole numbers as floats, or text of NumPy, pandas, Polars or pyarrow.
    name : str
        The name of the ids in messages.

    Raises
    ------
    ArgumentError
        If the ids have more than one dimension, are missing, or are of another kind.
    """
    listed = list(ids) if isinstance(ids, Set) else ids
    array = np.atleast_1d(_check.array(listed, name))
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be a list of ids, got an array of shape {array.shape}.")
    if not array.size:
        return np.empty(0, np.int64)
    is_narrow = array.dtype.kind == "u" and array.itemsize < _NARROW
    if array.dtype.kind == "i" or is_narrow:
        return array.astype(np.int64, copy=False)
    return array if array.dtype.kind == "U" else _converted(array, name)


def known_codes(ids: IdsLike, labels: Labels, name: str) -> NDArray[np.int64]:
    """Return the position of each id among ascending labels.

    Raises
    ------
    ArgumentError
        If an id is not among the labels; the message names the first one.
    """
    requested = id_array(ids, name)
    if requested.dtype.kind == "i" and labels.dtype.kind == "U":
        requested = requested.astype(str)
    if requested.dtype.kind == "U" and labels.dtype.kind != "U":
        example, first = _check.label(labels[0]), _check.label(requested[0])
        raise ArgumentError(f"{name} must hold ids such as {example}, got {first}.")
    positions = find(labels, requested)
    unknown = positions < 0
    if unknown.any():
        first, others = requested[int(np.argmax(unknown))], int(unknown.sum()) - 1
        remark = f" (and {others} more)" if others else ""
        raise ArgumentError(
            f"{name} {_check.label(first)} is unknown to the model{remark}. Leave it out, or fit "
            "the model to data that has it."
        )
    return positions


def rows_of(ids: IdsLike, labels: Labels | None, n: int, name: str) -> NDArray[np.int64]:
    """Return the row numbers of known ids; without labels, the ids are row numbers."""
    if labels is not None:
        return known_codes(ids, labels, name)
    rows = id_array(ids, name)
    if rows.dtype.kind != "i":
        raise ArgumentError(
            f"{name} must be a list of integers below {n}, got {_check.label(rows[0])}."
        )
    outside = (rows < 0) | (rows >= n)
    if outside.any():
        first = rows[int(np.argmax(outside))]
        raise ArgumentError(f"{name} must lie in [0, {n}), got {first}.")
    return rows


def allowed(
    allow: IdsLike | None, deny: IdsLike | None, labels: Labels | None, n: int
) -> NDArray[np.int64] | None:
    """Return the rows of the ids that may be recommended, in ascending order; None if all may."""
    if allow is None and deny is None:
        return None
    is_allowed = np.zeros(n, np.bool_)
    is_allowed[slice(None) if allow is None else rows_of(allow, labels, n, "allow")] = True
    if deny is not None:
        is_allowed[rows_of(deny, labels, n, "deny")] = False
    if not is_allowed.any():
        raise ArgumentError(
            f"{arg.allow} and {arg.deny} leave no item to recommend. Allow more, or deny fewer."
        )
    return np.flatnonzero(is_allowed)


def places(ids: NDArray[Any], labels: Labels | None, n: int) -> NDArray[np.int64]:
    """Return the position of each id among the labels, -1 if it is not there.

    Numbers match their text.
    """
    if labels is None:
        numbers = np.full(ids.size, -1) if ids.dtype.kind == "U" else ids
        return np.where((numbers >= 0) & (numbers < n), numbers, -1)
    if (ids.dtype.kind == "U") != (labels.dtype.kind == "U"):
        from podium.data.users import user_positions

        return user_positions(ids, labels)
    return find(labels, ids)


def _converted(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return ids of another type as integers or text, as the columns of a table are read."""
    from podium.data.convert import to_ids
    from podium.data.ids import label_array
    from podium.data.source import Source, as_column

    table = Source(name, ("id",), lambda kinds: {})
    try:
        return label_array(to_ids(as_column(array, "id", table), "id", table))
    except DataError as error:
        raise ArgumentError(error.message.text) from None
