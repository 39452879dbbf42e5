"""The option --report of all commands: one HTML file from a result, with its origin."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from podium.cli._options import WRITTEN, check_target

if TYPE_CHECKING:
    from podium.protocol import Protocol
    from podium.results import Result

ReportFile: TypeAlias = Annotated[
    Path | None,
    WRITTEN,
    typer.Option(rich_help_panel="Output"),
]

ARGUMENTS: ContextVar[Sequence[str]] = ContextVar("ARGUMENTS", default=())
"""The arguments of the command that runs."""


def check(path: Path | None) -> None:
    """Refuse a report that can't be written, before anything is computed."""
    if path is not None:
        from podium import report

        check_target(path, "--report", (".html", ".htm"))
        report.check_installed()


def write(
    result: Result,
    path: Path | None,
    files: Iterable[Path | None],
    *,
    title: str = "",
    titles: Any = None,
    seed: int | None = None,
) -> None:
    """Write the report of a result, if there is a path.

    `files` are the files that the command read.
    """
    if path is not None:
        from podium import report

        command = shlex.join(["podium", *ARGUMENTS.get()])
        origin = report.provenance(filter(None, files), command=command, seed=seed)
        result.write_report(path, title=title, titles=titles, provenance=origin)


def divided_items(
    items: Path | None, protocol: Protocol, report: Path | None
) -> tuple[Path | None, Path | None]:
    """Return the table of items for the measures, and for the titles in a report."""
    from podium import data

    if items is None or report is None:
        return items, None
    if not any(measure.metric.reads == "items" for measure in protocol.measures):
        return None, items
    has_titles = data.read_items(items, item=protocol.item).titles() is not None
    return items, items if has_titles else None
