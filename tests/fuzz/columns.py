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


def _odd_cells(table: Table, rng: random.Random) -> Table:
    index = rng.randrange(len(table))
    name, values = table[index]
    changed = list(values)
    for _ in range(rng.choice((1, 1, 1, 3, 10))):
        if changed:
            changed[rng.randrange(len(changed))] = _odd(rng)
    return [*table[:index], (name, changed), *table[index + 1 :]]


def _one_value(table: Table, rng: random.Random) -> Table:
    index = rng.randrange(len(table))
    name, values = table[index]
    return [*table[:index], (name, [_odd(rng)] * len(values)), *table[index + 1 :]]


def _other_kind(table: Table, rng: random.Random) -> Table:
    """Convert all values of a column to another type."""
    kinds: tuple[Callable[[Any], Any], ...] = (
        str, lambda v: [v], lambda v: {"v": v}, lambda v: str(v).encode(), lambda v: f" {v} ",
        lambda v: f'"{v}"', bool, lambda v: None, lambda v: f"{v}.0",
    )  # fmt: skip
    index, kind = rng.randrange(len(table)), rng.choice(kinds)
    name, values = table[index]
    return [*table[:index], (name, [kind(value) for value in values]), *table[index + 1 :]]


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
    index = rng.randrange(len(table))
    name, values = table[index]
    offset = rng.randrange(len(values)) if values else 0
    return [*table[:index], (name, values[offset:] + values[:offset]), *table[index + 1 :]]


_WAYS = (
    *(_odd_cells,) * 6, _one_value, _one_value, _other_kind, _other_kind, _rename, _rename, _drop,
    _double, _reorder, _rows, _rows, _shift,
)  # fmt: skip


def spoil(table: Table, rng: random.Random) -> Table:
    """Return the table with one or two kinds of damage."""
    for _ in range(rng.choice((1, 1, 2))):
        table = rng.choice(_WAYS)(table, rng)
    return table
