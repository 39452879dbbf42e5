"""JSON lines: one object per line, whose keys are the columns."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from podium.data.columns import Kind
from podium.data.files import BROKEN, File, unreadable
from podium.data.source import POLARS, Column, Source
from podium.errors import DataError


def open_jsonl(file: File) -> Source:
    """Open a file with one JSON object per line."""
    # Without a limit on the lines that determine the types, later values can't change them.
    schema = _read(file, lambda lazy: lazy.collect_schema())

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        return _read(file, lambda lazy: lazy.select(list(kinds)).collect(), schema).to_dict()

    return Source(str(file), tuple(schema), fetch)


def _read(file: File, read: Callable[[pl.LazyFrame], Any], schema: pl.Schema | None = None) -> Any:
    POLARS.enter()
    content = file.content().removeprefix(codecs.BOM_UTF8)
    try:
        return read(pl.scan_ndjson(io.BytesIO(content), schema=schema, infer_schema_length=None))
    except BROKEN as error:
        _explain(content, file)
        raise unreadable(file, "JSON lines", error) from error


def _explain(content: bytes, file: File) -> None:
    """Raise for the first line that is no JSON object."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            value: Any = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            reason = str(error).partition(":")[0]
            raise DataError(
                f"{file}, line {number}: not JSON ({reason}). Correct the line."
            ) from None
        if not isinstance(value, dict):
            raise DataError(
                f"{file}, line {number}: each line must be a JSON object with the columns as keys, "
                f"got {type(value).__name__}."
            )
