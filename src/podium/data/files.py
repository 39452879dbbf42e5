"""Files: detecting their format, reading their bytes, and opening parquet and Arrow files."""

from __future__ import annotations

import gzip
import io
import itertools
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from podium import _check
from podium.data.columns import NO_HEADER
from podium.data.source import FORMATS, POLARS, Source
from podium.errors import DataError, arg, hint

_USUAL_SUFFIXES = ".parquet, .csv, .tsv, .arrow, .trec or .svmlight"

# On some damaged files Polars panics; a PanicException is not a PolarsError.
BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
# The errors of gzip, zip and Arrow about damage, encryption and unknown formats.
DAMAGED = (
    ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error, *BROKEN,
)  # fmt: skip

_MAX_RATIO = 100  # the largest accepted ratio of unpacked to packed size; tables have 3 to 50
_FREE_BYTES = 1 << 26  # unpacked bytes that are always accepted; in memory, eight times as many
_FIRST = 100  # lines that are examined to recognise lists
_LONGEST = 300  # characters quoted from another library's error

_SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".trec": "trec", ".run": "trec",
    ".qrels": "trec", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".letor": "svmlight", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip


def check_file(path: Path, noun: str) -> str | None:
    """Raise unless the file exists and is not empty; return the format of its suffix, or None."""
    if not path.exists():
        raise DataError(f"{path} does not exist. Pass the path of the {noun}.")
    if path.is_dir():
        raise is_folder(path, noun)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty. Write the table again, or pass another file.")
    return format_of_suffix(path)


def format_of_suffix(path: Path) -> str | None:
    """Return the format of the suffix of a file, or None."""
    unpacked_path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return _SUFFIXES.get(unpacked_path.suffix.lower())


def is_folder(path: Path, noun: str) -> DataError:
    """Return the error for a folder that is not a table."""
    return DataError(
        f"{path} is a folder. Pass the path of the {noun} file in it, or a folder with parquet or "
        "Arrow files only, the parts of one table."
    )


def sniff(path: Path) -> str:
    """Return the format of the content, from its magic bytes or else from its first line.

    Comments, which begin with "#", may precede svmlight lines. A table's header may also begin so.
    """
    line = first_line(path)
    if line.startswith("PAR1"):
        return "parquet"
    if line.startswith("ARROW1"):
        return "arrow"
    if _is_svmlight(_uncommented(path) if line.startswith("#") else line):
        return "svmlight"
    if is_trec(path):
        return "trec"
    if line.startswith("{"):
        return "jsonl"
    if _is_lists(path):
        return "lists"
    for format, separator in (("tsv", "\t"), ("csv", ",")):
        if separator in line:
            return format
    raise DataError(
        f"{path} has an unknown format: neither its name nor its first line determines it. Give "
        f"it one of the suffixes {_USUAL_SUFFIXES}"
        f"{hint(f', or pass {arg.format()} as {_check.listed(FORMATS)}')}. {NO_HEADER}"
    )


def _uncommented(path: Path) -> str:
    """Return the first line that is not an svmlight comment, or an empty text."""
    return next((line for line in lines(path) if not line.startswith("#")), "")


def _is_svmlight(line: str) -> bool:
    return re.match(r"\S+\s+(qid:|\d+:\S)", line) is not None


def is_trec(path: Path) -> bool:
    """Return whether the first line is that of a run or qrels, of which the second field is unused.

    The check of the second field excludes tables without a header. "Q0" is that of a run of any
    width, so that a wrong width is named. Comments may precede the line.
    """
    fields = _uncommented(path).split()
    unused = fields[1].upper() if len(fields) > 2 else ""
    if unused == "Q0":
        return True
    if unused != "0" or len(fields) not in (4, 6):
        return False
    return is_number(fields[4] if len(fields) == 6 else fields[3])


def _is_lists(path: Path) -> bool:
    """Return whether lines have a user and the user's items: integers, as many as there are."""
    first_lines = [line.split() for line in itertools.islice(lines(path), _FIRST)]
    is_integer = all(field.isdecimal() for fields in first_lines for field in fields)
    return is_integer and len({len(fields) for fields in first_lines}) > 1


def first_line(path: Path) -> str:
    """Return the first line that is not blank; .gz files are unpacked."""
    for line in lines(path):
        return line
    raise DataError(f"{path} is empty. Write the table again, or pass another file.")


def lines(path: Path) -> Iterator[str]:
    """Yield the lines that are not blank; .gz files are unpacked."""
    try:
        with open_bytes(path) as file:
            for line in file:
                if line.strip():
                    yield line.decode("utf-8-sig", "replace").rstrip("\r\n")
    except OSError as error:
        raise broken(path, error) from error


