"""Writing tables: whole files or none.

Every file is written beside its place under another name and moved there when it is complete, so
an interrupted run leaves the old file, or no file, and never half of one.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from podium import _check
from podium._files import is_plain_stream, replacing
from podium.data.source import POLARS
from podium.errors import ArgumentError, DataError


@contextmanager
def atomic(path: str | Path) -> Generator[Path]:
    """Give a temporary path in the same folder that becomes `path` when the block succeeds.

    Parameters
    ----------
    path : str or Path
        The file to write; an existing one is replaced.

    Raises
    ------
    DataError
        If the folder does not exist or is not one that can be written to.

    Examples
    --------
    >>> with atomic("report.html") as place:  # doctest: +SKIP
    ...     place.write_text("<html>…")
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"{target} can't be written: there is no folder {target.parent}.")
    try:
        with replacing(target) as place:
            yield place
    except BrokenPipeError:  # the reader of a pipe has gone, which is no fault of the path
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
    if not isinstance(columns, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"columns must be a mapping of names to columns, got {columns!r}.")
    _check.equal_length(**columns)
    return pl.DataFrame({name: _series(name, values) for name, values in columns.items()})


def _series(name: str, values: Any) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise ArgumentError(
            f"column {name!r} must hold numbers, texts or times, all of one kind."
        ) from None


def write_table(columns: Mapping[str, Any], path: str | Path) -> None:
    """Write named columns to a file, whole or not at all.

    Parameters
    ----------
    columns : mapping of column name to (n_rows,)
        NumPy arrays, lists or Series.
    path : str or Path
        Ends in .parquet, .csv, .tsv (each of the two also with .gz), .arrow or .feather. A device
        or a pipe without a suffix, such as /dev/stdout, gets CSV.

    Raises
    ------
    ArgumentError
        For another suffix, or columns that differ in length.
    DataError
        If the file can't be written.

    Examples
    --------
    >>> write_table({"user": [1, 2], "score": [0.5, 0.25]}, "run.parquet")  # doctest: +SKIP
    """
    target = Path(path)
    suffix, packed = table_suffix(target)
    frame = to_frame(columns)
    POLARS.enter()
    with atomic(target) as place:
        if packed:
            # Without a name and a time in its header, equal tables give equal files.
            with place.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
                frame.write_csv(cast("IO[bytes]", file), separator=SEPARATORS[suffix])
        else:
            _WRITERS[suffix](frame, place)


def table_suffix(path: Path) -> tuple[str, bool]:
    """Return the suffix of a table's format, and whether it is packed.

    Parameters
    ----------
    path : Path
        The file, device or pipe to write.

    Raises
    ------
    ArgumentError
        If tables have no such suffix.
    """
    if is_plain_stream(path):
        return ".csv", False
    packed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix not in _WRITERS or (packed and suffix not in SEPARATORS):
        known = [*_WRITERS, *(f"{s}.gz" for s in SEPARATORS)]
        raise ArgumentError(f"path must end in {_check.listed(known)}, got {path.name!r}.")
    return suffix, packed


SEPARATORS = {".csv": ",", ".tsv": "\t"}
_WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    ".parquet": lambda frame, place: frame.write_parquet(place),
    ".csv": lambda frame, place: frame.write_csv(place),
    ".tsv": lambda frame, place: frame.write_csv(place, separator="\t"),
    ".arrow": lambda frame, place: frame.write_ipc(place),
    ".feather": lambda frame, place: frame.write_ipc(place),
}
