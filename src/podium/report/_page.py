"""Rendering of a dictionary as one HTML page, which needs no other file or request."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from podium import _check, _text, plots
from podium._files import replacing
from podium.plots import colours as palette
from podium.report import figures, tables

_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_WIDE, _NARROW = 720, 360
_NOT_DRAWN = "Figures with values beyond 1e300 are left out."
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
        A short script sorts and filters tables; the page is complete without it. Figures are drawn
        twice, for a desktop and for a phone.

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
    content = {
        "title": _text.printable(str(report["title"])),
        "subtitle": _text.printable(str(report.get("subtitle", ""))),
        "status": _check.choice(report.get("status", ""), "status", STATUS),
        "summary": _paragraphs(report.get("summary", ())),
        "facts": _pairs(report.get("facts", {})),
        "sections": [_section(section, colours) for section in sections],
        "conventions": _pairs(report.get("conventions", ())),
        "provenance": _provenance(report.get("provenance", {"facts": {}})),
        "footer": _text.printable(str(report.get("footer", ""))),
    }
    return template.render(content, style=_style(), script=_script(), script_hash=_script_hash())


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


def _section(section: Mapping[str, Any], colours: Mapping[str, int]) -> dict[str, Any]:
    given = list(section.get("figures", ()))
    shown = [figure for figure in given if figures.can_be_drawn(figure)]
    left_out = [] if len(shown) == len(given) else [_NOT_DRAWN]
    return {
        "title": _text.printable(str(section["title"])),
        "text": _paragraphs(section.get("text", ())),
        "tables": [_table(table) for table in section.get("tables", ())],
        "figures": [_figure(figure, colours) for figure in shown],
        "lists": [_lists(user) for user in section.get("lists", ())],
        "notes": _paragraphs(section.get("notes", ())) + left_out,
    }


def _table(table: Mapping[str, Any]) -> dict[str, Any]:
    columns, rows = tables.formatted(table)
    sides = tables.alignment(table)
    best, repeated = (
        {(int(row), int(column)) for row, column in table.get(name, ())}
        for name in ("highlight", "repeated")
    )
    return {
        "caption": _text.printable(str(table.get("caption", ""))),
        "columns": [
            {"name": _text.printable(name), "side": side}
            for name, side in zip(columns, sides, strict=True)
        ],
        "rows": [
            [
                {
                    "text": _unbroken(_text.printable(cell)),
                    "side": sides[j],
                    "best": (i, j) in best,
                    "repeated": (i, j) in repeated,
                }
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(rows)
        ],
    }


def _unbroken(text: str) -> str:
    """Keep the bounds of an interval on one line, by no-break spaces."""
    return _BRACKETS.sub(lambda match: match.group().replace(" ", "\u00a0"), text)


def _figure(figure: Mapping[str, Any], colours: Mapping[str, int]) -> dict[str, Any]:
    return {
        "wide": figures.draw(figure, width=_WIDE, colours=colours),
        "narrow": figures.draw(figure, width=_NARROW, colours=colours),
        "caption": _text.printable(str(figure.get("caption", ""))),
    }


def _lists(user: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": _text.printable(str(user["title"])),
        "note": _text.printable(str(user.get("note", ""))),
        "lists": [
            {
                "title": _text.printable(str(run)),
                "items": [{**item, "text": _text.printable(str(item["text"]))} for item in items],
            }
            for run, items in user["lists"].items()
        ],
        "after": _text.printable(str(user.get("after", ""))),
    }


def _provenance(origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pairs of the origin, and a table of the files."""
    rows = [[file["name"], file["size"], file["sha256"]] for file in origin.get("files", ())]
    table = {"columns": ["file", "bytes", "SHA-256"], "rows": rows}
    align = ["left", "right", "left"]
    return {
        "facts": _pairs(origin["facts"]),
        "table": _table({**table, "align": align}) if rows else None,
    }


def _paragraphs(text: str | Iterable[Any]) -> list[str]:
    paragraphs = [text] if isinstance(text, str) else text
    return [_text.printable(str(paragraph)) for paragraph in paragraphs if str(paragraph)]


def _pairs(pairs: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    by_name: Mapping[str, Any] = dict(pairs)
    return [
        (_text.printable(name), _text.printable(tables.cell_text(value)))
        for name, value in by_name.items()
    ]


@cache
def _template() -> Any:
    jinja2 = _check.extra("jinja2", "report", "An HTML report")
    plots.check_installed()
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_resource("page.html.jinja"))


@cache
def _style() -> str:
    return "\n".join([_SCHEMES, _resource("page.css"), palette.stylesheet()])


@cache
def _script() -> str:
    return _resource("page.js")


@cache
def _script_hash() -> str:
    """Return the hash that allows exactly this script in the page's policy."""
    digest = hashlib.sha256(_script().encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _resource(name: str) -> str:
    return resources.files("podium.report").joinpath(name).read_text(encoding="utf-8")
