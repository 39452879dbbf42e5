"""Parts that the pages of several results share: sections from a view, tables, conventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.report._types import Report, Section, Table
from podium.report.tables import alignment, chosen
from podium.report.views import Tables, View

MOST_ROWS = 300
_RARE = "undefined"
_NAMES = ("segment", "measure")


def of_section(
    result: Mapping[str, Any], title: str, status: str, summary: Sequence[str], section: Section
) -> Report:
    """Return the page of a result with one section, and with its conventions."""
    head: Report = {"title": title, "status": status, "summary": summary}
    return {**head, "sections": [section], "conventions": conventions(result)}


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
            tables = [*map(complete, part.tables)]
            result.append({"title": "Results", "tables": tables, "notes": []})
        elif part.title:
            result.append({"title": part.title, "text": [*part.lines], "notes": []})
        else:
            result = result or [{"title": "Results", "notes": []}]
            result[-1]["notes"] += part.paragraphs
    if result:
        result[-1]["notes"] += view.legend
    return result


def complete(table: Mapping[str, Any], caption: str = "", leave_out: str = "") -> Table:
    """Return a table whose rows make sense in any order: repeated names are written again.

    A column can be left out; that of undefined users is left out if there are none. Very long
    tables are cut, and the caption says so.

    Examples
    --------
    >>> rows = [["ndcg@10", "als", "0.1"], ["", "ease", "0.2"]]
    >>> complete({"columns": ["measure", "run", "mean"], "rows": rows})["rows"][1]
    ['ndcg@10', 'ease', '0.2']
    >>> complete({"columns": ["run", "users"], "rows": [["als", 9]]}, leave_out="run")["rows"]
    [[9]]
    """
    columns = list(table["columns"])
    rows = [list(row) for row in table["rows"]]
    names = [j for j, name in enumerate(columns) if name in _NAMES]
    repeated = [(i, j) for j in names for i in range(1, len(rows)) if rows[i][j] == ""]
    for i, j in repeated:
        rows[i][j] = rows[i - 1][j]
    caption = caption or table.get("caption", "")
    if len(rows) > MOST_ROWS:
        caption = f"{caption}. " if caption else ""
        caption += f"The first {MOST_ROWS} of {len(rows):,} rows; --format csv has all of them"
    is_zero = _RARE in columns and all(row[columns.index(_RARE)] in ("", "0") for row in rows)
    kept = [j for j, n in enumerate(columns) if n != leave_out and not (n == _RARE and is_zero)]
    shown = {"rows": rows[:MOST_ROWS], "caption": caption, "align": alignment(table)}
    return chosen({**table, **shown, "repeated": repeated}, kept)


def without_empty_segments(result: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a result without segments that contain no users, and a note that names them."""
    empty = [segment["name"] for segment in result["segments"] if not segment["n_groups"]]
    note = f"Left out, because no user is in them: {', '.join(empty)}."
    filled = [segment for segment in result["segments"] if segment["n_groups"]]
    return {**result, "segments": filled}, [note] if empty else []


def conventions(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the conventions that were set, by name, and how each measure was computed."""
    values = dict(result["conventions"])
    computed: Mapping[str, Mapping[str, Any]] = values.pop("computed", {})
    values.pop("changed", None)  # they are among the values
    pairs = [(name, _text(value)) for name, value in values.items() if value is not None]
    for text, rules in computed.items():
        known = {name: value for name, value in rules.items() if value is not None}
        stated = [f"{name}: {_text(value)}" for name, value in known.items() if name != "measure"]
        pairs.append((text, ", ".join([rules["measure"], *stated])))
    return pairs


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
