"""The experiments of xia2009 on LETOR: ListMLE and others at the top k, on five folds.

Each query's values are kept, so that what is claimed of two methods is tested on the same
queries. Losses that break ties of the grades by a drawn order are trained on several draws: the
recipe's repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from podium import _check
from podium.papers import folds
from podium.papers.recipe import Recipe
from podium.papers.rows import Parts
from podium.papers.study import Result, Study, generator, key, parts
from podium.papers.xia2009 import letor_figures, letor_page
from podium.papers.xia2009.letor_methods import METHODS
from podium.papers.xia2009.letor_runs import drawn_shares, tuned

Context: TypeAlias = Mapping[str, tuple[Parts, ...]]


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Context:
    """Read the five folds of each collection, by its name in tables."""
    return {
        name: folds.folds(
            paths[given["folder"]], within=given.get("within", ""), n_queries=given["queries"]
        )
        for name, given in recipe.parameters["collections"].items()
    }


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: what is counted; then by collection, method and draw the folds."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    counted = [key(data=data, count="drawn") for data in recipe.parameters["collections"]]
    return counted + [
        key(data=data, method=name, draw=draw, fold=fold)
        for data in recipe.parameters["collections"]
        for name in names
        for draw in draws(recipe, name)
        for fold in range(1, folds.N_FOLDS + 1)
    ]


def draws(recipe: Recipe, name: str) -> Sequence[int]:
    """Return the numbers of a method's draws: one where it draws nothing."""
    return range((recipe.repeats or 1) if METHODS[name].draws else 1)


def run(recipe: Recipe, context: Context, cell: str) -> Result:
    """Count drawn places, or tune a method on a fold's validation queries and test it."""
    asked = parts(cell)
    if "count" in asked:
        return drawn_shares(context[asked["data"]])
    fold, draw = int(asked["fold"]), int(asked["draw"])
    seed = int(generator(recipe, "draw", fold, draw).integers(2**31))
    found = context[asked["data"]][fold - 1]
    return tuned(METHODS[asked["method"]], found, recipe.parameters, seed)


STUDY = Study(
    cells=cells,
    run=run,
    fold=letor_figures.fold,
    prepare=prepare,
    plots=letor_page.plots,
    tables=letor_page.tables,
)
"""Tables 1 to 6 on the collections that a recipe's parameters name."""
