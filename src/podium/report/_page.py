"""Rendering of a dictionary as one HTML page, which needs no other file or request; its origin."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from podium import _check, _text, plots
from podium._files import replacing
from podium.plots import colours as palette
from podium.report import figures, tables
from podium.report._types import File, Provenance

_WIDTH = 480  # of figures, which a phone can still show at three quarters of their size
_SHORT = 16  # characters of a cell that takes one line
STATUS = ("", "good", "bad", "open")
_SCHEMES = f""":root {{ color-scheme: light dark; {palette.variables(palette.LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {palette.variables(palette.DARK)} }} }}
@media print {{ :root {{ color-scheme: light; {palette.variables(palette.LIGHT)} }} }}"""


def render(report: Mapping[str, Any]) -> str:
    """Return the report as one HTML page that works offline.

    Parameters
    ----------
    report : mapping
        The dictionary, see `podium.report.Report`. All text is escaped.

    Returns
    -------
    str
        The page. It makes no requests, and it is light or dark according to the reader's system.
        A short script sorts and filters tables; the page is complete without it.

    Raises
    ------
    ArgumentError
        If a figure's kind is unknown, or a table's rows do not fit its columns.
    MissingExtraError
        If jinja2 or matplotlib, the extra ``report``, is not installed.

    Examples
    --------
    >>> "<h1>Runs of May</h1>" in render({"title": "Runs of May"})
    True
    """
    template = _template()
    sections = list(report.get("sections", ()))
    drawn = (figure for section in sections for figure in section.get("figures", ()))
    colours = figures.colour_numbers(drawn)

    return template.render(
        report=report,
        sections=sections,
        status=_check.choice(report.get("status", ""), "status", STATUS),
        conventions=dict(report.get("conventions", ())),
        draw=partial(figures.draw, width=_WIDTH, colours=colours),
        **_assets(),
    )


def write(report: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page to a file, which is replaced atomically.

    Parameters
    ----------
    report : mapping
        The dictionary, see `podium.report.Report`.
    path : str or path
        The path of an HTML file in an existing folder. An existing file is replaced.

    Raises
    ------
    ArgumentError, MissingExtraError
        If `render` raises them.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write({"title": "Runs of May"}, pathlib.Path(folder) / "may.html")
    ...     [path.name for path in pathlib.Path(folder).iterdir()]
    ['may.html']
    """
    page = render(report)
    with replacing(Path(path)) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")


def check_installed() -> None:
    """Raise MissingExtraError if a page cannot be rendered: the extra ``report`` is missing."""
    _template()


def _table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns and cells of a table with their classes."""
    columns, rows = tables.formatted(table)
    sides = tables.alignment(table)
    bold = {(int(i), int(j)) for i, j in table.get("highlight", ())}

    def cell(i: int, j: int, text: str) -> tuple[str, str]:
        best = ["best"] if (i, j) in bold else []
        short = ["short"] if len(text) <= _SHORT else []
        return " ".join([sides[j], *best, *short]), text

    return {
        "caption": table.get("caption", ""),
        "columns": list(zip(sides, columns, strict=True)),
        "rows": [[cell(i, j, text) for j, text in enumerate(row)] for i, row in enumerate(rows)],
    }


def _paragraphs(text: str | Iterable[Any]) -> list[str]:
    return [*filter(None, map(str, [text] if isinstance(text, str) else text))]


@cache
def _template() -> Any:
    jinja2 = _check.extra("jinja2", "report", "An HTML report")
    plots.check_installed()
    html: Any = jinja2.filters.do_mark_safe("")

    def written(value: Any) -> Any:
        is_html = isinstance(value, html.__class__)
        return value if is_html else _text.printable(tables.cell_text(value))

    environment = jinja2.Environment(autoescape=True, finalize=written)
    environment.filters |= {"paragraphs": _paragraphs, "cells": _table}
    return environment.from_string(resource("page.html.jinja"))


@cache
def _assets() -> dict[str, str]:
    """Return style and script, and the hash that allows exactly this script in the policy."""
    script = resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = "\n".join([_SCHEMES, resource("page.css")])
    return {"style": style, "script": script, "script_hash": f"sha256-{digest}"}


def resource(name: str) -> str:
    """Return the text of a file beside this module."""
    return resources.files("podium.report").joinpath(name).read_text(encoding="utf-8")


_EPOCH = "SOURCE_DATE_EPOCH"
"""The variable with the time of reproducible builds, in seconds since 1970."""


def provenance(
    files: Iterable[str | os.PathLike[str]] = (), *, command: str = "", seed: int | None = None
) -> Provenance:
    """Return the origin of a report. Its time is SOURCE_DATE_EPOCH if that is set, otherwise now.

    Parameters
    ----------
    files : iterable of path
        The files that were read.
    command : str
        The command.
    seed : int, optional
        The seed of random numbers.

    Returns
    -------
    dict
        A `podium.report.Provenance`.

    Raises
    ------
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> provenance(command="podium demo")["facts"]["command"]
    'podium demo'
    """
    from podium import __version__

    seconds = os.environ.get(_EPOCH, "")
    now = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() else datetime.now(UTC)
    facts = {
        "command": command or None,
        "seed": seed,
        "podium": __version__,
        "Python": platform.python_version(),
        "time": f"{now:%Y-%m-%d %H:%M} UTC",
    }
    return {
        "facts": {name: value for name, value in facts.items() if value is not None},
        "files": [_file(Path(file)) for file in files],
    }


def _file(path: Path) -> File:
    if not path.is_file():  # a folder or a pipe
        return {"name": str(path), "size": None, "sha256": None}
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"name": str(path), "size": path.stat().st_size, "sha256": digest}
