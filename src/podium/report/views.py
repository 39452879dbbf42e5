"""What a result shows: tables and paragraphs as plain data, and their text for a terminal.

The command line prints a view in full. `str` and notebooks show `shortened` views.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from itertools import takewhile
from typing import Any, TypeAlias

from podium._text import printable
from podium.report._page import resource
from podium.report._types import Table
from podium.report.cells import dashes
from podium.report.conventions import GLUE
from podium.report.tables import alignment, chosen, formatted, without_zeros
from podium.report.tables import to_latex as table_latex
from podium.report.tables import to_markdown as table_markdown
from podium.report.tables import to_text as table_text

WIDTH = 80
_NAMES = ("segment", "measure", "run")  # columns that name the content of a row
MOST_ROWS = 20

Numbers: TypeAlias = Iterable[tuple[str, Mapping[str, Any]]]
"""Numbers of a result: (name, values by field); the field "" has the name alone."""


@dataclass(frozen=True)
class Text:
    """A paragraph per line; below a title, they are indented."""

    lines: tuple[str, ...]
    title: str = ""

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs, without empty ones."""
        return [line for lines in self.lines for line in lines.split("\n") if line]


@dataclass(frozen=True)
class Tables:
    """Tables that are read together under a heading, which only pages have."""

    tables: tuple[Table, ...]
    title: str = "Results"


@dataclass(frozen=True)
class View:
    """The parts of a result from top to bottom.

    Attributes
    ----------
    parts : tuple of Text or Tables
    legend : tuple of str
        The meaning of marks and numbers for readers who have no manual beside them. Only
        notebooks and pages show it.
    head : tuple of str
        The verdict and its reasons, which are the summary of a page.
    options : str
        The conventions in one line.
    """

    parts: tuple[Text | Tables, ...]
    legend: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    options: str = ""


def to_text(view: View) -> str:
    """Return a view as text; tables and paragraphs fit 80 columns.

    Examples
    --------
    >>> rows = [["als", "0.41"]]
    >>> print(to_text(View((Tables(({"columns": ["run", "mean"], "rows": rows},)), Text(("t",))))))
    run  mean
    ---  ----
    als  0.41
    <BLANKLINE>
    t
    """
    head = [Text(view.head)] if view.head else []
    text = "\n\n".join(part for parts in map(_texts, [*head, *view.parts]) for part in parts)
    if not view.options:
        return text
    space = "\n" if isinstance(view.parts[-1], Text) else "\n\n"
    return f"{text}{space}{wrapped(view.options)}"


def to_markdown(view: View) -> str:
    r"""Return a view in GitHub's Markdown; the verdict is its heading.

    Examples
    --------
    >>> print(to_markdown(View((), head=("Pass: b is superior.", "A reason."))))
    ### Pass: b is superior.
    <BLANKLINE>
    - A reason.
    """
    parts = [f"### {printable(line)}" for line in view.head[:1]] + [_list(view.head[1:])]
    for part in view.parts:
        if isinstance(part, Tables):
            parts += map(table_markdown, part.tables)
        elif part.title:
            parts += [f"**{printable(part.title)}**", _list(part.lines)]
        else:
            parts += map(printable, part.paragraphs)
    options = [f"`{line}`" for line in view.options.replace(GLUE, " ").split("\n") if line]
    return "\n\n".join(filter(None, [*parts, *options]))


def to_latex(view: View) -> str:
    r"""Return the tables of a view in LaTeX, with its texts as comments.

    Examples
    --------
    >>> print(to_latex(View((), head=("Pass: b is superior.",))))
    % Pass: b is superior.
    """
    parts = [_comment(*view.head)]
    for part in view.parts:
        if isinstance(part, Tables):
            parts += map(table_latex, part.tables)
        else:
            parts.append(_comment(part.title, *part.lines))
    return "\n\n".join(filter(None, [*parts, _comment(view.options)]))


def _comment(*lines: str) -> str:
    return wrapped("\n".join(filter(None, lines)), "% ")


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {printable(line)}" for line in lines)


