"""Parts that the pages of all results share: the sections of a view."""

from __future__ import annotations

from typing import Any

from podium.report._types import Section, Table
from podium.report.cells import dashes
from podium.report.tables import alignment, without_zeros
from podium.report.views import Tables, View

MOST_ROWS = 300


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
    """Return a table for a page. Very long ones are cut, and the caption says so."""
    rows = table["rows"]
    shown: Table = {**table, "align": alignment(table)}
    if len(rows) > MOST_ROWS:
        text = f"The first {MOST_ROWS} of {len(rows):,} rows; --format csv has all of them"
        shown = {**shown, "rows": rows[:MOST_ROWS], "caption": text}
    return without_zeros(shown)
