"""Text files without column names: rows of named columns, and lists of items per user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from podium import _check
from podium._text import counted
from podium.data.columns import ITEM, TIMESTAMP, USER, VALUE, Kind, is_usual
from podium.data.delimited import explain, single_blanks, typed
from podium.data.files import BROKEN, File, unreadable
from podium.data.source import POLARS, Column, Places, Source
from podium.errors import ArgumentError, DataError, arg

_UNIT = b"\x1f"  # one byte in place of "::", because Polars separates fields by one byte
_SEPARATORS = {"::": "two colons", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
BLANK = " "
"""The separator of fields that any number of blanks or tabs separates."""


def open_headerless(file: File, columns: Sequence[str]) -> Source:
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
    separator = _separator(file, names)

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        frame = read_rows(file, names, separator, kinds, "text without a header")
        return {c: typed(frame[c]) if kind == "any" else frame[c] for c, kind in kinds.items()}

    return Source(str(file), names, fetch, Places(file.line_of))


def _separator(file: File, names: Sequence[str]) -> str:
    line = file.first_line
    for separator in (*_SEPARATORS, BLANK):
        fields = _fields(line, separator)
        if len(fields) == len(names):
            _refuse_header(file, fields)
            return separator
    separator = next((text for text in _SEPARATORS if text in line), BLANK)
    n_fields = len(_fields(line, separator))
    raise DataError(
        f"{file}, line 1: {arg.columns} has {len(names)} names, but the line has "
        f"{counted(n_fields, 'fields')} separated by {_SEPARATORS.get(separator, 'blanks')}: "
        f"{line[:60]!r}. Name all of them."
    )


def _fields(line: str, separator: str) -> list[str]:
    return line.split() if separator == BLANK else line.strip().split(separator)


def _refuse_header(file: File, fields: Sequence[str]) -> None:
    names = [field.strip(' "') for field in fields]
    if any(is_usual(name, USER, ITEM, VALUE, TIMESTAMP) for name in names):
        raise DataError(
            f"{file} has column names in its first line ({', '.join(names)[:60]}). Leave "
            f"{arg.columns()} out."
        )


def read_rows(
    file: File, names: Sequence[str], separator: str, kinds: Mapping[str, Kind], noun: str
) -> pl.DataFrame:
    """Read rows that all have a field for each name; `noun` is the kind of the text in messages."""
    POLARS.enter()
    types = {name: pl.Float64 if kinds.get(name) == "number" else pl.String for name in names}
    content = file.content()

    def explain_rows() -> None:
        lines = enumerate(file.text().split("\n"), start=1)
        explain(
            ((n, _fields(line, separator)) for n, line in lines if line.strip()), file, names, kinds
        )

    text = single_blanks(content) if separator == BLANK else content
    if len(separator) > 1:
        text = text.replace(separator.encode(), _UNIT)
    try:
        frame = pl.read_csv(
            text,
            separator=separator if len(separator) == 1 else _UNIT.decode(),
            has_header=False,
            quote_char='"' if separator == "," else None,
            schema=types,
        )
    except BROKEN as error:
        explain_rows()
        raise unreadable(file, noun, error) from error
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    if any(frame[name].null_count() for name in names):
        explain_rows()  # a line with too few fields gives nulls
    return frame


def open_lists(file: File) -> Source:
    """Open a file with one line per user: the user and the user's items, separated by blanks.

    A line with a user alone has no row.
    """

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        rows = _rows_of_lists(file)
        return {name: rows[name] for name in kinds}

    def line_of(row: int) -> int:
        return _rows_of_lists(file)["line"][row]

    return Source(str(file), ("user", "item"), fetch, Places(line_of))


def _rows_of_lists(file: File) -> pl.DataFrame:
    POLARS.enter()
    fields = pl.Series(file.text().split("\n")).str.extract_all(r"\S+")
    columns = {"user": fields.list.first(), "item": fields.list.slice(1)}
    frame = pl.DataFrame(columns).with_row_index("line", 1).explode("item").drop_nulls("item")
    if not frame.height:
        raise DataError(
            f"{file} has no line with a user and an item. A file of lists has one line per "
            "user: the user and the user's items, separated by blanks."
        )
    return frame


def refuse_columns(columns: Sequence[str] | None, reason: str) -> None:
    """Raise if columns are named for a source whose columns have names."""
    if columns is not None:
        raise ArgumentError(
            f"{arg.columns} must be left out for {reason}, got {_check.listed(list(columns))}."
        )