def wrapped(text: str, start: str = "") -> str:
    """Return paragraphs in lines of the usual width, each line with this start."""
    wrap = textwrap.TextWrapper(
        WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )
    lines = [wrap.fill(printable(line)) for line in text.split("\n")]
    return "\n".join(lines).replace(GLUE, " ")


def shortened(view: View) -> View:
    """Return a view without most rows of long tables, with the number of those left out."""
    parts: list[Text | Tables] = []
    for part in view.parts:
        if isinstance(part, Text):
            parts.append(part)
            continue
        parts.append(replace(part, tables=tuple(map(_short_table, part.tables))))
        if left_out := sum(max(0, len(table["rows"]) - MOST_ROWS) for table in part.tables):
            text = f"{left_out:,} more rows are not shown. to_frame() has all of them."
            parts.append(Text((text,)))
    return replace(view, parts=tuple(parts))


def headed(view: View, noun: str) -> View:
    """Return a view whose tables head the number of groups with a noun, such as "queries".

    Examples
    --------
    >>> counts = Tables(({"columns": ["run", "users"], "rows": [["als", "9"]]},))
    >>> headed(View((counts,)), "queries").parts[0].tables[0]["columns"]
    ['run', 'queries']
    """

    def renamed(part: Text | Tables) -> Text | Tables:
        if isinstance(part, Text):
            return part
        columns = ([noun if n == "users" else n for n in table["columns"]] for table in part.tables)
        named = ({**t, "columns": names} for t, names in zip(part.tables, columns, strict=True))
        return replace(part, tables=tuple(named))

    return replace(view, parts=tuple(map(renamed, view.parts)))


def _texts(part: Text | Tables) -> Iterator[str]:
    if isinstance(part, Tables):
        yield from map(table_text, narrow([*map(_brief, part.tables)]))
    elif part.title:
        yield "\n".join([printable(part.title), *(wrapped(line, "  ") for line in part.lines)])
    else:
        yield "\n".join(map(wrapped, part.lines))


def _short_table(table: Table) -> Table:
    bold = [cell for cell in table.get("highlight", ()) if cell[0] < MOST_ROWS]
    return {**table, "rows": table["rows"][:MOST_ROWS], "highlight": bold}


def narrow(tables: list[Table]) -> list[Table]:
    """Return tables that fit the width.

    If a table is too wide, all are nested. Tables that are still too wide are divided.
    """
    if any(_width(content) > WIDTH for content in tables):
        tables = [_nested(content) for content in tables]
    shown = (without_zeros(table) if _width(table) > WIDTH else table for table in tables)
    return [part for table in shown for part in _parts(table)]


def _brief(content: Table) -> Table:
    """Return a table without the names in its first column that repeat the one above."""
    if content["columns"][0] not in _NAMES[:2]:
        return content
    above = [None, *(row[0] for row in content["rows"])]
    pairs = zip(above, content["rows"], strict=False)
    rows = [["" if row[0] == before else row[0], *row[1:]] for before, row in pairs]
    return {**content, "rows": rows}


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


def _parts(content: Table) -> list[Table]:
    """Divide a table by columns into tables that fit the width, each with the row names."""
    columns = content["columns"]
    n_names = max(1, sum(1 for _ in takewhile(_NAMES.__contains__, columns)))
    parts: list[list[int]] = [[]]
    for column in range(n_names, len(columns)):
        wider = chosen(content, [*range(n_names), *parts[-1], column])
        if parts[-1] and _width(wider) > WIDTH:
            parts.append([])
        parts[-1].append(column)
    return [chosen(content, [*range(n_names), *part]) for part in parts]


def _width(content: Table) -> int:
    rule = table_text(content).split("\n", 2)[1]  # it has the full width
    return len(rule)


def to_html(view: View) -> str:
    """Return a view as an HTML fragment with its own style; all text is escaped.

    Examples
    --------
    >>> "<p>a &lt; b</p>" in to_html(View((Text(("a < b",)),)))
    True
    """
    around = Text(view.head), Text((view.options,))
    parts = [html for part in (around[0], *view.parts, around[1]) for html in _part(part)]
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
        yield from map(_table, map(_brief, part.tables))
        return
    if part.title:
        yield _paragraph(part.title, ' class="title"')
    yield from map(_paragraph, part.paragraphs)


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
