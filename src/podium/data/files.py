"""Files: telling their format, reading their bytes, and opening parquet and Arrow."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

import polars as pl

from podium import _check
from podium.data._source import FORMATS, Column, Kind, Source
from podium.errors import DataError

# Polars panics, which is no PolarsError, on some damaged files.
BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

_SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".trec": "trec", ".run": "trec",
    ".qrels": "trec", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".letor": "svmlight",
}  # fmt: skip


def check_file(path: Path, what: str) -> str | None:
    """Raise unless the file is there and has content; return the format that its name tells."""
    if not path.exists():
        raise DataError(f"{path} does not exist. Pass the path of the {what}.")
    if path.is_dir():
        raise DataError(f"{path} is a folder. Pass the path of the {what} file in it.")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return _SUFFIXES.get(plain.suffix.lower())


def sniff(path: Path) -> str:
    """Return the format that the content tells: magic bytes, else the first line's shape.

    Lines of svmlight may be preceded by comments, which begin with "#"; a table's header may too.
    """
    head = first_line(path)
    if head.startswith("PAR1"):
        return "parquet"
    if head.startswith("ARROW1"):
        return "arrow"
    if _is_svmlight(_uncommented(path) if head.startswith("#") else head):
        return "svmlight"
    if _is_trec(head.split()):
        return "trec"
    for format, separator in (("tsv", "\t"), ("csv", ",")):
        if separator in head:
            return format
    raise DataError(
        f"{path} has no format that its name or first line tells. Pass format= as "
        f"{_check.listed(FORMATS)}."
    )


def _uncommented(path: Path) -> str:
    """Return the first line that is no comment of svmlight; nothing where all are."""
    return next((line for line in _lines(path) if not line.startswith("#")), "")


def _is_svmlight(line: str) -> bool:
    return re.match(r"\S+\s+(qid:|\d+:\S)", line) is not None


def _is_trec(fields: list[str]) -> bool:
    """Tell a run's or qrels' line; an unused second field keeps headless tables out."""
    if len(fields) not in (4, 6) or fields[1].upper() not in ("0", "Q0"):
        return False
    return is_number(fields[4] if len(fields) == 6 else fields[3])


def first_line(path: Path) -> str:
    """Return the first line that is not blank, unpacking .gz."""
    for line in _lines(path):
        return line
    raise DataError(f"{path} is empty.")


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines that are not blank, unpacking .gz."""
    try:
        with open_bytes(path) as file:
            for line in file:
                if line.strip():
                    yield line.decode("utf-8-sig", "replace").rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise broken(path, error) from error


def read_bytes(path: Path) -> bytes:
    """Return the whole content, unpacking .gz."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise broken(path, error) from error


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacking .gz."""
    if path.suffix.lower() == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


def broken(path: str | Path, error: Exception) -> DataError:
    """Return the error for a file that can't be read to its end."""
    return DataError(f"{path} can't be read: {error}. It may be truncated: get it again.")


def open_parquet(path: Path) -> Source:
    """Open a parquet file; only the columns that are wanted are read."""
    try:
        names = tuple(pl.read_parquet_schema(path))
    except BROKEN as error:
        raise unreadable(path, "parquet", error) from error

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        try:
            return pl.read_parquet(path, columns=list(kinds)).to_dict()
        except BROKEN as error:
            raise unreadable(path, "parquet", error) from error

    return Source(str(path), names, fetch)


def open_arrow(path: Path) -> Source:
    """Open an Arrow file (.feather is one too), or an Arrow stream under the same suffix."""
    read = pl.read_ipc if first_line(path).startswith("ARROW1") else pl.read_ipc_stream
    try:
        frame = read(path)
    except BROKEN as error:
        raise unreadable(path, "Arrow", error) from error
    return Source(
        str(path), tuple(frame.columns), lambda kinds: frame.select(list(kinds)).to_dict()
    )


def unreadable(path: Path, format: str, error: BaseException) -> DataError:
    """Return the error for a file that its format's reader rejects."""
    return DataError(
        f"{path} can't be read as {format} ({error_line(error)}). "
        "It may be truncated or another format: write it again, or pass format=."
    )


def error_line(error: BaseException) -> str:
    """Return the first line of another library's error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def is_number(text: str) -> bool:
    """Tell whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
