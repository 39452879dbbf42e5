"""Checkpoints: each finished cell is a line of a file at once, so that nothing is done twice.

A line is {"run": …}, written as a run begins, or {"hash": …, "cell": …, "seconds": …, "result": …},
with a digest of the rest as its last entry.
Cells of another hash (other parameters, data or version) stay in the file and are not used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, cast

from podium._arrays import is_whole, with_digest
from podium.errors import DataError

FILE = "cells.jsonl"

_CELL = {"hash": str, "cell": str, "seconds": (int, float), "result": dict}


@dataclass(frozen=True)
class Begun:
    """What a run set out to do: `fingerprint` is the recipe's, `hash` also covers its data."""

    fingerprint: str
    hash: str
    repeats: int | None
    cells: int


class Checkpoint:
    """The cells of one hash that are done, and a file that takes more."""

    def __init__(self, folder: Path, begun: Begun, *, fresh: bool = False) -> None:
        self._path, self._hash = folder / FILE, begun.hash
        if fresh:
            self._path.unlink(missing_ok=True)
        records = list(_records(self._path))
        self.seconds = sum(r["seconds"] for r in records if _of(r, begun.hash))
        self.done = {r["cell"]: _restored(r["result"]) for r in records if _of(r, begun.hash)}
        self.others = sum("cell" in r and not _of(r, begun.hash) for r in records)
        _drop_broken_end(self._path)
        self._file: IO[str] = self._path.open("a", encoding="utf-8", newline="\n")
        self._write({"run": vars(begun)})

    def add(self, cell: str, result: Mapping[str, Any], seconds: float) -> None:
        """Write a finished cell; what is kept is what a later run will read."""
        stored = json.loads(_text(_plain(result)))
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


def last(folder: Path) -> tuple[Begun, int] | None:
    """Return what the last run in a folder set out to do, and how many cells of it are there."""
    records = list(_records(folder / FILE))
    runs = [Begun(**record["run"]) for record in records if "run" in record]
    if not runs:
        return None
    done = {record["cell"] for record in records if _of(record, runs[-1].hash)}
    return runs[-1], min(len(done), runs[-1].cells)


def _of(record: Mapping[str, Any], hash: str) -> bool:
    return "cell" in record and record["hash"] == hash


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield whole lines; the last may have been cut off by a kill."""
    if not path.exists():
        return
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        record = _record(line) if line else None
        if record is not None:
            yield record
        elif line and number < len(lines):
            raise DataError(
                f"{path}, line {number} is no finished cell, or damaged. Delete the file, or pass "
                "fresh=True."
            )


def _record(line: bytes) -> dict[str, Any] | None:
    """Return what a line holds, or None where it is not as `Checkpoint` wrote it."""
    try:
        text = line.decode()
        record = json.loads(text)
    except (RecursionError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    known = cast("dict[str, Any]", record)
    if "digest" in known and not is_whole(text, {}):  # earlier versions wrote none
        return None
    if "run" in known:
        return known if _is_run(known["run"]) else None
    typed = all(isinstance(known.get(name), kind) for name, kind in _CELL.items())
    return known if typed else None


def _is_run(run: Any) -> bool:
    """Tell whether a dictionary has just what `Begun` is made from."""
    told = cast("dict[str, Any]", run) if isinstance(run, dict) else {}
    return sorted(told) == sorted(f.name for f in fields(Begun)) and type(told["cells"]) is int


def _drop_broken_end(path: Path) -> None:
    """Cut a last line without its end, so that the next one starts on its own."""
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _text(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: arrays as lists, NumPy's numbers as numbers, nan as null."""
    match value:
        case Mapping():
            pairs = cast("Mapping[Any, Any]", value).items()
            return {str(name): _plain(each) for name, each in pairs}
        case list() | tuple():
            return [_plain(each) for each in cast("list[Any]", value)]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return _plain(value.tolist()) if hasattr(value, "tolist") else value


def _restored(value: Any) -> Any:
    """Return what `_plain` made of a result, with nan for null."""
    match value:
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {name: _restored(each) for name, each in pairs}
        case list():
            return [_restored(each) for each in cast("list[Any]", value)]
        case _:
            return float("nan") if value is None else value
