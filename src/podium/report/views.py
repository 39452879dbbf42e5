"""What a result shows: tables and paragraphs as plain data, and their text for a terminal.

The command line prints a view in full. `str` and notebooks show `shortened` views.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from podium._text import printable
from podium.report._types import Table
from podium.report.conventions import GLUE
from podium.report.narrowing import WIDTH, narrow
from podium.report.tables import to_text as table_text

MOST_ROWS = 20
MOST_TITLED = 12
_LONGEST = 200  # characters of a cell or a title
_LONGEST_LINE = 2000

Numbers: TypeAlias = Iterable[tuple[str, Mapping[str, Any]]]
"""Numbers of a result: (name, values by field); the field "" has the name alone."""


@dataclass(frozen=True)
class Text:
    """A paragraph per line; below a title, they are indented."""

    lines: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True)
class Tables:
    """Tables that are read together; their `highlight` has the cells in bold."""

    tables: tuple[Table, ...]


@dataclass(frozen=True)
class View:
    """The parts of a result from top to bottom.

    Attributes
    ----------
    parts : tuple of Text or Tables
    legend : tuple of str
        The meaning of marks and numbers for readers who have no manual beside them. Only
        notebooks show it.
    """

    parts: tuple[Text | Tables, ...]
    legend: tuple[str, ...] = ()


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
    return "\n\n".join(part for parts in map(_texts, view.parts) for part in parts if part)


def wrapped(text: str, start: str = "") -> str:
    """Return paragraphs in lines of the usual width, each line with this start."""
    wrap = textwrap.TextWrapper(
        WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )
    lines = [wrap.fill(printable(line)) for line in text.split("\n")]
    return "\n".join(lines).replace(GLUE, " ")


def shortened(view: View) -> View:
    """Return a view without most rows of long tables, with the number of those left out."""
    return replace(view, parts=tuple(_short_parts(view)))


def headed(view: View, noun: str) -> View:
    """Return a view whose tables head the number of groups with a noun, such as "queries".

    Examples
    --------
    >>> counts = Tables(({"columns": ["run", "users"], "rows": [["als", "9"]]},))
    >>> headed(View((counts,)), "queries").parts[0].tables[0]["columns"]
    ['run', 'queries']
    """

    def renamed(table: Table) -> Table:
        return {**table, "columns": [noun if n == "users" else n for n in table["columns"]]}

    parts = (
        Tables(tuple(map(renamed, part.tables))) if isinstance(part, Tables) else part
        for part in view.parts
    )
    return replace(view, parts=tuple(parts))


def _texts(part: Text | Tables) -> Iterator[str]:
    if isinstance(part, Tables):
        yield from (table_text(table).rstrip("\n") for table in narrow(list(part.tables)))
    elif part.title:
        yield "\n".join([printable(part.title), *(wrapped(line, "  ") for line in part.lines)])
    else:
        yield "\n".join(map(wrapped, part.lines))


def _short_parts(view: View) -> Iterator[Text | Tables]:
    n_titled = n_hidden = 0
    for part in view.parts:
        if isinstance(part, Tables):
            tables = tuple(map(_short_table, part.tables))
            yield Tables(tables)
            lengths = {len(table["rows"]) for table in part.tables}  # of equal ones, rows are equal
            if left_out := sum(max(0, length - MOST_ROWS) for length in lengths):
                yield Text((f"{left_out:,} more rows are not shown. to_frame() has all of them.",))
            continue
        n_titled += bool(part.title)
        if part.title and n_titled > MOST_TITLED:
            n_hidden += 1
            continue
        lines = tuple(_cut(line, _LONGEST_LINE) for line in part.lines)
        yield Text(lines, _cut(part.title, _LONGEST))
    if n_hidden:
        yield Text((f"{n_hidden:,} more paragraphs are not shown. to_frame() has all rows.",))


def _short_table(table: Table) -> Table:
    rows = [[_cut(cell, _LONGEST) for cell in row] for row in table["rows"][:MOST_ROWS]]
    bold = [cell for cell in table.get("highlight", ()) if cell[0] < MOST_ROWS]
    return {**table, "rows": rows, "highlight": bold}


def _cut(cell: Any, most: int) -> Any:
    """Return a cell or a text, which is cut if it is a long text."""
    is_long = isinstance(cell, str) and len(cell) > most
    return f"{cell[: most - 1]}…" if is_long else cell
