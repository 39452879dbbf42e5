"""JSON lines: one object per line, whose keys are the columns."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import polars as pl

from podium.data.files import BROKEN, read_bytes, unreadable
from podium.data.source import POLARS, Column, Kind, Source
from podium.errors import DataError

_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{15}")  # a number that float64 may round


def open_jsonl(path: Path) -> Source:
    """Open a file with one JSON object per line."""
    # Without a limit on the lines that determine the types, later values can't change them.
    schema = _read(path, lambda lazy: lazy.collect_schema())

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        columns = _read(path, lambda lazy: lazy.select(list(kinds)).collect(), schema).to_dict()
        rounded = [n for n, kind in kinds.items() if kind == "time" and columns[n].dtype.is_float()]
        content = _content(path) if rounded else b""
        if _LONG_NUMBER.search(content):
            objects = list(_objects(content, path))
            columns |= {name: _texts([row.get(name) for row in objects]) for name in rounded}
        return columns

    return Source(str(path), tuple(schema), fetch)


def _read(path: Path, read: Callable[[pl.LazyFrame], Any], schema: pl.Schema | None = None) -> Any:
    POLARS.enter()
    content = _content(path)
    try:
        return read(pl.scan_ndjson(io.BytesIO(content), schema=schema, infer_schema_length=None))
    except BROKEN as error:
        for _ in _objects(content, path):
            pass
        raise unreadable(path, "JSON lines", error) from error


def _texts(values: list[Any]) -> pl.Series:
    """Return numbers as texts with all their digits."""
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _content(path: Path) -> bytes:
    """Return the bytes of the file without a byte order mark."""
    return read_bytes(path).removeprefix(codecs.BOM_UTF8)


def _objects(content: bytes, path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the objects; raise for the first line that is none."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield _object(line, path, number)


def _object(line: str | bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        value = json.loads(line, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(":")[0]
        raise DataError(f"{path}, line {number}: not JSON ({reason}). Correct the line.") from None
    if not isinstance(value, dict):
        raise DataError(
            f"{path}, line {number}: each line must be a JSON object with the columns as keys, got "
            f"{type(value).__name__}."
        )
    return cast("Mapping[str, Any]", value)
