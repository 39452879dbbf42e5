"""From values by query to RoBiRank's curves, and to its differences from all other methods."""

from __future__ import annotations

from collections.abc import Iterable

from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured
from podium.papers.xia2009.letor_figures import (
    OVER_MEASURES,
    Values,
    Z,
    differences,
    level,
)
from podium.papers.yun2014.letor_methods import METHODS, OTHER, ROBIRANK

BEST = "RoBiRank − the best of the others"
ABOVE = "others that RoBiRank is above"
BELOW = "others that RoBiRank is below"
SHOWN = ", the interval without 0"


def values_of(recipe: Recipe, cells: Cells) -> Values:
    """Return the values of the recipe's one collection."""
    (data,) = recipe.parameters["collections"]
    return Values(recipe, cells, data, METHODS)


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return what RoBiRank is above each other, where that leaves it, and each method's means.

    At the cutoffs that are shown; `means` has all of them.
    """
    found: dict[str, Measured] = {}
    values, shown = values_of(recipe, cells), recipe.parameters["shown"]
    for measure in shown:
        for name in recipe.parameters["methods"]:
            found[f"{name} {measure}"] = level(values.of(name, measure), values)
    kept = (*(f" {measure}" for measure in shown), OVER_MEASURES)
    for other in compared(recipe):
        gaps = differences(recipe, values, ROBIRANK, other)
        found |= {label: gap for label, gap in gaps.items() if label.endswith(kept)}
    for measure in shown:
        found |= _standing(recipe, found, measure)
    return found


def means(recipe: Recipe, values: Values, name: str) -> list[Measured]:
    """Return a method's mean of five folds by each measure."""
    return [level(values.of(name, measure), values) for measure in recipe.parameters["measures"]]


def compared(recipe: Recipe) -> list[str]:
    """Return what RoBiRank is compared with: every other method."""
    return [name for name in recipe.parameters["methods"] if name != ROBIRANK]


def rivals(recipe: Recipe) -> list[str]:
    """Return the methods that are neither forms of RoBiRank nor its poster's."""
    return [name for name in recipe.parameters["methods"] if METHODS[name].kind == OTHER]


def _standing(recipe: Recipe, found: Figures, measure: str) -> Figures:
    """Return the difference from the rival that is best on the test queries, and counts."""
    there = rivals(recipe)
    best = max(there, key=lambda name: found[f"{name} {measure}"].value)
    gaps = [found[f"{ROBIRANK} − {name} {measure}"] for name in there]
    return {
        f"{BEST} {measure}": found[f"{ROBIRANK} − {best} {measure}"],
        f"{ABOVE} {measure}": _count(gap.value > 0.0 for gap in gaps),
        f"{ABOVE}{SHOWN} {measure}": _count(gap.value > Z * gap.std_error for gap in gaps),
        f"{BELOW}{SHOWN} {measure}": _count(gap.value < -Z * gap.std_error for gap in gaps),
    }


def _count(yes: Iterable[bool]) -> Measured:
    each = [*yes]
    return Measured(float(sum(each)), n=len(each))
