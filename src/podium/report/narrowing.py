"""Tables that fit a terminal of 80 columns without losing a number."""

from __future__ import annotations

from itertools import takewhile

from podium.report._types import Table
from podium.report.tables import to_text

WIDTH = 80
_RARE = "undefined"
_LONGEST = 58  # characters of the name of a row, such as a run or "run - baseline"
_NAMES = ("segment", "measure", "run")  # columns that name the content of a row


def narrow(tables: list[Table]) -> list[Table]:
    """Return tables that fit the width.

    If a table is too wide, all are nested, and long names are cut in the middle. Tables that are
    still too wide are divided.
    """
    if any(_width(content) > WIDTH for content in tables):
        tables = _with_short_names([_nested(content) for content in tables])
    return [part for content in tables for part in _parts(_without_zeros(content))]


def _nested(content: Table) -> Table:
    """Replace the two columns of names by one: the first name gets a line above its rows."""
    (first, *columns), rows = content["columns"], content["rows"]
    if first not in _NAMES or columns[0] not in _NAMES:
        return content
    lines: list[list[str]] = []
    for name, *row in rows:
        if name:
            lines.append([name] + [""] * (len(row) - 1))
        lines.append([f"  {row[0]}", *row[1:]])
    return {"columns": columns, "rows": lines}


def _with_short_names(tables: list[Table]) -> list[Table]:
    """Cut long names of rows in the middle, unless two of them would become the same."""
    named = [content for content in tables if content["columns"][0] in _NAMES]
    names = {row[0] for content in named for row in content["rows"]}
    short = {name: _short(name) for name in names}
    if len(set(short.values())) < len(names):
        return tables
    tables_rows = ([[short.get(name, name), *row] for name, *row in t["rows"]] for t in tables)
    return [{**t, "rows": rows} for t, rows in zip(tables, tables_rows, strict=True)]


def _short(name: str) -> str:
    """Cut a long name in the middle, and both runs of a difference."""
    if len(name) <= _LONGEST:
        return name
    runs = name.split(" - ")
    half = _LONGEST // (2 * len(runs)) - 1
    return " - ".join(f"{r[:half]}…{r[-half:]}" if len(r) > 2 * half else r for r in runs)


def _without_zeros(content: Table) -> Table:
    """Leave out the column of undefined users if it is 0 everywhere and does not fit."""
    if _width(content) <= WIDTH or content["columns"][-1] != _RARE:
        return content
    if any(row[-1] not in ("", "0") for row in content["rows"]):
        return content
    return _choose(content, list(range(len(content["columns"]) - 1)))


def _parts(content: Table) -> list[Table]:
    """Divide a table by columns into tables that fit the width, each with the row names."""
    columns = content["columns"]
    n_names = max(1, sum(1 for _ in takewhile(_NAMES.__contains__, columns)))
    parts: list[list[int]] = [[]]
    for column in range(n_names, len(columns)):
        wider = _choose(content, [*range(n_names), *parts[-1], column])
        if parts[-1] and _width(wider) > WIDTH:
            parts.append([])
        parts[-1].append(column)
    return [_choose(content, [*range(n_names), *part]) for part in parts]


def _width(content: Table) -> int:
    return len(to_text(content).split("\n", 2)[1])  # the rule below the header has the full width


def _choose(content: Table, columns: list[int]) -> Table:
    chosen: Table = {
        "columns": [content["columns"][i] for i in columns],
        "rows": [[row[i] for i in columns] for row in content["rows"]],
    }
    if sides := content.get("align"):
        chosen["align"] = [sides[i] for i in columns]
    return chosen
