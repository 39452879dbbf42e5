"""Tables of users: a column to divide them by, in the order of an evaluation's groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from podium import _check
from podium.data.columns import USER, Role, resolve
from podium.data.convert import to_ids
from podium.data.ids import share
from podium.data.overlap import Side, check_met
from podium.data.source import POLARS
from podium.data.tables import open_table
from podium.errors import DataError
from podium.groups import find
from podium.types import Labels


def user_column(source: Any, column: str, labels: Labels, *, user: str | None = None) -> Labels:
    """Return the value of a column for each of the users that `labels` names.

    Parameters
    ----------
    source : path, frame or mapping of columns
        A table with a row per user: see `podium.data`.
    column : str
        The column wanted.
    labels : (n_groups,)
        Users, integers or strings.
    user : str, optional
        Name of the user column, if it is not a usual one.

    Returns
    -------
    (n_groups,) str
        Values as text; "unknown" for a user without a row or without a value.

    Raises
    ------
    DataError
        If a column is missing, a user has two rows, or no user is in the table.

    Examples
    --------
    >>> user_column({"user": [2, 1], "country": ["FR", "UK"]}, "country", np.array([1, 2, 3]))
    array(['UK', 'FR', 'unknown'], dtype='<U7')
    """
    wanted = Role(column, (column,))
    table = open_table(source, "users table", (USER, wanted))
    explicit = {"user": user, column: column}
    found = resolve(table.names, (USER, wanted), explicit, table.name)
    columns = table.fetch({found["user"]: "id", found[column]: "id"})
    ids = to_ids(columns[found["user"]], found["user"], table)
    wanted_ids = labels if labels.dtype.kind in "iu" else pl.Series(labels.tolist())
    shared = share(ids, wanted_ids)
    if len(ids):
        sides = Side("the table", table.name, ids), Side("the truth", "the truth", wanted_ids)
        check_met(shared, "user", *sides)
    order = np.argsort(shared.left, kind="stable")
    known = shared.left[order]
    twice = np.flatnonzero(known[1:] == known[:-1])
    if twice.size:
        first = _check.label(shared.label(known[twice[0]]))
        raise DataError(f"{table.name} has two rows for user {first}. Keep one.")
    values = _text(columns[found[column]])[order]
    if not known.size:
        return np.full(labels.size, "unknown")
    place = find(known, shared.right)
    return np.where(place < 0, "unknown", values[place])


def _text(values: Any) -> Labels:
    POLARS.enter()
    return pl.Series(values).cast(pl.String).fill_null("unknown").to_numpy().astype(np.str_)
