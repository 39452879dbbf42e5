"""Files: detecting their format, reading their bytes, and opening parquet and Arrow files."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from podium import _check
from podium._files import is_stream
from podium.data.columns import NO_HEADER
from podium.data.source import FORMATS, POLARS, Source
from podium.errors import DataError, arg, hint

_USUAL_SUFFIXES = ".parquet, .csv, .tsv, .arrow, .trec or .svmlight"

# On some damaged files Polars panics; a PanicException is not a PolarsError.
BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
# The errors of Arrow about damage, encryption and unknown formats.
DAMAGED = (
    ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError, *BROKEN,
)  # fmt: skip

_FIRST = 100  # lines that are examined to recognise lists
_SVMLIGHT = re.compile(r"\S+\s+(qid:|\d+:\S)")
_GZIP = b"\x1f\x8b"
_LONGEST = 300  # characters quoted from another library's error

_SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".trec": "trec", ".run": "trec",
    ".qrels": "trec", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".letor": "svmlight", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip


@dataclass(frozen=True)
class File:
    """A file with a table; its text is its path, for messages."""

    path: Path

    @classmethod
    def of(cls, path: Path, noun: str) -> File:
        """Return the file at a path, or raise with the kind of the table unless it has content."""
        if not path.exists():
            raise DataError(f"{path} does not exist. Pass the path of the {noun}.")
        if path.is_dir():
            raise is_folder(path, noun)
        if not is_stream(path) and path.stat().st_size == 0:
            raise DataError(f"{path} is empty. Write the table again, or pass another file.")
        return cls(path)

    def __str__(self) -> str:
        return str(self.path)

    @cached_property
    def stream(self) -> bytes | None:
        """The content of a pipe or device, which can be read only once; None for a file."""
        return self.path.read_bytes() if is_stream(self.path) else None

    @property
    def is_packed(self) -> bool:
        """Whether the content is unpacked when it is read; streams have no suffix that says so."""
        has_magic = self.stream is not None and self.stream.startswith(_GZIP)
        return has_magic or self.path.suffix.lower() == ".gz"

    def open(self) -> IO[bytes]:
        """Open the unpacked content."""
        place = self.path if self.stream is None else io.BytesIO(self.stream)
        if self.is_packed:
            return cast("IO[bytes]", gzip.open(place))
        return place.open("rb") if isinstance(place, Path) else place

    @contextmanager
    def reading(self) -> Generator[IO[bytes]]:
        """Open the unpacked content; an error of the system or of gzip becomes a DataError."""
        try:
            with self.open() as file:
                yield file
        except (OSError, EOFError, zlib.error) as error:
            raise broken(self, error) from error

    def for_arrow(self) -> Any:
        """Open the content as a file of Arrow, which is not copied."""
        arrow: Any = import_module("pyarrow")
        is_path = self.stream is None
        return arrow.memory_map(str(self.path)) if is_path else arrow.BufferReader(self.stream)

    def lines(self) -> Iterator[str]:
        """Yield the lines that are not blank."""
        with self.reading() as file:
            for line in file:
                if line.strip():
                    yield line.decode("utf-8-sig", "replace").rstrip("\r\n")

    @cached_property
    def first_line(self) -> str:
        """The first line that is not blank."""
        for line in self.lines():
            return line
        raise DataError(f"{self} is empty. Write the table again, or pass another file.")

    def content(self) -> bytes:
        """Return the whole unpacked content."""
        with self.reading() as file:
            return file.read()

    def text(self) -> str:
        """Return the whole content, which must be UTF-8."""
        content = self.content()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(f"{self}, line {line}: not UTF-8 text. Save it as UTF-8.") from None

    def line_of(self, row: int) -> int:
        """Return the line of a row, without counting blank lines as rows."""
        all_lines = enumerate(self.content().split(b"\n"), start=1)
        row_lines = (number for number, line in all_lines if line.strip())
        return next(itertools.islice(row_lines, row, None), row + 1)

    def format(self, given: str | None = None) -> str:
        """Return the given format, or that of the suffix or the content."""
        if given is not None:
            return _check.choice(given, "format", FORMATS)
        suffix_format = format_of_suffix(self.path)
        if suffix_format in ("csv", "tsv") and self.is_trec():
            return "trec"  # such as the qrels of MS MARCO
        return suffix_format or self._sniffed()

    def _sniffed(self) -> str:
        """Return the format of the content, from its magic bytes or else from its first line.

        Comments, which begin with "#", may precede svmlight lines. A table's header may also begin
        so.
        """
        line = self.first_line
        if line.startswith("PAR1"):
            return "parquet"
        if line.startswith("ARROW1"):
            return "arrow"
        if _SVMLIGHT.match(self._uncommented()):
            return "svmlight"
        if self.is_trec():
            return "trec"
        if line.startswith("{"):
            return "jsonl"
        if self._is_lists():
            return "lists"
        for format, separator in (("tsv", "\t"), ("csv", ",")):
            if separator in line:
                return format
        raise DataError(
            f"{self} has an unknown format: neither its name nor its first line determines it. "
            f"Give it one of the suffixes {_USUAL_SUFFIXES}"
            f"{hint(f', or pass {arg.format()} as {_check.listed(FORMATS)}')}. {NO_HEADER}"
        )

    def _uncommented(self) -> str:
        """Return the first line that does not begin with "#", or an empty text."""
        if not self.first_line.startswith("#"):
            return self.first_line
        return next((line for line in self.lines() if not line.startswith("#")), "")

    def is_trec(self) -> bool:
        """Return whether the first line is that of a run or qrels, whose second field is unused.

        The check of the second field excludes tables without a header. "Q0" is that of a run of any
        width, so that a wrong width is named. Comments may precede the line.
        """
        fields = self._uncommented().split()
        unused = fields[1].upper() if len(fields) > 2 else ""
        if unused == "Q0":
            return True
        if unused != "0" or len(fields) not in (4, 6):
            return False
        return is_number(fields[4] if len(fields) == 6 else fields[3])

    def _is_lists(self) -> bool:
        """Return whether lines have a user and the user's items: integers, as many as there are."""
        first_lines = [line.split() for line in itertools.islice(self.lines(), _FIRST)]
        is_integer = all(field.isdecimal() for fields in first_lines for field in fields)
        return is_integer and len({len(fields) for fields in first_lines}) > 1


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


