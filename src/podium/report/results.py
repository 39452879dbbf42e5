"""The base class of results: their text, HTML in notebooks, plots, frames and named numbers."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar

from podium import _check
from podium.data.frames import NO_FRAMES, Origin, as_frame
from podium.errors import ArgumentError
from podium.report import figures, pages
from podium.report._page import write
from podium.report._types import Provenance, Report, Table
from podium.report.notebook import to_html
from podium.report.pictures import Pictures, picture
from podium.report.provenance import provenance as provenance_of
from podium.report.views import Forms, Numbers, View, headed, shortened, to_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 240  # characters; MLflow accepts 250
_NOT_SAFE = re.compile(r"[^\w.\-/ ]+")


class Result(ABC):
    """A result that can be printed, shown, plotted, and turned into a frame or numbers.

    A subclass defines `as_json`, `_pictures` and `_forms`, which read this form. The command line
    prints the same views. A result of frames has an attribute `origin`.
    """

    _forms: ClassVar[Forms]
    origin: Origin = NO_FRAMES

    _test: ClassVar[str] = ""
    """What to test instead of the result itself, in a result that could be taken for a verdict."""

    def __bool__(self) -> bool:
        """Return True, or raise: ``assert podium.gate(...)`` would pass for each decision."""
        if self._test:
            raise ArgumentError(
                f"bool() of a {type(self).__name__} is ambiguous, because it isn't a verdict. "
                f"Use {self._test}."
            )
        return True

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; nan becomes None."""

    def _view(self) -> View:
        """Return what the result shows."""
        return headed(self._forms.view(self.as_json()), self.origin.noun)

    def _table(self) -> Table:
        """Return all numbers as one table: that of ``--format csv``."""
        return self._forms.table(self.as_json())

    def _numbers(self) -> Numbers:
        """Yield the names of numbers, and their values by field."""
        return self._forms.numbers(self.as_json())

    @abstractmethod
    def _pictures(self, measure: Any) -> Pictures:
        """Return the pictures by name, the natural one first; of all measures if it is None."""

    def to_frame(self) -> Any:
        """Return all numbers as a frame, with the columns of the command line's ``--format csv``.

        Returns
        -------
        pandas.DataFrame, pyarrow.Table or polars.DataFrame
            A frame of the package whose frames came in, or else a Polars frame.
        """
        content = self._table()
        rows = content["rows"]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(content["columns"])}
        return as_frame(columns, self.origin.kind)

    def to_dict(self, *, safe_names: bool = False) -> dict[str, float]:
        """Return all numbers by name, without nesting, for a tracker of experiments.

        Parameters
        ----------
        safe_names : bool
            Whether "@" in names becomes "_at_", and each other character that is not a letter, a
            digit or one of "_", ".", "-", "/" and " " becomes "_". MLflow accepts only these.

        Returns
        -------
        dict of str to int or float
            The values; undefined ones are nan. docs/results.md lists the names.

        Raises
        ------
        ArgumentError
            If `safe_names` is not a boolean.
        """
        values = {
            f"{name}.{field}" if field else name: _plain(value)
            for name, fields in self._numbers()
            for field, value in fields.items()
        }
        return _renamed(values) if _check.flag(safe_names, "safe_names") else values

    def plot(
        self,
        kind: str | None = None,
        *,
        measure: Any = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw a picture of the result by matplotlib, the same as in its report.

        Parameters
        ----------
        kind : str, optional
            The picture, by default the natural one of the result. docs/results.md lists them.
        measure : str or Measure, optional
            One of the result's measures. By default, a picture of one measure has the first one,
            and other pictures have all of them.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure, which a notebook shows.
        **options
            More arguments of the function of `podium.plots`, such as `title` and `width`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot; ``ax.figure.savefig(path)`` saves them.

        Raises
        ------
        ArgumentError
            If the result has no such picture or measure, or an option is unknown.
        MissingExtraError
            If matplotlib, the extra ``plots``, is not installed.
        """
        figure = picture(self._pictures(measure), kind, type(self).__name__)
        return figures.plot(figure, ax=ax, **options)

    def to_report(
        self, *, title: str = "", titles: Any = None, provenance: Provenance | None = None
    ) -> Report:
        """Return the content of the result's report as a plain dictionary.

        Parameters
        ----------
        title : str
            The title of the page; a description of the result by default.
        titles : mapping of item to title, or a table of items with a column title, optional
            The titles of items in lists. An Evaluation or Comparison has lists if it was made with
            ``keep_lists=True``. Items without a title are shown by their ids.
        provenance : dict, optional
            Where the result comes from; see `podium.report.provenance`. Versions and time by
            default.

        Returns
        -------
        dict
            A `podium.report.Report`.
        """
        report = self._report(titles)
        origin = provenance_of() if provenance is None else provenance
        return {**report, "title": title or report["title"], "provenance": origin}

    def write_report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "",
        titles: Any = None,
        provenance: Provenance | None = None,
    ) -> None:
        """Write the report of the result: one HTML file that needs no network.

        Parameters
        ----------
        path : str or path
            The path of the file. An existing file is replaced.
        title, titles, provenance
            See `to_report`.

        Raises
        ------
        MissingExtraError
            If jinja2, the extra ``report``, is not installed.
        OSError
            If the file cannot be written. Nothing is then left.
        """
        write(self.to_report(title=title, titles=titles, provenance=provenance), path)

    def _report(self, titles: Any) -> Report:
        """Return the report without its origin; `titles` as in `to_report`."""
        del titles  # results without lists have none
        report = pages.page(self._view(), type(self).__name__)
        pictures, sections = self._pictures(None), report.get("sections", ())
        if not pictures or not sections:
            return report
        natural = picture(pictures, None, type(self).__name__)
        return {**report, "sections": [{**sections[0], "figures": [natural]}, *sections[1:]]}

    def __str__(self) -> str:
        return to_text(shortened(self._view()))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_html(shortened(self._view()))


def _plain(value: Any) -> float:
    """Return a number as an int or float; a boolean as 0 or 1, and None as nan."""
    if value is None:
        return math.nan
    return int(value) if isinstance(value, int) else float(value)


def _renamed(values: dict[str, float]) -> dict[str, float]:
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
