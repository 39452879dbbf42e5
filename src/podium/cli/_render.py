"""Results on stdout and in files: tables in 80 columns, JSON, CSV, Markdown, LaTeX or JUnit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium._files import replacing
from podium.cli._options import format_of

if TYPE_CHECKING:
    from podium.report import Table
    from podium.report.renderer import Renderer


def table(content: Table, *, note: str = "") -> None:
    """Print one table and a paragraph; a table that is too wide is divided into several."""
    from podium.report.views import Tables, Text, View, to_text

    notes = (Text((note,)),) if note else ()
    write_line(to_text(View((Tables((content,)), *notes))))


def write_result(
    renderer: Renderer[Any], format: str, out: Iterable[Path] = (), **writers: Callable[[], str]
) -> None:
    """Write a result to files, each in the format of its suffix, and print it.

    `writers` return the result in further formats, or in other forms, by name. Each function is
    called only if its format is needed.
    """
    from podium.report import tables
    from podium.report.views import to_text

    texts: dict[str, Callable[[], str]] = {
        "json": lambda: json.dumps(renderer.json, indent=2, ensure_ascii=False, allow_nan=False),
        "csv": lambda: tables.to_csv(renderer.table()),
        "table": lambda: to_text(renderer.view()),
        "markdown": lambda: _written(renderer, tables.to_markdown),
        "latex": lambda: _written(renderer, tables.to_latex, comment="% "),
        **writers,
    }
    for path in out:
        with replacing(path) as beside:
            beside.write_text(texts[format_of(path)]().rstrip("\n") + "\n", encoding="utf-8")
    write_line(texts[format]().rstrip("\n"))


def _written(renderer: Renderer[Any], write: Callable[[Table], str], *, comment: str = "") -> str:
    """Return the tables and the paragraphs of a view in Markdown or LaTeX."""
    from podium.report.views import Text, wrapped

    texts: list[str] = []
    for part in renderer.view().parts:
        if isinstance(part, Text):
            texts.append(wrapped("\n".join(part.lines), comment))
        else:
            texts += [write(content).rstrip("\n") for content in part.tables]
    return "\n\n".join(texts)


def write_line(text: str) -> None:
    """Write a text and the end of the line to stdout."""
    sys.stdout.write(text + "\n")
