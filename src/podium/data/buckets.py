"""Division of a truth and its runs into buckets: sets of users that fit in memory.

A bucket holds all rows of its users. Users with integer ids are divided into ranges of ids, so
that the ids of a bucket are dense, and a row group whose statistics lie in a range is read from
its file. Users with text ids are divided by their hash. All other rows go through spill files.
Tables that fit in memory are a single part.

Work that needs its tables in memory can have the rows of some users.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium._files import scratch_folder
from podium.data.columns import RUN, TRUTH, Role
from podium.data.convert import EXACT, Ids
from podium.data.files import File, arrow_frame
from podium.data.ids import codes_of, distinct_ids, first_repeated, joined_ids, strings
from podium.data.lists import Whole
from podium.data.opened import Tables
from podium.data.parts import Block, StoredTable
from podium.data.runs import Run, Truth, read_run, read_truth, rows_of
from podium.data.source import NOWHERE, Places, Source
from podium.data.storage import Storage
from podium.data.tables import RoleColumns
from podium.data.users import label_ids, user_positions
from podium.errors import ArgumentError, DataError, arg
from podium.groups import row_offsets
from podium.types import Labels, Mask

_SAMPLED_BLOCKS, _SAMPLED_ROWS = 16, 20_000
_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_COPIES = 4  # memory that measuring takes, as a multiple of the columns
_MOST = 4096  # buckets
_CACHED = 1 << 26  # bytes that measuring a bucket takes, so that rows in random order stay in cache
# A number without the text before it and without zeros that do not change it: 7 of "u007".
_NUMBER = r"^\D*?0*(\d+)(?:\.0*)?$"


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
    batches: list[NDArray[np.int64]] = []
    with ExitStack() as stack:
        writer: Any = None
        for frame, offsets in pieces:
            table = cast("Any", frame).to_arrow(compat_level=pl.CompatLevel.oldest())
            if writer is None:
                file = stack.enter_context(arrow.OSFile(str(path), "wb"))
                writer = stack.enter_context(arrow.ipc.new_file(file, table.schema))
            writer.write_table(table.combine_chunks())
            batches.append(offsets)
    return SpillFile(path, batches)


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


@dataclass(frozen=True, eq=False)
class Ranges:
    """Buckets as ranges of the keys of users.

    Attributes
    ----------
    bounds : int64, (n_buckets - 1,)
        The first key of each bucket but the first.
    is_text : bool
        Whether a user id is text, so that keys are hashes. Otherwise they are the ids.
    """

    bounds: NDArray[np.int64]
    is_text: bool

    def ordered(self, users: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows in the order of their buckets, and the first place of each bucket."""
        buckets = np.searchsorted(self.bounds, self._keys(users), side="right")
        counts = np.bincount(buckets, minlength=self.bounds.size + 1)
        order = np.argsort(buckets.astype(np.int16), kind="stable")  # a radix sort
        return order, row_offsets(counts)

    def _keys(self, users: Ids) -> NDArray[np.int64]:
        if not self.is_text and isinstance(users, np.ndarray):
            return users
        texts = strings(users).str.strip_suffix(".0")  # 7 may be written 7.0, see `as_written`
        return (texts.hash().to_numpy() >> np.uint64(1)).astype(np.int64)

    def span(self, block: Block) -> range:
        """Return the buckets for which a block is read from its file: at most two, or none."""
        if block.low is None or block.high is None or self.is_text:
            return range(0)
        first, last = np.searchsorted(self.bounds, [block.low, block.high], side="right").tolist()
        return range(first, last + 1) if last <= first + 1 else range(0)

    def within(self, frame: pl.DataFrame, users: Any, block: Block, bucket: int) -> pl.DataFrame:
        """Return the rows of a block whose users, which are integers, are in a bucket."""
        lowest, highest, stated = int(users.min()), int(users.max()), (block.low, block.high)
        if stated[0] is None or stated[1] is None or lowest < stated[0] or highest > stated[1]:
            raise DataError(
                f"{block.file} has users outside of the range that its statistics state for row "
                f"group {block.number}. Write the file again."
            )
        low = int(self.bounds[bucket - 1]) if bucket else _LOWEST
        high = int(self.bounds[bucket]) if bucket < self.bounds.size else math.inf
        if low <= lowest and highest < high:
            return frame
        return frame.filter((users >= low) & (users < high))


