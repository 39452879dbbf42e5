"""Recipes, and studies: their computation, as functions on small independent cells."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import podium
from podium.errors import ArgumentError
from podium.report import Figure, Table
from podium_studies import checks


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    name : str
    sha256 : str
        The checksum of its decompressed content, or "" if unknown.
    also : sequence of str
        Other names under which publishers distribute the same content.
    """

    name: str
    sha256: str = ""
    also: Sequence[str] = ()


@dataclass(frozen=True)
class DataSet:
    """A data set that the caller must download first.

    Attributes
    ----------
    folder : str
        The name of the data set, and of its folder below the caller's path.
    title, url, licence : str
        The title, the source and the licence of the data set.
    files : tuple of DataFile
        The files to check. If empty, the folder is passed to the study unchecked.
    """

    folder: str
    title: str
    url: str
    licence: str
    files: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim of a paper in words: a figure, usually a difference, lies above or below a bound."""

    text: str
    figure: str
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, eq=False)
class Recipe:
    """One table or figure of a paper, with the settings to reproduce it.

    Attributes
    ----------
    name, title : str
    paper, where : str
        The key in docs/references.bib, and the table or figure in the paper.
    study : str
        The module of the paper's package whose STUDY computes the cells, or "module:NAME".
    repeats : int or None
        The number of seeded repeats; None if there is nothing to repeat.
    seed : int
        The seed of all random numbers.
    minutes : float
        The approximate duration on two cores.
    parameters : mapping
        The parameters of the study: steps, sizes, grids.
    data : tuple of DataSet
    printed : mapping of str to float
        The paper's figures by their names in tables.
    tolerance, tolerances : float, mapping of str to float
        The largest difference from a printed figure that counts as agreement: the default, and
        exceptions by figure.
    claims : tuple of Claim
    notes : tuple of str
        Explanations of differences and decisions, shown below the result.
    """

    name: str
    title: str
    paper: str
    where: str
    study: str
    repeats: int | None = None
    seed: int = 0
    minutes: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: tuple[DataSet, ...] = ()
    printed: Mapping[str, float] = field(default_factory=dict[str, float])
    tolerance: float = 0.0
    tolerances: Mapping[str, float] = field(default_factory=dict[str, float])
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The hash of everything that a cell's result depends on, without the number of repeats."""
        parts = {
            "name": self.name,
            "study": self.study,
            "seed": self.seed,
            "parameters": dict(self.parameters),
            "data": [dataclasses.asdict(data) for data in self.data],
            "version": podium.__version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def repeated(self, n: int | None) -> Recipe:
        """Return the recipe with another number of repeats; None keeps the recipe's number.

        Raises
        ------
        ArgumentError
            If n < 1, or if the recipe has nothing to repeat.
        """
        if n is None:
            return self
        if self.repeats is None:
            raise ArgumentError(f"{self.name} has nothing to repeat. Leave repeats out.")
        return dataclasses.replace(self, repeats=checks.cutoff(n, name="repeats"))


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
