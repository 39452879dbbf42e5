"""What a report is made of: plain dictionaries, which any program can write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypeAlias, TypedDict

Figure: TypeAlias = Mapping[str, Any]
""""kind" (a key of `podium.report.figures.FIGURES`), that function's arguments by name, and
optionally "caption", a sentence below the figure."""


class Table(TypedDict):
    """A table: cells are text, numbers, or None for undefined.

    `highlight` holds (row, column) of cells in bold; `align` is "left" or "right" by column, and
    by default right for columns of numbers; `digits` are the decimals of floats, 3 by default.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: NotRequired[str]
    align: NotRequired[Sequence[str]]
    highlight: NotRequired[Sequence[tuple[int, int]]]
    digits: NotRequired[int]


class Section(TypedDict):
    """A part of the page under a heading; `text` is a paragraph or several."""

    title: str
    text: NotRequired[str | Sequence[str]]
    table: NotRequired[Table]
    tables: NotRequired[Sequence[Table]]
    figures: NotRequired[Sequence[Figure]]


class Report(TypedDict):
    """A page. All text is plain: it is escaped, never read as HTML.

    `summary` are the paragraphs that a hurried reader needs; `facts` are a few labelled numbers;
    `conventions` are name and value of what was decided about ties, thresholds and the like.
    """

    title: str
    subtitle: NotRequired[str]
    summary: NotRequired[Sequence[str]]
    facts: NotRequired[Mapping[str, Any]]
    sections: NotRequired[Sequence[Section]]
    conventions: NotRequired[Sequence[tuple[str, Any]] | Mapping[str, Any]]
    footer: NotRequired[str]