def broken(file: object, error: Exception) -> DataError:
    """Return the error for a file that can't be read completely."""
    reason = error_line(error)
    return DataError(
        f"{file} can't be read: {reason}. It may be damaged. Copy or download it again, or unpack "
        "it."
    )


def open_arrow_stream(file: File) -> Source:
    """Open an Arrow stream, which is read as a whole."""
    POLARS.enter()
    ipc: Any = import_module("pyarrow.ipc")
    with reading(file, "Arrow"), file.for_arrow() as stream:
        return Source.of(str(file), arrow_frame(ipc.open_stream(stream).read_all()))


@contextmanager
def reading(file: File, format: str) -> Generator[None]:
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
            f"{file} was not found. It was removed, or a node of the cluster lacks it: all nodes "
            "must have the tables at the same path."
        ) from error
    except DAMAGED as error:
        raise unreadable(file, format, error) from error


def arrow_frame(table: Any) -> pl.DataFrame:
    """Return an Arrow table as a frame, after a check of its offsets and texts."""
    table.validate(full=True)
    for column in table.schema:
        metadata: dict[bytes, bytes] = column.metadata or {}
        for text in itertools.chain.from_iterable(metadata.items()):
            text.decode()
    arrow: Any = import_module("pyarrow")
    for number, column in enumerate(table.schema):
        if arrow.types.is_timestamp(column.type) and column.type.unit == "s":
            # Polars has no seconds, and wraps those that milliseconds can't hold.
            milliseconds = table[column.name].cast(arrow.timestamp("ms", column.type.tz))
            table = table.set_column(number, column.name, milliseconds)
    return pl.DataFrame(table.replace_schema_metadata(None))


def unreadable(file: File, format: str, error: BaseException) -> DataError:
    """Return the error for a file that the reader of its format rejects."""
    return DataError(
        f"{file} can't be read as {format} ({error_line(error)}). It may be truncated or have "
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
