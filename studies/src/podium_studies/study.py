"""Studies: the computation of a recipe, as functions on small independent cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from podium.report import Figure, Table
from podium_studies.recipe import Recipe

Result: TypeAlias = Mapping[str, Any]
"""The result of one cell: numbers, texts and lists of them by name; nan is undefined."""
Cells: TypeAlias = Mapping[str, Result]
"""The result of every cell by its key, in the order in which the study lists them."""


Z = 1.96
"""The half width of a 95 % interval in standard errors."""


@dataclass(frozen=True)
class Measured:
    """One figure: a mean over `n` values and its standard error (nan if unknown)."""

    value: float
    std_error: float = float("nan")
    n: int = 1

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval; 0 if the standard error is unknown."""
        return 0.0 if math.isnan(self.std_error) else Z * self.std_error


Figures: TypeAlias = Mapping[str, Measured]


@dataclass(frozen=True)
class Grid:
    """Figures by row and column, shown as a table, as a plot, or as both.

    Attributes
    ----------
    title : str
    rows, columns : iterable of str, or mapping
        The titles, or the titles with the texts that replace them in names of figures. A row
        without a figure is left out.
    name : str
        The name of a figure, with {} for the row and for the column.
    text : {"level", "gap", "value", ""}
        The form of a figure in the table: with its standard error (and the printed figure in
        brackets), with its 95 % interval, or alone. Without a text, there is no table.
    digits : int
    plot : {"", "intervals", "lines"}
        The plot: a panel of intervals per column, or a line per row. The columns of lines are
        numbers.
    axis : str
        The title of the plot's axis of values. That of lines has the columns' title before it,
        as in "k: pap@k".
    head, note : str
        The title of the column of rows, and a text below the plot.
    """

    title: str
    rows: Iterable[str] | Mapping[str, Any]
    columns: Iterable[Any] | Mapping[str, Any]
    name: str = "{} {}"
    text: str = "level"
    digits: int = 3
    plot: str = ""
    axis: str = ""
    head: str = "method"
    note: str = ""


@dataclass(frozen=True)
class Study:
    """The functions that compute a recipe; a module of `podium_studies` has one as STUDY.

    Attributes
    ----------
    cells : (recipe) -> iterable of str
        Return the keys of the cells, such as those of a `sweep`. Cells are independent of each
        other.
    run : (recipe, context, **parts of the key) -> mapping
        Compute one cell. All random numbers come from `generator`, so that the result depends
        neither on the order of the cells nor on the number of processes.
    fold : (recipe, cells) -> mapping of str to Measured
        Compute the figures from the cells; they have the names in the recipe's `printed`.
    prepare : (recipe, paths) -> context
        Read the data, once per process; `paths` has the path of each data set by its name.
    shown : (recipe, cells, figures) -> iterable
        Return what the page shows besides the figures: a `Grid` of figures, or a table or plot
        as a dictionary of `podium.report`.
    """

    cells: Callable[[Recipe], Iterable[str]]
    run: Callable[..., Result]
    fold: Callable[[Recipe, Cells], Figures]
    prepare: Callable[[Recipe, Mapping[str, Path]], Any] = lambda recipe, paths: None
    shown: Callable[[Recipe, Cells, Figures], Iterable[Grid | Figure | Table]] = (
        lambda recipe, cells, figures: ()
    )
