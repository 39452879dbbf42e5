"""RoBiRank on LETOR: the loss from features against all others that podium has, on five folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from podium import _check
from podium.experiments import letor
from podium.experiments.papers import (
    _robirank_letor_figures,
    _robirank_letor_page,
    topk_letor,
)
from podium.experiments.papers._robirank_letor_methods import METHODS
from podium.experiments.papers._topk_letor_runs import tuned
from podium.experiments.recipe import Recipe
from podium.experiments.study import Result, Study, generator, key, parts


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> topk_letor.Context:
    """Read the collection's five folds."""
    return topk_letor.prepare(recipe, paths)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: by method the folds. Nothing repeats: no method draws orders of ties."""
    names = [_check.choice(name, "methods", list(METHODS)) for name in recipe.parameters["methods"]]
    return [
        key(data=data, method=name, draw=0, fold=fold)
        for data in recipe.parameters["collections"]
        for name in names
        for fold in range(1, letor.N_FOLDS + 1)
    ]


def run(recipe: Recipe, context: topk_letor.Context, cell: str) -> Result:
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
    fold=_robirank_letor_figures.fold,
    prepare=prepare,
    plots=_robirank_letor_page.plots,
    tables=_robirank_letor_page.tables,
)
"""All methods that a recipe's parameters name, on its collection."""
