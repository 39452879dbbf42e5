"""Tables on disk that are read in parts: parquet and Arrow files, and folders of them."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from podium.data.columns import Kind
from podium.data.files import (
    File,
    arrow_frame,
    format_of_suffix,
    is_folder,
    reading,
)
from podium.data.source import POLARS, Column, Places, Source
from podium.errors import DataError

_FORMATS = {"parquet": "parquet", "arrow": "Arrow"}
_NUMBERED = re.compile(r"^(.*?)(\d+)$")
_TEXT_BYTES = 48  # of a text in memory
_LARGEST = 1 << 22  # rows that are read at a time; larger row groups are read in pieces


@dataclass(frozen=True)
class Block:
    """Rows of a table that are read together: a row group of a parquet file, a batch of Arrow.

    `low` and `high` are bounds of a column of integers, from the file's statistics, or None.
    """

    file: File
    number: int
    n_rows: int
    first_row: int
    low: int | None = None
    high: int | None = None


class StoredTable:
    """A parquet or Arrow file, or a folder of such files, that is read block by block.

    Parameters
    ----------
    place : File, or Path of a folder
    noun : str
        The kind of the table, for messages.
    format : {"parquet", "arrow"}, optional
        The format, if the suffix does not determine it.

    Attributes
    ----------
    files : list of File
        The files, in the order of their names.
    names : tuple of str
        The names of the columns.
    types : dict of str to Arrow type
        The types of the columns.

    Raises
    ------
    DataError
        If a file is damaged, a numbered part is missing, or parts differ in a column that is
        read.
    """

    def __init__(self, place: File | Path, noun: str, format: str | None = None) -> None:
        POLARS.enter()
        self.name = str(place)
        self.files = [place] if isinstance(place, File) else part_files(place, noun)
        self.format = format or format_of_suffix(self.files[0].path) or "parquet"
        self._blocks: dict[str | None, list[Block]] = {}
        self._schemas = [(file, self._types(file)) for file in self.files]
        self.types = dict(chain.from_iterable(types.items() for _, types in self._schemas[::-1]))
        self.names = tuple(self.types)

    def _refuse_different(self, columns: Sequence[str]) -> None:
        """Raise if a column that is read is another one in some part, or is missing there."""
        first, *others = self._schemas
        for column, other in product(columns, others):
            if first[1].get(column) != other[1].get(column):
                words = [f"{types.get(column, 'missing')} in {f}" for f, types in (first, other)]
                raise DataError(
                    f"The parts of a table must have the same columns, but {column!r} is "
                    f"{' and '.join(words)}. Write the parts with one schema."
                )

    @cached_property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks())

    def blocks(self, column: str | None = None) -> list[Block]:
        """Return all blocks, with the bounds of a column of integers if there are statistics.

        The metadata of the files are read once for each column.
        """
        if column not in self._blocks:
            self._blocks[column] = self._read_blocks(column)
        return self._blocks[column]

    def _read_blocks(self, column: str | None) -> list[Block]:
        blocks: list[Block] = []
        for file in self.files:
            with self._opened(file) as opened:
                for number, n_rows in enumerate(_sizes(opened, self.format)):
                    start = blocks[-1].first_row + blocks[-1].n_rows if blocks else 0
                    low, high = None, None
                    if column is not None and self.format == "parquet":
                        low, high = _bounds(opened.metadata.row_group(number), column)
                    blocks.append(Block(file, number, n_rows, start, low, high))
        return blocks

    def read(self, block: Block, columns: Sequence[str]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the number of the first row and the rows of each piece of a block."""
        with self._opened(block.file) as file:
            row, coded = block.first_row, selectors.categorical()
            for table in _tables(file, self.format, block, list(columns)):
                if table.num_rows:
                    frame = arrow_frame(table)
                    yield row, frame.with_columns(coded.cast(pl.String))
                row += table.num_rows

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the pieces of all blocks, see `read`."""
        self._refuse_different(columns)
        for block in self.blocks():
            yield from self.read(block, columns)

    def sources(self, columns: Sequence[str]) -> Iterator[Source]:
        """Yield the pieces of all blocks as tables."""
        for first_row, frame in self.pieces(columns):
            places = Places(first_row=first_row)
            yield Source.of(self.name, frame, places=places, can_be_empty=True)

    def n_bytes(self, columns: Sequence[str]) -> int:
        """Return the size of columns in memory, with 48 bytes for each text."""
        self._refuse_different(columns)
        types: Any = import_module("pyarrow").types
        kinds = [self.types[column] for column in columns]
        widths = (8 if types.is_primitive(kind) else _TEXT_BYTES for kind in kinds)
        return self.n_rows * sum(widths)

    def _types(self, file: File) -> dict[str, Any]:
        with self._opened(file) as opened:
            schema = opened.schema_arrow if self.format == "parquet" else opened.schema
            return {field.name: field.type for field in schema}

    @contextmanager
    def _opened(self, file: File) -> Generator[Any]:
        """Open a file; errors while it is read become a DataError."""
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
        with reading(file, _FORMATS[self.format]):
            if self.format == "parquet":
                place = file.path if file.stream is None else file.for_arrow()
                with parquet.ParquetFile(place, pre_buffer=False) as opened:
                    yield opened
            else:
                with file.for_arrow() as data:
                    yield arrow.ipc.open_file(data)


def open_stored(place: File | Path, noun: str, format: str | None = None) -> Source:
    """Open a parquet or Arrow file, or a folder of such files, whose rows are one table."""
    table = StoredTable(place, noun, format)

    def fetch(kinds: Mapping[str, Kind]) -> Mapping[str, Column]:
        columns = list(kinds)
        frames = [frame for _, frame in table.pieces(columns)]
        if not frames:
            return {name: pl.Series(name, [], pl.Int64) for name in columns}
        return pl.concat(frames, rechunk=False).select(columns).to_dict()

    return Source(table.name, table.names, fetch, stored=table)


def part_files(path: Path, noun: str) -> list[File]:
    """Return the files of a folder that are parts of one table, by name.

    Names that begin with "_" or "." are left out, as other readers of such folders do.

    Raises
    ------
    DataError
        If the folder has no part, a file of another format, a folder, or a gap in the numbers of
        its parts.
    """
    entries = sorted(p for p in path.iterdir() if not p.name.startswith(("_", ".")))
    formats = {p: None if p.is_dir() else format_of_suffix(p) for p in entries}
    if not any(format in _FORMATS for format in formats.values()):
        raise is_folder(path, noun)
    first = next(p for p, format in formats.items() if format in _FORMATS)
    for other, format in formats.items():
        if format != formats[first]:
            raise DataError(
                f"{path} contains {other.name}, which is not a part like {first.name}. A folder "
                "must contain the files of one table, all of one format."
            )
    _refuse_gap(path, entries)
    return [File.of(part, noun) for part in entries]


def _refuse_gap(path: Path, parts: Sequence[Path]) -> None:
    """Raise if the parts are numbered and a number is missing."""
    matches = [_NUMBERED.match(part.stem) for part in parts]
    if len({match[1] if match else None for match in matches}) != 1 or matches[0] is None:
        return
    numbers = sorted(int(match[2]) for match in matches if match)
    for number, following in pairwise(numbers):
        if following > number + 1:
            name = f"{matches[0][1]}{number + 1:0{len(matches[0][2])}}{parts[0].suffix}"
            raise DataError(
                f"{path} lacks the part {name}: its parts are numbered from {numbers[0]} to "
                f"{numbers[-1]}. Copy the missing part, or number the parts again."
            )


def _sizes(file: Any, format: str) -> list[int]:
    """Return the numbers of rows of the blocks of an open file."""
    if format == "parquet":
        metadata = file.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    return [file.get_batch(i).num_rows for i in range(file.num_record_batches)]


def _tables(file: Any, format: str, block: Block, columns: list[str]) -> Iterator[Any]:
    arrow: Any = import_module("pyarrow")
    if format == "arrow":
        batch = file.get_batch(block.number).select(columns)
        yield arrow.Table.from_batches([batch])
    elif block.n_rows <= _LARGEST:
        yield file.read_row_group(block.number, columns=columns).select(columns)
    else:
        for batch in file.iter_batches(_LARGEST, row_groups=[block.number], columns=columns):
            yield arrow.Table.from_batches([batch]).select(columns)


def _bounds(group: Any, column: str) -> tuple[int | None, int | None]:
    """Return the bounds of an integer column of a row group; None if they are not stated."""
    for i in range(group.num_columns):
        chunk = group.column(i)
        statistics = chunk.statistics if chunk.path_in_schema == column else None
        if statistics is not None and statistics.has_min_max and not statistics.null_count:
            low, high = statistics.min, statistics.max
            if isinstance(low, int) and isinstance(high, int):
                return low, high
    return None, None
