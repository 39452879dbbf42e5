"""Spill files: the rows of tables larger than memory, divided by user, on disk for a while."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._files import scratch_folder
from podium.errors import DataError, arg


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
    n_free = shutil.disk_usage(parent).free
    if n_free < n_bytes:
        raise DataError(
            f"Spill files need {shown(n_bytes)}, but {parent} has {shown(n_free)} free. Pass "
            f"{arg.spill_dir()}, a folder on a larger disk, or more {arg.memory()}."
        )
    try:
        with scratch_folder(parent) as folder:
            yield folder
    except OSError as error:
        raise DataError(
            f"Spill files in {parent} can't be written or read ({error.strerror or error}). Pass "
            f"{arg.spill_dir()}, a folder with enough space that all nodes of a cluster have, or "
            f"more {arg.memory()}."
        ) from error


@dataclass(frozen=True)
class SpillFile:
    """Rows of a table in a file, in batches whose rows are ordered by bucket.

    Attributes
    ----------
    path : Path
    offsets : list of int64 array, (n_buckets + 1,)
        The first row of each bucket in a batch, and the end of the last one.
    """

    path: Path
    offsets: list[NDArray[np.int64]]


def write_spill(path: Path, pieces: Iterable[tuple[pl.DataFrame, NDArray[np.int64]]]) -> SpillFile:
    """Write pieces, whose rows are ordered by bucket, with their offsets: one batch per piece."""
    arrow: Any = import_module("pyarrow")
    every: list[NDArray[np.int64]] = []
    with ExitStack() as stack:
        writer: Any = None
        for frame, offsets in pieces:
            table = cast("Any", frame).to_arrow(compat_level=pl.CompatLevel.oldest())
            if writer is None:
                file = stack.enter_context(arrow.OSFile(str(path), "wb"))
                writer = stack.enter_context(arrow.ipc.new_file(file, table.schema))
            writer.write_table(table.combine_chunks())
            every.append(offsets)
    return SpillFile(path, every)


def spilled_rows(files: Iterable[SpillFile], bucket: int) -> list[pl.DataFrame]:
    """Return the rows of a bucket in the order of the files: one frame, or none."""
    arrow: Any = import_module("pyarrow")
    with ExitStack() as stack:
        batches: list[Any] = []
        for spill in files:
            spans = [(int(o[bucket]), int(o[bucket + 1])) for o in spill.offsets]
            if all(start == stop for start, stop in spans):
                continue
            opened = arrow.ipc.open_file(stack.enter_context(arrow.memory_map(str(spill.path))))
            batches += [
                opened.get_batch(i).slice(start, stop - start)
                for i, (start, stop) in enumerate(spans)
            ]
        if not batches:
            return []
        return [pl.DataFrame(arrow.Table.from_batches(batches)).rechunk()]


def shown(n_bytes: int) -> str:
    """Return a number of bytes for messages.

    Examples
    --------
    >>> shown(3 << 30), shown(5 << 20)
    ('3.0 GiB', '5.0 MiB')
    """
    unit, size = ("GiB", 1 << 30) if n_bytes >= 1 << 30 else ("MiB", 1 << 20)
    return f"{n_bytes / size:.1f} {unit}"
