"""Views as HTML for notebooks: self-contained, in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from podium._text import printable
from podium.report._types import Table
from podium.report.cells import dashes
from podium.report.tables import alignment, formatted
from podium.report.views import Tables, Text, View

# All colours derive from that of the text, so that light and dark pages both work. A table is as
# wide as its text, so that a narrow page scrolls it sideways. Only long text takes several lines.
_STYLE = """
.podium-result{color:inherit;overflow-x:auto}
.podium-result table{width:max-content;border-collapse:collapse;border:0;margin:.3em 0 .8em;
color:inherit;background:none;font-size:.92em;font-variant-numeric:tabular-nums}
.podium-result tr{background:none!important;color:inherit}
.podium-result th,.podium-result td{padding:.2em .7em;border:0;text-align:left;
vertical-align:top;max-width:min(30em,70vw);overflow-wrap:anywhere}
.podium-result th{font-weight:600;white-space:nowrap;
border-bottom:1px solid color-mix(in srgb,currentColor 45%,transparent)}
.podium-result tbody tr+tr td{
border-top:1px solid color-mix(in srgb,currentColor 12%,transparent)}
.podium-result tbody tr:hover td{background:color-mix(in srgb,currentColor 6%,transparent)}
.podium-result .right{text-align:right;white-space:nowrap}
.podium-result p{margin:.3em 0;max-width:60em;font-size:.88em;opacity:.8;overflow-wrap:anywhere}
.podium-result .title{opacity:1;font-weight:600;margin-top:.8em}
""".replace("\n", "")


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
    return f'<div class="podium-result"><style>{_STYLE}</style>{body}</div>'


def _part(part: Text | Tables) -> Iterator[str]:
    if isinstance(part, Tables):
        yield from map(_table, part.tables)
        return
    if part.title:
        yield _paragraph(part.title, ' class="title"')
    yield from (_paragraph(line) for text in part.lines for line in text.split("\n") if line)


def _paragraph(text: str, attributes: str = "") -> str:
    return f"<p{attributes}>{_escaped(text)}</p>"


def _table(table: Table) -> str:
    classes = [' class="right"' if side == "right" else "" for side in alignment(table)]
    bold: list[tuple[int, int]] = list(table.get("highlight", ()))
    columns, rows = formatted(table)
    head = "".join(
        f"<th{attributes}>{_escaped(name)}</th>"
        for name, attributes in zip(columns, classes, strict=True)
    )
    html_rows = (
        "".join(_cell(row[j], classes[j], (i, j) in bold) for j in range(len(row)))
        for i, row in enumerate(rows)
    )
    body = "".join(f"<tr>{cells}</tr>" for cells in html_rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: str, attributes: str, is_bold: bool) -> str:
    text = _escaped(cell)
    return f"<td{attributes}>{f'<b>{text}</b>' if is_bold else text}</td>"


def _escaped(text: str) -> str:
    return escape(printable(text))
