"""Metrics of a ranking.

Each metric is a function of a `Ranking` and keyword arguments that returns one float64 per group.
`parse` makes a `Measure` from a text such as ``ndcg@10``. To add a metric, decorate a function with
`register`. The command line, estimates from sampled ranks and the tests in tests/laws then include
it. podium's own metrics are in `pairs`, `hits` and `grades`.
"""

from typing import TYPE_CHECKING

from podium.metrics._one_relevant import rank_weights
from podium.metrics._registry import REGISTRY, Metric, register
from podium.metrics.grades import dcg, err, ndcg, topk_loss
from podium.metrics.hits import ap, hit_rate, precision, r_precision, rbp, recall, rr
from podium.metrics.measures import (
    ByMeasure,
    Measure,
    choices,
    get,
    listed_measures,
    parse,
    parse_all,
)
from podium.metrics.pairs import auc, auc_at, pap, pauc
from podium.metrics.shown import coverage, novelty

if TYPE_CHECKING:
    from podium.metrics.scorer import make_scorer

__all__ = [
    "REGISTRY",
    "ByMeasure",
    "Measure",
    "Metric",
    "ap",
    "auc",
    "auc_at",
    "choices",
    "coverage",
    "dcg",
    "err",
    "get",
    "hit_rate",
    "listed_measures",
    "make_scorer",
    "ndcg",
    "novelty",
    "pap",
    "parse",
    "parse_all",
    "pauc",
    "precision",
    "r_precision",
    "rank_weights",
    "rbp",
    "recall",
    "register",
    "rr",
    "topk_loss",
]


def __getattr__(name: str) -> object:
    # scikit-learn takes 1.5 s to import, so it is imported only if the scorer is used.
    if name == "make_scorer":
        from podium.metrics.scorer import make_scorer

        return make_scorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
