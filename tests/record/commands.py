"""Every command with its options: its exit status, and the numbers that it prints and writes.

Words are left out, so that a better sentence changes no entry."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from tests.record import names, tables
from tests.record.commands_list import DEMO, QUICK
from tests.record.text import digest, numbers

Entries = Iterator[tuple[str, list[str]]]

_TEXTS = (".csv", ".tsv", ".trec", ".md", ".jsonl", ".json")
_SKIPPED = (".html", ".svg")  # a change of the drawing is allowed
_SHOWN = 6
_SECONDS = re.compile(r"\b\d+(\.\d+)?(e-\d+)? (s|ms|min|h)\b")
_RATE = re.compile(r"[\d.e-]+ million updates/s")
_STORED = re.compile(r'"seconds": [\d.e-]+')
_CELL = re.compile(r'"digest": "[0-9a-f]{32}"')  # of a checkpoint's line with its seconds
_WIDTH = "100"


def commands() -> Entries:
    """Yield the quick commands, on tables that are drawn from a seed."""
    return _all(QUICK)


def demo() -> Entries:
    """Yield the demo on the bundled Online Retail data, and commands on its output files."""
    return _all(DEMO)


def _all(lines: tuple[str, ...]) -> Entries:
    working_folder, environment = Path.cwd(), dict(os.environ)
    os.environ.update(COLUMNS=_WIDTH, TERM="dumb", NO_COLOR="1")
    with tempfile.TemporaryDirectory() as outer:
        folder = str(Path(outer) / "tables")  # output may show only the last folder's name
        Path(folder).mkdir()
        os.chdir(folder)
        try:
            tables.write_all()
            for line in lines:
                yield f"podium {line}", _one(shlex.split(line), folder)
        finally:
            os.chdir(working_folder)
            os.environ.clear()
            os.environ.update(environment)


def _one(argv: list[str], place: str) -> list[str]:
    earlier_files = _files()
    out = io.StringIO()
    status: object = None
    with (
        contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):  # fmt: skip
        try:
            names.main(argv)
        except SystemExit as exit_error:
            status = exit_error.code
    rows = [f"status {status}"]
    rows += numbers(_steady(out.getvalue(), place))
    for name, data in _files().items():
        written = _written(name, data, place)
        if name not in earlier_files or (
            data != earlier_files[name] and written != _written(name, earlier_files[name], place)
        ):
            rows += written
    return rows


def _files() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(Path().rglob("*")) if file.is_file()}


def _written(name: str, data: bytes, place: str) -> list[str]:
    if name.endswith(_SKIPPED):
        return [f"wrote {name}"]
    if not name.endswith(_TEXTS):
        return [f"wrote {name}: {digest(data)} {len(data)} bytes"]
    text = _without_seconds(_steady(data.decode(), place))
    rows = numbers(text)
    of_rows = digest("\n".join(rows).encode())
    return [f"wrote {name}: {of_rows} {len(rows)} rows", *(row[:160] for row in rows[:_SHOWN])]


def _without_seconds(text: str) -> str:
    """Replace the column of seconds of a table; columns before it must not contain text."""
    head, *rows = text.split("\n")
    delimiter = "\t" if "\t" in head else ","
    if "seconds" not in head.split(delimiter):
        return text
    index = head.split(delimiter).index("seconds")
    cells = [row.split(delimiter) for row in rows]
    for row in cells:
        row[index : index + 1] = ["T"] * (len(row) > index)
    return "\n".join([head, *map(delimiter.join, cells)])


def _steady(text: str, place: str) -> str:
    """Replace the texts that differ between runs: the folder, seconds and the version."""
    text = text.replace(str(Path(place).resolve()), "FOLDER").replace(place, "FOLDER")
    text = _STORED.sub('"seconds": T', _SECONDS.sub(r"T \3", text))
    text = _RATE.sub("T million updates/s", text)
    text = _CELL.sub('"digest": D', text)
    return text.replace(names.podium.__version__, "VERSION")
