"""Tables with the rows of some users, for work that needs its tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.columns import Role, resolve
from podium.data.convert import Ids
from podium.data.ids import distinct_ids, joined_ids
from podium.data.parts import stored_table
from podium.data.role_columns import RoleColumns
from podium.data.runs import Run, Truth, rows_of
from podium.data.source import Source
from podium.data.tables import open_table
from podium.types import Mask

# A number without the text before it and without zeros that do not change it: 7 of "u007".
_NUMBER = r"^\D*?0*(\d+)(?:\.0*)?$"


def of_some_users(
    source: Any, noun: str, roles: Sequence[Role], names: Mapping[str, str | None], one_in: int
) -> tuple[Any, Ids]:
    """Return the rows of one in `one_in` users, and the distinct items of the whole table.

    Users are chosen by a hash of their id, so that all tables have the rows of the same users. Two
    spellings of a number, such as 7 and "u007", have the same hash.

    Parameters
    ----------
    source : path, frame, mapping of columns, …; or Truth, Run
        The table. Parquet and Arrow tables are read block by block.
    noun : str
        The kind of the table, for messages.
    roles, names
        The roles of the columns to keep, and the given names of columns by role.
    one_in : int

    Returns
    -------
    Source, or an object of the type of the argument
    ids
    """
    if isinstance(source, Truth | Run):
        rows = np.flatnonzero(_is_chosen(source.user, one_in))
        return rows_of(source, rows), distinct_ids(source.item)
    stored = stored_table(source, noun)
    table = open_table(source, noun, roles) if stored is None else stored.source
    by_role = resolve(table.names, roles, names, table.name)
    pieces = [table] if stored is None else stored.sources(list(by_role.values()))
    frame, rows, items = _chosen(pieces, roles, by_role, one_in)

    def line(row: int) -> int:
        return row if table.line is None else table.line(int(rows[row]))

    facts: dict[str, Any] = {"text_ids": table.text_ids, "can_be_empty": table.can_be_empty}
    of_rows = None if table.line is None else line
    return Source.of(table.name, frame, line=of_rows, first_row=None, **facts), items


def n_rows_on_disk(tables: Iterable[Any]) -> int:
    """Return the number of rows of the parquet and Arrow tables among tables."""
    stored = [stored_table(table, "table") for table in tables]
    return sum(table.n_rows for table in stored if table is not None)


def _chosen(
    pieces: Iterable[Source], roles: Sequence[Role], by_role: Mapping[str, str], one_in: int
) -> tuple[pl.DataFrame, NDArray[np.int64], Ids]:
    """Return the chosen rows, their numbers in the table, and the distinct items of all rows."""
    frames: list[pl.DataFrame] = []
    rows: list[NDArray[np.int64]] = []
    items: Ids = np.empty(0, np.int64)
    n_rows = 0
    for piece in pieces:
        columns = RoleColumns.named(piece, roles, by_role)
        items = distinct_ids(joined_ids([items, distinct_ids(columns.ids("item"))]))
        chosen = np.flatnonzero(_is_chosen(columns.ids("user"), one_in))
        frame = pl.DataFrame({by_role[role]: column for role, column in columns.read.items()})
        frames.append(frame[chosen])
        rows.append(chosen + n_rows)
        n_rows += frame.height
    return pl.concat(frames, rechunk=True), np.concatenate(rows), items


def _is_chosen(users: Ids, one_in: int) -> Mask:
    if isinstance(users, np.ndarray):
        keys = pl.Series(users).hash()
    else:
        texts = users.str.strip_chars().str.to_lowercase()
        numbers = texts.str.extract(_NUMBER).cast(pl.Int64, strict=False)
        keys = numbers.hash().set(numbers.is_null(), None).fill_null(texts.hash())
    return keys.to_numpy() % np.uint64(one_in) == 0
