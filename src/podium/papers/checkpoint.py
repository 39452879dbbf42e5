"""Checkpoints: every finished cell is appended to a file, so that no cell is computed twice.

A line is {"run": …}, written at the start of a run, or {"hash": …, "cell": …, "seconds": …,
"result": …}. Its last entry is a digest of the others.
Cells of another hash (other parameters, data or version) stay in the file and are not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, cast

from podium._arrays import matches_digest, with_digest
from podium._json import plain
from podium.errors import DataError

FILE = "cells.jsonl"

_CELL = {"hash": str, "cell": str, "seconds": (int, float), "result": dict}


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run: `fingerprint` is the recipe's, and `hash` also covers the data."""

    fingerprint: str
    hash: str
    repeats: int | None
    cells: int


class Checkpoint:
    """The finished cells of one hash, and the file to which new cells are appended."""

    def __init__(self, folder: Path, plan: RunPlan, *, fresh: bool = False) -> None:
        self._path, self._hash = folder / FILE, plan.hash
        if fresh:
            self._path.unlink(missing_ok=True)
        records = list(_records(self._path))
        self.seconds = sum(r["seconds"] for r in records if _is_cell_of(r, plan.hash))
        self.done = {
            r["cell"]: _restored(r["result"]) for r in records if _is_cell_of(r, plan.hash)
        }
        self.others = sum("cell" in r and not _is_cell_of(r, plan.hash) for r in records)
        _drop_broken_end(self._path)
        self._file: IO[str] = self._path.open("a", encoding="utf-8", newline="\n")
        self._write({"run": vars(plan)})

    def add(self, cell: str, result: Mapping[str, Any], seconds: float) -> None:
        """Append a finished cell to the file; `done` has it as a later run will read it."""
        stored = json.loads(_text(plain(result)))
        self._write(
            {"hash": self._hash, "cell": cell, "seconds": round(seconds, 3), "result": stored}
        )
        self.seconds += seconds
        self.done[cell] = _restored(stored)

    def close(self) -> None:
        self._file.close()

    def _write(self, record: Mapping[str, Any]) -> None:
        self._file.write(with_digest(_text(record), {}) + "\n")
        self._file.flush()


def last(folder: Path) -> tuple[RunPlan, int] | None:
    """Return the plan of the last run in a folder, and the number of its finished cells."""
    records = list(_records(folder / FILE))
    runs = [RunPlan(**record["run"]) for record in records if "run" in record]
    if not runs:
        return None
    finished = {record["cell"] for record in records if _is_cell_of(record, runs[-1].hash)}
    return runs[-1], min(len(finished), runs[-1].cells)


def _is_cell_of(record: Mapping[str, Any], hash: str) -> bool:
    return "cell" in record and record["hash"] == hash


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; an incomplete last line (from a killed process) is skipped."""
    if not path.exists():
        return
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        record = _record(line) if line else None
        if record is not None:
            yield record
        elif line and number < len(lines):
            raise DataError(
                f"{path}: line {number} is damaged, or is not a finished cell. Delete the file, or "
                "pass fresh=True."
            )


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record in a line, or None if `Checkpoint` did not write it."""
    try:
        text = line.decode()
        record = json.loads(text)
    except (RecursionError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    content = cast("dict[str, Any]", record)
    if not matches_digest(text, {}):
        return None
    if "run" in content:
        return content if _is_run(content["run"]) else None
    typed = all(isinstance(content.get(name), kind) for name, kind in _CELL.items())
    return content if typed else None


def _is_run(run: Any) -> bool:
    """Return whether a value has exactly the fields of `RunPlan`."""
    entries = cast("dict[str, Any]", run) if isinstance(run, dict) else {}
    return (
        sorted(entries) == sorted(f.name for f in fields(RunPlan)) and type(entries["cells"]) is int
    )


def _drop_broken_end(path: Path) -> None:
    """Remove an incomplete last line, so that the next record starts on a new line."""
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _text(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _restored(value: Any) -> Any:
    """Reverse `plain`, with nan for null."""
    match value:
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {name: _restored(item) for name, item in pairs}
        case list():
            return [_restored(item) for item in cast("list[Any]", value)]
        case _:
            return float("nan") if value is None else value
