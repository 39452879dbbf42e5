"""JSON lines: one object per line, whose keys are the columns."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, cast

import polars as pl

from podium.data.columns import Kind
from podium.data.files import BROKEN, File, unreadable
from podium.data.source import POLARS, Column, Source
from podium.errors import DataError

_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{15}")  # a number that float64 may round


def open_jsonl(file: File) -> Source:
    """Open a file with one JSON object per line."""
    # Without a limit on the lines that determine the types, later values can't change them.
    schema = _read(file, lambda lazy: lazy.collect_schema())

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        columns = _read(file, lambda lazy: lazy.select(list(kinds)).collect(), schema).to_dict()
        rounded = [n for n, kind in kinds.items() if kind == "time" and columns[n].dtype.is_float()]
        content = _content(file) if rounded else b""
        if _LONG_NUMBER.search(content):
            objects = list(_objects(content, file))
            columns |= {name: _texts([row.get(name) for row in objects]) for name in rounded}
        return columns

    return Source(str(file), tuple(schema), fetch)


def _read(file: File, read: Callable[[pl.LazyFrame], Any], schema: pl.Schema | None = None) -> Any:
    POLARS.enter()
    content = _content(file)
    try:
        return read(pl.scan_ndjson(io.BytesIO(content), schema=schema, infer_schema_length=None))
    except BROKEN as error:
        for _ in _objects(content, file):
            pass
        raise unreadable(file, "JSON lines", error) from error


def _texts(values: list[Any]) -> pl.Series:
    """Return numbers as texts with all their digits."""
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _content(file: File) -> bytes:
    """Return the bytes of the file without a byte order mark."""
    return file.content().removeprefix(codecs.BOM_UTF8)


def _objects(content: bytes, file: File) -> Iterator[Mapping[str, Any]]:
    """Yield the objects; raise for the first line that is none."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield _object(line, file, number)


def _object(line: str | bytes, file: File, number: int) -> Mapping[str, Any]:
    try:
        value = json.loads(line, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(":")[0]
        raise DataError(f"{file}, line {number}: not JSON ({reason}). Correct the line.") from None
    if not isinstance(value, dict):
        raise DataError(
            f"{file}, line {number}: each line must be a JSON object with the columns as keys, got "
            f"{type(value).__name__}."
        )
    return cast("Mapping[str, Any]", value)
