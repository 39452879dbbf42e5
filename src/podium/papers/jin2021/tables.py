"""Measures of sampled evaluations, estimated by every estimator over many repeats, beside exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from podium import sampled
from podium.papers.jin2021 import tables_figures, tables_page, tables_winners
from podium.papers.jin2021.figures_runs import quiet, told
from podium.papers.jin2021.models import exact_ranks, load
from podium.papers.jin2021.protocol import Held, read
from podium.papers.recipe import Recipe
from podium.papers.study import Result, Study, generator, key, parts
from podium.sampled import RankDistribution, SampledRanks
from podium.sampled._uncertainty import estimates

_DIGITS = 7  # of an estimate that is kept


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Held:
    """Load every method, and hold one item of each user out."""
    load(recipe)
    return read(recipe, paths)


def cells(recipe: Recipe) -> Sequence[str]:
    """Return the keys: each method with blocks of repeats, since its fit is what takes time."""
    repeats, most = recipe.repeats or 1, recipe.parameters["block"]
    return [
        key(method=name, first=first, n=min(most, repeats - first))
        for name in recipe.parameters["methods"]
        for first in range(0, repeats, most)
    ]


def run(recipe: Recipe, context: Held, cell: str) -> Result:
    """Rank the held-out items of one method exactly, then repeat the sampled evaluation."""
    asked = parts(cell)
    name, first = asked["method"], int(asked["first"])
    measures: Sequence[str] = recipe.parameters["measures"]
    ranks = exact_ranks(recipe, context, name)
    exact = RankDistribution.of_ranks(ranks, context.n_items)
    found: dict[str, list[list[float]]] = {}
    for repeat in range(first, first + int(asked["n"])):
        samples = _samples(recipe, context, name, repeat)
        for label, text in recipe.parameters["estimators"].items():
            with quiet():
                values = estimates(sampled.get(text), told(recipe, label, samples), measures)
            found.setdefault(label, []).append(values.tolist())
    return {
        "users": context.n_users,
        "items": context.n_items,
        "exact": {measure: exact.expect(measure) for measure in measures},
        "estimates": {label: _columns(values) for label, values in found.items()},
    }


def _samples(
    recipe: Recipe, held: Held, name: str, repeat: int
) -> tuple[SampledRanks, SampledRanks]:
    """Draw one repeat of a method, told nothing of the users and told their history."""
    rng = generator(recipe, f"sample {name}", repeat)
    ranks, n_negatives = exact_ranks(recipe, held, name), recipe.parameters["n_negatives"]
    return held.simulate(ranks, n_negatives, int(rng.integers(2**31)))


def _columns(values: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return a row of repeats for each measure, short enough to keep."""
    return [[float(f"{each:.{_DIGITS}g}") for each in row] for row in zip(*values, strict=True)]


STUDY = Study(
    cells=cells,
    run=run,
    fold=tables_figures.fold,
    prepare=prepare,
    plots=tables_page.plots,
    tables=tables_page.tables,
)
"""Means, spreads and errors of every estimator for every method."""

WINNERS = Study(
    cells=cells,
    run=run,
    fold=tables_winners.fold,
    prepare=prepare,
    plots=tables_winners.plots,
    tables=tables_winners.tables,
)
"""How often the method that an estimator finds best is the best one."""
