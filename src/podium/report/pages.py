"""Parts that the pages of several results share: sections from a view, tables, conventions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from podium.report._types import Report, Section
from podium.report.cells import NOTHING
from podium.report.views import Tables, Text, View

MOST_ROWS = 300
_RARE = "undefined"
_NAMES = ("segment", "measure")


def page(view: View, title: str, summary: Iterable[str] = (), **more: Any) -> Report:
    """Return the page of a view: its tables and paragraphs, with a summary on top.

    Examples
    --------
    >>> view = View((Tables(({"columns": ["run"], "rows": [["als"]]},)), Text(("A note.",))))
    >>> page(view, "One run")["sections"][0]["notes"]
    ['A note.']
    """
    return {"title": title, "summary": list(summary), "sections": sections(view), **more}


def sections(view: View) -> list[Section]:
    """Return the parts of a view as sections; paragraphs without a title are notes of a section."""
    found: list[dict[str, Any]] = []
    for part in view.parts:
        if isinstance(part, Tables):
            found.append({"title": "Results", "tables": [*map(complete, part.tables)], "notes": []})
        elif part.title:
            found.append({"title": part.title, "text": list(part.lines), "notes": []})
        else:
            if not found:
                found.append({"title": "Results", "notes": []})
            found[-1]["notes"] += lines(part)
    if view.legend and found:
        found[-1]["notes"] += view.legend
    return found  # pyright: ignore[reportReturnType]


def lines(text: Text) -> list[str]:
    """Return the paragraphs of a text."""
    return [line for lines in text.lines for line in lines.split("\n") if line]


def complete(table: Mapping[str, Any], caption: str = "") -> Any:
    """Return a table whose rows make sense in any order: repeated names are written again.

    A column of undefined users is left out if there are none. Very long tables are cut, and the
    caption says so.

    Examples
    --------
    >>> rows = [["ndcg@10", "als", "0.1"], ["", "ease", "0.2"]]
    >>> complete({"columns": ["measure", "run", "mean"], "rows": rows})["rows"][1]
    ['ndcg@10', 'ease', '0.2']
    """
    if _RARE in table["columns"] and all(cell in ("", "0") for cell in _column(table, _RARE)):
        table = without(table, _RARE)
    columns = list(table["columns"])
    rows = [list(row) for row in table["rows"]]
    again = [
        (i, j)
        for j, name in enumerate(columns)
        if name in _NAMES
        for i in range(1, len(rows))
        if rows[i][j] == ""
    ]
    for i, j in again:
        rows[i][j] = rows[i - 1][j]
    caption = caption or table.get("caption", "")
    if len(rows) > MOST_ROWS:
        caption = f"{caption}. " if caption else ""
        caption += f"The first {MOST_ROWS} of {len(rows):,} rows; --format csv has all of them"
    cells = {"highlight": list(table.get("highlight", ())), "repeated": again}
    result = {**table, "rows": rows[:MOST_ROWS], "caption": caption}
    for name, places in cells.items():
        result[name] = [(i, j) for i, j in places if i < MOST_ROWS]
    return result


def _column(table: Mapping[str, Any], name: str) -> list[Any]:
    place = list(table["columns"]).index(name)
    return [row[place] for row in table["rows"]]


def without(table: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return a table without a column."""
    place = list(table["columns"]).index(column)

    def cut(cells: Sequence[Any]) -> list[Any]:
        return [*cells[:place], *cells[place + 1 :]]

    highlight = [(i, j - (j > place)) for i, j in table.get("highlight", ()) if j != place]
    rows = [cut(row) for row in table["rows"]]
    return {**table, "columns": cut(table["columns"]), "rows": rows, "highlight": highlight}


def conventions(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the conventions that were set, by name, and how each measure was computed."""
    values = dict(result.get("conventions") or {})
    computed: Mapping[str, Mapping[str, Any]] = values.pop("computed", {})
    pairs = [(name, _text(value)) for name, value in values.items() if value is not None]
    for text, rules in computed.items():
        rules_text = [
            f"{name}: {_text(value)}"
            for name, value in rules.items()
            if value is not None and name != "measure"
        ]
        pairs.append((text, ", ".join([rules["measure"], *rules_text])))
    return pairs


def dashes(tables: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the meaning of a dash, if a table has one."""
    if any(cell in (NOTHING, None) for table in tables for row in table["rows"] for cell in row):
        yield f"{NOTHING} means undefined, or not available for this measure or number of users."


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
