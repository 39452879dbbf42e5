"""Results on stdout and in files: tables in 80 columns, JSON, CSV, Markdown, LaTeX or JUnit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium._files import replacing
from podium.cli._options import format_of

if TYPE_CHECKING:
    from podium.report import Table
    from podium.report.renderer import Renderer
    from podium.report.views import Tables, Text


def table(content: Table, *, note: str = "") -> None:
    """Print one table and a paragraph; a table that is too wide is divided into several."""
    from podium.report.views import Tables, Text, View, to_text

    notes = (Text((note,)),) if note else ()
    write_line(to_text(View((Tables((content,)), *notes))))


def print_result(shown: Renderer[Any], format: str) -> None:
    """Print a result as JSON, as one flat CSV table, or as its view for reading."""
    from podium.report import tables
    from podium.report.views import to_text

    if format == "json":
        write_line(json_text(shown.json))
    elif format == "csv":
        write_line(tables.to_csv(shown.table()).rstrip("\n"))
    elif format == "table":
        write_line(to_text(shown.view()))
    else:
        parts = shown.view().parts
        write_line("\n\n".join(text for part in parts for text in _written(part, format)))


def _written(part: Tables | Text, format: str) -> Iterator[str]:
    """Yield the tables or the paragraph of a part in Markdown or LaTeX."""
    from podium.report import tables
    from podium.report.views import Text, wrapped

    write = tables.to_markdown if format == "markdown" else tables.to_latex
    if isinstance(part, Text):
        yield wrapped("\n".join(part.lines), "% " if format == "latex" else "")
    else:
        yield from (write(content).rstrip("\n") for content in part.tables)


def write_result(
    shown: Renderer[Any], format: str, out: Iterable[Path] = (), **writers: Callable[[], str]
) -> None:
    """Write a result to files, each in the format of its suffix, and print it.

    `writers` return the result in formats other than JSON and the table of its view, by name. Each
    function is called only if its format is needed.
    """
    from podium.report.views import to_text

    texts = {
        "json": lambda: json_text(shown.json) + "\n",
        "table": lambda: to_text(shown.view()),
        **writers,
    }
    for path in out:
        with replacing(path) as beside:
            beside.write_text(texts[format_of(path)](), encoding="utf-8")
    write_line(texts[format]().rstrip("\n"))


def write_line(text: str) -> None:
    """Write a text and the end of the line to stdout."""
    sys.stdout.write(text + "\n")


def json_text(result: Mapping[str, Any]) -> str:
    """Return a result as JSON for reading."""
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
