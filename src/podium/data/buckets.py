"""Division of a truth and its runs into buckets: sets of users that fit in memory.

A bucket holds all rows of its users. Users with integer ids are divided into ranges of ids, so
that the ids of a bucket are dense, and a row group whose statistics lie in a range is read from
its file. Users with text ids are divided by their hash. All other rows go through spill files.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data.bucket_rows import (
    BucketRows,
    SpillTask,
    bucket_keys,
    divided,
    shown,
    spill_folder,
    write_rows,
)
from podium.data.columns import RUN, TRUTH
from podium.data.convert import Ids
from podium.data.ids import codes_of, distinct_ids, first_repeated, joined_ids
from podium.data.lists import Whole
from podium.data.opened import Tables
from podium.data.parts import Block, stored_table
from podium.data.runs import read_run, read_truth
from podium.data.sides import Grades, Side
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError, arg

_COPIES = 4  # memory that measuring takes, as a multiple of the columns
_MOST = 4096  # buckets
_CACHED = 1 << 26  # bytes that measuring a bucket takes, so that rows in random order stay in cache
_HIGHEST = np.iinfo(np.int64).max


class Buckets:
    """The truth and the runs, divided by their users.

    Attributes
    ----------
    n_buckets : int
    truth : Side
    runs : dict of str to Side
    grades : Grades
        The relevances of the whole truth.
    """

    def __init__(self, truth: Side, runs: dict[str, Side], storage: Storage) -> None:
        self.truth, self.runs, self.storage = truth, runs, storage
        self._sides = [truth, *runs.values()]
        self.grades = Grades.of(truth)
        self.n_rows = sum(side.n_rows for side in self._sides)
        self.rows = BucketRows(
            self._sides, list(runs), any(side.has_text_users for side in self._sides)
        )

    @property
    def whole(self) -> Whole:
        """The facts of the whole tables that the join of a bucket depends on."""
        return Whole(self.grades.lowest, grades=self.grades.distinct)

    @property
    def user_name(self) -> str:
        """The name of the truth's column of users."""
        return self.truth.by_role["user"] if self.truth.stored else self.truth.table.origin.user

    def match_files(self) -> None:
        """Let each bucket be the files of one number."""
        files_of_sides = [s.stored.files if s.stored is not None else [] for s in self._sides]
        first = len(files_of_sides[0])
        for side, files in zip(self._sides, files_of_sides, strict=True):
            if len(files) != first or not first:
                raise ArgumentError(
                    f"{arg.grouped(True)} requires folders with the same number of files, whose "
                    f"i-th files contain the same users, but {self.truth.name} has {first} and "
                    f"{side.name} has {len(files)}. Leave it out."
                )
            blocks = side.stored_on_disk.blocks()
            self.rows.direct.append([[b for b in blocks if b.file == file] for file in files])
            self.rows.spilled.append([])
        self.n_buckets = first

    def refuse_scattered(self, users: Sequence[Sequence[Ids]]) -> None:
        """Raise if a user is in files of two numbers, with the users of each side and bucket.

        Raises
        ------
        DataError
            If there is one. The message has the numbers of two files.
        """
        of_bucket = [distinct_ids(joined_ids(parts)) for parts in zip(*users, strict=True)]
        codes, names = codes_of(joined_ids(of_bucket))
        repeated = first_repeated(codes)
        if repeated is None:
            return
        bucket = np.repeat(np.arange(len(of_bucket)), [len(ids) for ids in of_bucket])
        first, second = bucket[codes == repeated][:2].tolist()
        raise DataError(
            f"{arg.grouped(True)} requires files whose i-th ones contain the same users, but user "
            f"{_check.label(names[repeated])} is in files number {first + 1} and "
            f"{second + 1}. Leave it out, or write the files again."
        )

    def divide(self, n_buckets: int, stack: ExitStack) -> None:
        """Find the ranges of users, and write the rows that their files do not keep together."""
        bounds = self._ranges(n_buckets)
        n_cached = math.ceil(_COPIES * sum(side.n_bytes for side in self._sides) / _CACHED)
        if n_cached > n_buckets and self._n_scattered(bounds) > self.n_rows / 2:
            bounds = self._ranges(min(n_cached, _MOST))
        self.rows.bounds, self.n_buckets = bounds, bounds.size + 1
        others = [self._place(side) for side in self._sides]
        n_bytes = sum(
            side.n_bytes * _sum_rows(blocks) // max(side.n_rows, 1)
            for side, blocks in zip(self._sides, others, strict=True)
        )
        if any(others):
            folder = stack.enter_context(spill_folder(self.storage.spill_dir, n_bytes))
            self._spill(folder, others)

    def _place(self, side: Side) -> list[Block]:
        """Divide the rows of a side that are in memory or in narrow blocks; return the others."""
        bounds, others = self.rows.bounds, list[Block]()
        frames: list[list[pl.DataFrame]] = [[] for _ in range(self.n_buckets)]
        direct: list[list[Block]] = [[] for _ in range(self.n_buckets)]
        if side.stored is None:
            keys = bucket_keys(side.table.user, self.rows.is_text)
            for bucket, of_bucket in divided(side.rows(), keys, bounds):
                frames[bucket].append(of_bucket)
            side.clear()
        for block in self._blocks(side):
            span = self._span(block, bounds)
            for bucket in span:
                direct[bucket].append(block)
            if not span:
                others.append(block)
        self.rows.frames.append(frames)
        self.rows.direct.append(direct)
        self.rows.spilled.append([])
        return others

    def _blocks(self, side: Side) -> list[Block]:
        blocks = [] if side.stored is None else side.stored.blocks(side.by_role["user"])
        return [block for block in blocks if block.n_rows]

    def _span(self, block: Block, bounds: NDArray[np.int64]) -> range:
        """Return the buckets for which a block is read from its file: at most two, or none."""
        if block.low is None or block.high is None or self.rows.is_text:
            return range(0)
        first, last = np.searchsorted(bounds, [block.low, block.high], side="right").tolist()
        return range(first, last + 1) if last <= first + 1 else range(0)

    def _n_scattered(self, bounds: NDArray[np.int64]) -> int:
        """Return the number of rows that need spill files."""
        blocks = [block for side in self._sides for block in self._blocks(side)]
        return _sum_rows([block for block in blocks if not self._span(block, bounds)])

    def _spill(self, folder: Path, others: list[list[Block]]) -> None:
        """Write blocks to spill files, several at a time."""
        tasks = [
            SpillTask(number, blocks, folder / f"{number}-{place}")
            for number, side_blocks in enumerate(others)
            for place, blocks in enumerate(self._pieces(self._sides[number], side_blocks))
        ]
        self.n_spilled = sum(task.n_rows for task in tasks)
        n_done, total = 0, self.n_spilled + self.n_rows
        written = self.storage.executor.map(write_rows, tasks, self.rows)
        for task, file in zip(tasks, written, strict=True):
            self.rows.spilled[task.side].append(file)
            n_done += task.n_rows
            self.storage.progress(n_done, total, "dividing")

    def _pieces(self, side: Side, blocks: list[Block]) -> list[list[Block]]:
        """Divide blocks into consecutive pieces, so that those in work take little memory."""
        width = side.n_bytes / max(side.n_rows, 1)
        room = self.storage.memory / (4 * _COPIES * self.storage.executor.n_workers)
        pieces: list[list[Block]] = []
        n_rows = math.inf
        for block in blocks:
            if (n_rows + block.n_rows) * width > room:
                pieces.append([])
                n_rows = 0
            pieces[-1].append(block)
            n_rows += block.n_rows
        return pieces

    n_spilled = 0
    n_buckets = 0

    def _ranges(self, n_buckets: int) -> NDArray[np.int64]:
        """Return the bounds of ranges with about equally many rows."""
        shares = np.arange(1, n_buckets) / n_buckets
        if self.rows.is_text:
            return (shares * float(_HIGHEST)).astype(np.int64)
        samples = [side.sample() for side in self._sides]
        users = np.concatenate([sampled for sampled, _ in samples])
        weights = np.concatenate([np.full(sampled.size, w) for sampled, w in samples])
        order = np.argsort(users, kind="stable")
        users, reached = users[order], np.cumsum(weights[order])
        if not reached.size:
            return np.empty(0, np.int64)
        return np.unique(users[np.searchsorted(reached, shares * reached[-1])])


