"""Lists of users or items: a column of a table, or a text file with one id a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import ITEM, USER, resolve
from podium.data.convert import Ids, to_ids
from podium.data.files import check_file, read_bytes
from podium.data.source import Source
from podium.data.tables import open_table
from podium.data.write import to_frame
from podium.errors import DataError


def read_ids(path: Path, what: Literal["user", "item"], column: str | None = None) -> Ids:
    """Read ids of users or items.

    Parameters
    ----------
    path : Path
        A table with a column of them, or a .txt file with one a line.
    what : {"user", "item"}
    column : str, optional
        Of a table, where it does not have a usual name.

    Raises
    ------
    DataError
        For a file that is missing, empty, no table or no text, or without the column.
    """
    role = USER if what == "user" else ITEM
    if check_file(path, f"list of {what}s") is None and path.name.lower().endswith(".txt"):
        return _read_lines(path, role.usual if column is None else (column,))
    table = open_table(path, f"list of {what}s", (role,))
    name = resolve(table.names, (role,), {what: column}, table.name)[what]
    ids = to_ids(table.fetch({name: "id"})[name], name, table)
    if not len(ids):
        raise DataError(f"{path} has no rows.")
    return ids


def match(ids: Ids, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find ids among labels: those that are there, in the labels' type, and those that are not.

    Each is returned once, where it was first. Numbers match their text.
    """
    given = np.asarray(ids)
    given = given.astype(np.str_) if given.dtype.kind == "O" else given
    if (given.dtype.kind == "U") != (labels.dtype.kind == "U"):
        known = np.isin(given.astype(np.str_), labels.astype(np.str_))
    else:
        known = np.isin(given, labels)
    return _once(given[known]).astype(labels.dtype), _once(given[~known])


def _read_lines(path: Path, header: Sequence[str]) -> Ids:
    """Read one id a line; blank lines are none, nor is a first line that names the column."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no text in UTF-8 ({error.reason}).") from None
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and lines[0][1].lower() in header:
        del lines[0]
    if not lines:
        raise DataError(f"{path} has no rows.")
    table = Source(str(path), (), lambda kinds: {}, lambda row: lines[row][0])
    return to_ids(to_frame({"id": [line for _, line in lines]})["id"], "id", table)


def _once(values: NDArray[Any]) -> NDArray[Any]:
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]
