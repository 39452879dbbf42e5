"""The results of gate, audit and explain as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from podium._files import replacing
from podium.cli._options import format_of
from podium.cli._render import json_text, write_line


def results(text: Callable[[str], str], format: str, out: Iterable[Path]) -> None:
    """Write a result to files, each in the format of its suffix, and print it.

    `text` returns the result in a format.
    """
    for path in out:
        with replacing(path) as beside:
            beside.write_text(text(format_of(path)), encoding="utf-8")
    write_line(text(format).rstrip("\n"))


def gate_text(result: Mapping[str, Any], format: str, *, fail_on: str) -> str:
    """Return the JSON form of a Gate as text: a table, JSON, Markdown or JUnit XML."""
    from podium.report import gate as writers
    from podium.report.views import to_text

    if format == "json":
        return json_text(result) + "\n"
    if format == "markdown":
        return writers.to_markdown(result)
    if format == "junit":
        return writers.to_junit(result, fail_on=fail_on)
    return to_text(writers.view(result))


def audit_text(result: Mapping[str, Any], format: str) -> str:
    """Return the JSON form of an Audit as text: a table, JSON or Markdown."""
    from podium.report import audit as writers
    from podium.report.views import to_text

    if format == "json":
        return json_text(result) + "\n"
    return writers.to_markdown(result) if format == "markdown" else to_text(writers.view(result))


def explanation_text(
    result: Mapping[str, Any], format: str, *, files: Sequence[str], given: Mapping[str, Any]
) -> str:
    """Return the JSON form of an Explanation as text: tables or JSON.

    `files` and `given` are the tables and the options that the command repeats.
    """
    from podium.report import explanation
    from podium.report.views import to_text

    if format == "json":
        return json_text(result) + "\n"
    return to_text(explanation.view(result, files, given))
