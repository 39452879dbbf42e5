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


class Lists(TypedDict):
    """The lists of one user, by run, under a heading with a note.

    `lists` has the items by name of the run; a single list needs no name. The "text" of an item is
    its title or id, and "relevant" is a bool. `after` is a line below.
    """

    title: str
    note: NotRequired[str]
    lists: Mapping[str, Sequence[Mapping[str, Any]]]
    after: NotRequired[str]


class Section(TypedDict):
    """A part of the page under a heading; `text` and `notes` are one paragraph or several.

    The text is above figures, tables and lists, the notes are below.
    """

    title: str
    text: NotRequired[str | Sequence[str]]
    tables: NotRequired[Sequence[Table]]
    figures: NotRequired[Sequence[Figure]]
    lists: NotRequired[Sequence[Lists]]
    notes: NotRequired[str | Sequence[str]]


class File(TypedDict):
    """A file that was read, with its size in bytes; None if it is not a regular file."""

    name: str
    size: int | None
    sha256: str | None


class Provenance(TypedDict):
    """The origin of a page: facts by name, such as the command and the versions, and files."""

    facts: Mapping[str, Any]
    files: NotRequired[Sequence[File]]


class Report(TypedDict):
    """A page. All text is plain: it is escaped and not interpreted as HTML.

    `summary` contains the most important paragraphs. The first one is the verdict, and `status`
    its colour: "good", "bad" or "open". `facts` are a few labelled numbers. `conventions` are names
    and values of conventions, such as the order of ties or thresholds.
    """

    title: str
    subtitle: NotRequired[str]
    status: NotRequired[str]
    summary: NotRequired[Sequence[str]]
    facts: NotRequired[Mapping[str, Any]]
    sections: NotRequired[Sequence[Section]]
    conventions: NotRequired[Sequence[tuple[str, Any]] | Mapping[str, Any]]
    provenance: NotRequired[Provenance]
    footer: NotRequired[str]
