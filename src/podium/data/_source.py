"""Source: a table that is open, and how to read columns from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import polars as pl
from numpy.typing import NDArray

Column: TypeAlias = "NDArray[Any] | pl.Series"
Kind: TypeAlias = Literal["id", "number", "any"]
Fetch: TypeAlias = Callable[[Mapping[str, Kind]], Mapping[str, Column]]
FORMATS = ("parquet", "csv", "tsv", "arrow", "trec", "svmlight")


@dataclass(frozen=True)
class Source:
    """A table that is open: how messages name it, its columns, and how to read some of them.

    first_line is the line of row 0 in a text format, where numbers and ids are both text;
    elsewhere it is None and types are the source's own.
    """

    name: str
    names: tuple[str, ...]
    fetch: Fetch = field(repr=False)
    first_line: int | None = None

    @property
    def text(self) -> bool:
        return self.first_line is not None

    def at(self, row: int) -> str:
        """Return where a row stands: its line in a text file, its number (from 0) elsewhere."""
        return f"row {row}" if self.first_line is None else f"line {row + self.first_line}"
