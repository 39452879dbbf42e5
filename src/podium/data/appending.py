"""Writing tables, also in parts, for results larger than memory."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import polars as pl

from podium.data.source import POLARS
from podium.data.trec import append_trec
from podium.data.write import COLUMNAR, SEPARATORS, atomic, table_suffix, to_frame
from podium.errors import ArgumentError, arg

TREC = (".trec", ".trec.gz")
Append: TypeAlias = Callable[[Mapping[str, Any]], None]
_Write: TypeAlias = Callable[[pl.DataFrame], None]


@contextmanager
def append_table(path: str | Path) -> Generator[Append]:
    """Yield a function that appends rows to a file, which is written if the block succeeds.

    Parameters
    ----------
    path : str or Path
        The file. Its suffix is .parquet, .csv, .tsv (these two also with .gz), .arrow or .feather.
        A device or pipe without a suffix, such as /dev/stdout, receives CSV.

    Yields
    ------
    function of a mapping of column name to (n_rows,)
        The function. Each call must pass the same columns, of the same types and in the same order.

    Raises
    ------
    ArgumentError
        If the suffix is another one, columns differ in length or from those of the first call, or
        the function was never called, so that the table has no columns.
    DataError
        If the file can't be written.

    Notes
    -----
    Columns may be arrays without rows; the file then contains their names. In .parquet, .arrow and
    .feather files, categorical columns become strings, because later calls may have other
    categories.

    Examples
    --------
    >>> with append_table("run.csv") as append:  # doctest: +SKIP
    ...     append({"user": [1, 2], "score": [0.5, 0.25]})
    ...     append({"user": [3], "score": [0.75]})
    """
    target = Path(path)
    suffix, packed = table_suffix(target)
    with atomic(target) as place:
        opened = _columnar(place, suffix) if suffix in COLUMNAR else _text(place, suffix, packed)
        with opened as write:
            frames = _Frames()
            yield lambda columns: write(frames.of(columns))
            if frames.schema is None:
                raise ArgumentError(
                    f"Nothing was appended to {target.name}, but a table needs columns. If there "
                    "are no rows, append columns without rows."
                )


def write_table(columns: Mapping[str, Any], path: str | Path) -> None:
    """Write named columns to a file, completely or not at all.

    Parameters
    ----------
    columns : mapping of column name to (n_rows,)
        NumPy arrays, lists or Series.
    path : str or Path
        The file. Its suffix is .parquet, .csv, .tsv (these two also with .gz), .arrow or .feather.
        A device or pipe without a suffix, such as /dev/stdout, receives CSV.

    Raises
    ------
    ArgumentError
        If the suffix is another one, or columns differ in length.
    DataError
        If the file can't be written.

    Examples
    --------
    >>> write_table({"user": [1, 2], "score": [0.5, 0.25]}, "run.parquet")  # doctest: +SKIP
    """
    with append_table(path) as append:
        append(columns)


def append_run(path: str | Path) -> AbstractContextManager[Append]:
    """Yield a function that appends rows of a run (users, items, scores); see `append_table`.

    A file with the suffix .trec or .trec.gz has TREC's format. All rows of a user must be passed in
    one call, best first.
    """
    is_trec = Path(path).name.lower().endswith(TREC)
    return append_trec(Path(path)) if is_trec else append_table(path)


class _Frames:
    """Converts columns to frames; all must have the columns of the first frame."""

    def __init__(self) -> None:
        self.schema: list[tuple[str, pl.DataType]] | None = None

    def of(self, columns: Mapping[str, Any]) -> pl.DataFrame:
        if not columns:
            raise ArgumentError(f"{arg.columns} must contain at least one column, got none.")
        frame = to_frame(columns)
        schema = list(frame.schema.items())
        if self.schema is None:
            self.schema = schema
        if schema != self.schema:
            raise ArgumentError(
                f"{arg.columns} must be those of the first call, {_shown(self.schema)}, got "
                f"{_shown(schema)}. Use the same names, order and types in all calls."
            )
        return frame


def _shown(schema: list[tuple[str, pl.DataType]]) -> str:
    return ", ".join(f"{name} ({dtype})" for name, dtype in schema)


@contextmanager
def _text(place: Path, suffix: str, packed: bool) -> Generator[_Write]:
    with ExitStack() as files:
        file: Any = files.enter_context(place.open("wb"))
        if packed:
            # The gzip header contains no name and time, so that equal tables give equal files.
            file = files.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
        yield _text_writer(file, SEPARATORS[suffix])


def text_appender(file: IO[bytes]) -> Append:
    """Return a function that appends rows as CSV to an open file, with one header."""
    frames, write = _Frames(), _text_writer(file, ",")
    return lambda columns: write(frames.of(columns))


def _text_writer(file: IO[bytes], separator: str) -> _Write:
    n_calls = 0

    def write(frame: pl.DataFrame) -> None:
        nonlocal n_calls
        POLARS.enter()
        frame.write_csv(file, separator=separator, include_header=n_calls == 0)
        n_calls += 1

    return write


@contextmanager
def _columnar(place: Path, suffix: str) -> Generator[_Write]:
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    writer: Any = None

    def write(frame: pl.DataFrame) -> None:
        nonlocal writer
        POLARS.enter()
        # A column has one dictionary in the file, that of its first part.
        table: Any = cast("Any", frame.cast({pl.Categorical: pl.String})).to_arrow()
        if writer is None:
            if suffix == ".parquet":
                writer = parquet.ParquetWriter(str(place), table.schema, compression="zstd")
            else:
                writer = arrow.ipc.new_file(str(place), table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
