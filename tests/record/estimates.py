"""Estimators of measures from sampled ranks, on ranks that are drawn from a seed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from tests.record import names
from tests.record.text import attempt, bits

N_ITEMS, N_USERS = 300, 80
OPTIONS = (
    "bv(gamma=0.5)",
    "mes(eta=0.1)",
    "mle(n_steps=5)",
)
OPTIONS += ("wmle(weight=recall)", "auto")
MEASURES = ("recall@10", "ndcg@10", "ndcg@50", "rr", "ap", "auc")


def sampled() -> Iterator[tuple[str, list[str]]]:
    """Yield every estimator on every kind of sample; intervals, bounds and comparisons."""
    warnings.simplefilter("ignore")
    ranks_by_label = samples()
    for label, ranks in ranks_by_label.items():
        yield f"ranks {label}", [bits("ranks", ranks.ranks), bits("sizes", ranks.n_negatives)]
    for name in [*sorted(names.sampled.REGISTRY), *OPTIONS]:
        yield (
            name,
            [
                row
                for label, ranks in ranks_by_label.items()
                for row in attempt(partial(_estimated, name, ranks), label)
            ],
        )
    for name in ("auto", "mle", "bv", "mes", "naive", "unbiased-rank"):
        for label, ranks in ranks_by_label.items():
            yield f"evaluate {name} {label}", attempt(partial(_evaluated, name, ranks))
        yield f"compare {name}", attempt(partial(_compared, name))
    yield "plan bv", attempt(partial(_planned, "bv"))


def samples() -> dict[str, Any]:
    """Return sampled ranks of each design."""
    rng = np.random.default_rng(3)
    true = 1 + np.minimum(rng.geometric(0.03, N_USERS), N_ITEMS - 1)
    user, history = np.arange(N_USERS) // 2, rng.integers(0, 30, N_USERS)

    def draw(n_negatives: Any, **more: Any) -> Any:
        return names.sampled.simulate_ranks(true, N_ITEMS, n_negatives, seed=2, **more)

    return {
        "fixed": draw(20),
        "without replacement": draw(20, replacement=False),
        "users": draw(20, user=user),
        "history": draw(20, history=history),
        "mixed": names.sampled.SampledRanks(np.minimum(true, 6), np.arange(N_USERS) % 9 + 5, 300),
    }


def _estimated(name: str, ranks: Any) -> list[str]:
    estimator = names.sampled.get(name)
    rows = attempt(lambda: [bits("probabilities", estimator.fit(ranks).probabilities)])
    for measure in MEASURES:
        rows += attempt(partial(_one_measure, estimator, ranks, measure))
    return rows


def _one_measure(estimator: Any, ranks: Any, measure: str) -> list[str]:
    return [bits(measure, estimator.estimate(ranks, measure))]


def _evaluated(name: str, ranks: Any) -> list[str]:
    result = names.sampled.evaluate(ranks, ["ndcg@10", "recall@10"], estimator=name, n_bootstrap=10)
    return [str(result), *_json(result)]


def _compared(name: str) -> list[str]:
    rng = np.random.default_rng(4)
    first = 1 + np.minimum(rng.geometric(0.1, 60), 20)
    models = (first, np.maximum(first - 2 * rng.integers(0, 2, 60), 1))
    a, b = (names.sampled.SampledRanks(model_ranks, 20, N_ITEMS) for model_ranks in models)
    result = names.sampled.compare({"a": a, "b": b}, ["ndcg@10"], estimator=name, n_bootstrap=10)
    return [str(result), *_json(result)]


def _planned(method: str) -> list[str]:
    return [str(names.sampled.plan(N_ITEMS, 200, "ndcg@10", 0.05, method=method))]


def _json(result: Any) -> list[str]:
    return json.dumps(result.as_json(), indent=1, default=str).split("\n")
