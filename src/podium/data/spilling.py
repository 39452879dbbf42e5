"""Spill files: the rows of a table, divided by their users, in a folder that is always removed."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._files import scratch_folder
from podium._kernels import read_only
from podium.data import _kernels
from podium.errors import DataError


@contextmanager
def spill_folder(parent: Path, n_bytes: int) -> Generator[Path]:
    """Yield a folder for spill files, which is removed when the block ends.

    Parameters
    ----------
    parent : Path
        The folder to create it in.
    n_bytes : int
        The expected size of the spill files.

    Raises
    ------
    DataError
        If the disk has less space or fills up, or the folder can't be written.
    """
    if not parent.is_dir():
        raise DataError(f"spill_dir {parent} is not a folder. Create it, or pass another one.")
    n_free = shutil.disk_usage(parent).free
    if n_free < n_bytes:
        raise DataError(
            f"Spill files need {shown(n_bytes)}, but {parent} has {shown(n_free)} free. Pass "
            "spill_dir=, a folder on a larger disk, or more memory=."
        )
    try:
        with scratch_folder(parent) as folder:
            yield folder
    except OSError as error:
        raise DataError(
            f"Spill files in {parent} can't be written or read ({error.strerror or error}). Pass "
            "spill_dir=, a folder on a disk with enough space, or more memory=."
        ) from error


class SpillWriter:
    """Writes rows of a table to one file per bucket.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    name : str
        The start of the names of the files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._writers: dict[int, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> SpillWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def append(self, frame: pl.DataFrame, keys: NDArray[np.int64], bounds: NDArray[Any]) -> None:
        """Append rows, each to the bucket of its key; see `divided`."""
        for bucket, rows in divided(frame, keys, bounds):
            table = cast("Any", rows).to_arrow(compat_level=pl.CompatLevel.oldest())
            self._writer(bucket, table.schema).write_table(table)

    def _writer(self, bucket: int, schema: Any) -> Any:
        if bucket not in self._writers:
            arrow: Any = import_module("pyarrow")
            file = self._stack.enter_context(arrow.OSFile(str(self.path(bucket)), "wb"))
            self._writers[bucket] = self._stack.enter_context(arrow.ipc.new_stream(file, schema))
        return self._writers[bucket]

    def path(self, bucket: int) -> Path:
        """Return the file of a bucket, which exists if the bucket has rows."""
        return self._folder / f"{self._name}-{bucket}"

    def rows(self, bucket: int) -> list[pl.DataFrame]:
        """Return the rows of a bucket in their order."""
        path = self.path(bucket)
        if not path.exists():
            return []
        arrow: Any = import_module("pyarrow")
        with arrow.OSFile(str(path)) as file:
            table = arrow.ipc.open_stream(file).read_all()
        return [pl.DataFrame(table)]


def divided(
    frame: pl.DataFrame, keys: NDArray[np.int64], bounds: NDArray[Any]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the number of each bucket that occurs, and its rows in their order.

    Bucket b contains the keys with bounds[b - 1] <= key < bounds[b].
    """
    offsets = np.zeros(bounds.size + 2, np.int64)
    order = np.empty(keys.size, np.int64)
    _kernels.divide_rows(read_only(keys), read_only(bounds), offsets, order)
    ordered = frame[order]
    for bucket in np.flatnonzero(np.diff(offsets)).tolist():
        start = int(offsets[bucket])
        yield bucket, ordered.slice(start, int(offsets[bucket + 1]) - start)


def shown(n_bytes: int) -> str:
    """Return a number of bytes for messages.

    Examples
    --------
    >>> shown(3 << 30), shown(5 << 20)
    ('3.0 GiB', '5.0 MiB')
    """
    unit, size = ("GiB", 1 << 30) if n_bytes >= 1 << 30 else ("MiB", 1 << 20)
    return f"{n_bytes / size:.1f} {unit}"
