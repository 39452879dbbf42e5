"""Tables with the rows of some users, for work that needs its tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.columns import RUN, TRUTH, Role
from podium.data.convert import Ids
from podium.data.ids import distinct_ids, joined_ids
from podium.data.parts import stored_table
from podium.data.role_columns import RoleColumns
from podium.data.runs import Run, Truth, read_run, read_truth, rows_of
from podium.data.source import NOWHERE, Places, Source
from podium.data.users import user_positions
from podium.types import Labels, Mask

# A number without the text before it and without zeros that do not change it: 7 of "u007".
_NUMBER = r"^\D*?0*(\d+)(?:\.0*)?$"


def of_some_users(table: Any, roles: Sequence[Role], one_in: int) -> tuple[Any, Ids]:
    """Return the rows of one in `one_in` users, and the distinct items of the whole table.

    Users are chosen by a hash of their id, so that all tables have the rows of the same users. Two
    spellings of a number, such as 7 and "u007", have the same hash. Parquet and Arrow tables
    are read block by block.
    """
    all_items: Ids = np.empty(0, np.int64)

    def is_chosen(users: Ids, items: Callable[[], Ids]) -> Mask:
        nonlocal all_items
        all_items = distinct_ids(joined_ids([all_items, distinct_ids(items())]))
        return _keys(users) % np.uint64(one_in) == 0

    return _chosen(table, roles, is_chosen), all_items


def truth_of_users(table: Source | Truth, labels: Labels) -> Truth:
    """Read the rows of some users of a truth."""
    table = table if stored_table(table) is not None else read_truth(table)
    return read_truth(_chosen(table, TRUTH, lambda users, _: user_positions(users, labels) >= 0))


def run_of_users(table: Source | Run, labels: Labels) -> Run:
    """Read the rows of some users of a run."""
    table = table if stored_table(table) is not None else read_run(table)
    return read_run(_chosen(table, RUN, lambda users, _: user_positions(users, labels) >= 0))


def n_rows_on_disk(tables: Iterable[Any]) -> int:
    """Return the number of rows of the parquet and Arrow tables among open tables."""
    stored = [stored_table(table) for table in tables]
    return sum(table.n_rows for table in stored if table is not None)


def _chosen(
    table: Any, roles: Sequence[Role], is_chosen: Callable[[Ids, Callable[[], Ids]], Mask]
) -> Any:
    """Return the rows that are chosen by their users, and by their items if these are read."""
    if isinstance(table, Truth | Run):
        return rows_of(table, np.flatnonzero(is_chosen(table.users, lambda: table.item)))
    stored, by_role = stored_table(table), table.resolve(roles)
    frames: list[pl.DataFrame] = []
    rows = [np.empty(0, np.int64)]
    n_rows = 0
    for piece in [table] if stored is None else stored.sources(list(by_role.values())):
        columns = RoleColumns.named(piece, roles, by_role)
        chosen = np.flatnonzero(is_chosen(columns.ids("user"), partial(columns.ids, "item")))
        frame = pl.DataFrame({by_role[role]: column for role, column in columns.read.items()})
        frames.append(frame[chosen])
        rows.append(chosen + n_rows)
        n_rows += frame.height
    line, row_of = table.places.line, np.concatenate(rows)
    places = NOWHERE if line is None else Places(lambda row: line(int(row_of[row])))
    facts: dict[str, Any] = {"text_ids": table.text_ids, "kind": table.kind, "named": table.named}
    no_rows = pl.DataFrame(schema=dict.fromkeys(by_role.values(), pl.Int64))
    frame = pl.concat(frames, rechunk=True) if frames else no_rows
    return Source.of(table.name, frame, places=places, can_be_empty=True, **facts)


def _keys(users: Ids) -> NDArray[np.uint64]:
    """Return a number for each user, which is the same for two spellings of a number."""
    if isinstance(users, np.ndarray):
        return pl.Series(users).hash().to_numpy()
    texts = users.str.strip_chars().str.to_lowercase()
    numbers = texts.str.extract(_NUMBER).cast(pl.Int64, strict=False)
    return numbers.hash().set(numbers.is_null(), None).fill_null(texts.hash()).to_numpy()
