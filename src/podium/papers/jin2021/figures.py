"""The distribution of ranks that estimators learn from samples, against the exact one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.papers.jin2021 import figures_figures, figures_page
from podium.papers.jin2021.figures_figures import EXACT, SAMPLE
from podium.papers.jin2021.figures_runs import Evaluations, prepare, quiet, told
from podium.papers.recipe import Recipe
from podium.papers.study import Result, Study, key, parts
from podium.sampled import RankDistribution, get

_DIGITS = 7  # of a share of users: a hundredth of one of 100,000


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each recommender's exact ranks, and its samples."""
    return [*_cells(recipe)]


def _cells(recipe: Recipe) -> Iterator[str]:
    for method in recipe.parameters["methods"]:
        yield key(part=EXACT, method=method)
        for repeat in range(recipe.repeats or 1):
            yield key(part=SAMPLE, method=method, repeat=repeat)


def run(recipe: Recipe, context: Evaluations, cell: str) -> Result:
    """Return recall at each rank: the exact one, or what estimators make of one sample."""
    asked, depth = parts(cell), recipe.parameters["depth"]
    method = asked["method"]
    if asked["part"] == EXACT:
        ranks = context.ranks(method)
        exact = RankDistribution.of_ranks(ranks, context.held.n_items)
        return {"users": ranks.size, "recall": exact.cdf[:depth].round(_DIGITS)}
    samples = context.sample(method, recipe.parameters["n_negatives"], int(asked["repeat"]))
    with quiet():
        learned = {
            label: get(text).fit(told(recipe, label, samples))
            for label, text in recipe.parameters["estimators"].items()
        }
    return {"recall": {label: each.cdf[:depth].round(_DIGITS) for label, each in learned.items()}}


STUDY = Study(
    cells=cells,
    run=run,
    fold=figures_figures.fold,
    prepare=prepare,
    plots=figures_page.plots,
    tables=figures_page.tables,
)
"""Curves of estimators, each the mean over a recipe's repeats."""
