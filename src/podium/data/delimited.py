"""Text files of rows: CSV and TSV, TREC, JSON lines, columns that the caller names, and lists.

Document ids of TREC files (runs: qid Q0 docid rank score tag, qrels: qid iteration docid relevance)
are always text, even if they look like integers. trec_eval orders ties by this text, so that "9"
comes after "10".
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium._text import counted
from podium.data.columns import ITEM, NO_HEADER, TIMESTAMP, USER, VALUE, Kind, is_column, is_usual
from podium.data.files import BROKEN, File, is_number, unreadable
from podium.data.source import POLARS, Column, Places, Source
from podium.errors import ArgumentError, DataError, arg

BLANK = " "
"""The separator of fields that any number of blanks or tabs separates."""
_SEPARATORS = {
    "::": "two colons",
    "\t": "tabs",
    ",": "commas",
    ";": "semicolons",
    "|": "bars",
    BLANK: "blanks",
}
_UNIT = b"\x1f"  # one byte in place of "::", because Polars separates fields by one byte
_IN_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SHOWN = 20  # characters quoted from a file that is not text
_QUOTED = 80  # characters quoted from a field that is not a number
_RUN = ("qid", "q0", "docid", "rank", "score", "tag")
_QRELS = ("qid", "iteration", "docid", "relevance")
_TAG = "podium"  # the tag of written runs
_TREC_COLUMNS = {name: name for name in ("qid", "rank", "score", "relevance")} | {"doc_id": "docid"}
"""The columns of runs and qrels that are read, by the usual names of their roles."""


def open_delimited(file: File, separator: str) -> Source:
    """Open a text file whose first line contains the column names.

    Tabs, semicolons, commas, bars or blanks are read in place of the expected separator if the
    first line has only them.
    """
    separator = _separator_of(file.first_line, separator)
    names = _header(file, separator)
    fetch = partial(_read_delimited, file, names, separator)
    return Source(str(file), names, fetch, Places(partial(_line_of, file, separator)))


def _header(file: File, separator: str) -> tuple[str, ...]:
    """Return the column names, or raise if the first line is not a header."""
    header = file.first_line
    if _CONTROL.search(header):
        raise DataError(
            f"{file} is not text: it begins with {header[:_SHOWN]!r}. If it is a parquet, Arrow or "
            "gzip file, give it the suffix .parquet, .arrow or .gz. Otherwise save it as UTF-8 "
            "text."
        )
    if "\r" in header:
        raise DataError(f"{file} has only carriage returns as line ends. Save it with line feeds.")
    _, fields = next(_rows([header], separator, file))
    names = tuple(fields)
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        advice = NO_HEADER if is_number(repeated) else "Rename one."
        raise DataError(f"{file} has two columns named {repeated!r} in its first line. {advice}")
    return names


def _separator_of(header: str, expected: str) -> str:
    """Return the expected separator, or another one that the header has in its place."""
    bare = _IN_QUOTES.sub('""', header.strip())
    fields = header.replace('"', "").split()
    is_blank = not is_column(" ".join(fields)) and any(map(is_column, fields))
    others = "\t;,|" + BLANK * is_blank
    return next((separator for separator in expected + others if separator in bare), expected)


def _rows(lines: Iterable[str], separator: str, file: File) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row with the line on which it ends."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    end = 0
    try:
        for fields in reader:
            end = reader.line_num
            yield end, fields
    except csv.Error as error:
        raise DataError(
            f"{file}, line {end + 1}: not a row of a table ({error}). Check the quotes."
        ) from None


def _read_delimited(
    file: File, names: Sequence[str], separator: str, kinds: Mapping[str, Kind]
) -> Mapping[str, Column]:
    POLARS.enter()
    content = file.path if file.stream is None and not file.is_packed else file.content()
    types = {name: pl.Float64 if kinds.get(name) == "number" else pl.String for name in names}
    try:
        frame = pl.read_csv(
            content, separator=separator, columns=list(kinds), schema_overrides=types
        )
        blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
        if blank.any():  # blank in the requested columns; check the other columns too
            texts = dict.fromkeys(names, pl.String)
            all_columns = pl.read_csv(content, separator=separator, schema_overrides=texts)
            frame = frame.filter(
                ~all_columns.select(pl.all_horizontal(pl.all().is_null())).to_series()
            )
    except BROKEN as error:
        text = io.StringIO(file.text(), newline="\n")
        rows = (row for row in _rows(text, separator, file) if row[1])
        explain(itertools.islice(rows, 1, None), file, names, kinds, can_be_short=True)
        raise unreadable(file, "text with a header", error) from error
    if frame.height == 0:
        raise DataError(f"{file} has a header but no rows. Pass a table with rows.")
    return {c: typed(frame[c]) if kind == "any" else frame[c] for c, kind in kinds.items()}


def typed(texts: pl.Series) -> pl.Series:
    """Return integers, floats or truth values if all texts represent them, else the texts."""
    nulls = texts.null_count()
    stripped = texts.str.strip_chars()
    for kind in (pl.Int64, pl.Float64):
        numbers = stripped.cast(kind, strict=False)
        if numbers.null_count() == nulls:
            return numbers
    flags = stripped.str.to_lowercase().replace_strict(
        {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
    )
    return flags if flags.null_count() == nulls else texts


def single_blanks(content: bytes) -> bytes:
    """Put one blank between fields and none at the ends of lines."""
    if b"\t" in content or b"\r" in content:
        content = content.translate(bytes.maketrans(b"\t\r", b"  "))
    if b"  " in content or b" \n" in content or b"\n " in content or b"\n\n" in content:
        content = re.sub(rb" *\n[ \n]*", b"\n", re.sub(rb" {2,}", b" ", content))
    return content.strip(b" \n") + b"\n"


def _line_of(file: File, separator: str, row: int) -> int:
    """Return the line on which a row ends; blank lines are no rows, and quotes can span lines."""
    rows = _rows(io.StringIO(file.text(), newline="\n"), separator, file)
    row_ends = (line for line, fields in rows if any(fields))
    return next(itertools.islice(row_ends, row + 1, None), row + 2)


def explain(
    rows: Iterable[tuple[int, Sequence[str]]],
    file: File,
    names: Sequence[str],
    kinds: Mapping[str, Kind],
    *,
    can_be_short: bool = False,
) -> None:
    """Raise for the first row that has another number of fields, or a text in place of a number.

    `rows` have the line on which they end. Rows that `can_be_short` lack values at their end.
    """
    numbers = [i for i, name in enumerate(names) if kinds.get(name) == "number"]
    for line, row in rows:
        if len(row) > len(names) or (len(row) < len(names) and not can_be_short):
            raise DataError(
                f"{file}, line {line}: {len(names)} fields expected ({' '.join(names)}), got "
                f"{len(row)}. Correct the line."
            )
        for i in numbers:
            if i < len(row) and row[i] and not is_number(row[i]):
                raise DataError(
                    f"{file}, line {line}: {names[i]} must be a number, got {row[i][:_QUOTED]!r}."
                )


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
    for separator in _SEPARATORS:
        fields = _fields(line, separator)
        if len(fields) == len(names):
            _refuse_header(file, fields)
            return separator
    separator = next((text for text in _SEPARATORS if text in line), BLANK)
    n_fields = len(_fields(line, separator))
    raise DataError(
        f"{file}, line 1: {arg.columns} has {len(names)} names, but the line has "
        f"{counted(n_fields, 'fields')} separated by {_SEPARATORS[separator]}: "
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


def open_trec(file: File) -> Source:
    """Open a run (6 columns) or qrels (4 columns), separated by blanks or tabs."""
    line = file.first_line
    width = len(line.split())
    if line.startswith("#") and file.is_trec():
        raise DataError(f"{file} begins with a comment, which TREC files lack. Remove it.")
    if width not in (4, 6):
        raise DataError(
            f"{file}, line 1: a TREC run has 6 columns and qrels have 4, got {width}. Write "
            f"{' '.join(_RUN)}, or {' '.join(_QRELS)}, with no blanks in a field."
        )
    columns = _RUN if width == 6 else _QRELS
    columns_shown = {name: c for name, c in _TREC_COLUMNS.items() if c in columns}

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        own_kinds: dict[str, Kind] = {columns_shown[n]: kind for n, kind in kinds.items()}
        frame = read_rows(file, columns, BLANK, own_kinds, "TREC")
        return {name: frame[columns_shown[name]] for name in kinds}

    return Source(str(file), tuple(columns_shown), fetch, Places(file.line_of), text_ids=True)


def run_columns(columns: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the columns of a run, ``qid Q0 docid rank score tag``, with ranks from 1.

    The argument has columns of users, items and scores, best first, one user after the other.
    """
    users, items, scores = (np.asarray(column) for column in columns.values())
    for name, ids in zip(columns, (users, items), strict=False):
        _refuse_blanks(ids, name, path)
    is_first = np.append(True, users[1:] != users[:-1])[: users.size]
    starts = np.flatnonzero(is_first)
    ranks = np.arange(users.size) - np.repeat(starts, np.diff(starts, append=users.size)) + 1
    # The shortest text that represents the same number, of 32 or 64 bits.
    values = (users, np.full(users.size, "Q0"), items, ranks, scores.astype(np.str_))
    return dict(zip(_RUN, (*values, np.full(users.size, _TAG)), strict=True))


def _refuse_blanks(ids: NDArray[Any], name: str, path: Path) -> None:
    if ids.dtype.kind not in "UO":
        return
    for text in dict.fromkeys(ids.tolist()):
        if len(str(text).split()) != 1:
            raise DataError(
                f"{path}: {name} {text!r} is empty or contains a blank, but blanks separate the "
                "fields of a TREC run. Write a .csv or .parquet file."
            )


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
