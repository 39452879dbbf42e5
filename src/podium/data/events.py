"""Events of users and items with values as weights; errors name the line of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns import ITEM, USER, VALUE, resolve
from podium.data.convert import Ids, finite, of_user, to_ids, to_numbers
from podium.data.ids import codes_of, share
from podium.data.source import Kind, Source
from podium.data.tables import open_table
from podium.errors import DataError

_LARGEST_GRADE = 60  # the limit with gain="exp2"


@dataclass(frozen=True, eq=False)
class Events:
    """A table with one row per event, and optionally its value.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    value : float64, (n_rows,), or None
        The weight of the pair.
    name : str
        The name of the table in messages.
    value_name : str
        The name of the column of values.
    """

    user: Ids
    item: Ids
    value: NDArray[np.float64] | None = None
    name: str = "The table"
    value_name: str = ""

    @property
    def n_rows(self) -> int:
        return len(self.user)

    def columns(self) -> dict[str, Any]:
        """Return a table that `podium.data.read_interactions` accepts."""
        pair = {"user": self.user, "item": self.item}
        return pair if self.value is None else {**pair, "value": self.value}

    def distinct(self) -> Events:
        """Return each pair once, without values, so that all pairs have the weight 1."""
        users, items = (codes_of(ids)[0] for ids in (self.user, self.item))
        first = np.unique(users * (int(items.max()) + 1) + items, return_index=True)[1]
        is_first = np.zeros(self.n_rows, np.bool_)
        is_first[first] = True
        return replace(self._keep(is_first), value=None, value_name="")

    def positives(self, min_relevance: float | None) -> tuple[Events, Events | None]:
        """Return the rows with a value >= min_relevance, and the other rows or None.

        Raises
        ------
        DataError
            If the table has no values, or no value is high enough.
        """
        if min_relevance is None:
            return self, None
        if self.value is None:
            raise DataError(
                f"{self.name} has no column of values, which min_relevance requires. Name one with "
                "value=, or leave min_relevance out to make every row positive."
            )
        high = self.value >= min_relevance
        if not high.any():
            raise DataError(
                f"{self.name}: {self.value_name} is below min_relevance {min_relevance:g} in every "
                f"row: the highest is {self.value.max():g}."
            )
        return self._keep(high), None if high.all() else self._keep(~high)

    def known_to(self, training: Events) -> tuple[Events, int]:
        """Return the pairs whose user and item are in `training`, and the number of others.

        Raises
        ------
        DataError
            If there are no such pairs.
        """
        users, items = _among(self.user, training.user), _among(self.item, training.item)
        is_known = users & items
        if not is_known.any():
            raise DataError(
                f"{self.name} has no row whose user and item are both in user_items. Of its "
                f"{is_known.size} rows, {int(users.sum())} have a known user and "
                f"{int(items.sum())} a known item. Create both tables by splitting one table."
            )
        return self._like(is_known, training), int(is_known.size - is_known.sum())

    def seen_in(self, training: Events) -> Events | None:
        """Return the pairs, without values, whose user and item are in `training`, or None."""
        is_known = _among(self.user, training.user) & _among(self.item, training.item)
        return replace(self._like(is_known, training), value=None) if is_known.any() else None

    def _keep(self, rows: NDArray[np.bool_]) -> Events:
        value = None if self.value is None else self.value[rows]
        return replace(
            self,
            user=_selected_ids(self.user, rows),
            item=_selected_ids(self.item, rows),
            value=value,
        )

    def _like(self, rows: NDArray[np.bool_], others: Events) -> Events:
        """Return some rows, with ids of the same type as those of others."""
        selected = self if rows.all() else self._keep(rows)
        return replace(
            selected,
            user=_typed(selected.user, others.user),
            item=_typed(selected.item, others.item),
        )


def read_events(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    gain: str = "value",
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Events:
    """Read users, items and the values that are their weights; times are not read.

    Parameters
    ----------
    source : path, frame or mapping of columns
        The table, see `podium.data`.
    user, item, value : str, optional
        The names of columns without a usual name.
    gain : {"value", "exp2", "one"}
        The gain that will be applied to the values. "exp2" accepts grades up to 60.
    format, columns
        The format of a file, and the names of columns of a text file without a header; see
        `podium.data.read_interactions`.

    Raises
    ------
    DataError
        If the file is missing, empty, not a table or lacks these columns, or values are negative or
        not finite (with the line of the first), or no value is > 0.

    Examples
    --------
    >>> events = read_events({"user": [1, 1], "item": [5, 6], "rating": [2, 4]})
    >>> events.value_name, events.positives(4)[0].item.tolist()
    ('rating', [6])
    """
    roles = (USER, ITEM, VALUE)
    table = open_table(source, "interactions", roles, format, columns)
    column_of_role = resolve(
        table.names, roles, {"user": user, "item": item, "value": value}, table.name
    )
    kinds: dict[str, Kind] = {"user": "id", "item": "id", "value": "number"}
    read = table.fetch(
        {column_of_role[role]: kind for role, kind in kinds.items() if role in column_of_role}
    )
    users = to_ids(read[column_of_role["user"]], column_of_role["user"], table)
    items = to_ids(
        read[column_of_role["item"]], column_of_role["item"], table, guess=not table.text_ids
    )
    if not len(users):
        raise DataError(f"{table.name} has no rows.")
    if "value" not in column_of_role:
        return Events(users, items, name=table.name)
    name = column_of_role["value"]
    values = finite(to_numbers(read[name], name, table, users), name, users, table)
    _check_values(values, name, users, table, gain)
    return Events(users, items, values, table.name, name)


def _check_values(
    values: NDArray[np.float64], name: str, users: Ids, table: Source, gain: str
) -> None:
    if values.min() < 0:
        row = int(np.argmax(values < 0))
        raise DataError(
            f"{table.name}: {name} is the weight of a pair and must be >= 0, got {values[row]:g} "
            f"at {table.place_of(row)}{of_user(users, row)}. Drop those rows, or name another "
            "column with value=."
        )
    if not values.max() > 0:
        raise DataError(
            f"{table.name}: {name} is 0 in every row, so there are no pairs. Name another column "
            "with value=."
        )
    if gain == "exp2" and values.max() > _LARGEST_GRADE:
        row = int(np.argmax(values))
        raise DataError(
            f"{table.name}: gain='exp2' takes grades up to {_LARGEST_GRADE}, got {name} "
            f"{values[row]:g} at {table.place_of(row)}. Pass gain='value' or 'one' for counts."
        )


def _among(ids: Ids, others: Ids) -> NDArray[np.bool_]:
    """Return which ids are among others; if one side is text, both are compared as text."""
    shared = share(ids, others, ordered=False)
    return np.isin(shared.left, shared.right)


def _typed(ids: Ids, others: Ids) -> Ids:
    """Return ids, all of which are among others, in the type of others."""
    if isinstance(others, np.ndarray) and not isinstance(ids, np.ndarray):
        return ids.to_numpy().astype(np.int64)
    return ids


def _selected_ids(ids: Ids, rows: NDArray[np.bool_]) -> Ids:
    return ids[rows] if isinstance(ids, np.ndarray) else ids.filter(rows)
