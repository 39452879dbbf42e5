"""The rows of one table for the buckets of its users: in memory, or on disk and read in blocks.

A row group of a file whose statistics lie in a range of users is read from its file. All other rows
go through spill files.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium._files import scratch_folder
from podium.data.columns import Role
from podium.data.convert import EXACT, Ids
from podium.data.files import arrow_frame
from podium.data.ids import strings
from podium.data.parts import Block, StoredTable
from podium.data.runs import Run, Truth, rows_of
from podium.data.source import NOWHERE, Places, Source
from podium.errors import DataError, arg
from podium.groups import row_offsets

_SAMPLED_BLOCKS, _SAMPLED_ROWS = 16, 20_000
_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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
            f"Spill files need {shown(n_bytes)}, but {parent} has {shown(n_free)} free. Set "
            f"the environment variable TMPDIR to a folder on a larger disk, or pass more "
            f"{arg.memory()}."
        )
    try:
        with scratch_folder(parent) as folder:
            yield folder
    except OSError as error:
        raise DataError(
            f"Spill files in {parent} can't be written or read ({error.strerror or error}). Set "
            "the environment variable TMPDIR to a folder with enough space that all nodes of a "
            f"cluster have, or pass more {arg.memory()}."
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
        return (strings(users).hash().to_numpy() >> np.uint64(1)).astype(np.int64)

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
        self.name, self.n_rows = source.name, stored.n_rows
        self._by_role = source.resolve(roles)
        self._columns = list(self._by_role.values())
        self.n_bytes = stored.n_bytes(self._columns)
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

    def place(self, ranges: Ranges) -> list[Block]:
        """Find the blocks that are read for each bucket; return those that need spill files."""
        self._ranges = ranges
        self._direct: list[list[Block]] = [[] for _ in range(ranges.bounds.size + 1)]
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
            self._ranges.within(rows, users, block, bucket)
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