def line_of(path: Path, row: int) -> int:
    """Return the line of a row, without counting blank lines as rows."""
    all_lines = enumerate(read_bytes(path).split(b"\n"), start=1)
    row_lines = (number for number, line in all_lines if line.strip())
    return next(itertools.islice(row_lines, row, None), row + 1)


def read_bytes(path: Path) -> bytes:
    """Return the whole content; .gz files are unpacked."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except OSError as error:
        raise broken(path, error) from error


def utf8_text(path: Path) -> str:
    """Return the whole content of a UTF-8 text; .gz files are unpacked."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text. Save it as UTF-8.") from None


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file; .gz files are unpacked."""
    if path.suffix.lower() == ".gz":
        return unpacked(lambda: cast("IO[bytes]", gzip.open(path)), path, path.stat().st_size)
    return path.open("rb")


def unpacked(opening: Callable[[], IO[bytes]], name: str | Path, n_packed: int) -> IO[bytes]:
    """Open a packed stream; reading raises a DataError if it is damaged or unpacks to too much.

    Parameters
    ----------
    opening : function without arguments
        The function that opens the unpacking stream.
    name : str or path
        The name of the file in messages.
    n_packed : int
        The packed size in bytes.
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
    """A stream that limits the number of its bytes and converts errors to DataErrors."""

    def __init__(self, stream: IO[bytes], name: str | Path, n_packed: int) -> None:
        super().__init__()
        self._stream, self._name, self._n_read = stream, name, 0
        self._limit = max(_FREE_BYTES, _MAX_RATIO * n_packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        with _unpacking(self._name):
            part = self._stream.read(len(buffer))
        self._n_read += len(part)
        if self._n_read > self._limit:
            raise DataError(
                f"{self._name} unpacks to more than {self._limit >> 20} MiB, over {_MAX_RATIO} "
                "times its size, which is typical of files made to fill the memory. If the file "
                "is valid, unpack it and pass the unpacked file."
            )
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def broken(path: str | Path, error: Exception) -> DataError:
    """Return the error for a file that can't be read completely."""
    reason = error_line(error)
    return DataError(
        f"{path} can't be read: {reason}. It may be damaged. Copy or download it again, or unpack "
        "it."
    )


def open_arrow_stream(path: Path) -> Source:
    """Open an Arrow stream, which is read as a whole."""
    POLARS.enter()
    arrow: Any = import_module("pyarrow")
    ipc: Any = import_module("pyarrow.ipc")
    with reading(path, "Arrow"), arrow.OSFile(str(path)) as file:
        return Source.of(str(path), arrow_frame(ipc.open_stream(file).read_all()))


def refuse_swollen(path: Path, n_values: int) -> None:
    """Raise if a small file declares more values than fit in memory."""
    if 8 * n_values > max(8 * _FREE_BYTES, _MAX_RATIO * path.stat().st_size):
        raise DataError(
            f"{path} declares {n_values} values in {path.stat().st_size} bytes, which is typical "
            "of files made to fill the memory. If the file is valid, save it as CSV."
        )


@contextmanager
def reading(path: Path, format: str) -> Generator[None]:
    """Convert Arrow's errors about a damaged or missing file to a DataError.

    Arrow is used instead of Polars, because Polars panics on damaged files and prints a long
    message.
    """
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(
            f"{path} was not found. It was removed, or a node of the cluster lacks it: all nodes "
            "must have the tables at the same path."
        ) from error
    except DAMAGED as error:
        raise unreadable(path, format, error) from error


def arrow_frame(table: Any) -> pl.DataFrame:
    """Return an Arrow table as a frame, after a check of its offsets and texts."""
    table.validate(full=True)
    for field in table.schema:
        metadata: dict[bytes, bytes] = field.metadata or {}
        for text in itertools.chain.from_iterable(metadata.items()):
            text.decode()
    arrow: Any = import_module("pyarrow")
    for number, field in enumerate(table.schema):
        if arrow.types.is_timestamp(field.type) and field.type.unit == "s":
            # Polars has no seconds, and wraps those that milliseconds can't hold.
            milliseconds = table[field.name].cast(arrow.timestamp("ms", field.type.tz))
            table = table.set_column(number, field.name, milliseconds)
    return pl.DataFrame(table.replace_schema_metadata(None))


def unreadable(path: Path, format: str, error: BaseException) -> DataError:
    """Return the error for a file that the reader of its format rejects."""
    return DataError(
        f"{path} can't be read as {format} ({error_line(error)}). It may be truncated or have "
        f"another format. Write it again, or give it the suffix of its format ({_USUAL_SUFFIXES})"
        f"{hint(f' or pass {arg.format()}')}."
    )


def error_line(error: BaseException) -> str:
    """Return the first line of another library's error, shortened if it is long."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"


def is_number(text: str) -> bool:
    """Return whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
