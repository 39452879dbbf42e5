"""Checks against small files that unpack to enough data to fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from podium.errors import DataError

MAX_RATIO = 100
"""The largest accepted ratio of unpacked to packed size; tables have 3 to 50."""

FREE_BYTES = 1 << 26
"""Unpacked bytes that are always accepted; for tables in memory, eight times as many."""


def refuse_swollen(path: Path, n_values: int) -> None:
    """Raise if a small file declares more values than fit in memory."""
    if 8 * n_values > _limit(path):
        raise DataError(
            f"{path} declares {n_values} values in {path.stat().st_size} bytes, which is typical "
            "of files made to fill the memory. If the file is valid, save it as CSV."
        )


def refuse_texts(path: Path, names: list[str]) -> None:
    """Raise if a small parquet file contains texts that would fill the memory.

    A file can store a long text once and repeat it, or compress similar texts.
    """
    if not names:
        return
    parquet: Any = import_module("pyarrow.parquet")
    with parquet.ParquetFile(path, read_dictionary=names) as file:
        _check(path, _unpacked(file.metadata, names))
        if sum(_longest(file, names)) > _limit(path):
            _check(path, sum(n_bytes(column) for column in file.read(columns=names).columns))


def checked_table(path: Path, reader: Any) -> Any:
    """Return the table of an Arrow file, or raise if its batches would fill the memory."""
    arrow: Any = import_module("pyarrow")
    batches: list[Any] = []
    n_bytes_read = 0
    for batch in _batches(reader):
        n_bytes_read += sum(n_bytes(arrow.chunked_array([column])) for column in batch.columns)
        _check(path, n_bytes_read)
        batches.append(batch)
    return arrow.Table.from_batches(batches, schema=reader.schema)


def n_bytes(column: Any) -> int:
    """Return the bytes of an Arrow column, with repeated texts counted each time."""
    arrow: Any = import_module("pyarrow")
    compute: Any = import_module("pyarrow.compute")
    if not arrow.types.is_dictionary(column.type) or not _is_text(column.type):
        return column.nbytes
    lengths = (compute.binary_length(c.dictionary).take(c.indices) for c in column.chunks)
    return sum(compute.sum(chunk_lengths.cast("int64")).as_py() or 0 for chunk_lengths in lengths)


def texts(schema: Any) -> list[str]:
    """Return the names of the text columns, including dictionary-encoded ones."""
    return [field.name for field in schema if _is_text(field.type)]


def _limit(path: Path) -> int:
    return max(8 * FREE_BYTES, MAX_RATIO * path.stat().st_size)


def _check(path: Path, n_bytes: int) -> None:
    if n_bytes > _limit(path):
        raise DataError(
            f"{path} unpacks from {path.stat().st_size} bytes to more than {_limit(path) >> 20} "
            "MiB, which is typical of files made to fill the memory. If the file is valid, save "
            "it as CSV."
        )


def _batches(reader: Any) -> Iterator[Any]:
    if not hasattr(reader, "num_record_batches"):
        return iter(reader)
    return (reader.get_batch(number) for number in range(reader.num_record_batches))


def _longest(file: Any, names: list[str]) -> Iterator[int]:
    """Yield for each row group an upper bound of its texts' bytes: rows times the longest text."""
    compute: Any = import_module("pyarrow.compute")
    for group in range(file.num_row_groups):
        n_rows = file.metadata.row_group(group).num_rows
        batch = next(file.iter_batches(1, row_groups=[group], columns=names), None)
        columns: list[Any] = [] if batch is None else batch.columns
        for column in columns:
            yield n_rows * (compute.max(compute.binary_length(column.dictionary)).as_py() or 0)


def _unpacked(metadata: Any, names: list[str]) -> int:
    """Return the size of the named columns' chunks after decompression, as stored."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    parts = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(part.total_uncompressed_size for part in parts if part.path_in_schema in names)


def _is_text(kind: Any) -> bool:
    arrow: Any = import_module("pyarrow")
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    type_checks = ("is_string", "is_large_string", "is_binary", "is_large_binary")
    return any(getattr(arrow.types, type_check)(kind) for type_check in type_checks)
