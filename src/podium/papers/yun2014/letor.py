"""RoBiRank on LETOR: the loss from features against all others that podium has, on five folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from podium import _check
from podium.papers import folds
from podium.papers.recipe import Recipe
from podium.papers.study import Result, Study, generator, key, parts
from podium.papers.xia2009 import letor
from podium.papers.xia2009.letor_runs import tuned
from podium.papers.yun2014 import letor_figures, letor_page
from podium.papers.yun2014.letor_methods import METHODS


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> letor.Context:
    """Read the collection's five folds."""
    return letor.prepare(recipe, paths)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: by method the folds. Nothing repeats: no method draws orders of ties."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    return [
        key(data=data, method=name, draw=0, fold=fold)
        for data in recipe.parameters["collections"]
        for name in names
        for fold in range(1, folds.N_FOLDS + 1)
    ]


def run(recipe: Recipe, context: letor.Context, cell: str) -> Result:
    """Tune a method on a fold's validation queries and test it."""
    asked = parts(cell)
    fold = int(asked["fold"])
    seed = int(generator(recipe, "fold", fold).integers(2**31))
    return tuned(
        METHODS[asked["method"]], context[asked["data"]][fold - 1], recipe.parameters, seed
    )


STUDY = Study(
    cells=cells,
    run=run,
    fold=letor_figures.fold,
    prepare=prepare,
    plots=letor_page.plots,
    tables=letor_page.tables,
)
"""All methods that a recipe's parameters name, on its collection."""
