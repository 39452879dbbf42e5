"""Designs of samples by name, and the seconds of scoring and estimating under each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from podium.papers.jin2021.evaluations import Evaluations, estimates
from podium.papers.recipe import Recipe
from podium.sampled import Estimator, LinearEstimator, SampledRanks, sample_ranks

Size: TypeAlias = "int | tuple[int, ...]"

FACTORS, SHARE = "factors", "share"
"""How a sample is scored: products of the drawn items' factors, which is measured; or single
items at the pace of whole lists, which is reckoned."""

_TIMES = 3  # of which the shortest counts


def fixed(recipe: Recipe) -> dict[str, int]:
    """Return the samples of one size, by name, rising."""
    return {str(size): size for size in recipe.parameters["fixed"]}


def growing(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Return the samples that grow while the target comes first, by name, rising."""
    return {f"{each[0]} to {each[-1]}": tuple(each) for each in recipe.parameters["growing"]}


def designs(recipe: Recipe) -> dict[str, Size]:
    """Return all of them."""
    return {**fixed(recipe), **growing(recipe)}


def seconds(recipe: Recipe, context: Evaluations, method: str) -> dict[str, Any]:
    """Measure one thread: ranking all items, scoring samples of each design, and estimating."""
    measures = recipe.parameters["measures"]
    with threadpool_limits(1):
        model, targets = context.fitted(method), context.held.targets
        scores = model.as_scores()
        kind = FACTORS if isinstance(scores, tuple) else SHARE
        whole = _least(lambda: model.ranks(targets, exclude_seen=False))
        scoring: dict[str, float] = {}
        estimating: dict[str, dict[str, float]] = {}
        for name, size in designs(recipe).items():
            samples = context.sample(method, size, 0)
            share = (1.0 + float(np.mean(samples[0].n_negatives))) / context.held.n_items
            scoring[name] = _scoring(scores, targets, size) if kind == FACTORS else whole * share
            for label, estimator, ranks in context.readings(samples):
                taken = _estimating(estimator, ranks, measures)
                estimating.setdefault(label, {})[name] = taken
    return {"kind": kind, "all": whole, "scoring": scoring, "estimating": estimating}


def _scoring(factors: Any, targets: Any, size: Size) -> float:
    return _least(lambda: sample_ranks(factors, targets, size))


def _estimating(estimator: Estimator, ranks: SampledRanks, measures: list[str]) -> float:
    """Return the seconds of estimating all measures, as of a second sample of the same design.

    What estimators keep of a design (CLS its matrix, others where sums are taken) is there by then.
    """
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
