"""The types of a report: plain dictionaries, which any program can write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypeAlias, TypedDict

Figure: TypeAlias = Mapping[str, Any]
"""A figure: "kind" (a key of `podium.report.figures.FIGURES`), the arguments of that function by
name, and optionally "caption", a sentence below the figure."""


class Table(TypedDict):
    """A table, whose cells are text, numbers, or None for undefined.

    `highlight` contains (row, column) of cells in bold. `align` is "left" or "right" for each
    column; by default columns of numbers are right-aligned. `digits` is the number of decimals of
    floats, 3 by default.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: NotRequired[str]
    align: NotRequired[Sequence[str]]
    highlight: NotRequired[Sequence[tuple[int, int]]]
    digits: NotRequired[int]


class Section(TypedDict):
    """A part of the page under a heading; `text` is one paragraph or several."""

    title: str
    text: NotRequired[str | Sequence[str]]
    table: NotRequired[Table]
    tables: NotRequired[Sequence[Table]]
    figures: NotRequired[Sequence[Figure]]


class Report(TypedDict):
    """A page. All text is plain: it is escaped and not interpreted as HTML.

    `summary` contains the most important paragraphs, and `facts` a few labelled numbers.
    `conventions` are names and values of conventions, such as the order of ties or thresholds.
    """

    title: str
    subtitle: NotRequired[str]
    summary: NotRequired[Sequence[str]]
    facts: NotRequired[Mapping[str, Any]]
    sections: NotRequired[Sequence[Section]]
    conventions: NotRequired[Sequence[tuple[str, Any]] | Mapping[str, Any]]
    footer: NotRequired[str]
