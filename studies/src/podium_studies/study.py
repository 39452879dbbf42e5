"""Studies: the computation of a recipe, as functions on small independent cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from podium.report import Figure, Table
from podium_studies import checks
from podium_studies.recipe import Recipe

Result: TypeAlias = Mapping[str, Any]
"""The result of one cell: numbers, texts and lists of them by name; nan is undefined."""
Cells: TypeAlias = Mapping[str, Result]
"""The result of every cell by its key, in the order in which the study lists them."""


@dataclass(frozen=True)
class Measured:
    """One figure: a mean over `n` values and its standard error (nan if unknown)."""

    value: float
    std_error: float = float("nan")
    n: int = 1


Figures: TypeAlias = Mapping[str, Measured]


def _no_context(recipe: Recipe, paths: Mapping[str, Path]) -> None:
    """Prepare nothing."""


def _nothing(recipe: Recipe, cells: Cells, figures: Figures) -> Iterable[Any]:
    """Show nothing."""
    return ()


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
    prepare: Callable[[Recipe, Mapping[str, Path]], Any] = _no_context
    shown: Callable[[Recipe, Cells, Figures], Iterable[Grid | Figure | Table]] = _nothing


def key(**parts: Any) -> str:
    """Return the key of a cell.

    Examples
    --------
    >>> key(seed=3, k=8, method="logistic")
    'seed=3/k=8/method=logistic'
    """
    return "/".join(f"{name}={value}" for name, value in parts.items())


def sweep(**axes: Iterable[Any]) -> Iterator[str]:
    """Yield the keys of all combinations of values; the last axis changes fastest.

    Examples
    --------
    >>> [*sweep(data=["ml-1m"], method=["EASE", "ALS"])]
    ['data=ml-1m/method=EASE', 'data=ml-1m/method=ALS']
    """
    return (key(**chosen) for chosen in product({name: [*axis] for name, axis in axes.items()}))


def parts(cell: str) -> dict[str, Any]:
    """Return the parts of a cell's key, the inverse of `key`; whole numbers become int.

    Examples
    --------
    >>> parts("seed=3/k=8")
    {'seed': 3, 'k': 8}
    """
    pairs = (part.partition("=") for part in cell.split("/"))
    return {name: int(value) if value.isdecimal() else value for name, _, value in pairs}


def select(cells: Cells, **key_parts: Any) -> list[tuple[Mapping[str, Any], Result]]:
    """Return the parts of the key and the result of every cell whose key has these parts.

    Examples
    --------
    >>> select({"part=test/seed=0": {"x": 1}, "part=fit/seed=0": {"x": 2}}, part="fit")
    [({'part': 'fit', 'seed': 0}, {'x': 2})]
    """
    tidy = ((parts(cell), result) for cell, result in cells.items())
    return [entry for entry in tidy if key_parts.items() <= entry[0].items()]


def results(cells: Cells, **key_parts: Any) -> list[Result]:
    """Return the results of the cells whose keys have these parts."""
    return [result for _, result in select(cells, **key_parts)]


def repeats(recipe: Recipe) -> range:
    """Return the numbers of the repeats; 0 only if there is nothing to repeat."""
    return range(recipe.repeats or 1)


def generator(recipe: Recipe, purpose: str, *index: int) -> np.random.Generator:
    """Return a generator that depends only on the recipe's seed, the purpose and the index."""
    return np.random.default_rng([recipe.seed, *index, *purpose.encode()])


def seed_of(recipe: Recipe, purpose: str, *index: int) -> int:
    """Return an integer seed that depends only on the recipe's seed, the purpose and the index."""
    return int(generator(recipe, purpose, *index).integers(2**31))


def methods(recipe: Recipe, known: Iterable[str]) -> list[str]:
    """Return the names of the recipe's methods; raise ArgumentError for an unknown one."""
    known_names = list(known)
    return [checks.choice(name, "methods", known_names) for name in recipe.parameters["methods"]]


def product(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of a grid's values.

    Examples
    --------
    >>> list(product({"l2": [0.0, 1.0]}))
    [{'l2': 0.0}, {'l2': 1.0}]
    """
    for chosen in itertools.product(*grid.values()):
        yield dict(zip(grid, chosen, strict=True))


def mean(values: Iterable[float]) -> Measured:
    """Return the mean of the defined values, with its standard error.

    Examples
    --------
    >>> mean([1.0, 3.0, float("nan")])
    Measured(value=2.0, std_error=1.0, n=2)
    """
    defined = np.array([value for value in values if np.isfinite(value)])
    if not defined.size:
        return Measured(float("nan"), n=0)
    spread = float(defined.std(ddof=1)) if defined.size > 1 else float("nan")
    return Measured(float(defined.mean()), spread / defined.size**0.5, int(defined.size))
