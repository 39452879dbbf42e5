"""Writing tables: each file is written completely or not at all.

Every file is written in a temporary folder beside its path and moved when it is complete. An
interrupted run leaves the old file or no file, but no incomplete one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from podium import _check
from podium._files import is_plain_stream, replacing, scratch_folder
from podium.data.source import POLARS
from podium.errors import ArgumentError, DataError, arg


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
    try:
        with replacing(target) as place:
            yield place
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
    if not isinstance(columns, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
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
    _check.equal_length(**columns)
    total = len(next(iter(columns.values()), ()))
    POLARS.enter()
    if target.exists() or not target.parent.is_dir():
        reason = "it exists" if target.exists() else f"there is no folder {target.parent}"
        raise DataError(f"{target} can't be written: {reason}.")
    try:
        with scratch_folder(target.parent) as scratch:
            folder = scratch / target.name
            folder.mkdir()
            for number, start in enumerate(range(0, max(total, 1), size)):
                part = {  # a pandas Series would take slices of its labels
                    name: getattr(values, "iloc", values)[start : start + size]
                    for name, values in columns.items()
                }
                to_frame(part).write_parquet(folder / f"part-{number:05}.parquet")
            folder.rename(target)
    except OSError as error:
        raise DataError(f"{target} can't be written: {error.strerror or error}.") from error


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
        suffixes = [*SEPARATORS, *COLUMNAR, *(f"{s}.gz" for s in SEPARATORS)]
        raise ArgumentError(f"path must end in {_check.listed(suffixes)}, got {path.name!r}.")
    return suffix, packed


SEPARATORS = {".csv": ",", ".tsv": "\t"}
COLUMNAR = (".parquet", ".arrow", ".feather")
