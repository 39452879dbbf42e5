"""Division of a truth and its runs into buckets: sets of users that fit in memory.

A bucket holds all rows of its users. Users with integer ids are divided into ranges of ids, so
that the ids of a bucket are dense, and a row group whose statistics lie in a range is read from
its file. Users with text ids are divided by their hash. All other rows go through spill files.
Tables that fit in memory are a single part.

Work that needs its tables in memory can have the rows of some users.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.columns import RUN, TRUTH, Role
from podium.data.convert import Ids
from podium.data.ids import distinct_ids, joined_ids
from podium.data.lists import Whole
from podium.data.opened import Tables
from podium.data.parts import Block, StoredTable
from podium.data.runs import Run, Truth, read_run, read_truth, rows_of
from podium.data.sides import Ranges, Side, SpillFile, shown, side_of, spill_folder
from podium.data.source import NOWHERE, Places, Source
from podium.data.storage import Storage
from podium.data.tables import RoleColumns
from podium.data.users import user_positions
from podium.errors import ArgumentError, arg
from podium.types import Labels, Mask

_COPIES = 4  # memory that measuring takes, as a multiple of the columns
_MOST = 4096  # buckets
_CACHED = 1 << 26  # bytes that measuring a bucket takes, so that rows in random order stay in cache
# A number without the text before it and without zeros that do not change it: 7 of "u007".
_NUMBER = r"^\D*?0*(\d+)(?:\.0*)?$"


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
            folder = stack.enter_context(spill_folder(Path(tempfile.gettempdir()), n_bytes))
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
            return Ranges((shares * float(np.iinfo(np.int64).max)).astype(np.int64), is_text=True)
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
    """
    if not is_large(tables, storage):
        yield InMemory(tables)
        return
    with ExitStack() as stack:
        buckets = Buckets(tables, storage)
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


def rows_of_users(table: Any, labels: Labels, roles: Sequence[Role] = TRUTH) -> Any:
    """Read the rows of some users of a truth, or of a run with the roles of one."""
    read: Callable[[Any], Any] = read_truth if roles is TRUTH else read_run
    table = read(table) if table.stored is None else table
    return read(_chosen(table, roles, lambda users, _: user_positions(users, labels) >= 0))


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
