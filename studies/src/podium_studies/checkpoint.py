"""Checkpoints: every finished cell is appended to a file, so that no cell is computed twice.

A line is a JSON object: {"hash": …, "cell": …, "seconds": …, "result": …}. Cells of another hash
(other parameters, data or version) stay in the file and are not used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from podium.errors import DataError

FILE = "cells.jsonl"


class Checkpoint:
    """The finished cells of one hash, and the file to which new cells are appended."""

    def __init__(self, folder: Path, run_hash: str, *, fresh: bool = False) -> None:
        self._path, self._hash = folder / FILE, run_hash
        if fresh:
            self._path.unlink(missing_ok=True)
        cells = [record for record in _records(self._path) if "cell" in record]
        used = [record for record in cells if record["hash"] == run_hash]
        self.seconds = sum(record["seconds"] for record in used)
        self.done = {record["cell"]: record["result"] for record in used}
        self.others = len(cells) - len(used)
        if self._path.exists():  # the next record starts on a new line
            os.truncate(self._path, sum(map(len, _whole_lines(self._path))))

    def add(self, cell: str, result: Mapping[str, Any], seconds: float) -> None:
        """Append a finished cell to the file; `done` has it as a later run will read it."""
        record = {"hash": self._hash, "cell": cell, "seconds": round(seconds, 3), "result": result}
        text = json.dumps(record, ensure_ascii=False, default=lambda array: array.tolist())
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
        self.done[cell] = json.loads(text)["result"]
        self.seconds += seconds


def _whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file without an incomplete last one, from a killed process."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_whole_lines(path), 1):
        try:
            yield json.loads(line)
        except ValueError:
            raise DataError(
                f"{path}: line {number} is damaged, or is not a finished cell. Delete the file, or "
                "pass fresh=True."
            ) from None
