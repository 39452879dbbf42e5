"""Errors of measures of whole rankings, from candidates that all targets of a user share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from podium.catalogue import rank_blocks
from podium.evaluation import evaluate as measure_lists
from podium.sampled import SharedRanks, draw_candidates, evaluate, sample_ranks
from podium_studies.cells import key, repeats, results, seed_of
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021.evaluations import Evaluations, Floats
from podium_studies.jin2021.proxies import BASELINE, POPULARITY, pairs, popularity
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study

ESTIMATE, NAIVE = "estimate", "naive"
_DEPTH = 20  # the length of recommended lists: as much as pap@10 uses


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Evaluations:
    """Read the data, and check that every method can be fitted."""
    evaluations.load(recipe)
    return Evaluations(recipe, *evaluations.split(recipe, paths, recipe.parameters["share"]))


@cache
def exact(context: Evaluations, method: str) -> list[float]:
    """Return the measures of the whole rankings, computed once."""
    scores = evaluations.fitted(context, method).as_scores()
    with threadpool_limits(1):
        lists = rank_blocks(scores, context.targets, exclude=context.train, depth=_DEPTH)
        means = measure_lists(lists, context.recipe.parameters["measures"]).means
    return [*means.values()]


def measured(recipe: Recipe, shared: SharedRanks, estimator: str) -> list[float]:
    """Return the estimates of all measures."""
    measures = recipe.parameters["measures"]
    with evaluations.quiet(), threadpool_limits(1):
        estimate = evaluate(shared, measures, estimator=estimator, bounds=False)
    return [estimate.means[measure] for measure in measures]


def sample(context: Evaluations, method: str, proxy: str, seed: int) -> SharedRanks:
    """Rank the targets among random items, or with the first items of a proxy's list."""
    listed, n_scored = (context.recipe.parameters[name] for name in ("listed", "scored"))
    model = evaluations.fitted(context, method)
    options: dict[str, Any] = {"exclude": context.train, "seed": seed}
    if proxy == BASELINE:
        scores: Any = model.as_scores()
        options |= {"replacement": False, "shared": True}
        return sample_ranks(scores, context.targets, n_scored, **options)
    scores = popularity(context.train)
    if proxy != POPULARITY:
        scores = evaluations.fitted(context, proxy).as_scores()
    sizes = {"certain": listed, "uniform": n_scored - listed}
    drawn = draw_candidates(context.targets, proxy=scores, **sizes, **options)
    return drawn.ranks(model.score_pairs(drawn.row, drawn.item), shared=True)


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each method with random items, and with each proxy but itself."""
    for repeat in repeats(recipe):
        for method, proxy in pairs(recipe):
            yield key(method=method, proxy=proxy, repeat=repeat)


def run(recipe: Recipe, context: Evaluations, method: str, proxy: str, repeat: int) -> Result:
    """Draw one sample, and estimate the measures by the default and by the naive method."""
    seed = seed_of(recipe, f"{method} by {proxy}", repeat)
    shared = sample(context, method, proxy, seed)
    names = {ESTIMATE: "auto", NAIVE: "naive"}
    found = {name: measured(recipe, shared, text) for name, text in names.items()}
    return {"exact": exact(context, method), "estimates": found}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the exact values, the relative errors, and geometric means of their ratios."""
    figures: dict[str, Measured] = {}
    n, measures = len(repeats(recipe)), recipe.parameters["measures"]
    relative: dict[tuple[str, str, str], Floats] = {}
    for method, proxy in pairs(recipe):
        found = results(cells, method=method, proxy=proxy)
        for name, error in evaluations.relative_errors(found).items():
            relative[method, proxy, name] = error
    for method in recipe.parameters["compared"]:
        exact = results(cells, method=method, proxy=BASELINE)[0]["exact"]
        for measure, value in zip(measures, exact, strict=True):
            figures[f"{method} {measure}: exact"] = Measured(value)
    for (method, proxy, name), error in relative.items():
        for measure, value in zip(measures, error.tolist(), strict=True):
            figures[f"{method} by {proxy} {measure}: {name}"] = Measured(value, n=n)
    for proxy in (BASELINE, *recipe.parameters["proxies"]):
        of = {m: e for (m, p, name), e in relative.items() if (p, name) == (proxy, ESTIMATE)}
        ratios = {
            f"{proxy} / naive": [e / relative[m, proxy, NAIVE] for m, e in of.items()],
            f"{proxy} / {BASELINE}": [e / relative[m, BASELINE, ESTIMATE] for m, e in of.items()],
        }
        for text, values in ratios.items():
            if values and text != f"{BASELINE} / {BASELINE}":
                array = np.array(values).ravel()
                mean = float(evaluations.geometric_mean(array))
                figures[f"{text}: geometric mean"] = Measured(mean, n=array.size)
    return figures


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid]:
    """Yield the relative errors of the estimates and of the naive values, and the exact values."""
    measures = recipe.parameters["measures"]
    rows = [f"{method} by {proxy}" for method, proxy in pairs(recipe)]
    for name in (ESTIMATE, NAIVE):
        title = f"relative errors with {recipe.parameters['scored']} scored items: {name}"
        yield Grid(title, rows, measures, f"{{}} {{}}: {name}", head="model and candidates")
    yield Grid("exact values", recipe.parameters["compared"], measures, "{} {}: exact")


STUDY = Study(cells, run, fold, prepare, shown)
"""The study of whole rankings from shared candidates."""
