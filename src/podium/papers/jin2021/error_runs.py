"""Designs of samples by name, and what estimators make of one sample of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.papers.jin2021.figures_runs import Evaluations, quiet, told
from podium.papers.recipe import Recipe
from podium.sampled import (
    Design,
    Estimator,
    LinearEstimator,
    RankDistribution,
    SampledRanks,
    get,
)

Floats: TypeAlias = "NDArray[np.float64]"
Size: TypeAlias = "int | tuple[int, ...]"


def fixed(recipe: Recipe) -> dict[str, int]:
    """Return the samples of one size, by name, rising."""
    return {str(size): size for size in recipe.parameters["fixed"]}


def growing(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Return the samples that grow while the target comes first, by name, rising."""
    return {f"{each[0]} to {each[-1]}": tuple(each) for each in recipe.parameters["growing"]}


def designs(recipe: Recipe) -> dict[str, Size]:
    """Return all of them."""
    return {**fixed(recipe), **growing(recipe)}


def estimators(recipe: Recipe, *, grow: bool = False) -> Iterator[tuple[str, Estimator]]:
    """Yield the estimators, or those that can read samples that grow, with their labels."""
    for label, text in recipe.parameters["estimators"].items():
        estimator = get(text)
        if estimator.grows or not grow:
            yield label, estimator


def exact(recipe: Recipe, context: Evaluations, method: str) -> list[float]:
    """Return the measures of the ranks among all items."""
    known = RankDistribution.of_ranks(context.ranks(method), context.held.n_items)
    return [known.expect(each) for each in recipe.parameters["measures"]]


def repeated(recipe: Recipe, context: Evaluations, method: str, repeat: int) -> dict[str, Any]:
    """Return, for one sample of each design, items drawn a user, and estimates of each measure."""
    cost: dict[str, float] = {}
    found: dict[str, dict[str, list[float]]] = {}
    for name, size in designs(recipe).items():
        samples = context.sample(method, size, repeat)
        cost[name] = float(np.mean(samples[0].n_negatives))
        for label, estimator in estimators(recipe, grow=isinstance(size, tuple)):
            values = estimates(
                estimator, told(recipe, label, samples), recipe.parameters["measures"]
            )
            found.setdefault(label, {})[name] = values
    return {"exact": exact(recipe, context, method), "cost": cost, "estimates": found}


def estimates(estimator: Estimator, ranks: SampledRanks, measures: Sequence[str]) -> list[float]:
    """Return the estimates of all measures: what `Estimator.estimate` gives, from one fit."""
    with quiet():
        if isinstance(estimator, LinearEstimator):
            counts = ranks.counts / ranks.n_users
            return [float(counts @ _values(estimator, ranks.design, each)) for each in measures]
        found = estimator.fit(ranks)
        return [found.expect(each) for each in measures]


@lru_cache(maxsize=1024)
def _values(estimator: LinearEstimator, design: Design, measure: str) -> Floats:
    """Solve once for all samples of a design: up to seconds, where samples are large."""
    return estimator.values(design, measure)
