"""Errors of measures of whole rankings, from candidates that all targets of a user share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium.catalogue import rank_blocks
from podium.evaluation import evaluate as measure_lists
from podium.sampled import SharedRanks, draw_strata, evaluate, sample_shared
from podium_studies.cells import key, repeats, results, seed_of
from podium_studies.jin2021 import protocol
from podium_studies.jin2021.evaluations import (
    Models,
    geometric_mean,
    load,
    quiet,
    relative_errors,
)
from podium_studies.jin2021.proxies import BASELINE, POPULARITY, pairs, popularity
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Grid, Measured, Result, Study

ESTIMATE, NAIVE = "estimate", "naive"
_DEPTH = 20  # the length of recommended lists: as much as pap@10 uses


@dataclass(frozen=True, eq=False)
class Rankings:
    """The held-out items of users, and methods that rank them, fitted once."""

    recipe: Recipe
    models: Models
    targets: sparse.csr_array[Any]
    _exact: dict[str, list[float]] = field(default_factory=dict[str, "list[float]"])

    def exact(self, method: str) -> list[float]:
        """Return the measures of the whole rankings, computed once."""
        if method not in self._exact:
            scores, train = self.models.fitted(method).as_scores(), self.models.train
            with threadpool_limits(1):
                lists = rank_blocks(scores, self.targets, exclude=train, depth=_DEPTH)
                means = measure_lists(lists, self.recipe.parameters["measures"]).means
            self._exact[method] = [*means.values()]
        return self._exact[method]

    def measured(self, shared: SharedRanks, estimator: str) -> list[float]:
        """Return the estimates of all measures."""
        measures = self.recipe.parameters["measures"]
        with quiet(), threadpool_limits(1):
            estimate = evaluate(shared, measures, estimator=estimator, bounds=False)
        return [estimate.means[measure] for measure in measures]

    def sample(self, method: str, proxy: str, seed: int) -> SharedRanks:
        """Rank the targets among random items, or with the first items of a proxy's list."""
        listed, n_scored = (self.recipe.parameters[name] for name in ("listed", "scored"))
        fitted, train = self.models.fitted(method), self.models.train
        options: dict[str, Any] = {"exclude": train, "seed": seed}
        if proxy == BASELINE:
            scores = fitted.as_scores()
            return sample_shared(scores, self.targets, n_scored, replacement=False, **options)
        is_popularity = proxy == POPULARITY
        by = popularity(train) if is_popularity else self.models.fitted(proxy).as_scores()
        sizes = {"certain": listed, "uniform": n_scored - listed}
        drawn = draw_strata(self.targets, proxy=by, **sizes, **options)
        return SharedRanks.of_candidates(drawn, fitted.score_pairs(drawn.row, drawn.item))


def prepare(recipe: Recipe, paths: Mapping[str, Path]) -> Rankings:
    """Read the data, and check that every method can be fitted."""
    load(recipe)
    train, targets = protocol.split(recipe, paths, recipe.parameters["share"])
    return Rankings(recipe, Models(recipe, train), targets)


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield the keys: each method with random items, and with each proxy but itself."""
    for repeat in repeats(recipe):
        for method, proxy in pairs(recipe):
            yield key(method=method, proxy=proxy, repeat=repeat)


def run(recipe: Recipe, context: Rankings, method: str, proxy: str, repeat: int) -> Result:
    """Draw one sample, and estimate the measures by the default and by the naive method."""
    seed = seed_of(recipe, f"{method} by {proxy}", repeat)
    shared = context.sample(method, proxy, seed)
    names = {ESTIMATE: "auto", NAIVE: "naive"}
    return {
        "exact": context.exact(method),
        "estimates": {name: context.measured(shared, text) for name, text in names.items()},
    }


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return the exact values, the relative errors, and geometric means of their ratios."""
    figures: dict[str, Measured] = {}
    n, measures = len(repeats(recipe)), recipe.parameters["measures"]
    relative = {
        (method, proxy, name): error
        for method, proxy in pairs(recipe)
        for name, error in relative_errors(results(cells, method=method, proxy=proxy)).items()
    }
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
                mean = float(geometric_mean(array))
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
