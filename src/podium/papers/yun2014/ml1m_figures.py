"""From cells to levels, to differences paired by user, and to what validation chose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, mean, parts
from podium.papers.xia2009.letor_methods import product
from podium.papers.yun2014.ml1m_methods import METHODS, ROBIRANK

TUNING, TEST, PASSES = "tuning", "test", "passes"
"""What a cell is for: one point of a grid, one seed, or one number of passes."""

OTHER_CHOICE = "methods whose grid chose other options"


def points(recipe: Recipe, name: str) -> list[dict[str, Any]]:
    """Return every point of a method's grid; none where it has nothing to tune."""
    grid: Mapping[str, Any] = recipe.parameters["methods"][name]["grid"]
    return [*product(grid)] if grid else []


def of(cells: Cells, part: str, name: str) -> list[tuple[Mapping[str, str], Result]]:
    """Return a method's cells of one part, with the parts of their keys."""
    asked = ((parts(cell), found) for cell, found in cells.items())
    return [each for each in asked if each[0]["part"] == part and each[0]["method"] == name]


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return levels, seconds, what RoBiRank is above each other, and the wrong choices."""
    found: dict[str, Measured] = {}
    names = [*recipe.parameters["methods"]]
    for name in names:
        done = [result for _, result in of(cells, TEST, name)]
        for measure in recipe.parameters["measures"]:
            found[f"{name} {measure}"] = mean(each["means"][measure] for each in done)
        found[f"{name}, seconds"] = mean(each["seconds"] for each in done)
        found[f"{name}, seconds on the clock"] = mean(each["clock"] for each in done)
    for name in compared(recipe):
        for measure in recipe.parameters["measures"]:
            found[f"{ROBIRANK} − {name} {measure}"] = difference(cells, name, measure)
    wrong = [name for name in names if best(recipe, cells, name) != _chosen(recipe, name)]
    found[OTHER_CHOICE] = Measured(float(len(wrong)), n=len(names))
    return found


def compared(recipe: Recipe) -> list[str]:
    """Return what RoBiRank is compared with: every other method."""
    return [name for name in recipe.parameters["methods"] if name != ROBIRANK]


def difference(cells: Cells, other: str, measure: str) -> Measured:
    """Return RoBiRank less another, for the same users, each the mean over its seeds.

    The standard error adds the variances of drawing other users and of drawing other seeds.
    """
    mine, theirs = (_by_user(cells, name, measure) for name in (ROBIRANK, other))
    gaps = mine.mean(axis=0) - theirs.mean(axis=0)
    gaps = gaps[np.isfinite(gaps)]
    of_users = float(gaps.var(ddof=1)) / gaps.size
    error = math.sqrt(of_users + _of_seeds(mine) + _of_seeds(theirs))
    return Measured(float(gaps.mean()), error, int(gaps.size))


def best(recipe: Recipe, cells: Cells, name: str) -> Mapping[str, Any]:
    """Return the options that are best on validation; of equal ones the first."""
    done = [result for _, result in of(cells, TUNING, name)]
    measure = recipe.parameters["validation"]
    if not done:
        return {}
    return max(done, key=lambda result: result["means"][measure])["options"]


def fewer_passes(recipe: Recipe, name: str) -> list[int]:
    """Return the numbers of passes that a method is fitted with beside the one that it is given."""
    if not METHODS[name].passes:
        return []
    return [n for n in recipe.parameters["passes"] if n < _passes(recipe, name)]


def by_passes(recipe: Recipe, cells: Cells, name: str) -> Iterator[tuple[int, Result]]:
    """Yield a method's numbers of passes and what each gave, by its first seed."""
    for asked, result in of(cells, PASSES, name):
        yield int(asked["passes"]), result
    yield _passes(recipe, name), of(cells, TEST, name)[0][1]


def in_passes(recipe: Recipe) -> list[str]:
    """Return the methods that learn in passes."""
    return [name for name in recipe.parameters["methods"] if METHODS[name].passes]


def _passes(recipe: Recipe, name: str) -> int:
    return int(recipe.parameters["methods"][name]["fixed"]["n_epochs"])


def _chosen(recipe: Recipe, name: str) -> Mapping[str, Any]:
    return recipe.parameters["methods"][name]["chosen"]


def _by_user(cells: Cells, name: str, measure: str) -> NDArray[np.float64]:
    """Return a row of users for each seed."""
    rows = [result["values"][measure] for _, result in of(cells, TEST, name)]
    return np.array(rows, np.float64)


def _of_seeds(values: NDArray[np.float64]) -> float:
    """Return the variance of the mean over seeds; 0 where nothing is drawn."""
    means = np.nanmean(values, axis=1)
    return float(means.var(ddof=1)) / means.size if means.size > 1 else 0.0
