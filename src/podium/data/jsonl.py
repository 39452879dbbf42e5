"""JSON lines: one object per line, whose keys are the columns."""

from __future__ import annotations

import codecs
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import polars as pl

from podium.data.files import BROKEN, lines, read_bytes, unreadable
from podium.data.source import POLARS, Column, Kind, Source
from podium.errors import DataError

_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{15}")  # a number that float64 may round
_FIRST = 100  # lines that are checked before the file is read


def open_jsonl(path: Path) -> Source:
    """Open a file with one JSON object per line."""
    first_lines = itertools.islice(lines(path), _FIRST)
    keys = [
        key for number, line in enumerate(first_lines, 1) for key in _object(line, path, number)
    ]
    schema = _schema(path)
    names = tuple(dict.fromkeys([*keys, *(schema or ())]))
    return Source(str(path), names, lambda kinds: _read(path, kinds, schema))


def _schema(path: Path) -> pl.Schema | None:
    """Return the keys of all objects with the types of all their values.

    It is None if a line can't be read, which reading reports.
    """
    POLARS.enter()
    try:
        # Without a limit on the lines that determine the types, later values can't change them.
        lazy = pl.scan_ndjson(io.BytesIO(_content(path)), infer_schema_length=None)
        return lazy.collect_schema()
    except BROKEN:
        return None


def _read(path: Path, kinds: Mapping[str, Kind], schema: pl.Schema | None) -> Mapping[str, Column]:
    POLARS.enter()
    content = _content(path)
    try:
        lazy = pl.scan_ndjson(io.BytesIO(content), schema=schema, infer_schema_length=None)
        columns = lazy.select(list(kinds)).collect().to_dict()
    except BROKEN as error:
        for _ in _objects(content, path):
            pass
        raise unreadable(path, "JSON lines", error) from error
    rounded = [name for name, kind in kinds.items() if kind == "time" and _is_float(columns[name])]
    if rounded and _LONG_NUMBER.search(content):
        objects = list(_objects(content, path))
        columns |= {name: _texts([row.get(name) for row in objects]) for name in rounded}
    return columns


def _is_float(column: pl.Series) -> bool:
    return column.dtype.is_float()


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
