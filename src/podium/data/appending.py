"""Tables that are written piece by piece, for results larger than memory."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from podium import _check
from podium.data.write import atomic, to_frame
from podium.errors import ArgumentError

Append: TypeAlias = Callable[[Mapping[str, Any]], None]


@contextmanager
def append_table(path: str | Path) -> Generator[Append]:
    """Give a function that adds rows to a file; the file appears whole when the block succeeds.

    Parameters
    ----------
    path : str or Path
        Ends in .parquet, .csv, .tsv (each of the two also with .gz), .arrow or .feather.

    Yields
    ------
    function of a mapping of column name to (n_rows,)
        Called with the same columns, of the same types, each time.

    Raises
    ------
    ArgumentError
        For another suffix, or columns that differ in length.
    DataError
        If the file can't be written.

    Examples
    --------
    >>> with append_table("run.csv") as append:  # doctest: +SKIP
    ...     append({"user": [1, 2], "score": [0.5, 0.25]})
    ...     append({"user": [3], "score": [0.75]})
    """
    target = Path(path)
    packed = target.suffix.lower() == ".gz"
    suffix = (target.with_suffix("") if packed else target).suffix.lower()
    known = [*_SEPARATORS, *(f"{s}.gz" for s in _SEPARATORS), *_COLUMNAR]
    if suffix + (".gz" if packed else "") not in known:
        raise ArgumentError(f"path must end in {_check.listed(known)}, got {target.name!r}.")
    with atomic(target) as place:
        opened = _columnar(place, suffix) if suffix in _COLUMNAR else _text(place, suffix, packed)
        with opened as append:
            yield append


_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_COLUMNAR = (".parquet", ".arrow", ".feather")


@contextmanager
def _text(place: Path, suffix: str, packed: bool) -> Generator[Append]:
    with place.open("wb") as raw:
        # Without a name and a time in its header, equal tables give equal files.
        file = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
        yield text_appender(cast("IO[bytes]", file), _SEPARATORS[suffix])
        if packed:
            file.close()


def text_appender(file: IO[bytes], separator: str = ",") -> Append:
    """Return a function that adds rows to an open file as text, with one header."""
    n_calls = 0

    def append(columns: Mapping[str, Any]) -> None:
        nonlocal n_calls
        to_frame(columns).write_csv(file, separator=separator, include_header=n_calls == 0)
        n_calls += 1

    return append


@contextmanager
def _columnar(place: Path, suffix: str) -> Generator[Append]:
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    writer: Any = None

    def append(columns: Mapping[str, Any]) -> None:
        nonlocal writer
        table: Any = cast("Any", to_frame(columns)).to_arrow()
        if writer is None:
            kind = parquet.ParquetWriter if suffix == ".parquet" else arrow.ipc.new_file
            writer = kind(str(place), table.schema)
        writer.write_table(table)

    try:
        yield append
    finally:
        if writer is not None:
            writer.close()
