"""Parts that the pages of all results share: sections from a view, and conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.report._types import Section, Table
from podium.report.cells import dashes
from podium.report.tables import alignment, chosen
from podium.report.views import Tables, View

MOST_ROWS = 300
_RARE = "undefined"


def sections(view: View) -> list[Section]:
    """Return the parts of a view as sections; paragraphs without a title are notes of a section.

    Examples
    --------
    >>> from podium.report.views import Text
    >>> view = View((Tables(({"columns": ["run"], "rows": [["als"]]},)), Text(("A note.",))))
    >>> sections(view)[0]["notes"]
    ['A note.']
    """
    result: list[Any] = []
    for part in view.parts:
        if isinstance(part, Tables):
            result.append({"title": part.title, "tables": [*map(_complete, part.tables)]})
        elif part.title:
            result.append({"title": part.title, "text": [*part.lines]})
        else:
            result = result or [{"title": "Results"}]
            result[-1]["notes"] = part.paragraphs
    if result:
        tables = [table for section in result for table in section.get("tables", ())]
        result[-1]["notes"] = [*result[-1].get("notes", ()), *view.legend, *dashes(tables)]
    return result


def _complete(table: Table) -> Table:
    """Return a table without the column of undefined users if there are none.

    Very long tables are cut, and the caption says so.
    """
    columns, rows = list(table["columns"]), table["rows"]
    is_zero = _RARE in columns and all(row[columns.index(_RARE)] in ("", "0") for row in rows)
    shown: Any = {**table, "align": alignment(table)}
    if len(rows) > MOST_ROWS:
        text = f"The first {MOST_ROWS} of {len(rows):,} rows; --format csv has all of them"
        shown |= {"rows": rows[:MOST_ROWS], "caption": text}
    return chosen(shown, [j for j, name in enumerate(columns) if not (name == _RARE and is_zero)])


def conventions(stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the conventions that were set, by name, and how each measure was computed."""
    values = dict(stated)
    computed: Mapping[str, Mapping[str, Any]] = values.pop("computed", {})
    values.pop("changed", None)  # they are among the values
    pairs = [(name, _text(value)) for name, value in values.items() if value is not None]
    for text, rules in computed.items():
        known = {name: value for name, value in rules.items() if value is not None}
        words = [f"{name}: {_text(value)}" for name, value in known.items() if name != "measure"]
        pairs.append((text, ", ".join([rules["measure"], *words])))
    return pairs


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
