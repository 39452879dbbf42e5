"""A truth or a run that is read in pieces: its columns, its users and the checks of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.columns import Role
from podium.data.convert import Ids
from podium.data.parts import Block, StoredTable, stored_table
from podium.data.runs import Truth
from podium.data.source import NOWHERE, Places, Source

_SAMPLED_BLOCKS, _SAMPLED_ROWS = 16, 20_000
_HIGHEST = np.iinfo(np.int64).max
_EXACT = 2**53  # float64 represents all integers up to here


class Side:
    """The truth or a run: a table on disk, or one that is already in memory.

    Parameters
    ----------
    table : Source, Truth or Run
    roles : sequence of Role
        The roles of its columns.
    read : function
        `read_truth` or `read_run`.
    """

    def __init__(self, table: Any, roles: Sequence[Role], read: Callable[[Any], Any]) -> None:
        self._read = read
        self._as_text: list[str] = []
        self._is_order = False
        self.table: Any = None
        self.stored = stored_table(table)
        if self.stored is None:
            self.table = read(table)
            self.name, self.n_bytes, self.n_rows = self.table.name, 0, len(self.table.user)
            return
        self.name, self.n_rows, self._named = table.name, self.stored.n_rows, table.named
        self.by_role = table.resolve(roles)
        self.columns = list(self.by_role.values())
        self.n_bytes = self.stored.n_bytes(self.columns)
        self._examine()

    @property
    def stored_on_disk(self) -> StoredTable:
        """The table on disk."""
        if self.stored is None:
            raise TypeError(f"{self.name} is in memory")
        return self.stored

    @property
    def whole(self) -> tuple[str, ...]:
        """The roles of ids that are integers, but written with ".0"; see `Run`."""
        return self.table.whole if self.stored is None else ()

    def _examine(self) -> None:
        """Read the columns of integers whose type in memory depends on all their values."""
        for role, column in self.by_role.items():
            kind = str(self.stored_on_disk.types[column])
            if role in ("user", "item") and kind == "uint64":
                if self._largest(column) > _HIGHEST:
                    self._as_text.append(column)
            elif role == "score" and kind in ("int64", "uint64"):
                self._is_order = self._largest(column) >= _EXACT

    def _largest(self, column: str) -> int:
        ends: list[Any] = [end for c in self.column(column) for end in (c.min(), c.max())]
        return max((abs(int(end)) for end in ends if end is not None), default=0)

    def column(self, name: str) -> Iterator[pl.Series]:
        """Yield a column of a table on disk, block by block."""
        for _, frame in self.stored_on_disk.pieces([name]):
            yield frame[name]

    @property
    def has_text_users(self) -> bool:
        if self.stored is None:
            return isinstance(self.table.user, pl.Series)
        column = self.by_role["user"]
        types: Any = import_module("pyarrow").types
        kind = self.stored.types[column]
        return column in self._as_text or not (types.is_integer(kind) or types.is_floating(kind))

    def read(self, block: Block) -> Iterator[tuple[pl.DataFrame, Ids]]:
        """Yield the rows of a block and their users, after a check of all values."""
        for first_row, frame in self.stored_on_disk.read(block, self.columns):
            rows = frame.with_columns(pl.col(self._as_text).cast(pl.String))
            yield rows, self._of(rows, Places(first_row=first_row)).user

    def rows(self) -> pl.DataFrame:
        """Return the rows of a table in memory."""
        ids = {"user": self.table.user, "item": self.table.item}
        if isinstance(self.table, Truth):
            return pl.DataFrame({**ids, "relevance": self.table.relevance})
        return pl.DataFrame({**ids, "score": self.table.score})

    def clear(self) -> None:
        """Remove the rows of a table in memory, which `of_rows` gives to the rows of a bucket."""
        self.table = _with_columns(self.table, self.rows().clear())

    def of_rows(self, frames: list[pl.DataFrame]) -> Any:
        """Return a Truth or Run of the rows of a bucket; None if there are none."""
        if not frames:
            return None
        rows = pl.concat(frames, rechunk=True)
        if self.table is not None:
            return _with_columns(self.table, rows)
        result = self._of(rows, NOWHERE)
        return replace(result, is_order=True) if self._is_order else result

    def _of(self, rows: pl.DataFrame, places: Places) -> Any:
        return self._read(Source.of(self.name, rows, places=places, named=self._named))

    def sample(self) -> tuple[NDArray[np.int64], float]:
        """Return the users of some rows, and the number of rows that each of them stands for."""
        if self.stored is None:
            users = self.table.user
            sampled = users[:: max(1, len(users) // _SAMPLED_ROWS)]
            return sampled, len(users) / max(len(sampled), 1)
        blocks = [block for block in self.stored.blocks() if block.n_rows]
        chosen = blocks[:: max(1, math.ceil(len(blocks) / _SAMPLED_BLOCKS))]
        step = max(1, sum(block.n_rows for block in chosen) // _SAMPLED_ROWS)
        column = self.by_role["user"]
        parts = [
            frame[column][::step].cast(pl.Int64, strict=False).drop_nulls().to_numpy()
            for block in chosen
            for _, frame in self.stored.read(block, [column])
        ]
        sampled = np.concatenate([np.empty(0, np.int64), *parts])
        return sampled, self.stored.n_rows / max(sampled.size, 1)


def _with_columns(table: Any, rows: pl.DataFrame) -> Any:
    """Return a Truth or Run with other rows, whose places are unknown."""
    columns: Any = {
        name: series if series.dtype == pl.String else series.to_numpy()
        for name, series in rows.to_dict().items()
    }
    return replace(table, **columns, places=NOWHERE)


@dataclass(frozen=True)
class Grades:
    """The smallest relevance of the truth, and its distinct relevances."""

    lowest: float
    distinct: NDArray[np.float64]

    @classmethod
    def of(cls, truth: Side) -> Grades:
        """Read the relevances of a truth."""
        if truth.stored is None:
            columns = [truth.table.relevance]
        elif "relevance" not in truth.by_role:
            columns = [np.ones(1)]
        else:
            columns = (
                c.cast(pl.Float64, strict=False).drop_nulls().to_numpy()
                for c in truth.column(truth.by_role["relevance"])
            )
        distinct = np.empty(0)
        for column in columns:
            grades = pl.Series(column).unique().to_numpy()
            distinct = np.union1d(distinct, np.maximum(grades, 0.0))  # as `read_truth` reads them
        return cls(float(distinct.min(initial=np.inf)), distinct)
