"""Writing tables, also in parts, for results larger than memory.

`PartFolder` is a folder that a long command fills, and continues after an interruption.
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import polars as pl

from podium import _check
from podium._files import is_plain_stream, replacing, scratch_folder
from podium.data.delimited import run_columns
from podium.data.source import POLARS
from podium.errors import ArgumentError, DataError, arg

TREC = (".trec", ".trec.gz")
Append: TypeAlias = Callable[[Mapping[str, Any]], None]
_Write: TypeAlias = Callable[[pl.DataFrame], None]


@contextmanager
def atomic(path: str | Path) -> Generator[Path]:
    """Yield a temporary path whose file replaces `path` when the block succeeds.

    Parameters
    ----------
    path : str or Path
        The file to write; an existing one is replaced.

    Yields
    ------
    Path
        The temporary path, with the same name.

    Raises
    ------
    DataError
        If the folder does not exist or is not writable.

    Examples
    --------
    >>> with atomic("report.html") as place:  # doctest: +SKIP
    ...     place.write_text("<html>…")
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"{target} can't be written: there is no folder {target.parent}.")
    with writing(target), replacing(target) as place:
        yield place


@contextmanager
def writing(target: Path) -> Generator[None]:
    """Convert errors of the system to a DataError about the path that is written."""
    try:
        yield
    except BrokenPipeError:  # the reader of a pipe has ended; the path is not at fault
        raise
    except OSError as error:
        raise DataError(f"{target} can't be written: {error.strerror or error}.") from error


