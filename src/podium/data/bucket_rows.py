"""The rows of buckets: how they are read from files, spill files and memory.

Other processes get these objects, and not the tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.convert import Ids
from podium.data.ids import strings
from podium.data.parts import Block
from podium.data.runs import Run, Truth
from podium.data.sides import Side
from podium.data.spilling import SpillFile, spilled_rows, write_spill
from podium.errors import DataError

_LOWEST = np.iinfo(np.int64).min


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
                f"{block.path} has users outside of the range that its statistics state for row "
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
