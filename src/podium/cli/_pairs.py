"""Pairs of users and items that a file holds, and lists of ids: read where it can be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.cli._factorizing import Objective, PairColumns
    from podium.data.convert import Ids

_LARGEST_GRADE = 60  # of --gain exp2


@dataclass(frozen=True, eq=False)
class Events:
    """What a file says: a row for each event, and its value where there is one."""

    user: Ids
    item: Ids
    value: NDArray[Any] | None
    value_name: str = ""

    @property
    def n_rows(self) -> int:
        return len(self.user)

    def columns(self) -> dict[str, Any]:
        """Return a table that `podium.data.read_interactions` reads."""
        pair = {"user": self.user, "item": self.item}
        return pair if self.value is None else {**pair, "value": self.value}

    def keep(self, rows: NDArray[Any]) -> Events:
        """Return some of the rows."""
        value = None if self.value is None else self.value[rows]
        return Events(_taken(self.user, rows), _taken(self.item, rows), value, self.value_name)


def read_pairs(path: Path, columns: PairColumns, gain: str) -> Events:
    """Read users, items and values; times are not looked at.

    Raises
    ------
    DataError
        For a file that is missing, empty, no table or without these columns, values that are
        negative or not finite (line of the first), or none above 0.
    """
    from podium.data.columns import ITEM, USER, VALUE, resolve
    from podium.data.convert import finite, to_ids, to_numbers
    from podium.data.source import Kind
    from podium.data.tables import open_table

    roles = (USER, ITEM, VALUE)
    named = {"user": columns.user_col, "item": columns.item_col, "value": columns.value_col}
    table = open_table(path, "interactions", roles)
    found = resolve(table.names, roles, named, table.name)
    kinds: dict[str, Kind] = {"user": "id", "item": "id", "value": "number"}
    got = table.fetch({found[role]: kind for role, kind in kinds.items() if role in found})
    users = to_ids(got[found["user"]], found["user"], table)
    items = to_ids(got[found["item"]], found["item"], table, guess=not table.text_ids)
    if not len(users):
        raise DataError(f"{path} has no rows.")
    if "value" not in found:
        return Events(users, items, None)
    name = found["value"]
    values = finite(to_numbers(got[name], name, table, users), name, users, table)
    _check_values(values, name, users, table, gain)
    return Events(users, items, values, name)


def _check_values(values: Any, name: str, users: Any, table: Any, gain: str) -> None:
    import numpy as np

    from podium.data.convert import of_user

    if values.min() < 0:
        row = int(np.argmax(values < 0))
        raise DataError(
            f"{table.name}: {name} must be >= 0, got {values[row]:g} at {table.at(row)}"
            f"{of_user(users, row)}: it is the weight of the pair. Drop those rows, or name "
            "another column by --value-col."
        )
    if not values.max() > 0:
        raise DataError(
            f"{table.name}: {name} is 0 in every row, which says that there is no pair. Name "
            "another column by --value-col."
        )
    if gain == "exp2" and values.max() > _LARGEST_GRADE:
        row = int(np.argmax(values))
        raise DataError(
            f"{table.name}: --gain exp2 takes grades up to {_LARGEST_GRADE}, got {name} "
            f"{values[row]:g} at {table.at(row)}. Pass --gain value or one for counts."
        )


def positives(path: Path, events: Events, low: float | None) -> tuple[Events, Events | None]:
    """Divide rows into those of a value >= low, and the others where there are any.

    Raises
    ------
    DataError
        If the table has no values, or none is that high.
    """
    if low is None:
        return events, None
    if events.value is None:
        raise DataError(
            f"{path} has no column of values for --min-relevance. Name one by --value-col, or "
            "leave --min-relevance out: each row is positive then."
        )
    high = events.value >= low
    if not high.any():
        raise DataError(
            f"{path}: {events.value_name} is below --min-relevance {low:g} in every row: the "
            f"highest is {events.value.max():g}."
        )
    return events.keep(high), None if high.all() else events.keep(~high)


def weighs(events: Events, n_rows: int, objective: Objective) -> str:
    """Return what a pair of a table with values weighs, and which of its rows are pairs at all.

    Nothing where there are no values, or all are one.
    """
    name, low = events.value_name, objective.min_relevance
    what = {"value": f"its {name}", "exp2": f"2^{name} - 1", "one": "1"}[objective.gain]
    if low is not None:
        count = f"{events.n_rows} of {n_rows} rows have {name} >= {low:g} and are positive"
        return f"{count}; a pair weighs {what}"
    if events.value is None or events.value.min() == events.value.max():
        return ""
    return (
        f"a pair weighs {what}, with {name} from {events.value.min():g} to "
        f"{events.value.max():g} (--min-relevance X learns from those >= X alone)"
    )


def known_pairs(events: Events, path: Path, learned: Events) -> tuple[Events, int]:
    """Leave out pairs of users or items that nothing is learned about; also return how many.

    Raises
    ------
    DataError
        If none is left.
    """
    users, items = _among(events.user, learned.user), _among(events.item, learned.item)
    both = users & items
    if not both.any():
        raise DataError(
            f"{path} has no pair whose user and item are both in INTERACTIONS: "
            f"{int(users.sum())} of {both.size} users are, and {int(items.sum())} items. Split "
            "one table into the two."
        )
    return _kept(events, both, learned), int(both.size - both.sum())


def seen_too(events: Events, learned: Events) -> Events | None:
    """Return the pairs, without values, of users and items that something is learned about."""
    both = _among(events.user, learned.user) & _among(events.item, learned.item)
    return replace(_kept(events, both, learned), value=None) if both.any() else None


def _kept(events: Events, rows: NDArray[Any], learned: Events) -> Events:
    """Return some rows, with ids of the type of those that are learned from."""
    kept = events if rows.all() else events.keep(rows)
    return replace(kept, user=_like(kept.user, learned.user), item=_like(kept.item, learned.item))


def read_ids(path: Path, what: str, column: str | None) -> Ids:
    """Read ids of users or items: a column of a table, or a .txt file with one a line.

    Parameters
    ----------
    path : Path
    what : {"user", "item"}
    column : str, optional
        Of a table, where it does not have a usual name.
    """
    from podium.data.columns import ITEM, USER, resolve
    from podium.data.convert import to_ids
    from podium.data.files import check_file
    from podium.data.tables import open_table

    role = USER if what == "user" else ITEM
    if check_file(path, f"list of {what}s") is None and path.name.lower().endswith(".txt"):
        return _read_lines(path, role.usual if column is None else (column,))
    table = open_table(path, f"list of {what}s", (role,))
    name = resolve(table.names, (role,), {what: column}, table.name)[what]
    ids = to_ids(table.fetch({name: "id"})[name], name, table)
    if not len(ids):
        raise DataError(f"{path} has no rows.")
    return ids


def _read_lines(path: Path, header: Sequence[str]) -> Ids:
    """Read one id a line; blank lines are none, nor is a first line that names the column."""
    from podium.data import to_frame
    from podium.data.convert import to_ids
    from podium.data.files import read_bytes
    from podium.data.source import Source

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


def match(ids: Ids, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find ids in a model: those that it knows, in its own type, and those that it doesn't.

    Each is there once, where it was first.
    """
    import numpy as np

    given = np.asarray(ids)
    given = given.astype(np.str_) if given.dtype.kind == "O" else given
    if (given.dtype.kind == "U") != (labels.dtype.kind == "U"):
        known = np.isin(given.astype(np.str_), labels.astype(np.str_))
    else:
        known = np.isin(given, labels)
    return _once(given[known]).astype(labels.dtype), _once(given[~known])


def _once(values: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]


def _among(ids: Ids, others: Ids) -> NDArray[Any]:
    """Tell which ids are among others; where one side is text, as text."""
    import numpy as np

    from podium.data.ids import share

    both = share(ids, others, ordered=False)
    return np.isin(both.left, both.right)


def _like(ids: Ids, others: Ids) -> Ids:
    """Return ids that others have too in the type of these."""
    import numpy as np

    if isinstance(others, np.ndarray) and not isinstance(ids, np.ndarray):
        return ids.to_numpy().astype(np.int64)
    return ids


def _taken(ids: Ids, rows: NDArray[Any]) -> Ids:
    import numpy as np

    return ids[rows] if isinstance(ids, np.ndarray) else ids.filter(rows)