def to_frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the columns (NumPy arrays, lists or Series, of equal length) as a Polars frame.

    Examples
    --------
    >>> to_frame({"user": [1, 2], "score": [0.5, 0.25]}).shape
    (2, 2)
    """
    if not columns or not isinstance(columns, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"{arg.columns} must be a mapping of names to columns, got {columns!r}."
        )
    _check.equal_length(**columns)
    return pl.DataFrame({name: _series(name, values) for name, values in columns.items()})


def _series(name: str, values: Any) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise ArgumentError(
            f"column {name!r} must hold numbers, texts or times, all of one kind."
        ) from None


def write_parts(columns: Mapping[str, Any], path: str | Path, n_rows: int = 1_000_000) -> None:
    """Write named columns to a new folder of parquet files, completely or not at all.

    Parameters
    ----------
    columns : mapping of column name to (n_rows,)
        NumPy arrays, lists or Series.
    path : str or Path
        The folder, which must not exist.
    n_rows : int
        The number of rows of each file.

    Raises
    ------
    ArgumentError
        If columns differ in length, or n_rows < 1.
    DataError
        If the folder exists or can't be written.

    Examples
    --------
    >>> write_parts({"user": [1, 2], "ndcg@10": [0.5, 0.25]}, "values")  # doctest: +SKIP
    """
    target, size = Path(path), _check.cutoff(n_rows, name="n_rows")
    frame = to_frame(columns)
    POLARS.enter()
    if target.exists() or not target.parent.is_dir():
        reason = "it exists" if target.exists() else f"there is no folder {target.parent}"
        raise DataError(f"{target} can't be written: {reason}.")
    with writing(target), scratch_folder(target.parent) as scratch:
        folder = scratch / target.name
        folder.mkdir()
        for number, start in enumerate(range(0, max(frame.height, 1), size)):
            frame.slice(start, size).write_parquet(folder / f"part-{number:05}.parquet")
        folder.rename(target)


def table_suffix(path: Path) -> tuple[str, bool]:
    """Return the suffix of a table's format, and whether the file is compressed by gzip.

    Parameters
    ----------
    path : Path
        The file, device or pipe to write.

    Returns
    -------
    suffix : str
        The suffix without .gz; ".csv" for a device or pipe without a suffix.
    is_packed : bool
        Whether the suffix ends in .gz.

    Raises
    ------
    ArgumentError
        If the suffix is not one of a table.
    """
    if is_plain_stream(path):
        return ".csv", False
    packed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix not in SEPARATORS and (packed or suffix not in COLUMNAR):
        suffixes = [*COLUMNAR, *SEPARATORS, *(f"{s}.gz" for s in SEPARATORS)]
        raise ArgumentError(f"path must end in {_check.listed(suffixes)}, got {path.name!r}.")
    return suffix, packed


SEPARATORS = {".csv": ",", ".tsv": "\t"}
COLUMNAR = (".parquet", ".arrow", ".feather")


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
        The function. Each call passes the same columns, of the same types and in the same order.

    Raises
    ------
    ArgumentError
        If the suffix is another one, or columns differ in length.
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
        opened = (
            _columnar(place, suffix)
            if suffix in COLUMNAR
            else _text(place, SEPARATORS[suffix], packed)
        )
        with opened as write:
            yield lambda columns: write(to_frame(columns))


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


@contextmanager
def append_run(path: str | Path) -> Generator[Append]:
    """Yield a function that appends rows of a run (users, items, scores); see `append_table`.

    A file with the suffix .trec or .trec.gz has TREC's format. All rows of a user must be passed in
    one call, best first.
    """
    target = Path(path)
    if not target.name.lower().endswith(TREC):
        with append_table(target) as append:
            yield append
        return
    packed = target.suffix.lower() == ".gz"
    with atomic(target) as place, _text(place, " ", packed, header=False) as write:
        yield lambda columns: write(to_frame(run_columns(columns, target)))


@contextmanager
def _text(place: Path, separator: str, packed: bool, *, header: bool = True) -> Generator[_Write]:
    with ExitStack() as files:
        file: Any = files.enter_context(place.open("wb"))
        if packed:
            # The gzip header contains no name and time, so that equal tables give equal files.
            file = files.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
        yield _text_writer(file, separator, header=header)


def text_appender(file: IO[bytes]) -> Append:
    """Return a function that appends rows as CSV to an open file, with one header."""
    write = _text_writer(file, ",", header=True)
    return lambda columns: write(to_frame(columns))


def _text_writer(file: IO[bytes], separator: str, *, header: bool) -> _Write:
    headers = itertools.chain([header], itertools.repeat(False))
    style: Any = "necessary" if header else "never"

    def write(frame: pl.DataFrame) -> None:
        POLARS.enter()
        is_first = next(headers)
        frame.write_csv(file, separator=separator, include_header=is_first, quote_style=style)

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


_JOB = "_job.json"  # readers of folders leave out names that begin with "_"


class PartFolder:
    """Writes the parts of a table, and gives the folder its name when all of them are there.

    Until then, finished parts are in a folder beside it with the suffix .partial. The same job
    finds them there. An error before the first part leaves no folder.

    Parameters
    ----------
    target : Path
        The folder, which must not exist.
    job : mapping of str to value
        Everything that the rows depend on, as JSON values.

    Raises
    ------
    DataError
        If the folder exists or can't be written, or the parts are those of another job.

    Examples
    --------
    >>> with PartFolder(Path("lists"), {"k": 10}) as folder:  # doctest: +SKIP
    ...     if not folder.has(0):
    ...         folder.write(0, {"user": [1], "item": [7]})
    """

    def __init__(self, target: Path, job: Mapping[str, Any]) -> None:
        self._target, self._job = target, dict(job)
        self._place = target.with_name(f"{target.name}.partial")

    def __enter__(self) -> PartFolder:
        if self._target.exists():
            raise DataError(f"{self._target} exists. Remove it, or pass another folder.")
        with writing(self._target):
            self._place.mkdir(exist_ok=True)
            if (self._place / _JOB).exists():
                self._refuse_other_job()
            else:
                with replacing(self._place / _JOB) as file:
                    file.write_text(json.dumps(self._job), encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            if not any(self._place.glob("part-*.parquet")):  # no part is finished
                shutil.rmtree(self._place, ignore_errors=True)
            return
        with writing(self._target):
            (self._place / _JOB).unlink()
            self._place.rename(self._target)

    def has(self, number: int) -> bool:
        """Return whether a part has been written."""
        return self._part(number).exists()

    def write(self, number: int, columns: Mapping[str, Any]) -> None:
        """Write a part, completely or not at all."""
        write_table(columns, self._part(number))

    def _part(self, number: int) -> Path:
        return self._place / f"part-{number:05}.parquet"

    def _refuse_other_job(self) -> None:
        job: Any = json.loads((self._place / _JOB).read_text(encoding="utf-8"))
        names = [name for name, value in self._job.items() if job.get(name) != value]
        if not names:
            return
        raise DataError(
            f"{self._place} has parts of a command with another {' and '.join(names)}. Remove it, "
            "repeat that command, or pass another folder."
        )
