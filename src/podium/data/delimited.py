"""CSV and TSV files: a header, then one row per line."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from podium.data.columns import NO_HEADER, Kind, is_column
from podium.data.files import BROKEN, File, is_number, unreadable
from podium.data.source import POLARS, Column, Places, Source
from podium.errors import DataError

_SEPARATORS = {
    "\t": ("tabs", ".tsv"),
    ";": ("semicolons", ""),
    ",": ("commas", ".csv"),
    "|": ("bars", ""),
    " ": ("blanks", ""),
}
_IN_QUOTES = re.compile(r'"(?:[^"]|"")*"')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SHOWN = 20  # characters quoted from a file that is not text
_QUOTED = 80  # characters quoted from a field that is not a number


def open_delimited(file: File, separator: str) -> Source:
    """Open a text file whose first line contains the column names."""
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
    _refuse_separator(file, header, separator)
    _, fields = next(_rows([header], separator, file))
    names = tuple(fields)
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        advice = NO_HEADER if is_number(repeated) else "Rename one."
        raise DataError(f"{file} has two columns named {repeated!r} in its first line. {advice}")
    return names


def _refuse_separator(file: File, header: str, separator: str) -> None:
    """Raise if the first line has another separator in place of this one, outside of quotes."""
    bare = _IN_QUOTES.sub('""', header.strip())
    if separator in bare:
        return
    fields = header.replace('"', "").split()
    is_blank = not is_column(" ".join(fields)) and any(map(is_column, fields))
    for other, (word, suffix) in _SEPARATORS.items():
        if other in bare and (other != " " or is_blank):
            expected, _ = _SEPARATORS[separator]
            here = f"Use the suffix {suffix}, or {expected}" if suffix else f"Use {expected}"
            raise DataError(
                f"{file} seems to be separated by {word}, but is read as separated by {expected}: "
                f"its first line is {header[:60]!r}. {here}."
            )


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
