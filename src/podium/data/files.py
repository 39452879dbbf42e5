"""Files: telling their format, reading their bytes, and opening parquet and Arrow."""

from __future__ import annotations

import gzip
import io
import itertools
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from podium import _check
from podium.data._swelling import ROOM, SWELLS, refuse_swollen, refuse_texts, texts, whole
from podium.data.source import FORMATS, POLARS, Column, Kind, Source
from podium.errors import DataError

# Polars panics, which is no PolarsError, on some damaged files.
BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
# What gzip, zip and Arrow raise for damage, encryption, and kinds that they don't know.
DAMAGED = (
    ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error, *BROKEN,
)  # fmt: skip

_LONGEST = 300  # letters of another library's error

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
    except OSError as error:
        raise broken(path, error) from error


def read_bytes(path: Path) -> bytes:
    """Return the whole content, unpacking .gz."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except OSError as error:
        raise broken(path, error) from error


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacking .gz."""
    if path.suffix.lower() == ".gz":
        return unpacked(lambda: cast("IO[bytes]", gzip.open(path)), path, path.stat().st_size)
    return path.open("rb")


def unpacked(opening: Callable[[], IO[bytes]], name: str | Path, n_packed: int) -> IO[bytes]:
    """Open what is packed; reading it raises a DataError where it is damaged or swells too far.

    Parameters
    ----------
    opening : function without arguments
        Opens the stream of what was packed.
    name : str or path
        How messages call it.
    n_packed : int
        Bytes that it takes packed.
    """
    with _unpacking(name):
        return io.BufferedReader(_Unpacked(opening(), name, n_packed), 1 << 17)


@contextmanager
def _unpacking(name: str | Path) -> Generator[None]:
    try:
        yield
    except DataError:
        raise
    except DAMAGED as error:
        raise broken(name, error) from error


class _Unpacked(io.RawIOBase):
    """A stream that counts its bytes; its own errors are DataErrors."""

    def __init__(self, stream: IO[bytes], name: str | Path, n_packed: int) -> None:
        super().__init__()
        self._stream, self._name, self._n_read = stream, name, 0
        self._most = max(ROOM, SWELLS * n_packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        with _unpacking(self._name):
            part = self._stream.read(len(buffer))
        self._n_read += len(part)
        if self._n_read > self._most:
            raise DataError(
                f"{self._name} unpacks to more than {self._most >> 20} MiB, over {SWELLS} times "
                "its size, as files do that are made to fill memory. If you expected that, unpack "
                "it and pass what comes out."
            )
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def broken(path: str | Path, error: Exception) -> DataError:
    """Return the error for a file that can't be read to its end."""
    why = error_line(error)
    return DataError(f"{path} can't be read: {why}. It may be damaged: get it again, or unpack it.")


def open_parquet(path: Path) -> Source:
    """Open a parquet file; only the columns that are wanted are read."""
    POLARS.enter()
    parquet: Any = import_module("pyarrow.parquet")
    with _reading(path, "parquet"), parquet.ParquetFile(path) as file:
        names, n_rows = tuple(file.schema_arrow.names), int(file.metadata.num_rows)
        of_text = texts(file.schema_arrow)

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        refuse_swollen(path, n_rows * len(kinds))
        with _reading(path, "parquet"), parquet.ParquetFile(path) as file:
            refuse_texts(path, [name for name in of_text if name in kinds])
            return _frame(file.read(columns=list(kinds))).select(list(kinds)).to_dict()

    return Source(str(path), names, fetch)


def open_arrow(path: Path) -> Source:
    """Open an Arrow file (.feather is one too), or an Arrow stream under the same suffix."""
    POLARS.enter()
    arrow: Any = import_module("pyarrow")
    ipc: Any = import_module("pyarrow.ipc")
    opened = ipc.open_file if first_line(path).startswith("ARROW1") else ipc.open_stream
    with _reading(path, "Arrow"), arrow.OSFile(str(path)) as file:
        frame = _frame(whole(path, opened(file)))
    return Source(
        str(path), tuple(frame.columns), lambda kinds: {name: frame[name] for name in kinds}
    )


@contextmanager
def _reading(path: Path, format: str) -> Generator[None]:
    """Raise a DataError for what Arrow says of a damaged file.

    Arrow reads, not Polars: Polars panics on damaged files, which prints a page of its own.
    """
    try:
        yield
    except DataError:
        raise
    except DAMAGED as error:
        raise unreadable(path, format, error) from error


def _frame(table: Any) -> pl.DataFrame:
    """Return Arrow's table as a frame, once its offsets and texts are known to be some."""
    table.validate(full=True)
    for field in table.schema:
        metadata: dict[bytes, bytes] = field.metadata or {}
        for text in itertools.chain.from_iterable(metadata.items()):
            text.decode()
    return pl.DataFrame(table.replace_schema_metadata(None))


def unreadable(path: Path, format: str, error: BaseException) -> DataError:
    """Return the error for a file that its format's reader rejects."""
    return DataError(
        f"{path} can't be read as {format} ({error_line(error)}). "
        "It may be truncated or another format: write it again, or pass format=."
    )


def error_line(error: BaseException) -> str:
    """Return the first line of another library's error, cut where it is long."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


def is_number(text: str) -> bool:
    """Tell whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
