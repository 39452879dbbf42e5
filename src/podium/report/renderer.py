"""The base class of what shows a result: as text, HTML in notebooks, plots, frames and numbers."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from podium import _check
from podium.data.frames import as_frame
from podium.errors import ArgumentError, arg
from podium.metrics.measures import ByMeasure
from podium.report import figures, pages
from podium.report._page import provenance as provenance_of
from podium.report._page import write
from podium.report._types import Figure, Provenance, Report, Table
from podium.report.views import Numbers, View, headed, shortened, to_html, to_text
from podium.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T", bound=Result)

Pictures: TypeAlias = Mapping[str, Figure | Callable[[], Figure]]
"""The pictures of a result by name; the first one is the natural one.

A picture that is expensive is a function without arguments, which is called only if it is drawn.
"""

_LONGEST = 240  # characters; MLflow accepts 250
_NOT_SAFE = re.compile(r"[^\w.\-/ ]+")


class Renderer(ABC, Generic[T]):
    """What `podium.results.Result` and the command line ask to show a result.

    A subclass defines the parts, the flat table and the named numbers of a result, its pictures if
    there are any, and its page if it is more than the parts.

    Parameters
    ----------
    result : Result
    json : dict, optional
        The JSON form to show, by default that of ``result.as_json()``.
    """

    def __init__(self, result: T, json: dict[str, Any] | None = None) -> None:
        self.result = result
        self.json = result.as_json() if json is None else json

    @abstractmethod
    def parts(self) -> View:
        """Return the tables and paragraphs for readers."""

    @abstractmethod
    def table(self) -> Table:
        """Return all numbers as one table: that of ``--format csv``."""

    @abstractmethod
    def numbers(self) -> Numbers:
        """Yield the names of numbers, and their values by field."""

    def pictures(self, measure: Any) -> Pictures:
        """Return the pictures by name, the natural one first; of all measures if it is None."""
        del measure
        return {}

    def figures(self) -> list[Figure]:
        """Return the figures of the page, by default the natural picture if there is one."""
        return [self.picture()] if self.pictures(None) else []

    def page(self, titles: Any) -> Report:
        """Return the report without its origin: the view with figures, and the conventions.

        Parameters
        ----------
        titles : mapping of item to title, or table, or None
            The titles of items; results without lists have no use for them.
        """
        del titles
        view = self.view()
        sections = pages.sections(view)
        if sections:
            sections[0] = {**sections[0], "figures": self.figures()}
        return {
            "title": type(self.result).__name__,
            "summary": view.head,
            "sections": sections,
            "conventions": {"options": view.options.replace("\n", " ")} if view.options else {},
        }

    def view(self) -> View:
        """Return all that the command line prints, with the name of what the users are."""
        return headed(self.parts(), self.result.origin.noun)

    def to_text(self) -> str:
        """Return the text of the result, with the first rows of long tables."""
        return to_text(shortened(self.view()))

    def to_html(self) -> str:
        """Return the HTML of the result for a notebook, with the first rows of long tables."""
        return to_html(shortened(self.view()))

    def to_frame(self) -> Any:
        """Return the table as a frame; see `Result.to_frame`."""
        content = self.table()
        rows = content["rows"]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(content["columns"])}
        return as_frame(columns, self.result.origin.kind)

    def to_dict(self, *, safe_names: bool) -> dict[str, float]:
        """Return all numbers by name; see `Result.to_dict`."""
        values = {
            f"{name}.{field}" if field else name: _plain(value)
            for name, fields in self.numbers()
            for field, value in fields.items()
        }
        return _renamed(values) if _check.flag(safe_names, "safe_names") else values

    def plot(self, kind: str | None, *, measure: Any, **options: Any) -> Axes:
        """Draw a picture; see `Result.plot`."""
        return figures.plot(self.picture(kind, measure), **options)

    def picture(self, kind: str | None = None, measure: Any = None) -> Figure:
        """Return one picture, by default the natural one."""
        pictures = self.pictures(measure)
        if not pictures:
            raise ArgumentError(
                f"This {type(self.result).__name__} has no numbers to draw. print(result) shows "
                "what it has; podium.plots draws numbers of your own."
            )
        name = next(iter(pictures)) if kind is None else _check.choice(kind, "kind", list(pictures))
        chosen = pictures[name]
        return chosen() if callable(chosen) else chosen

    def to_report(self, *, title: str, titles: Any, provenance: Provenance | None) -> Report:
        """Return the content of the report; see `Result.to_report`."""
        report = self.page(titles)
        origin = provenance_of() if provenance is None else provenance
        return {**report, "title": title or report["title"], "provenance": origin}

    def write_report(self, path: str | os.PathLike[str], **content: Any) -> None:
        """Write the report; `content` are the arguments of `to_report`."""
        write(self.to_report(**content), path)


def chosen_measures(measures: Iterable[str], measure: Any) -> tuple[str, str, list[str]]:
    """Return the chosen measure, or the first one; the only one to show, if any; those to try."""
    name = chosen_measure(measures, measure)
    return (name, "", [*measures]) if measure is None else (name, name, [name])


def chosen_measure(measures: Iterable[str], measure: Any) -> str:
    """Return the name of a measure as a result has it, by default the first.

    Raises
    ------
    ArgumentError
        If the result does not have the measure.

    Examples
    --------
    >>> chosen_measure(["rr", "ap@5"], "map@5")
    'ap@5'
    """
    names = ByMeasure({name: name for name in measures})
    if measure is None:
        return next(iter(names))
    if str(measure) not in names:
        raise ArgumentError(
            f"{arg.measure} must be one of {', '.join(names)}, got {str(measure)!r}."
        )
    return names[str(measure)]


def _plain(value: Any) -> float:
    """Return a number as an int or float; a boolean as 0 or 1, and None as nan."""
    if value is None:
        return math.nan
    return int(value) if isinstance(value, int) else float(value)


def _renamed(values: Mapping[str, float]) -> dict[str, float]:
    """Return the values by safe names; equal ones get a number at the end."""
    result: dict[str, float] = {}
    for name, value in values.items():
        start = _safe(name)
        numbered = (f"{start}_{n}" for n in count(2))
        result[next(safe for safe in chain([start], numbered) if safe not in result)] = value
    return result


def _safe(name: str) -> str:
    """Return a name with allowed characters that is also a normal path, as MLflow requires."""
    parts = _NOT_SAFE.sub("_", name.replace("@", "_at_")).split("/")
    return "/".join("_" if part in ("", ".", "..") else part for part in parts)[:_LONGEST]
