"""The base class of results, and the table of what shows them: text, HTML, plots and reports.

Results know their numbers and not how they are shown. What shows them lies above all results, in
`podium.report`, and is imported when a result is first shown.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from podium.data.frames import NO_FRAMES, Origin
from podium.errors import ArgumentError
from podium.registry import Registry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN_BY = "podium.report"

RENDERERS: Registry[type[Any]] = Registry("renderer", "Evaluation")
"""What shows results, by the name of their class: subclasses of `podium.report.renderer.Renderer`.

`podium.report` enters those of podium's results. A plugin enters those of its own.
"""


def renderer_of(result: Any) -> Any:
    """Return the renderer of a result.

    Raises
    ------
    ArgumentError
        If no renderer was entered for its class or a base class of it.
    """
    import_module(_SHOWN_BY)
    renderer = RENDERERS.find(*(cls.__name__ for cls in type(result).__mro__))
    if renderer is None:
        raise ArgumentError(
            f"{type(result).__name__} has no renderer. Enter one under this name in "
            "podium.results.RENDERERS."
        )
    return renderer(result)


class Result(ABC):
    """A result that can be printed, shown, plotted, and turned into a frame or numbers.

    A subclass defines `as_json`, and has a renderer in `RENDERERS`. A result of frames has an
    attribute `origin`.
    """

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

    def to_frame(self) -> Any:
        """Return all numbers as a frame, with the columns of the command line's ``--format csv``.

        Returns
        -------
        pandas.DataFrame, pyarrow.Table or polars.DataFrame
            A frame of the package whose frames came in, or else a Polars frame.
        """
        return renderer_of(self).to_frame()

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
        return renderer_of(self).to_dict(safe_names=safe_names)

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
        return renderer_of(self).plot(kind, measure=measure, ax=ax, **options)

    def to_report(
        self, *, title: str = "", titles: Any = None, provenance: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the content of the result's report as a plain dictionary.

        Parameters
        ----------
        title : str
            The title of the page; a description of the result by default.
        titles : mapping of item to title, or a table of items with a column title, optional
            The titles of items in lists. An Evaluation or Comparison has lists if it was made with
            ``keep_lists=True``. Items without a title are shown by their ids.
        provenance : dict, optional
            Where the result comes from; see `podium.report`. Versions and time by
            default.

        Returns
        -------
        dict
            A `podium.report.Report`.
        """
        return renderer_of(self).to_report(title=title, titles=titles, provenance=provenance)

    def write_report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "",
        titles: Any = None,
        provenance: Mapping[str, Any] | None = None,
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
        content = {"title": title, "titles": titles, "provenance": provenance}
        renderer_of(self).write_report(path, **content)

    def __str__(self) -> str:
        return renderer_of(self).to_text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return renderer_of(self).to_html()
