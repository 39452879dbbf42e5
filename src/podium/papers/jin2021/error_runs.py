"""Designs of samples by name, and what estimators make of one sample of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from podium.papers.jin2021.evaluations import Evaluations, estimates, fitted, told
from podium.papers.recipe import Recipe
from podium.sampled import (
    Estimator,
    LinearEstimator,
    RankDistribution,
    SampledRanks,
    get,
    sample_ranks,
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


_TIMES = 3  # of which the shortest counts

FACTORS, SHARE = "factors", "share"
"""How a sample is scored: products of the drawn items' factors, which is measured; or single
items at the pace of whole lists, which is reckoned."""


def seconds(recipe: Recipe, context: Evaluations, method: str) -> dict[str, Any]:
    """Measure one thread: ranking all items, scoring samples of each design, and estimating."""
    with threadpool_limits(1):
        model = fitted(recipe, context.held, method)
        scores, targets = model.as_scores(), context.held.targets
        whole = _least(lambda: model.ranks(targets, exclude_seen=False))
        found: dict[str, Any] = {
            "kind": FACTORS if isinstance(scores, tuple) else SHARE,
            "all": whole,
            "scoring": {},
            "estimating": {label: {} for label, _ in estimators(recipe)},
        }
        for name, size in designs(recipe).items():
            samples = context.sample(method, size, 0)
            share = (1.0 + float(np.mean(samples[0].n_negatives))) / context.held.n_items
            found["scoring"][name] = (
                _scoring(scores, targets, size) if found["kind"] == FACTORS else whole * share
            )
            for label, estimator in estimators(recipe, grow=isinstance(size, tuple)):
                ranks = told(recipe, label, samples)
                found["estimating"][label][name] = _estimating(recipe, estimator, ranks)
    return found


def _scoring(factors: Any, targets: Any, size: Size) -> float:
    return _least(lambda: sample_ranks(factors, targets, size))


def _estimating(recipe: Recipe, estimator: Estimator, ranks: SampledRanks) -> float:
    """Return the seconds of estimating all measures, as of a second sample of the same design.

    What estimators keep of a design (CLS its matrix, others where sums are taken) is there by then.
    """
    measures = recipe.parameters["measures"]
    if isinstance(estimator, LinearEstimator):
        return _least(lambda: [estimator.estimate(ranks, each) for each in measures])
    return _least(lambda: estimates(estimator, ranks, measures))


def _least(work: Callable[[], Any]) -> float:
    """Return the processor seconds of the shortest run, after one in which things are loaded."""
    work()
    found: list[float] = []
    while len(found) < _TIMES and max(found, default=0.0) < 1.0:
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)
