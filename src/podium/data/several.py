"""Common codes for the ids of several tables, and the times of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import ITEM, TIMESTAMP, USER, VALUE, resolve
from podium.data.convert import Ids, as_integers, to_ids, to_times
from podium.data.ids import codes_of, joined_ids
from podium.data.runs import Interactions
from podium.data.tables import fetch, open_table

_ALL = (USER, ITEM, VALUE, TIMESTAMP)


@dataclass(frozen=True, eq=False)
class CommonCodes:
    """Codes from 0 for the ids of several columns: equal codes are equal ids.

    Attributes
    ----------
    columns : tuple of int64
        The codes of each column.
    labels : (n_ids,)
        The id of each code, increasing: integers if every id is a plain integer, else strings.
    """

    columns: tuple[NDArray[np.int64], ...]
    labels: NDArray[Any]


def share_all(columns: Sequence[Ids]) -> CommonCodes:
    """Give the ids of several columns common codes.

    The integer 7 and the string "7" are the same id. "7.0" and "i7" are others.

    Parameters
    ----------
    columns : sequence of int64 array or String Series

    Returns
    -------
    CommonCodes
        Codes in the order of the ids: in numeric order if every id is a plain integer.

    Examples
    --------
    >>> import polars as pl
    >>> shared = share_all([np.array([10, 2]), pl.Series(["2", "10"])])
    >>> [codes.tolist() for codes in shared.columns], shared.labels.tolist()
    ([[1, 0], [0, 1]], [2, 10])
    """
    ends = np.cumsum([len(column) for column in columns])[:-1]
    joined = joined_ids(columns)
    codes, labels = codes_of(joined if isinstance(joined, np.ndarray) else as_integers(joined))
    return CommonCodes(tuple(np.split(codes, ends)), labels)


def read_pairs(
    source: Any,
    noun: str,
    *,
    user: str | None = None,
    item: str | None = None,
    timestamp: str | None = None,
) -> Interactions:
    """Read users, items and, if there are any, times; values are not read.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, or sparse matrix
        The table, see `podium.data`.
    noun : str
        The kind of the table in messages, such as "training part".
    user, item, timestamp : str, optional
        The names of columns without a usual name.

    Examples
    --------
    >>> read_pairs({"user": [1], "item": [5], "time": [20]}, "training part").timestamp.tolist()
    [20]
    """
    table = open_table(source, noun, _ALL)
    explicit = {"user": user, "item": item, "timestamp": timestamp}
    names = resolve(table.names, (USER, ITEM, TIMESTAMP), explicit, table.name)
    columns = fetch(table, names, {"user": "id", "item": "id", "timestamp": "any"})
    times = columns.get("timestamp")
    return Interactions(
        to_ids(columns["user"], names["user"], table),
        to_ids(columns["item"], names["item"], table, guess=not table.text_ids),
        None,
        None if times is None else to_times(times, names["timestamp"], table),
    )


def read_times(source: Any, noun: str, *, timestamp: str | None = None) -> NDArray[Any] | None:
    """Read the times of a table, or None if it has no such column.

    Examples
    --------
    >>> read_times({"user": [1], "time": [20]}, "test part").tolist()
    [20]
    """
    table = open_table(source, noun, _ALL)
    names = resolve(table.names, (TIMESTAMP,), {"timestamp": timestamp}, table.name)
    if not names:
        return None
    columns = fetch(table, names, {"timestamp": "any"})
    return to_times(columns["timestamp"], names["timestamp"], table)
