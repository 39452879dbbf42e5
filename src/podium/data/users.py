"""Users of an evaluation: columns of a table of users, rows of users, and lists of their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.appending import to_frame
from podium.data.columns import ITEM, USER, Role
from podium.data.convert import Ids, to_ids, without_zero
from podium.data.files import File
from podium.data.ids import label_array, share
from podium.data.join import Side, check_common, refuse_repeated
from podium.data.source import POLARS, Places, Source
from podium.data.tables import RoleColumns, open_table
from podium.errors import DataError
from podium.types import Labels


def user_column(source: Any, column: str, labels: Labels) -> Labels:
    """Return the value of a column for each user in `labels`.

    Parameters
    ----------
    source : path, frame or mapping of columns; or Source
        A table with one row per user, see `podium.data`.
    column : str
        The name of the column.
    labels : (n_groups,)
        Users, integers or strings.

    Returns
    -------
    (n_groups,) str
        Values as text; "unknown" for a user without a row or without a value, or "no value" if
        "unknown" is a value of other users.

    Raises
    ------
    DataError
        If a column is missing, a user has two rows, or no user is in the table.

    Examples
    --------
    >>> user_column({"user": [2, 1], "country": ["FR", "UK"]}, "country", np.array([1, 2, 3]))
    array(['UK', 'FR', 'unknown'], dtype='<U7')
    """
    values = user_values(source, column, labels)
    return np.where(values == "", name_of_missing(values.tolist()), values)


def name_of_missing(names: Iterable[str]) -> str:
    """Return the name of the users without a value, which is not the name of a value.

    Examples
    --------
    >>> name_of_missing(["UK", ""]), name_of_missing(["UK", "unknown"])
    ('unknown', 'no value')
    """
    known_names = set(names)
    name = "unknown" if "unknown" not in known_names else "no value"
    while name in known_names:
        name = f"({name})"
    return name


def user_values(source: Any, column: str, labels: Labels) -> Labels:
    """Return `user_column`, but "" for a user without a row or without a value.

    Examples
    --------
    >>> user_values({"user": [2], "country": ["unknown"]}, "country", np.array([1, 2]))
    array(['', 'unknown'], dtype='<U7')
    """
    value_role = Role(column, (column,))
    roles = (USER, value_role)
    table = open_table(source, "users table", roles, {column: column})
    column_of_role = table.resolve(roles)
    columns = table.fetch(dict.fromkeys(column_of_role.values(), "id"))
    ids = to_ids(columns[column_of_role["user"]], column_of_role["user"], table)
    known = label_ids(labels)
    shared = share(ids, known)
    if len(ids):
        of_truth = Side("the truth", "the truth", known)
        check_common(shared, "user", Side("the table", table.name, ids), of_truth)
    refuse_repeated(shared, "user", table.name)
    values = np.append(_text(columns[column_of_role[column]]), "")
    return values[shared.left_rows()]


def user_positions(users: Ids | Labels, labels: Labels) -> NDArray[np.int64]:
    """Return the position of each user among distinct labels, -1 for all other users.

    Examples
    --------
    >>> user_positions(np.array([3, 7, 3]), np.array([2, 3]))
    array([ 1, -1,  1])
    """
    known, ids = label_ids(labels), label_ids(users)
    return share(known, ids).left_rows()


def label_ids(labels: Ids | Labels) -> Ids:
    """Return labels in the form that columns of ids have."""
    if isinstance(labels, pl.Series) or labels.dtype.kind in "iu":
        return labels
    return without_zero(pl.Series(labels.tolist(), dtype=pl.String))


def _text(values: Any) -> Labels:
    POLARS.enter()
    column = pl.Series(values)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return column.cast(pl.String).fill_null("").to_numpy().astype(np.str_)


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


def known_and_unknown(ids: Ids, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
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
