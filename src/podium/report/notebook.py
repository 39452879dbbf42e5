"""Views as HTML for notebooks: self-contained, in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html import escape

from podium._text import printable
from podium.report._page import resource
from podium.report._types import Table
from podium.report.cells import dashes
from podium.report.tables import alignment, formatted
from podium.report.views import Tables, Text, View


def to_html(view: View) -> str:
    """Return a view as an HTML fragment with its own style; all text is escaped.

    Examples
    --------
    >>> "<p>a &lt; b</p>" in to_html(View((Text(("a < b",)),)))
    True
    """
    parts = [html for part in view.parts for html in _part(part)]
    tables = (table for part in view.parts if isinstance(part, Tables) for table in part.tables)
    legend = [_paragraph(line) for line in (*view.legend, *dashes(tables))]
    body = "".join([*parts, *legend])
    return f'<div class="podium-result"><style>{_style()}</style>{body}</div>'


@cache
def _style() -> str:
    """Return the style sheet in one line, without its comment."""
    return resource("notebook.css").partition("*/")[2].replace("\n", "")


def _part(part: Text | Tables) -> Iterator[str]:
    if isinstance(part, Tables):
        yield from map(_table, part.tables)
        return
    if part.title:
        yield _paragraph(part.title, ' class="title"')
    yield from (_paragraph(line) for text in part.lines for line in text.split("\n") if line)


def _paragraph(text: str, attributes: str = "") -> str:
    return f"<p{attributes}>{escape(printable(text))}</p>"


def _table(table: Table) -> str:
    columns, rows = formatted(table)
    bold: list[tuple[int, int]] = list(table.get("highlight", ()))
    classes = [' class="right"' if side == "right" else "" for side in alignment(table)]
    lines = ["", ""]
    for i, row in enumerate([columns, *rows]):
        tag = "td" if i else "th"
        texts = [escape(printable(text)) for text in row]
        texts = [f"<b>{t}</b>" if (i - 1, j) in bold else t for j, t in enumerate(texts)]
        pairs = zip(texts, classes, strict=True)
        cells = "".join(f"<{tag}{attributes}>{text}</{tag}>" for text, attributes in pairs)
        lines[min(i, 1)] += f"<tr>{cells}</tr>"
    return f"<table><thead>{lines[0]}</thead><tbody>{lines[1]}</tbody></table>"