def _sum_rows(blocks: list[Block]) -> int:
    return sum(block.n_rows for block in blocks)


@contextmanager
def in_buckets(tables: Tables, storage: Storage) -> Generator[Buckets | None]:
    """Yield the buckets of a truth and its runs, or None if they fit in memory.

    Parameters
    ----------
    tables : Tables
    storage : Storage

    Raises
    ------
    DataError
        If a file is wrong, or spill files can't be written.
    ArgumentError
        If grouped=True, and the tables are not folders with equally many files.
    """
    if not is_large(tables, storage):
        yield None
        return
    truth = Side(tables.truth, TRUTH, read_truth)
    runs = {name: Side(run, RUN, read_run) for name, run in tables.runs.items()}
    need = _COPIES * sum(side.n_bytes for side in (truth, *runs.values()))
    with ExitStack() as stack:
        buckets = Buckets(truth, runs, storage)
        if storage.grouped:
            buckets.match_files()
        else:
            buckets.divide(n_buckets_for(need, storage), stack)
        yield buckets


def n_buckets_for(need: int, storage: Storage) -> int:
    """Return the number of buckets, so that those in work take a quarter of the memory.

    The rest is for the values of all users, the buffers of readers and the program itself.
    """
    n_workers = storage.executor.n_workers
    n_buckets = math.ceil(need * n_workers / (storage.memory / 4))
    return min(max(n_buckets, n_workers if storage.always_in_parts else 1), _MOST)


def is_large(tables: Tables, storage: Storage) -> bool:
    """Return whether measuring tables on disk needs more memory than there is for them.

    With an executor, all tables are measured in parts.
    """
    if storage.always_in_parts:
        return True
    stored = [stored_table(table) for table in (tables.truth, *tables.runs.values())]
    on_disk = [table for table in stored if table is not None]
    need = sum(_COPIES * table.n_rows * 8 * min(len(table.names), 3) for table in on_disk)
    return need > storage.memory


def refuse_large(tables: Tables, storage: Storage, what: str) -> None:
    """Raise if tables are too large for something that needs all of them in memory.

    Raises
    ------
    ArgumentError
        If they are.
    """
    if storage.always_in_parts:
        raise ArgumentError(
            f"{what} needs all tables in memory, and an executor measures them in parts. Leave out "
            f"{arg.executor}."
        )
    if is_large(tables, storage):
        raise ArgumentError(
            f"{what} needs all tables in memory, and they need more than {shown(storage.memory)}. "
            f"Increase {arg.memory()}, or pass fewer users."
        )
