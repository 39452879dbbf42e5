"""The results of gate, audit and explain as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from podium._files import replacing
from podium.cli._fit import narrow
from podium.cli._options import format_of
from podium.cli._render import conventions_line, json_text, wrapped, write_line


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
    from podium.report import tables

    if format == "json":
        return json_text(result) + "\n"
    if format == "markdown":
        return writers.to_markdown(result)
    if format == "junit":
        return writers.to_junit(result, fail_on=fail_on)
    lines = [writers.headline(result), *result["reasons"], *writers.notes(result)]
    content = [tables.to_text(part) for part in narrow([{**writers.gate_table(result)}])]
    start = "\n".join(wrapped(line, "") for line in lines)
    return "\n\n".join([start, *content, wrapped(conventions_line(result["conventions"]), "")])


def audit_text(result: Mapping[str, Any], format: str) -> str:
    """Return the JSON form of an Audit as text: a table, JSON or Markdown."""
    from podium.report import audit as writers

    if format == "json":
        return json_text(result) + "\n"
    return writers.to_markdown(result) if format == "markdown" else "\n\n".join(_findings(result))


def _findings(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of an audit's text for a terminal."""
    from podium.report import audit as writers
    from podium.report import tables

    yield f"Audit of {result['measure']}: {writers.headline(result)}"
    if result["findings"]:
        for part in narrow([{**writers.findings_table(result)}]):
            yield tables.to_text(part)
    for finding in result["findings"]:
        lines = writers.paragraphs(finding, result["measure"])
        yield "\n".join([writers.title(finding), *(wrapped(line, "  ") for line in lines)])
    yield tables.to_text(writers.context_table(result))


def explanation_text(
    result: Mapping[str, Any], format: str, *, files: Sequence[str], given: Mapping[str, Any]
) -> str:
    """Return the JSON form of an Explanation as text: tables or JSON.

    `files` and `given` are the tables and the options that the command repeats.
    """
    if format == "json":
        return json_text(result) + "\n"
    return "\n\n".join(_explained(result, files, given))


def _explained(
    result: Mapping[str, Any], files: Sequence[str], given: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the parts of an explanation for a terminal."""
    from podium.report import explanation as writers
    from podium.report import tables

    for compared in result["differences"]:
        yield from map(tables.to_text, narrow([{**writers.differences_table(compared)}]))
        yield wrapped(writers.differences_note(compared), "")
    search = result["search"]
    if (search is not None or result["packages"]) and (note := writers.missing_note(result)):
        yield wrapped(note, "")
    if search is not None:
        yield wrapped(writers.search_headline(search), "")
        if search["matches"]:
            yield from map(tables.to_text, narrow([{**writers.matches_table(search)}]))
        yield "\n".join(wrapped(line, "") for line in writers.search_notes(result, files, given))
    packages = result["packages"]
    if len(packages) == 1:
        yield f"{packages[0]['measure']}, from podium to {packages[0]['like']}"
        yield from map(tables.to_text, narrow([{**writers.waterfall_table(packages[0])}]))
        if note := writers.waterfall_note(packages[0]):
            yield wrapped(note, "")
    elif packages:
        yield from map(tables.to_text, narrow([{**writers.packages_table(packages)}]))
    if note := writers.open_ties_note(packages):
        yield wrapped(note, "")
