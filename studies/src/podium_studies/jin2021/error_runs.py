"""Sampling designs by name, and the processor times of scoring and estimating with each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from podium.sampled import Estimator, LinearEstimator, SampledRanks, sample_ranks
from podium_studies.jin2021.evaluations import Evaluations, estimates
from podium_studies.recipe import Recipe

Size: TypeAlias = "int | tuple[int, ...]"

FACTORS, SHARE = "factors", "share"
"""The origin of a sample's scoring time: measured with products of the drawn items' factors, or
computed as a share of the time for all items."""

_TIMES = 3  # the number of runs, of which the shortest counts


def fixed(recipe: Recipe) -> dict[str, int]:
    """Return the designs of one size by name, in rising order."""
    return {str(size): size for size in recipe.parameters["fixed"]}


def growing(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Return the designs that grow while the target ranks first, by name, in rising order."""
    return {f"{sizes[0]} to {sizes[-1]}": tuple(sizes) for sizes in recipe.parameters["growing"]}


def designs(recipe: Recipe) -> dict[str, Size]:
    """Return all designs by name, those of one size first."""
    return {**fixed(recipe), **growing(recipe)}


def seconds(recipe: Recipe, context: Evaluations, method: str) -> dict[str, Any]:
    """Return times on one thread: ranking all items, scoring samples, and estimating, by design."""
    measures = recipe.parameters["measures"]
    with threadpool_limits(1):
        model, targets = context.models.fitted(method), context.held_out.targets
        scores = model.as_scores()
        kind = FACTORS if isinstance(scores, tuple) else SHARE
        all_seconds = _shortest_time(lambda: model.ranks(targets, exclude_seen=False))
        scoring: dict[str, float] = {}
        estimating: dict[str, dict[str, float]] = {}
        for name, size in designs(recipe).items():
            samples = context.sample(method, size, 0)
            share = (1.0 + float(np.mean(samples[0].n_negatives))) / context.held_out.n_items
            scoring[name] = (
                _scoring(scores, targets, size) if kind == FACTORS else all_seconds * share
            )
            for label, estimator, ranks in context.readings(samples):
                estimating_seconds = _estimating(estimator, ranks, measures)
                estimating.setdefault(label, {})[name] = estimating_seconds
    return {"kind": kind, "all": all_seconds, "scoring": scoring, "estimating": estimating}


def _scoring(factors: Any, targets: Any, size: Size) -> float:
    return _shortest_time(lambda: sample_ranks(factors, targets, size))


def _estimating(estimator: Estimator, ranks: SampledRanks, measures: list[str]) -> float:
    """Return the time of estimating all measures from a second sample of the same design.

    The time excludes quantities that estimators cache per design, such as the matrix of CLS.
    """
    if isinstance(estimator, LinearEstimator):
        return _shortest_time(lambda: [estimator.estimate(ranks, measure) for measure in measures])
    return _shortest_time(lambda: estimates(estimator, ranks, measures))


def _shortest_time(work: Callable[[], Any]) -> float:
    """Return the processor seconds of the shortest run, after one run that fills caches."""
    work()
    times: list[float] = []
    while len(times) < _TIMES and max(times, default=0.0) < 1.0:
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)
