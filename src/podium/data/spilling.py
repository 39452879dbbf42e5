"""Spill files: the rows of a table, divided by their users, in a folder that is always removed."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._files import scratch_folder
from podium._kernels import read_only
from podium.data import _kernels
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
    if not parent.is_dir():
        raise DataError(
            f"{arg.spill_dir} {parent} is not a folder. Create it, or pass another one."
        )
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
        advice = (
            f"Pass {arg.spill_dir()}, a folder on a disk with enough space, or more {arg.memory()}."
        )
        if isinstance(error, FileNotFoundError):
            advice = (
                f"All nodes of a cluster must have this folder. Pass {arg.spill_dir()}, a shared "
                "one."
            )
        raise DataError(
            f"Spill files in {parent} can't be written or read ({error.strerror or error}). "
            f"{advice}"
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


def write_spill(
    path: Path, pieces: Iterable[tuple[pl.DataFrame, NDArray[np.int64]]], bounds: NDArray[np.int64]
) -> SpillFile:
    """Write rows and the keys of their buckets (see `divided`) to a file, one batch per piece."""
    arrow: Any = import_module("pyarrow")
    offsets: list[NDArray[np.int64]] = []
    with ExitStack() as stack:
        writer: Any = None
        for frame, keys in pieces:
            order, starts = _by_bucket(keys, bounds)
            table = cast("Any", frame[order]).to_arrow(compat_level=pl.CompatLevel.oldest())
            if writer is None:
                file = stack.enter_context(arrow.OSFile(str(path), "wb"))
                writer = stack.enter_context(arrow.ipc.new_file(file, table.schema))
            writer.write_table(table.combine_chunks())
            offsets.append(starts)
    return SpillFile(path, offsets)


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


def divided(
    frame: pl.DataFrame, keys: NDArray[np.int64], bounds: NDArray[Any]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the number of each bucket that occurs, and its rows in their order.

    Bucket b contains the keys with bounds[b - 1] <= key < bounds[b].
    """
    order, offsets = _by_bucket(keys, bounds)
    ordered = frame[order]
    for bucket in np.flatnonzero(np.diff(offsets)).tolist():
        start = int(offsets[bucket])
        yield bucket, ordered.slice(start, int(offsets[bucket + 1]) - start)


def _by_bucket(
    keys: NDArray[np.int64], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows in the order of their buckets, and the first place of each bucket."""
    offsets = np.zeros(bounds.size + 2, np.int64)
    order = np.empty(keys.size, np.int64)
    _kernels.divide_rows(read_only(keys), read_only(bounds), offsets, order)
    return order, offsets


def shown(n_bytes: int) -> str:
    """Return a number of bytes for messages.

    Examples
    --------
    >>> shown(3 << 30), shown(5 << 20)
    ('3.0 GiB', '5.0 MiB')
    """
    unit, size = ("GiB", 1 << 30) if n_bytes >= 1 << 30 else ("MiB", 1 << 20)
    return f"{n_bytes / size:.1f} {unit}"
