"""The rows of buckets: how they are read from files, spill files and memory.

Other processes get these objects, and not the tables.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._files import scratch_folder
from podium.data.convert import Ids
from podium.data.ids import strings
from podium.data.parts import Block
from podium.data.runs import Run, Truth
from podium.data.sides import Side
from podium.errors import DataError, arg
from podium.groups import row_offsets

_LOWEST = np.iinfo(np.int64).min


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
    buckets = np.searchsorted(bounds, keys, side="right").astype(np.int16)  # a radix sort
    counts = np.bincount(buckets, minlength=bounds.size + 1)
    return np.argsort(buckets, kind="stable"), row_offsets(counts)


def shown(n_bytes: int) -> str:
    """Return a number of bytes for messages.

    Examples
    --------
    >>> shown(3 << 30), shown(5 << 20)
    ('3.0 GiB', '5.0 MiB')
    """
    unit, size = ("GiB", 1 << 30) if n_bytes >= 1 << 30 else ("MiB", 1 << 20)
    return f"{n_bytes / size:.1f} {unit}"


@dataclass(eq=False)
class BucketRows:
    """The places of the rows of each bucket.

    Attributes
    ----------
    sides : list of Side
        The truth, and the runs.
    runs : list of str
        The names of the runs.
    is_text : bool
        Whether a user id is text, so that buckets are ranges of hashes.
    bounds : int64, (n_buckets - 1,)
        The first key of each bucket but the first. Empty if the buckets are files.
    direct, frames : list of lists, by side and bucket
        Blocks of files with rows of the bucket, and rows in memory.
    spilled : list of lists, by side
        The spill files.
    """

    sides: list[Side]
    runs: list[str]
    is_text: bool
    bounds: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    direct: list[list[list[Block]]] = field(default_factory=list)
    frames: list[list[list[pl.DataFrame]]] = field(default_factory=list)
    spilled: list[list[SpillFile]] = field(default_factory=list)

    def read(self, bucket: int) -> tuple[Truth | None, dict[str, Run]]:
        """Return the truth and the runs of the users of a bucket; None for a truth without rows."""
        truth, *tables = [
            side.of_rows(self._of_side(number, bucket)) for number, side in enumerate(self.sides)
        ]
        runs = {
            name: _no_rows(side.name) if table is None else table
            for name, side, table in zip(self.runs, self.sides[1:], tables, strict=True)
        }
        return truth, runs

    def _of_side(self, number: int, bucket: int) -> list[pl.DataFrame]:
        side = self.sides[number]
        if side.stored is None:
            return self.frames[number][bucket]
        frames = [
            rows
            for block in self.direct[number][bucket]
            for frame, users in side.read(block)
            if (rows := self._in_bucket(block, frame, users, bucket)).height
        ]
        return frames + spilled_rows(self.spilled[number], bucket)

    def _in_bucket(
        self, block: Block, frame: pl.DataFrame, users: Ids, bucket: int
    ) -> pl.DataFrame:
        """Return the rows of a block whose users are in a bucket."""
        if not self.frames or isinstance(users, pl.Series):
            return frame
        lowest, highest = int(users.min()), int(users.max())
        if not _at_least(lowest, block.low) or not _at_least(block.high, highest):
            raise DataError(
                f"{block.file} has users outside of the range that its statistics state for row "
                f"group {block.number}. Write the file again."
            )
        low = int(self.bounds[bucket - 1]) if bucket else _LOWEST
        high = int(self.bounds[bucket]) if bucket < self.bounds.size else math.inf
        if low <= lowest and highest < high:
            return frame
        return frame.filter((users >= low) & (users < high))


@dataclass(frozen=True)
class SpillTask:
    """Blocks of a side that are written to a spill file."""

    side: int
    blocks: list[Block]
    path: Path

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)


def write_rows(task: SpillTask, rows: BucketRows) -> SpillFile:
    """Write the rows of a task to its spill file."""

    def pieces() -> Iterator[tuple[pl.DataFrame, NDArray[np.int64]]]:
        for block in task.blocks:
            for frame, users in rows.sides[task.side].read(block):
                yield frame, bucket_keys(users, rows.is_text)

    return write_spill(task.path, pieces(), rows.bounds)


def bucket_keys(users: Ids, is_text: bool) -> NDArray[np.int64]:
    """Return the numbers whose ranges are the buckets: integer ids, or hashes of texts."""
    if not is_text and isinstance(users, np.ndarray):
        return users
    texts = strings(users).str.strip_suffix(".0")  # 7 may be written 7.0, see `as_written`
    return (texts.hash().to_numpy() >> np.uint64(1)).astype(np.int64)


def _at_least(value: int | None, low: int | None) -> bool:
    return value is None or low is None or value >= low


def _no_rows(name: str) -> Run:
    return Run(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), name)
