"""Functions that damage a table: odd cells, odd columns, odd headers."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.damage import ODD_TEXTS
from tests.fuzz.tables import Table

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324, -0.0, 0.5, -1),
    *(2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 10**30, -(2**63), 0, 1, "a", "", "7", "7.0"),
    *(b"\xff\x00", [1, 2], [], {"a": 1}, dt.date(2020, 1, 1), dt.time(1)),
    *(dt.datetime(2020, 1, 1, 12), dt.timedelta(1), decimal.Decimal("1.50")),
)


def _odd(rng: random.Random) -> Any:
    return rng.choice(ODD_TEXTS if rng.random() < 0.5 else ODD_VALUES)


def _changed(table: Table, rng: random.Random, change: Callable[[list[Any]], list[Any]]) -> Table:
    """Return the table with another list of values in one column."""
    index = rng.randrange(len(table))
    name, values = table[index]
    return [*table[:index], (name, change(list(values))), *table[index + 1 :]]


def _odd_cells(table: Table, rng: random.Random) -> Table:
    def change(values: list[Any]) -> list[Any]:
        for _ in range(rng.choice((1, 1, 1, 3, 10)) if values else 0):
            values[rng.randrange(len(values))] = _odd(rng)
        return values

    return _changed(table, rng, change)


def _one_value(table: Table, rng: random.Random) -> Table:
    return _changed(table, rng, lambda values: [_odd(rng)] * len(values))


def _other_kind(table: Table, rng: random.Random) -> Table:
    """Convert all values of a column to another type."""
    kinds: tuple[Callable[[Any], Any], ...] = (
        str, lambda v: [v], lambda v: {"v": v}, lambda v: str(v).encode(), lambda v: f" {v} ",
        lambda v: f'"{v}"', bool, lambda v: None, lambda v: f"{v}.0",
    )  # fmt: skip
    kind = rng.choice(kinds)
    return _changed(table, rng, lambda values: [kind(value) for value in values])


def _rename(table: Table, rng: random.Random) -> Table:
    names = (
        *("user", "item", "score", "rank", "relevance", "rating", "timestamp", "qid", "target"),
        *("USER", " user", "", "user_id", "n_negatives", "history", "1", "é", "a\nb", "x" * 3000),
    )
    index = rng.randrange(len(table))
    return [*table[:index], (rng.choice(names), table[index][1]), *table[index + 1 :]]


def _drop(table: Table, rng: random.Random) -> Table:
    index = rng.randrange(len(table))
    return [*table[:index], *table[index + 1 :]] or table


def _double(table: Table, rng: random.Random) -> Table:
    return [*table, rng.choice(table)]


def _reorder(table: Table, rng: random.Random) -> Table:
    return rng.sample(table, len(table))


def _rows(table: Table, rng: random.Random) -> Table:
    """Repeat rows, remove some, or shuffle them."""
    n = min(len(values) for _, values in table)
    order = rng.choice((
        [], [0], list(range(n)) * 2, [0] * 30, rng.sample(range(n), n), list(range(n // 2)),
    ))  # fmt: skip
    return [(name, [values[row] for row in order if row < n]) for name, values in table]


def _shift(table: Table, rng: random.Random) -> Table:
    """Rotate the values of a column, so that they belong to other rows."""
    offset = rng.randrange(len(table[0][1])) if table[0][1] else 0
    return _changed(table, rng, lambda values: values[offset:] + values[:offset])


_WAYS = (
    *(_odd_cells,) * 6, _one_value, _one_value, _other_kind, _other_kind, _rename, _rename, _drop,
    _double, _reorder, _rows, _rows, _shift,
)  # fmt: skip


def spoil(table: Table, rng: random.Random) -> Table:
    """Return the table with one or two kinds of damage."""
    for _ in range(rng.choice((1, 1, 2))):
        table = rng.choice(_WAYS)(table, rng)
    return table
