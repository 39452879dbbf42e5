"""Tables that fit a terminal of 80 columns, with every number still in them."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, TypeAlias

Table: TypeAlias = dict[str, Any]
"""{"columns": names, "rows": lists of cells}: what `podium.report.tables` writes out."""

WIDTH = 80
_RARE = "undefined"
_NAMES = ("segment", "measure", "run")  # columns that say what a row is about


def narrow(tables: list[Table]) -> list[Table]:
    """Make tables fit the width: as they are, else all nested, and in parts if still too wide."""
    if any(_width(one) > WIDTH for one in tables):
        tables = [_nested(one) for one in tables]
    return [part for one in tables for part in _parts(_without_zeros(one))]


def _nested(content: Table) -> Table:
    """Write what rows are about in one column instead of two: a line of its own, and below it."""
    (first, *columns), rows = content["columns"], content["rows"]
    if first not in _NAMES or columns[0] not in _NAMES:
        return content
    lines: list[list[str]] = []
    for name, *row in rows:
        if name:
            lines.append([name] + [""] * (len(row) - 1))
        lines.append([f"  {row[0]}", *row[1:]])
    return {"columns": columns, "rows": lines}


def _without_zeros(content: Table) -> Table:
    """Leave out the column of undefined users if there are none and it does not fit."""
    if _width(content) <= WIDTH or content["columns"][-1] != _RARE:
        return content
    if any(row[-1] not in ("", "0") for row in content["rows"]):
        return content
    return _choose(content, list(range(len(content["columns"]) - 1)))


def _parts(content: Table) -> list[Table]:
    """Divide a table by columns into ones that fit the width, each with the names of the rows."""
    columns = content["columns"]
    named = max(1, sum(1 for _ in takewhile(_NAMES.__contains__, columns)))
    parts: list[list[int]] = [[]]
    for column in range(named, len(columns)):
        wider = _choose(content, [*range(named), *parts[-1], column])
        if parts[-1] and _width(wider) > WIDTH:
            parts.append([])
        parts[-1].append(column)
    return [_choose(content, [*range(named), *part]) for part in parts]


def _width(content: Table) -> int:
    from podium.report.tables import to_text

    return len(to_text(content).split("\n", 2)[1])  # the rule below the header is as long as any


def _choose(content: Table, columns: list[int]) -> Table:
    return {
        "columns": [content["columns"][i] for i in columns],
        "rows": [[row[i] for i in columns] for row in content["rows"]],
    }
