"""CSV and TSV: a header, then one row a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from podium.data._source import Column, Kind, Source
from podium.data.files import BROKEN, first_line, is_number, read_bytes, unreadable
from podium.errors import DataError


def open_delimited(path: Path, separator: str) -> Source:
    """Open a text file whose first line names the columns."""
    names = tuple(next(csv.reader([first_line(path)], delimiter=separator)))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} has two columns named {twice!r}. Rename one.")

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        return _read_delimited(path, names, separator, kinds)

    return Source(str(path), names, fetch, first_line=2)


def _read_delimited(
    path: Path, names: Sequence[str], separator: str, kinds: Mapping[str, Kind]
) -> Mapping[str, Column]:
    content = read_bytes(path) if path.suffix.lower() == ".gz" else path
    types = {"id": pl.String, "number": pl.Float64}
    try:
        frame = pl.read_csv(
            content,
            separator=separator,
            columns=list(kinds),
            schema_overrides={c: types[kind] for c, kind in kinds.items() if kind != "any"},
            infer_schema_length=10_000,
        )
    except BROKEN as error:
        _explain_delimited(path, names, separator, kinds)
        raise unreadable(path, "text with a header", error) from error
    if frame.height == 0:
        raise DataError(f"{path} has a header and no rows.")
    return frame.to_dict()


def _explain_delimited(
    path: Path, names: Sequence[str], separator: str, kinds: Mapping[str, Kind]
) -> None:
    """Find the first line that is why a file could not be read, and raise for it."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text. Save it as UTF-8.") from None
    numbers = [i for i, name in enumerate(names) if kinds.get(name) == "number"]
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    next(reader)
    for row in reader:
        if len(row) > len(names):
            raise DataError(
                f"{path}, line {reader.line_num}: {len(row)} fields where the header has "
                f"{len(names)}."
            )
        for i in numbers:
            if i < len(row) and row[i] and not is_number(row[i]):
                raise DataError(
                    f"{path}, line {reader.line_num}: {names[i]} must be a number, got {row[i]!r}."
                )


def explain_lines(
    content: bytes,
    name: str,
    separator: bytes | None,
    columns: Sequence[str],
    numbers: set[str],
    skip: int = 0,
) -> None:
    """Find the first malformed line of a text without a header, and raise for it.

    A separator of None is any run of blanks; `skip` lines at the top are passed over.
    """
    wanted = [columns.index(number) for number in columns if number in numbers]
    for count, line in enumerate(content.split(b"\n"), start=1):
        text = line.strip()
        if count <= skip or not text:
            continue
        fields = [field.decode("utf-8", "replace") for field in text.split(separator)]
        if len(fields) != len(columns):
            raise DataError(
                f"{name}, line {count}: {len(columns)} columns expected ({' '.join(columns)}), "
                f"got {len(fields)}."
            )
        for i in wanted:
            if not is_number(fields[i]):
                raise DataError(
                    f"{name}, line {count}: {columns[i]} must be a number, got {fields[i]!r}."
                )
