"""Lists of users or items: a column of a table, or a text file with one id per line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from podium.data.appending import to_frame
from podium.data.columns import ITEM, USER
from podium.data.convert import Ids, to_ids
from podium.data.files import File
from podium.data.ids import label_array
from podium.data.role_columns import RoleColumns
from podium.data.source import Places, Source
from podium.data.tables import open_table
from podium.data.users import user_positions
from podium.errors import DataError


def read_ids(path: Path, kind: Literal["user", "item"], column: str | None = None) -> Ids:
    """Read ids of users or items.

    Parameters
    ----------
    path : Path
        A table with a column of ids, or a .txt file with one id per line.
    kind : {"user", "item"}
        The kind of the ids.
    column : str, optional
        The name of the column, if it is not a usual one.

    Raises
    ------
    DataError
        If the file is missing, empty, not a table or text, or lacks the column.
    """
    role = USER if kind == "user" else ITEM
    if path.name.lower().endswith(".txt"):
        file = File.of(path, f"list of {kind}s")
        return _read_lines(file, role.usual if column is None else (column,))
    table = open_table(path, f"list of {kind}s", (role,), {kind: column})
    return RoleColumns.of(table, (role,)).ids(kind)


def match(ids: Ids, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ids that are among labels, in the labels' type, and those that are not.

    Each id is returned once, in the order of first occurrence. Numbers match their text.
    """
    position = user_positions(ids, labels)
    return labels[_once(position[position >= 0])], _once(label_array(ids)[position < 0])


def _read_lines(file: File, header: Sequence[str]) -> Ids:
    """Read one id per line, without blank lines and without a first line that is a column name."""
    all_lines = enumerate(file.text().splitlines(), start=1)
    lines = [(n, line.strip()) for n, line in all_lines if line.strip()]
    if lines and lines[0][1].lower() in header:
        del lines[0]
    if not lines:
        raise DataError(f"{file} has no rows. Pass a table with rows.")
    table = Source(str(file), places=Places(lambda row: lines[row][0]))
    return to_ids(to_frame({"id": [line for _, line in lines]})["id"], "id", table)


def _once(values: NDArray[Any]) -> NDArray[Any]:
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]
