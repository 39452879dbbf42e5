"""Division of a truth and its runs into buckets: sets of users that fit in memory.

A bucket holds all rows of its users. Users with integer ids are divided into ranges of ids, so
that the ids of a bucket are dense, and a row group whose statistics lie in a range is read from
its file. Users with text ids are divided by their hash. All other rows go through spill files.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium._one_thread import n_processors
from podium.data.columns import ITEM, RANK, RELEVANCE, SCORE, USER
from podium.data.convert import Ids
from podium.data.frames import Origin
from podium.data.ids import codes_of, distinct_ids, joined_ids, strings
from podium.data.join import Whole
from podium.data.parts import Block, stored_table
from podium.data.runs import Run, Truth, read_run, read_truth
from podium.data.sides import Grades, Side
from podium.data.spilling import SpillWriter, divided, shown, spill_folder
from podium.data.storage import Storage
from podium.errors import ArgumentError, DataError

_COPIES = 4  # memory that measuring takes, as a multiple of the columns
_MOST = 800  # buckets; each has an open spill file
_CACHED = 1 << 26  # bytes that measuring a bucket takes, so that rows in random order stay in cache
_NEAR = 0.3  # of a bucket, by which the start of a row group may move its bound
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
        for side in self._sides:
            side.examine()
        self.grades = Grades.of(truth)
        self.n_rows = sum(_n_rows(side) for side in self._sides)
        self._direct: list[list[list[Block]]] = []
        self._frames: list[list[list[pl.DataFrame]]] = []
        self._spills: dict[int, SpillWriter] = {}
        self.bounds: NDArray[np.int64] | None = None
        self.is_text = any(side.has_text_users for side in self._sides)

    @property
    def whole(self) -> Whole:
        """The facts of the whole tables that the join of a bucket depends on."""
        return Whole(self.grades.lowest)

    @property
    def origin(self) -> Origin:
        return self.truth.origin if self.truth.table is None else self.truth.table.origin

    def read(self, bucket: int) -> tuple[Truth | None, dict[str, Run]]:
        """Return the truth and the runs of the users of a bucket; None for a truth without rows."""
        tables = [
            side.of_rows(self._rows(number, side, bucket))
            for number, side in enumerate(self._sides)
        ]
        runs = {
            name: _no_rows(side.name) if table is None else table
            for (name, side), table in zip(self.runs.items(), tables[1:], strict=True)
        }
        return tables[0], runs

    def _rows(self, number: int, side: Side, bucket: int) -> list[pl.DataFrame]:
        if side.stored is None:
            return self._frames[number][bucket]
        frames = [
            rows
            for block in self._direct[number][bucket]
            for frame, users in side.read(block)
            if (rows := self._in_bucket(side, block, frame, users, bucket)).height
        ]
        return frames + (self._spills[number].rows(bucket) if number in self._spills else [])

    def _in_bucket(
        self, side: Side, block: Block, frame: pl.DataFrame, users: Ids, bucket: int
    ) -> pl.DataFrame:
        """Return the rows of a block whose users are in a bucket."""
        if self.bounds is None or isinstance(users, pl.Series):
            return frame
        lowest, highest = int(users.min()), int(users.max())
        if not _at_least(lowest, block.low) or not _at_least(block.high, highest):
            raise DataError(
                f"{block.path} has users outside of the range that its statistics state for row "
                f"group {block.number}. Write the file again."
            )
        low, high = _ends(self.bounds, bucket)
        if low <= lowest and highest < high:
            return frame
        return frame.filter((users >= low) & (users < high))

    def match_files(self) -> None:
        """Let each bucket be the files of one number."""
        first = len(self.truth.stored_on_disk.paths)
        for side in self._sides:
            paths = side.stored.paths if side.stored is not None else []
            if len(paths) != first or not first:
                raise ArgumentError(
                    "grouped=True requires folders with the same number of files, whose i-th files "
                    f"contain the same users, but {self.truth.name} has {first} and {side.name} "
                    f"has {len(paths)}. Leave it out."
                )
            blocks = side.stored_on_disk.blocks()
            self._direct.append([[b for b in blocks if b.path == path] for path in paths])
        self.n_buckets = first

    def refuse_scattered(self, users: Sequence[Sequence[Ids]]) -> None:
        """Raise if a user is in files of two numbers, with the users of each side and bucket.

        Raises
        ------
        DataError
            If there is one. The message names two files.
        """
        of_bucket = [distinct_ids(joined_ids(parts)) for parts in zip(*users, strict=True)]
        codes, names = codes_of(joined_ids(of_bucket))
        order = np.argsort(codes, kind="stable")
        repeated = np.flatnonzero(codes[order][1:] == codes[order][:-1])
        if not repeated.size:
            return
        ends = np.cumsum([len(ids) for ids in of_bucket])
        pair = order[repeated[0] : repeated[0] + 2]
        places: list[int] = np.searchsorted(ends, pair, side="right").tolist()
        user = names[codes[pair[0]]]
        first, second = (self._file_with(user, users, bucket) for bucket in places)
        raise DataError(
            f"grouped=True requires files whose i-th ones contain the same users, but user "
            f"{_check.label(user)} is in {first} and in {second}. Leave it out, or write the "
            "files again."
        )

    def _file_with(self, user: Any, users: Sequence[Sequence[Ids]], bucket: int) -> Path:
        """Return a file of a bucket that contains a user."""
        for side, parts in zip(self._sides, users, strict=True):
            if (codes_of(parts[bucket])[1].astype(str) == str(user)).any():
                return side.stored_on_disk.paths[bucket]
        return self.truth.stored_on_disk.paths[bucket]

    def divide(self, n_buckets: int, stack: ExitStack) -> None:
        """Find the ranges of users, and write the rows that their files do not keep together."""
        self.bounds = self._ranges(n_buckets)
        n_cached = math.ceil(_COPIES * sum(side.n_bytes for side in self._sides) / _CACHED)
        if n_cached > n_buckets and self._n_scattered() > self.n_rows / 2:
            self.bounds = self._ranges(min(n_cached, _MOST))
        self.n_buckets = self.bounds.size + 1
        spilled: list[tuple[int, list[Block]]] = []
        n_bytes = 0
        for number, side in enumerate(self._sides):
            self._frames.append([[] for _ in range(self.n_buckets)])
            direct: list[list[Block]] = [[] for _ in range(self.n_buckets)]
            self._direct.append(direct)
            if side.stored is None:
                rows = side.rows()
                keys = self._keys(side.table.user)
                for bucket, of_bucket in divided(rows, keys, self.bounds):
                    self._frames[number][bucket].append(of_bucket)
                side.clear()
                continue
            others: list[Block] = []
            for block in self._blocks(side):
                for bucket in self._span(block):
                    direct[bucket].append(block)
                if not self._span(block):
                    others.append(block)
            if others:
                spilled.append((number, others))
                n_others = sum(block.n_rows for block in others)
                n_bytes += side.n_bytes * n_others // max(side.stored.n_rows, 1)
        if spilled:
            folder = stack.enter_context(spill_folder(self.storage.spill_dir, n_bytes))
            self._spill(folder, spilled)

    def _blocks(self, side: Side) -> list[Block]:
        blocks = [] if side.stored is None else side.stored.blocks(side.by_role["user"])
        return [block for block in blocks if block.n_rows]

    def _span(self, block: Block) -> range:
        """Return the buckets for which a block is read from its file: at most two, or none."""
        if block.low is None or block.high is None or self.is_text or self.bounds is None:
            return range(0)
        first, last = np.searchsorted(self.bounds, [block.low, block.high], side="right").tolist()
        return range(first, last + 1) if last <= first + 1 else range(0)

    def _n_scattered(self) -> int:
        """Return the number of rows that need spill files."""
        blocks = [block for side in self._sides for block in self._blocks(side)]
        return sum(block.n_rows for block in blocks if not self._span(block))

    def _spill(self, folder: Path, spilled: list[tuple[int, list[Block]]]) -> None:
        n_rows = sum(block.n_rows for _, blocks in spilled for block in blocks)
        n_done, total = 0, n_rows + self.n_rows
        self.n_spilled = n_rows
        for number, blocks in spilled:
            side = self._sides[number]
            with SpillWriter(folder, str(number)) as writer:
                self._spills[number] = writer
                for block in blocks:
                    for frame, users in side.read(block):
                        writer.append(frame, self._keys(users), self._bounds())
                    n_done += block.n_rows
                    self.storage.progress(n_done, total, "dividing")

    n_spilled = 0
    n_buckets = 0

    def _bounds(self) -> NDArray[np.int64]:
        return np.empty(0, np.int64) if self.bounds is None else self.bounds

    def _keys(self, users: Ids) -> NDArray[np.int64]:
        """Return the numbers whose ranges are the buckets: integer ids, or hashes of texts."""
        if not self.is_text and isinstance(users, np.ndarray):
            return users
        return (strings(users).hash().to_numpy() >> np.uint64(1)).astype(np.int64)

    def _ranges(self, n_buckets: int) -> NDArray[np.int64]:
        """Return the bounds of ranges with about equally many rows."""
        shares = np.arange(1, n_buckets) / n_buckets
        if self.is_text:
            return (shares * float(_HIGHEST)).astype(np.int64)
        samples = [side.sample() for side in self._sides]
        users = np.concatenate([sampled for sampled, _ in samples])
        weights = np.concatenate([np.full(sampled.size, w) for sampled, w in samples])
        order = np.argsort(users, kind="stable")
        users, reached = users[order], np.cumsum(weights[order])
        if not reached.size:
            return np.empty(0, np.int64)
        targets = shares * reached[-1]
        bounds = users[np.searchsorted(reached, targets)]
        # A bound at the start of a row group saves reading the group twice.
        starts = self._starts()
        if starts.size:
            distance = np.abs(reached[np.searchsorted(users, starts) - 1][:, None] - targets)
            nearest = distance.argmin(0)
            is_near = distance.min(0) < _NEAR * reached[-1] / n_buckets
            bounds = np.where(is_near, starts[nearest], bounds)
        return np.unique(bounds)

    def _starts(self) -> NDArray[np.int64]:
        """Return the smallest users of the blocks of the largest table, if they are stated."""
        side = max(self._sides, key=lambda side: side.n_bytes)
        blocks = [] if side.stored is None else side.stored.blocks(side.by_role["user"])
        lows = [block.low for block in blocks if block.low is not None]
        return np.unique(np.array([low for low in lows if abs(low) <= _HIGHEST], np.int64))


def _ends(bounds: NDArray[np.int64], bucket: int) -> tuple[int, float]:
    low = int(bounds[bucket - 1]) if bucket else -_HIGHEST - 1
    return low, int(bounds[bucket]) if bucket < bounds.size else math.inf


def _at_least(value: int | None, low: int | None) -> bool:
    return value is None or low is None or value >= low


def _n_rows(side: Side) -> int:
    return len(side.table.user) if side.stored is None else side.stored.n_rows


def _no_rows(name: str) -> Run:
    return Run(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), name)


@contextmanager
def in_buckets(
    truth: Any, runs: Mapping[str, Any], names: Mapping[str, Any], storage: Storage
) -> Generator[Buckets | None]:
    """Yield the buckets of a truth and its runs, or None if they fit in memory.

    Parameters
    ----------
    truth : path, frame, mapping of columns, …
    runs : mapping of name to path, frame, mapping of columns, …
    names : mapping
        The names of columns by role.
    storage : Storage

    Raises
    ------
    DataError
        If a file is wrong, or spill files can't be written.
    ArgumentError
        If grouped=True, and the tables are not folders with equally many files.
    """
    if not is_large(truth, runs, storage):
        yield None
        return
    sides = (
        Side(truth, "truth", (USER, ITEM, RELEVANCE), names, read_truth),
        {
            name: Side(run, "run", (USER, ITEM, SCORE, RANK), names, read_run)
            for name, run in runs.items()
        },
    )
    need = _COPIES * sum(side.n_bytes for side in (sides[0], *sides[1].values()))
    with ExitStack() as stack:
        buckets = Buckets(*sides, storage)
        if storage.grouped:
            buckets.match_files()
        else:
            buckets.divide(n_buckets_for(need, storage.memory), stack)
        yield buckets


def n_buckets_for(need: int, memory: int) -> int:
    """Return the number of buckets, so that those in work take a quarter of the memory.

    The rest is for the values of all users, the buffers of readers and the program itself.
    """
    return min(math.ceil(need * n_processors() / (memory / 4)), _MOST)


def is_large(truth: Any, runs: Mapping[str, Any], storage: Storage) -> bool:
    """Return whether measuring tables on disk needs more memory than there is for them."""
    stored = [stored_table(truth, "truth"), *(stored_table(run, "run") for run in runs.values())]
    tables = [table for table in stored if table is not None]
    need = sum(_COPIES * table.n_rows * 8 * min(len(table.names), 3) for table in tables)
    return need > storage.memory


def refuse_large(truth: Any, runs: Mapping[str, Any], storage: Storage, what: str) -> None:
    """Raise if tables are too large for something that needs all of them in memory.

    Raises
    ------
    ArgumentError
        If they are.
    """
    if is_large(truth, runs, storage):
        raise ArgumentError(
            f"{what} needs all tables in memory, and they need more than "
            f"{shown(storage.memory)}. Increase memory=, or pass fewer users."
        )