class ReadSide:
    """A table in memory."""

    n_bytes = 0  # that its rows take besides
    files: Sequence[File] = ()

    def __init__(self, table: Any) -> None:
        self._table = table
        self.name, self.n_rows = table.name, len(table.user)
        self.has_text_users = isinstance(table.user, pl.Series)

    def blocks(self) -> list[Block]:
        """Return the blocks of the table: none."""
        return []

    def place(self, ranges: Ranges) -> list[Block]:
        """Divide the rows; return the blocks that need spill files: none."""
        self._order, self._offsets = ranges.ordered(self._table.users)
        return []

    def of_bucket(self, bucket: int) -> Any:
        """Return the rows of a bucket."""
        start, stop = self._offsets[bucket : bucket + 2]
        return rows_of(self._table, self._order[start:stop])

    def sample(self) -> tuple[NDArray[np.int64], float]:
        """Return the users of some rows, and the number of rows that each of them stands for."""
        users: Any = self._table.user
        sampled = users[:: max(1, len(users) // _SAMPLED_ROWS)]
        return sampled, len(users) / max(len(sampled), 1)

    def grades(self) -> NDArray[np.float64]:
        """Return the distinct relevances of a truth."""
        return np.unique(self._table.relevance)


class StoredSide:
    """A table on disk, which is read block by block.

    Parameters
    ----------
    source : Source
        A parquet or Arrow table.
    roles : sequence of Role
        The roles of its columns.
    read : function
        `read_truth` or `read_run`.
    """

    def __init__(
        self, source: Source, roles: Sequence[Role], read: Callable[[Any], Truth | Run]
    ) -> None:
        stored: StoredTable = source.stored
        self._stored, self._read, self._named = stored, read, source.named
        self.name, self.n_rows, self.files = source.name, stored.n_rows, stored.files
        self._by_role = source.resolve(roles)
        self._columns = list(self._by_role.values())
        self.n_bytes = stored.n_bytes(self._columns)
        self._ranges: Ranges | None = None
        self._direct: list[list[Block]] = []
        self.spilled: list[SpillFile] = []
        # The types in memory of columns of integers depend on all their values.
        kinds = {role: str(stored.types[column]) for role, column in self._by_role.items()}
        self._as_text = [
            self._by_role[role]
            for role in ("user", "item")
            if kinds[role] == "uint64" and self._largest(role) > _HIGHEST
        ]
        has_integers = kinds.get("score") in ("int64", "uint64")
        self._is_order = has_integers and self._largest("score") >= EXACT

    def _largest(self, role: str) -> int:
        ends: list[Any] = [end for c in self._column(role) for end in (c.min(), c.max())]
        return max((abs(int(end)) for end in ends if end is not None), default=0)

    def _column(self, role: str) -> Iterator[pl.Series]:
        """Yield the column of a role, block by block."""
        for _, frame in self._stored.pieces([self._by_role[role]]):
            yield frame.to_series()

    @property
    def has_text_users(self) -> bool:
        """Whether the ids of users are text in memory."""
        column = self._by_role["user"]
        types: Any = import_module("pyarrow").types
        kind = self._stored.types[column]
        return column in self._as_text or not (types.is_integer(kind) or types.is_floating(kind))

    def blocks(self) -> list[Block]:
        """Return the blocks with rows, with the bounds of their users."""
        return [b for b in self._stored.blocks(self._by_role["user"]) if b.n_rows]

    def group(self) -> None:
        """Let each bucket be one of the files."""
        blocks = self._stored.blocks()
        self._direct = [[b for b in blocks if b.file == file] for file in self.files]

    def place(self, ranges: Ranges) -> list[Block]:
        """Find the blocks that are read for each bucket; return those that need spill files."""
        self._ranges = ranges
        self._direct = [[] for _ in range(ranges.bounds.size + 1)]
        others: list[Block] = []
        for block in self.blocks():
            span = ranges.span(block)
            for bucket in span:
                self._direct[bucket].append(block)
            if not span:
                others.append(block)
        return others

    def spill(self, blocks: Sequence[Block], path: Path, ranges: Ranges) -> SpillFile:
        """Write the rows of blocks to a spill file."""

        def pieces() -> Iterator[tuple[pl.DataFrame, NDArray[np.int64]]]:
            for block in blocks:
                for frame, users in self._rows(block):
                    order, offsets = ranges.ordered(users)
                    yield frame[order], offsets

        return write_spill(path, pieces())

    def of_bucket(self, bucket: int) -> Any:
        """Return the rows of a bucket."""
        frames = [
            rows
            if self._ranges is None or self._ranges.is_text
            else self._ranges.within(rows, users, block, bucket)
            for block in self._direct[bucket]
            for rows, users in self._rows(block)
        ]
        frames = [frame for frame in frames if frame.height]
        frames += spilled_rows(self.spilled, bucket)
        rows = pl.concat(frames, rechunk=True) if frames else self._no_rows()
        table = self._table(rows, NOWHERE, self._named)
        return replace(table, is_order=True) if self._is_order else table

    def _rows(self, block: Block) -> Iterator[tuple[pl.DataFrame, Ids]]:
        """Yield the rows of a block and their users, after a check of all values."""
        for first_row, frame in self._stored.read(block, self._columns):
            rows = frame.with_columns(pl.col(self._as_text).cast(pl.String))
            # The rows of a document can be in several blocks, so that all parts are kept here.
            named = {role: name for role, name in self._named.items() if role != "parent"}
            yield rows, self._table(rows, Places(first_row=first_row), named).user

    def _no_rows(self) -> pl.DataFrame:
        arrow: Any = import_module("pyarrow")
        types = self._stored.types
        schema = arrow.schema([(column, types[column]) for column in self._columns])
        return arrow_frame(schema.empty_table()).with_columns(pl.col(self._as_text).cast(pl.String))

    def _table(self, rows: pl.DataFrame, places: Places, named: Mapping[str, str]) -> Any:
        facts: dict[str, Any] = {"places": places, "named": named, "can_be_empty": True}
        return self._read(Source.of(self.name, rows, **facts))

    def sample(self) -> tuple[NDArray[np.int64], float]:
        """Return the users of some rows, and the number of rows that each of them stands for."""
        blocks, column = self.blocks(), self._by_role["user"]
        chosen = blocks[:: max(1, math.ceil(len(blocks) / _SAMPLED_BLOCKS))]
        step = max(1, sum(block.n_rows for block in chosen) // _SAMPLED_ROWS)
        parts = [
            frame[column][::step].cast(pl.Int64, strict=False).drop_nulls().to_numpy()
            for block in chosen
            for _, frame in self._stored.read(block, [column])
        ]
        sampled = np.concatenate([np.empty(0, np.int64), *parts])
        return sampled, self.n_rows / max(sampled.size, 1)

    def grades(self) -> NDArray[np.float64]:
        """Return the distinct relevances of a truth, as `read_truth` reads them."""
        if "relevance" not in self._by_role:
            return np.ones(1)
        grades = np.empty(0)
        for column in self._column("relevance"):
            values = column.unique().cast(pl.Float64, strict=False).drop_nulls().to_numpy()
            grades = np.union1d(grades, np.maximum(values, 0.0))
        return grades


Side: TypeAlias = ReadSide | StoredSide


def side_of(table: Any, roles: Sequence[Role], read: Callable[[Any], Truth | Run]) -> Side:
    """Return the rows of a truth or a run, which are read unless they can be read in blocks."""
    return ReadSide(read(table)) if table.stored is None else StoredSide(table, roles, read)


class InMemory:
    """Whole tables as the only part of their users."""

    whole: None = None

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def map(self, function: Callable[..., Any], *shared: Any) -> Iterator[Any]:
        """Yield the result of a function of the truth and the runs, which are still to be read."""
        yield function(read_truth(self._tables.truth), self._tables.runs, *shared)


class Buckets:
    """A truth and its runs, divided by their users.

    Attributes
    ----------
    n_buckets : int
    whole : Whole
        The facts of the whole tables that the lists of a bucket depend on.
    n_bytes : int
        The size of the tables on disk in memory.
    """

    n_buckets = 0
    _n_spilled = 0

    def __init__(self, tables: Tables, storage: Storage) -> None:
        truth = side_of(tables.truth, TRUTH, read_truth)
        self._runs = list(tables.runs)
        self._sides = [truth, *(side_of(run, RUN, read_run) for run in tables.runs.values())]
        self._storage = storage
        self._n_rows = sum(side.n_rows for side in self._sides)
        self.n_bytes = sum(side.n_bytes for side in self._sides)
        grades = truth.grades()
        self.whole = Whole(float(grades.min(initial=np.inf)), grades=grades)

    def map(
        self, function: Callable[..., Any], *shared: Any, buckets: Iterable[int] | None = None
    ) -> Iterator[Any]:
        """Yield the results of a function of the truth and the runs of each bucket, in order."""
        numbers = list(range(self.n_buckets) if buckets is None else buckets)
        of_all = _of_bucket, numbers, self._sides, self._runs, function
        total = self._n_spilled + self._n_rows
        if not self._n_spilled:
            self._storage.progress(0, total, "measuring")
        for n_done, result in enumerate(self._storage.executor.map(*of_all, *shared), 1):
            yield result
            n_rows = self._n_spilled + self._n_rows * n_done // len(numbers)
            self._storage.progress(n_rows, total, "measuring")

    def match_files(self) -> None:
        """Let each bucket be the files of one number."""
        truth = self._sides[0]
        first = len(truth.files)
        for side in self._sides:
            if len(side.files) != first or not isinstance(side, StoredSide):
                raise ArgumentError(
                    f"{arg.grouped(True)} requires folders with the same number of files, whose "
                    f"i-th files contain the same users, but {truth.name} has {first} and "
                    f"{side.name} has {len(side.files)}. Leave it out."
                )
            side.group()
        self.n_buckets = first

    def refuse_scattered(self, users: Iterable[Sequence[Any]]) -> None:
        """Raise if the caller's files have a user in two buckets, with the users of each bucket.

        Raises
        ------
        DataError
            If there is one. The message has the numbers of two files.
        """
        if not self._storage.grouped:
            return
        of_bucket = [distinct_ids(joined_ids([*map(label_ids, tables)])) for tables in users]
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
        ranges = self._ranges(n_buckets)
        n_cached = math.ceil(_COPIES * self.n_bytes / _CACHED)
        if n_cached > n_buckets and self._n_scattered(ranges) > self._n_rows / 2:
            ranges = self._ranges(min(n_cached, _MOST))
        self.n_buckets = ranges.bounds.size + 1
        others = [(side, side.place(ranges)) for side in self._sides]
        n_bytes = sum(
            side.n_bytes * _sum_rows(blocks) // max(side.n_rows, 1) for side, blocks in others
        )
        if any(blocks for _, blocks in others):
            folder = stack.enter_context(spill_folder(self._storage.spill_dir, n_bytes))
            self._spill(folder, ranges, [blocks for _, blocks in others])

    def _n_scattered(self, ranges: Ranges) -> int:
        """Return the number of rows that need spill files."""
        blocks = [block for side in self._sides for block in side.blocks()]
        return _sum_rows([block for block in blocks if not ranges.span(block)])

    def _spill(self, folder: Path, ranges: Ranges, others: list[list[Block]]) -> None:
        """Write blocks to spill files, several at a time."""
        tasks = [
            (number, blocks, folder / f"{number}-{place}")
            for number, side_blocks in enumerate(others)
            for place, blocks in enumerate(self._pieces(self._sides[number], side_blocks))
        ]
        self._n_spilled = sum(_sum_rows(blocks) for _, blocks, _ in tasks)
        n_done, total = 0, self._n_spilled + self._n_rows
        written = self._storage.executor.map(_spilled, tasks, self._sides, ranges)
        for (number, blocks, _), file in zip(tasks, written, strict=True):
            side: Any = self._sides[number]
            side.spilled.append(file)
            n_done += _sum_rows(blocks)
            self._storage.progress(n_done, total, "dividing")

    def _pieces(self, side: Side, blocks: list[Block]) -> list[list[Block]]:
        """Divide blocks into consecutive pieces, so that those in work take little memory."""
        width = side.n_bytes / max(side.n_rows, 1)
        room = self._storage.memory / (4 * _COPIES * self._storage.executor.n_workers)
        reached = accumulate(block.n_rows * width for block in blocks)
        numbers = (int(n_bytes // room) for n_bytes in reached)
        pairs = zip(numbers, blocks, strict=True)
        return [[block for _, block in piece] for _, piece in groupby(pairs, itemgetter(0))]

    def _ranges(self, n_buckets: int) -> Ranges:
        """Return ranges with about equally many rows."""
        shares = np.arange(1, n_buckets) / n_buckets
        if any(side.has_text_users for side in self._sides):
            return Ranges((shares * float(_HIGHEST)).astype(np.int64), is_text=True)
        samples = [side.sample() for side in self._sides]
        users = np.concatenate([sampled for sampled, _ in samples])
        weights = np.concatenate([np.full(sampled.size, w) for sampled, w in samples])
        order = np.argsort(users, kind="stable")
        users, reached = users[order], np.cumsum(weights[order])
        if not reached.size:
            return Ranges(np.empty(0, np.int64), is_text=False)
        bounds = users[np.searchsorted(reached, shares * reached[-1])]
        return Ranges(np.unique(bounds), is_text=False)


Parts: TypeAlias = InMemory | Buckets


def _of_bucket(
    bucket: int, sides: list[Side], runs: list[str], function: Callable[..., Any], *shared: Any
) -> Any:
    truth, *tables = [side.of_bucket(bucket) for side in sides]
    return function(truth, dict(zip(runs, tables, strict=True)), *shared)


def _spilled(task: tuple[int, list[Block], Path], sides: list[Side], ranges: Ranges) -> SpillFile:
    number, blocks, path = task
    side: Any = sides[number]
    return side.spill(blocks, path, ranges)


def _sum_rows(blocks: list[Block]) -> int:
    return sum(block.n_rows for block in blocks)


@contextmanager
def in_parts(tables: Tables, storage: Storage) -> Generator[Parts]:
    """Yield a truth and its runs in parts: buckets, or whole tables if they fit in memory.

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
        yield InMemory(tables)
        return
    with ExitStack() as stack:
        buckets = Buckets(tables, storage)
        if storage.grouped:
            buckets.match_files()
        else:
            buckets.divide(n_buckets_for(_COPIES * buckets.n_bytes, storage), stack)
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
    on_disk = _on_disk([tables.truth, *tables.runs.values()])
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


def of_some_users(table: Any, roles: Sequence[Role], one_in: int) -> tuple[Any, Ids]:
    """Return the rows of one in `one_in` users, and the distinct items of the whole table.

    Users are chosen by a hash of their id, so that all tables have the rows of the same users. Two
    spellings of a number, such as 7 and "u007", have the same hash. Parquet and Arrow tables
    are read block by block.
    """
    all_items: Ids = np.empty(0, np.int64)

    def is_chosen(users: Ids, items: Callable[[], Ids]) -> Mask:
        nonlocal all_items
        all_items = distinct_ids(joined_ids([all_items, distinct_ids(items())]))
        return _keys(users) % np.uint64(one_in) == 0

    return _chosen(table, roles, is_chosen), all_items


def truth_of_users(table: Source | Truth, labels: Labels) -> Truth:
    """Read the rows of some users of a truth."""
    table = read_truth(table) if table.stored is None else table
    return read_truth(_chosen(table, TRUTH, lambda users, _: user_positions(users, labels) >= 0))


def run_of_users(table: Source | Run, labels: Labels) -> Run:
    """Read the rows of some users of a run."""
    table = read_run(table) if table.stored is None else table
    return read_run(_chosen(table, RUN, lambda users, _: user_positions(users, labels) >= 0))


def n_rows_on_disk(tables: Iterable[Any]) -> int:
    """Return the number of rows of the parquet and Arrow tables among open tables."""
    return sum(table.n_rows for table in _on_disk(tables))


def _on_disk(tables: Iterable[Any]) -> list[StoredTable]:
    """Return the parquet and Arrow tables among open tables."""
    return [table.stored for table in tables if isinstance(table, Source) and table.stored]


def _chosen(
    table: Any, roles: Sequence[Role], is_chosen: Callable[[Ids, Callable[[], Ids]], Mask]
) -> Any:
    """Return the rows that are chosen by their users, and by their items if these are read."""
    if isinstance(table, Truth | Run):
        return rows_of(table, np.flatnonzero(is_chosen(table.users, lambda: table.item)))
    stored, by_role = table.stored, table.resolve(roles)
    frames: list[pl.DataFrame] = []
    rows = [np.empty(0, np.int64)]
    n_rows = 0
    for piece in [table] if stored is None else stored.sources(list(by_role.values())):
        columns = RoleColumns.named(piece, roles, by_role)
        chosen = np.flatnonzero(is_chosen(columns.ids("user"), partial(columns.ids, "item")))
        frame = pl.DataFrame({by_role[role]: column for role, column in columns.read.items()})
        frames.append(frame[chosen])
        rows.append(chosen + n_rows)
        n_rows += frame.height
    line, row_of = table.places.line, np.concatenate(rows)
    places = NOWHERE if line is None else Places(lambda row: line(int(row_of[row])))
    facts: dict[str, Any] = {"text_ids": table.text_ids, "kind": table.kind, "named": table.named}
    no_rows = pl.DataFrame(schema=dict.fromkeys(by_role.values(), pl.Int64))
    frame = pl.concat(frames, rechunk=True) if frames else no_rows
    return Source.of(table.name, frame, places=places, can_be_empty=True, **facts)


def _keys(users: Ids) -> NDArray[np.uint64]:
    """Return a number for each user, which is the same for two spellings of a number."""
    if isinstance(users, np.ndarray):
        return pl.Series(users).hash().to_numpy()
    texts = users.str.strip_chars().str.to_lowercase()
    numbers = texts.str.extract(_NUMBER).cast(pl.Int64, strict=False)
    return numbers.hash().set(numbers.is_null(), None).fill_null(texts.hash()).to_numpy()
