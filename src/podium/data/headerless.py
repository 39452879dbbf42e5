"""Text files without column names: rows of named columns, and lists of items per user."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from podium import _check
from podium._text import counted
from podium.data.columns import ITEM, TIMESTAMP, USER, VALUE, is_usual
from podium.data.delimited import explain_lines, single_blanks, typed
from podium.data.files import (
    BROKEN,
    first_line,
    line_of,
    read_bytes,
    unreadable,
    utf8_text,
)
from podium.data.source import POLARS, Column, Kind, Source
from podium.errors import ArgumentError, DataError, arg

_UNIT = b"\x1f"  # one byte in place of "::", because Polars separates fields by one byte
_SEPARATORS = {"::": "two colons", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_BLANK = " "


def open_headerless(path: Path, columns: Sequence[str]) -> Source:
    """Open a text file of rows whose columns the caller names.

    The first separator that divides the first line into the right number of fields is used: two
    colons, a tab, a comma, a semicolon, a bar, or blanks.

    Raises
    ------
    ArgumentError
        If a name is empty or is given twice.
    DataError
        If no separator gives as many fields as there are names, or the first line is a header.
    """
    names = tuple(name.strip() for name in columns)
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise ArgumentError(
            f"{arg.columns} must name at least two columns, each once, such as user,item,rating, "
            f"got {','.join(names)!r}."
        )
    separator = _separator(path, names)

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        frame = _read(path, names, separator, kinds)
        return {c: typed(frame[c]) if kind == "any" else frame[c] for c, kind in kinds.items()}

    return Source(str(path), names, fetch, lambda row: line_of(path, row))


def _separator(path: Path, names: Sequence[str]) -> str:
    line = first_line(path)
    for separator in (*_SEPARATORS, _BLANK):
        fields = _fields(line, separator)
        if len(fields) == len(names):
            _refuse_header(path, fields)
            return separator
    separator = next((text for text in _SEPARATORS if text in line), _BLANK)
    n_fields = len(_fields(line, separator))
    raise DataError(
        f"{path}, line 1: {arg.columns} has {len(names)} names, but the line has "
        f"{counted(n_fields, 'fields')} separated by {_SEPARATORS.get(separator, 'blanks')}: "
        f"{line[:60]!r}. Name all of them."
    )


def _fields(line: str, separator: str) -> list[str]:
    return line.split() if separator == _BLANK else line.strip().split(separator)


def _refuse_header(path: Path, fields: Sequence[str]) -> None:
    names = [field.strip(' "') for field in fields]
    if any(is_usual(name, USER, ITEM, VALUE, TIMESTAMP) for name in names):
        raise DataError(
            f"{path} has column names in its first line ({', '.join(names)[:60]}). Leave "
            f"{arg.columns()} out."
        )


def _read(
    path: Path, names: Sequence[str], separator: str, kinds: Mapping[str, Kind]
) -> pl.DataFrame:
    POLARS.enter()
    numbers = {name for name in names if kinds.get(name) == "number"}
    types = {name: pl.Float64 if name in numbers else pl.String for name in names}

    def read(part: bytes) -> pl.DataFrame:
        if separator == _BLANK:
            part = single_blanks(part)
        if len(separator) > 1:
            part = part.replace(separator.encode(), _UNIT)
        return pl.read_csv(
            part,
            separator=separator if len(separator) == 1 else _UNIT.decode(),
            has_header=False,
            quote_char='"' if separator == "," else None,
            schema=types,
        )

    def explain() -> None:
        by = None if separator == _BLANK else separator.encode()
        explain_lines(content, str(path), read, by, names, numbers)

    content = read_bytes(path)
    try:
        frame = read(content)
    except BROKEN as error:
        explain()
        raise unreadable(path, "text without a header", error) from error
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    if any(frame[name].null_count() for name in names):
        explain()  # a line with too few fields gives nulls
    return frame


def open_lists(path: Path) -> Source:
    """Open a file with one line per user: the user and the user's items, separated by blanks.

    A line with a user alone has no row.
    """
    lists: list[tuple[int, list[str]]] = []

    def read() -> list[tuple[int, list[str]]]:
        if not lists:
            lists.extend(_lists(path))
        return lists

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        rows = [row for _, row in read()]
        counts = np.array([len(row) - 1 for row in rows], np.int64)
        users = pl.Series([row[0] for row in rows], dtype=pl.String)
        items = pl.Series(
            list(itertools.chain.from_iterable(row[1:] for row in rows)), dtype=pl.String
        )
        columns = {"user": users.gather(np.repeat(np.arange(len(rows)), counts)), "item": items}
        return {name: columns[name] for name in kinds}

    def line(position: int) -> int:
        ends = np.cumsum([len(row) - 1 for _, row in read()])
        return read()[int(np.searchsorted(ends, position, side="right"))][0]

    return Source(str(path), ("user", "item"), fetch, line)


def _lists(path: Path) -> list[tuple[int, list[str]]]:
    """Return the fields of each line that is not blank, with the line's number."""
    lines = enumerate(utf8_text(path).split("\n"), start=1)
    rows = [(n, line.split()) for n, line in lines if line.strip()]
    if not any(len(row) > 1 for _, row in rows):
        raise DataError(
            f"{path} has no line with a user and an item. A file of lists has one line per user: "
            "the user and the user's items, separated by blanks."
        )
    return rows


def refuse_columns(columns: Sequence[str] | None, reason: str) -> None:
    """Raise if columns are named for a source whose columns have names."""
    if columns is not None:
        raise ArgumentError(
            f"{arg.columns} must be left out for {reason}, got {_check.listed(list(columns))}."
        )
