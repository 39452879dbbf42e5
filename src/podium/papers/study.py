"""Studies: the work behind a recipe, as plain functions on small independent cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from podium import _check
from podium.papers.recipe import Recipe
from podium.report import Figure, Table

Result: TypeAlias = Mapping[str, Any]
"""What one cell found: numbers, texts and lists of them by name; nan is undefined."""
Cells: TypeAlias = Mapping[str, Result]
"""The result of every cell by its key, in the order in which the study lists them."""


@dataclass(frozen=True)
class Measured:
    """One figure: a mean over `n` values, and the standard error of it (nan where unknown)."""

    value: float
    std_error: float = float("nan")
    n: int = 1


Figures: TypeAlias = Mapping[str, Measured]


def _nothing(recipe: Recipe, paths: Mapping[str, Path]) -> None:
    """Prepare nothing."""


def _none(recipe: Recipe, cells: Cells, figures: Figures) -> Iterable[Any]:
    """Return no plots and no tables."""
    return ()


@dataclass(frozen=True)
class Study:
    """How a recipe is done; a module of `podium.papers` has one as STUDY.

    Attributes
    ----------
    cells : (recipe) -> iterable of str
        Keys of the cells, as `key` writes them. Cells are independent of each other.
    run : (recipe, context, key) -> mapping
        Do one cell. Everything random comes from `generator`, so neither the order of the cells
        nor the number of processes matters.
    fold : (recipe, cells) -> mapping of str to Measured
        From the cells to the figures, by the names that the recipe's `printed` has.
    prepare : (recipe, paths) -> context
        Read the data, once a process; `paths` has the folder of each data set by its name.
    plots, tables : (recipe, cells, figures) -> iterable
        What else the page shows, as dictionaries of `podium.report`.
    """

    cells: Callable[[Recipe], Iterable[str]]
    run: Callable[[Recipe, Any, str], Result]
    fold: Callable[[Recipe, Cells], Figures]
    prepare: Callable[[Recipe, Mapping[str, Path]], Any] = _nothing
    plots: Callable[[Recipe, Cells, Figures], Iterable[Figure]] = _none
    tables: Callable[[Recipe, Cells, Figures], Iterable[Table]] = _none


def key(**parts: Any) -> str:
    """Write a cell's key.

    Examples
    --------
    >>> key(seed=3, k=8, method="logistic")
    'seed=3/k=8/method=logistic'
    """
    return "/".join(f"{name}={value}" for name, value in parts.items())


def parts(cell: str) -> dict[str, str]:
    """Read a cell's key back.

    Examples
    --------
    >>> parts("seed=3/k=8")
    {'seed': '3', 'k': '8'}
    """
    pairs = (part.partition("=") for part in cell.split("/"))
    return {name: value for name, _, value in pairs}


def generator(recipe: Recipe, purpose: str, *index: int) -> np.random.Generator:
    """Return the random numbers of one purpose and index, the same whatever ran before."""
    return np.random.default_rng([recipe.seed, *index, *purpose.encode()])


def seed_of(recipe: Recipe, purpose: str, *index: int) -> int:
    """Return a seed of one purpose and index, for what takes a number."""
    return int(generator(recipe, purpose, *index).integers(2**31))


def methods(recipe: Recipe, known: Iterable[str]) -> list[str]:
    """Return the names of the recipe's methods; raise for one that the study lacks."""
    there = list(known)
    return [_check.choice(name, "methods", there) for name in recipe.parameters["methods"]]


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
    """Return the mean of the values that are defined, with its standard error.

    Examples
    --------
    >>> mean([1.0, 3.0, float("nan")])
    Measured(value=2.0, std_error=1.0, n=2)
    """
    found = np.array([value for value in values if np.isfinite(value)])
    if not found.size:
        return Measured(float("nan"), n=0)
    spread = float(found.std(ddof=1)) if found.size > 1 else float("nan")
    return Measured(float(found.mean()), spread / found.size**0.5, int(found.size))
