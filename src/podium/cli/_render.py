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
    from podium.report.tables import to_csv
    from podium.report.views import to_latex, to_markdown, to_text

    texts: dict[str, Callable[[], str]] = {
        "json": lambda: json.dumps(renderer.json, indent=2, ensure_ascii=False, allow_nan=False),
        "csv": lambda: to_csv(renderer.table()),
        "table": lambda: to_text(renderer.view()),
        "markdown": lambda: to_markdown(renderer.view()),
        "latex": lambda: to_latex(renderer.view()),
        **writers,
    }
    for path in out:
        with replacing(path) as beside:
            beside.write_text(texts[format_of(path)]().rstrip("\n") + "\n", encoding="utf-8")
    write_line(texts[format]().rstrip("\n"))


def write_line(text: str) -> None:
    """Write a text and the end of the line to stdout."""
    sys.stdout.write(text + "\n")
