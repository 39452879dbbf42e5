"""Interactions of users with items, and their readers; errors name the line of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.data.columns import (
    EVENTS,
    ITEM,
    RELEVANCE,
    TIMESTAMP,
    USER,
    VALUE,
    Role,
    is_rating,
)
from podium.data.convert import Ids, of_user
from podium.data.files import File
from podium.data.ids import in_type_of, joined_ids, pair_codes, share
from podium.data.source import Source
from podium.data.tables import RoleColumns, open_table
from podium.data.times import Times
from podium.errors import DataError, arg

_DAY = 86_400
_LARGEST_TIMES = (1e11, 1e14, 1e17)  # of Unix times in seconds, milli- and microseconds


@dataclass(frozen=True, eq=False)
class Interactions:
    """Events of users: one row per event, in the source's order.

    Attributes
    ----------
    user, item : (n_rows,)
        int64 arrays, or Polars String Series.
    value : float64, (n_rows,), or None
        A rating, a count or a similar value.
    timestamp : (n_rows,), or None
        The time of the event: int64, float64 or datetime64 (UTC, if the times have a zone).
    name : str
        The name of the table in messages.
    value_name : str
        The name of the column of values, or "".
    """

    user: Ids
    item: Ids
    value: NDArray[np.float64] | None = None
    timestamp: NDArray[Any] | None = None
    name: str = "The interactions"
    value_name: str = ""

    @property
    def n_rows(self) -> int:
        """The number of rows; a pair may have several."""
        return len(self.user)

    @property
    def repeated_share(self) -> float:
        """The share of the pairs that have several rows, whose values a fit adds up.

        Examples
        --------
        >>> read_interactions({"user": [1, 1, 2, 2], "item": [5, 5, 5, 6]}).repeated_share
        0.3333333333333333
        """
        n_rows = np.unique(pair_codes(self.user, self.item), return_counts=True)[1]
        return float((n_rows > 1).mean())

    def distinct(self) -> Interactions:
        """Return each pair once, without values, so that all pairs have the weight 1."""
        first = np.unique(pair_codes(self.user, self.item), return_index=True)[1]
        is_first = np.zeros(self.n_rows, np.bool_)
        is_first[first] = True
        return replace(self._keep(is_first), value=None, value_name="")

    def ages(self) -> NDArray[np.float64] | None:
        """Return the days from the last event of each pair to the last of all; None without times.

        The pairs are in the order of their users and items. Times that are numbers are Unix times.
        Their size shows whether they are seconds, milli-, micro- or nanoseconds.

        Examples
        --------
        >>> times = [86_400, 3 * 86_400, 4 * 86_400]
        >>> read_interactions({"user": [1, 1, 1], "item": [5, 5, 6], "time": times}).ages()
        array([1., 0.])
        """
        if self.timestamp is None:
            return None
        codes = np.unique(pair_codes(self.user, self.item), return_inverse=True)[1].reshape(-1)
        ages = np.full(int(codes.max()) + 1, np.inf)
        np.minimum.at(ages, codes, days_to_last(self.timestamp))
        return ages

    def by_time(self, share: float) -> tuple[Interactions, Interactions]:
        """Return the events without the last ones by time, a share of all, and these.

        Of the last ones, only those of earlier users and items are returned.

        Raises
        ------
        ArgumentError, DataError
            If no event remains, because all have the same time, or if there is no last one of an
            earlier user and item.
        """
        from podium.data.splits import by_time

        is_last = np.zeros(self.n_rows, np.bool_)
        is_last[by_time(cast("Any", self.timestamp), test=share).test] = True
        earlier = self._keep(~is_last)
        return earlier, self._keep(is_last).known_to(earlier)[0]

    def positives(self, min_relevance: float | None) -> tuple[Interactions, Interactions | None]:
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
                f"{self.name} has no column of values, which {arg.min_relevance} requires. Name "
                f"one with {arg.value()}, or leave {arg.min_relevance} out to make every row "
                "positive."
            )
        high = self.value >= min_relevance
        if not high.any():
            raise DataError(
                f"{self.name}: {self.value_name} is below {arg.min_relevance} {min_relevance:g} in "
                f"every row: the highest is {self.value.max():g}. Lower {arg.min_relevance}."
            )
        return self._keep(high), None if high.all() else self._keep(~high)

    def known_to(self, training: Interactions) -> tuple[Interactions, int]:
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
                f"{self.name} has no row whose user and item are both in {arg.user_items}. Of its "
                f"{is_known.size} rows, {int(users.sum())} have a known user and "
                f"{int(items.sum())} a known item. Create both tables by splitting one table."
            )
        return self._like(is_known, training), int(is_known.size - is_known.sum())

    def seen_in(self, training: Interactions) -> Interactions | None:
        """Return the pairs, without values, whose user and item are in `training`, or None."""
        is_known = _among(self.user, training.user) & _among(self.item, training.item)
        return replace(self._like(is_known, training), value=None) if is_known.any() else None

    def _keep(self, rows: NDArray[np.bool_]) -> Interactions:
        return replace(
            self,
            user=self.user[np.flatnonzero(rows)],
            item=self.item[np.flatnonzero(rows)],
            value=None if self.value is None else self.value[rows],
            timestamp=None if self.timestamp is None else self.timestamp[rows],
        )

    def _like(self, rows: NDArray[np.bool_], others: Interactions) -> Interactions:
        """Return some rows, with ids of the same type as those of others."""
        selected = self if rows.all() else self._keep(rows)
        user = in_type_of(selected.user, others.user)
        return replace(selected, user=user, item=in_type_of(selected.item, others.item))


def is_log(
    source: Any,
    named: Mapping[str, str | None],
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> bool:
    """Return whether a table holds events of users and items, and neither features nor labels.

    Its only columns with a role are then those of the user, the item, the time and a rating. If
    there is a rating, it has no other column, because others could be features. `named` are the
    columns that the caller names, by role.
    """
    if format is None and isinstance(source, str | Path):
        format = File.of(Path(source), "interactions").format()
    if format in ("svmlight", "lists"):
        return format == "lists"
    roles = tuple(replace(role, required=False) for role in (USER, ITEM, RELEVANCE, TIMESTAMP))
    table = open_table(source, "interactions", roles, named, format, columns)
    names = table.resolve(roles)
    if not {"user", "item"} <= names.keys():
        return False
    return "relevance" not in names or (
        is_rating(names["relevance"]) and len(names) == len(table.names)
    )


def read_interactions(
    source: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    timestamp: str | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Interactions:
    """Read interactions: user, item, and optionally value and timestamp.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays, or sparse matrix
        The table, see `podium.data`. A tuple is (user, item), optionally followed by value and
        timestamp.
    user, item, value, timestamp : str, optional
        The names of columns without a usual name. The usual names are "value", "rating",
        "relevance" and "label" for value, and "timestamp" and "time" for timestamp.
    format : {"parquet", "csv", "tsv", "arrow", "trec", "jsonl", "lists"}, optional
        The format of a file, if neither its name nor its content determines it. "lists" has one
        line per user: the user and the user's items.
    columns : sequence of str, optional
        The names of the columns of a text file without a header, in their order. The separator is
        found: two colons, tabs, commas, semicolons, bars or blanks.

    Returns
    -------
    Interactions
        The rows.

    Raises
    ------
    DataError
        If a file is missing, empty or malformed, or a column or a value is missing.

    Notes
    -----
    Times in text are read if they are numbers, or ISO dates or times such as "2020-01-31T12:00:00".
    All of them must have a zone, or none.

    Examples
    --------
    >>> events = read_interactions({"user": [1, 2], "item": [5, 5], "time": [10, 20]})
    >>> events.timestamp.tolist(), events.value is None
    ([10, 20], True)
    """
    given = {"user": user, "item": item, "value": value, "timestamp": timestamp}
    return _read(open_table(source, "interactions", EVENTS, given, format, columns), EVENTS)


def opened(source: Any) -> Any:
    """Return a sparse matrix or Interactions as they are, and anything else as Interactions."""
    is_read = _check.is_sparse(source) or isinstance(source, Interactions)
    return source if is_read else read_interactions(source)


def read_weighted(
    source: Any,
    *,
    timed: bool = False,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    **named: str | None,
) -> Interactions:
    """Read interactions whose values are weights of pairs.

    Parameters
    ----------
    source, format, columns, **named
        The table, and the names of its columns by role, see `read_interactions`.
    timed : bool
        Whether to read times, if the table has any.

    Raises
    ------
    DataError
        If `read_interactions` would raise it, values are negative (with the line of the first), or
        no value is > 0.

    Examples
    --------
    >>> events = read_weighted({"user": [1, 1], "item": [5, 6], "rating": [2, 4]})
    >>> events.value_name, events.positives(4)[0].item.tolist()
    ('rating', [6])
    """
    roles = EVENTS if timed else (USER, ITEM, VALUE)
    table = open_table(source, "interactions", roles, named, format, columns)
    events = _read(table, roles)
    if events.value is not None:
        _check_weights(events.value, events.value_name, events.user, table)
    return events


def joined(tables: Sequence[Interactions]) -> Interactions:
    """Return the rows of several tables as one table.

    Raises
    ------
    DataError
        If their columns of values have different names, or only some of them have one.

    Examples
    --------
    >>> tables = [read_interactions({"user": [1], "item": [item]}) for item in (5, 6)]
    >>> joined(tables).item.tolist()
    [5, 6]
    """
    first, *others = tables
    for table in others:
        if table.value_name != first.value_name:
            names = [repr(t.value_name) if t.value_name else "missing" for t in (first, table)]
            raise DataError(
                f"The columns of values of {first.name} and {table.name} must have one name, but "
                f"they are {names[0]} and {names[1]}. Rename one of them."
            )
    values, times = (
        None if any(column is None for column in columns) else np.concatenate(columns)
        for columns in zip(*((table.value, table.timestamp) for table in tables), strict=True)
    )
    return replace(
        first,
        user=joined_ids([table.user for table in tables]),
        item=joined_ids([table.item for table in tables]),
        value=values,
        timestamp=times,
        name=" and ".join(table.name for table in tables),
    )


def read_pairs(table: Source) -> tuple[Interactions, Times | None]:
    """Read users and items of an open table, and their times if there are any; not the values."""
    columns = RoleColumns.of(table, (USER, ITEM, TIMESTAMP))
    users, items = columns.ids("user"), columns.ids("item")
    pairs = Interactions(users, items, name=table.name)
    return pairs, columns.times()


def times_of(source: Any, timestamp: str | None = None) -> Times | None:
    """Read the times of a table, or None if it has no such column.

    Parameters
    ----------
    source : path, frame, mapping or tuple of arrays; or Source
    timestamp : str, optional
        The name of the column, if it is not a usual one.
    """
    table = open_table(source, "table", EVENTS, {"timestamp": timestamp})
    return RoleColumns.of(table, (TIMESTAMP,)).times()


def _read(table: Source, roles: Sequence[Role]) -> Interactions:
    columns = RoleColumns.of(table, roles)
    users, items = columns.ids("user"), columns.ids("item")
    values = columns.numbers("value", users) if "value" in columns else None
    value_name = columns.names.get("value", "")
    times = columns.times()
    timestamp = None if times is None else times.values
    return Interactions(users, items, values, timestamp, table.name, value_name)


def days_to_last(times: NDArray[Any]) -> NDArray[np.float64]:
    """Return the days from each time to the last one; see `Interactions.ages`."""
    spans = times.max() - times
    if times.dtype.kind == "M":
        return spans.astype("timedelta64[s]").astype(np.float64) / _DAY
    unit = 1000.0 ** np.searchsorted(_LARGEST_TIMES, float(times.max()))
    return spans.astype(np.float64) / (_DAY * unit)


def _check_weights(values: NDArray[np.float64], name: str, users: Ids, table: Source) -> None:
    if values.min() < 0:
        row = int(np.argmax(values < 0))
        raise DataError(
            f"{table.name}: {name} is the weight of a pair and must be >= 0, got {values[row]:g} "
            f"at {table.places.of(row)}{of_user(users, row)}. Drop those rows, or name another "
            f"column with {arg.value()}."
        )
    if not values.max() > 0:
        raise DataError(
            f"{table.name}: {name} is 0 in every row, so there are no pairs. Name another column "
            f"with {arg.value()}."
        )


def _among(ids: Ids, others: Ids) -> NDArray[np.bool_]:
    """Return which ids are among others; if one side is text, both are compared as text."""
    shared = share(ids, others, ordered=False)
    return np.isin(shared.left, shared.right)
