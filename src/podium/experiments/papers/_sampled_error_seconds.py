"""What a sampled evaluation takes in processor seconds, and what ranking all items takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from podium.experiments.papers._sampled_error_runs import Size, designs, estimates, estimators
from podium.experiments.papers._sampled_figures_runs import Evaluations, told
from podium.experiments.papers._sampled_models import fitted
from podium.experiments.recipe import Recipe
from podium.sampled import Estimator, LinearEstimator, SampledRanks, sample_ranks

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
