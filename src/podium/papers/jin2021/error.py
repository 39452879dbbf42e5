"""How far estimates from samples are from the exact measures, by the sample's size and seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.papers.jin2021 import error_figures, error_page
from podium.papers.jin2021.error_figures import ERRORS, SECONDS
from podium.papers.jin2021.error_runs import repeated
from podium.papers.jin2021.error_seconds import seconds
from podium.papers.jin2021.figures_runs import Evaluations, prepare
from podium.papers.recipe import Recipe
from podium.papers.study import Result, Study, key, parts


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each recommender's samples, and the seconds of those that are timed."""
    return [*_cells(recipe)]


def _cells(recipe: Recipe) -> Iterator[str]:
    for method in recipe.parameters["methods"]:
        for repeat in range(recipe.repeats or 1):
            yield key(part=ERRORS, method=method, repeat=repeat)
        if method in recipe.parameters["timed"]:
            yield key(part=SECONDS, method=method)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Draw one sample of each design and estimate from it, or measure how long that takes."""
    asked = parts(cell)
    if asked["part"] == SECONDS:
        return seconds(recipe, context, asked["method"])
    return repeated(recipe, context, asked["method"], int(asked["repeat"]))


STUDY = Study(
    cells=cells,
    run=run,
    fold=error_figures.fold,
    prepare=prepare,
    plots=error_page.plots,
    tables=error_page.tables,
)
"""Seconds differ from run to run; errors do not."""
