"""CSV and TSV files: a header, then one row per line."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from podium.data.columns import NO_HEADER, is_column
from podium.data.files import BROKEN, first_line, is_number, read_bytes, unreadable
from podium.data.source import POLARS, Column, Kind, Source
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
_PIECE = 1 << 20  # bytes per piece when a text is read again to find an error


def open_delimited(path: Path, separator: str) -> Source:
    """Open a text file whose first line contains the column names."""
    names = _header(path, separator)

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        return _read_delimited(path, names, separator, kinds)

    return Source(str(path), names, fetch, lambda row: _line_of(path, separator, row))


def _header(path: Path, separator: str) -> tuple[str, ...]:
    """Return the column names, or raise if the first line is not a header."""
    header = first_line(path)
    if _CONTROL.search(header):
        raise DataError(
            f"{path} is not text: it begins with {header[:_SHOWN]!r}. If it is a parquet, Arrow or "
            "gzip file, give it the suffix .parquet, .arrow or .gz. Otherwise save it as UTF-8 "
            "text."
        )
    if "\r" in header:
        raise DataError(f"{path} has only carriage returns as line ends. Save it with line feeds.")
    _refuse_separator(path, header, separator)
    _, fields = next(_rows([header], separator, path))
    names = tuple(fields)
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        advice = NO_HEADER if is_number(repeated) else "Rename one."
        raise DataError(f"{path} has two columns named {repeated!r} in its first line. {advice}")
    return names


def _refuse_separator(path: Path, header: str, separator: str) -> None:
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
                f"{path} seems to be separated by {word}, but is read as separated by {expected}: "
                f"its first line is {header[:60]!r}. {here}."
            )


def _rows(
    lines: Iterable[str], separator: str, path: Path, n_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row with the line on which it ends, after `n_before` other lines."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    end = n_before
    try:
        for fields in reader:
            end = n_before + reader.line_num
            yield end, fields
    except csv.Error as error:
        raise DataError(
            f"{path}, line {end + 1}: not a row of a table ({error}). Check the quotes."
        ) from None


def _read_delimited(
    path: Path, names: Sequence[str], separator: str, kinds: Mapping[str, Kind]
) -> Mapping[str, Column]:
    POLARS.enter()
    content = read_bytes(path) if path.suffix.lower() == ".gz" else path
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
        _explain_delimited(path, names, separator, kinds)
        raise unreadable(path, "text with a header", error) from error
    if frame.height == 0:
        raise DataError(f"{path} has a header but no rows. Pass a table with rows.")
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


def _line_of(path: Path, separator: str, row: int) -> int:
    """Return the line on which a row ends; blank lines are no rows, and quotes can span lines."""
    rows = _rows(_texts(read_bytes(path)), separator, path)
    row_ends = (line for line, fields in rows if any(fields))
    return next(itertools.islice(row_ends, row + 1, None), row + 2)


def _texts(content: bytes) -> Iterable[str]:
    """Return the lines of a UTF-8 text, without a copy of the whole text."""
    return io.TextIOWrapper(
        io.BytesIO(content), encoding="utf-8-sig", errors="replace", newline="\n"
    )


def _explain_delimited(
    path: Path, names: Sequence[str], separator: str, kinds: Mapping[str, Kind]
) -> None:
    """Find the first line that prevents reading a file, and raise an error for it."""
    content = read_bytes(path)
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text. Save it as UTF-8.") from None
    types = {name: pl.Float64 if kinds.get(name) == "number" else pl.String for name in names}
    numbers = [i for i, name in enumerate(names) if kinds.get(name) == "number"]

    def read(piece: bytes) -> pl.DataFrame:
        return pl.read_csv(piece, separator=separator, has_header=False, schema=types)

    header = re.match(rb"\s*[^\n]*\n?", content)
    n_header_lines = header[0].count(b"\n") if header else 0
    for line, piece in _odd_pieces(content[len(header[0]) if header else 0 :], read):
        for end, row in _rows(_texts(piece), separator, path, n_header_lines + line):
            _explain_row(row, f"{path}, line {end}", names, numbers)


def _explain_row(
    row: Sequence[str], place: str, names: Sequence[str], numbers: Iterable[int]
) -> None:
    if len(row) > len(names):
        raise DataError(
            f"{place}: {len(row)} fields, but the header has {len(names)}. Correct the line."
        )
    for i in numbers:
        if i < len(row) and row[i] and not is_number(row[i]):
            raise DataError(f"{place}: {names[i]} must be a number, got {row[i][:_QUOTED]!r}.")


def _odd_pieces(
    content: bytes, read: Callable[[bytes], pl.DataFrame], *, full: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yield each piece that can't be read (with `full`, not completely) and the lines before it.

    Only these pieces are then examined line by line, which takes a hundred times as long.
    """
    line = 0
    for piece in _pieces(content):
        try:
            nulls = read(piece).null_count().row(0)
            is_odd = full and any(nulls)
        except BROKEN:
            is_odd = True
        if is_odd:
            yield line, piece
        line += piece.count(b"\n")


def _pieces(content: bytes) -> Iterator[bytes]:
    """Divide a text at line ends outside quotes."""
    start = 0
    while start < len(content):
        stop = min(start + _PIECE, len(content))
        n_quotes = 0
        cut = start
        while cut < len(content):
            end = content.find(b"\n", stop) + 1 or len(content)
            n_quotes += content.count(b'"', cut, end)
            cut = stop = end
            if n_quotes % 2 == 0:
                break
        yield content[start:cut]
        start = cut


def explain_lines(
    content: bytes,
    name: str,
    read: Callable[[bytes], pl.DataFrame],
    separator: bytes | None,
    columns: Sequence[str],
    numbers: set[str],
    skip: int = 0,
) -> None:
    """Find the first malformed line of a text without a header, and raise an error for it.

    `read` reads part of the text in the same way as the whole text. If `separator` is None, any run
    of blanks separates fields. The first `skip` lines are ignored.
    """
    number_columns = [columns.index(number) for number in columns if number in numbers]
    for n_before, piece in _odd_pieces(content, read, full=True):
        for line_number, line in enumerate(piece.split(b"\n"), start=n_before + 1):
            if line_number > skip and line.strip():
                fields = [
                    field.decode("utf-8", "replace") for field in line.strip().split(separator)
                ]
                _explain_fields(fields, f"{name}, line {line_number}", columns, number_columns)


def _explain_fields(
    fields: Sequence[str], place: str, columns: Sequence[str], numbers: Iterable[int]
) -> None:
    if len(fields) != len(columns):
        raise DataError(
            f"{place}: {len(columns)} columns expected ({' '.join(columns)}), got {len(fields)}. "
            "Correct the line."
        )
    for i in numbers:
        if not is_number(fields[i]):
            raise DataError(f"{place}: {columns[i]} must be a number, got {fields[i][:_QUOTED]!r}.")
