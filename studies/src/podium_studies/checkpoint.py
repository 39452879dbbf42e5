"""Checkpoints: every finished cell is appended to a file, so that no cell is computed twice.

A line is a JSON object: {"run": …}, written at the start of a run, or {"hash": …, "cell": …,
"seconds": …, "result": …}. Cells of another hash (other parameters, data or version)
stay in the file and are not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from podium.errors import DataError

FILE = "cells.jsonl"


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
        path, self._hash = folder / FILE, plan.hash
        if fresh:
            path.unlink(missing_ok=True)
        cells = [record for record in _records(path) if "cell" in record]
        used = [record for record in cells if record["hash"] == plan.hash]
        self.seconds = sum(record["seconds"] for record in used)
        self.done = {record["cell"]: record["result"] for record in used}
        self.others = len(cells) - len(used)
        _drop_broken_end(path)
        self._file: IO[str] = path.open("a", encoding="utf-8", newline="\n")
        self._write({"run": vars(plan)})

    def add(self, cell: str, result: Mapping[str, Any], seconds: float) -> None:
        """Append a finished cell to the file; `done` has it as a later run will read it."""
        record = {"hash": self._hash, "cell": cell, "seconds": round(seconds, 3), "result": result}
        self.done[cell] = self._write(record)["result"]
        self.seconds += seconds

    def close(self) -> None:
        self._file.close()

    def _write(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Append a line, and return the record as it will be read."""
        text = json.dumps(record, ensure_ascii=False, default=lambda array: array.tolist())
        self._file.write(f"{text}\n")
        self._file.flush()
        return json.loads(text)


def last(folder: Path) -> tuple[RunPlan, int] | None:
    """Return the plan of the last run in a folder, and the number of its finished cells."""
    records = list(_records(folder / FILE))
    runs = [RunPlan(**record["run"]) for record in records if "run" in record]
    if not runs:
        return None
    finished = {record["cell"] for record in records if record.get("hash") == runs[-1].hash}
    return runs[-1], min(len(finished), runs[-1].cells)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; an incomplete last line (from a killed process) is skipped."""
    lines = path.read_bytes().decode(errors="replace").split("\n") if path.exists() else []
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield json.loads(line)
        except ValueError:
            raise DataError(
                f"{path}: line {number} is damaged, or is not a finished cell. Delete the file, or "
                "pass fresh=True."
            ) from None


def _drop_broken_end(path: Path) -> None:
    """Remove an incomplete last line, so that the next record starts on a new line."""
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])
