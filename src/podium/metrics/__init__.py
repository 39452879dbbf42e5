"""Metrics of a ranking.

Each metric is a function of a `Ranking` and keyword arguments that returns one float64 per group.
`parse` makes a `Measure` from a text such as ``ndcg@10``. To add a metric, decorate a function with
`register`. The command line, estimates from sampled ranks and the tests in tests/laws then include
it. podium's own metrics are in `pairs`, `two_way`, `hits`, `grades`
and `judgements`.

Metrics of the items shown, such as ``coverage@10``, read no relevance. They are functions of arrays
in `shown`, and have measures too; `podium.measure` and `podium.gate` compute these from a run.
"""

from podium.metrics._one_relevant import Terms, rank_weights
from podium.metrics._registry import (
    REGISTRY,
    SHOWN,
    Metric,
    Places,
    register,
    register_shown,
)
from podium.metrics.grades import dcg, err, ndcg, topk_loss
from podium.metrics.hits import ap, f1, hit_rate, precision, r_precision, rbp, recall, rr
from podium.metrics.judgements import bpref, judged
from podium.metrics.measures import Measure, get, parse, parse_all
from podium.metrics.pairs import auc, auc_at, pap, pauc
from podium.metrics.shown import (
    Categories,
    Shown,
    coverage,
    diversity,
    gini,
    novelty,
    popularity,
)
from podium.metrics.two_way import pauc2

__all__ = [
    "REGISTRY",
    "SHOWN",
    "Categories",
    "Measure",
    "Metric",
    "Places",
    "Shown",
    "Terms",
    "ap",
    "auc",
    "auc_at",
    "bpref",
    "coverage",
    "dcg",
    "diversity",
    "err",
    "f1",
    "get",
    "gini",
    "hit_rate",
    "judged",
    "ndcg",
    "novelty",
    "pap",
    "parse",
    "parse_all",
    "pauc",
    "pauc2",
    "popularity",
    "precision",
    "r_precision",
    "rank_weights",
    "rbp",
    "recall",
    "register",
    "register_shown",
    "rr",
    "topk_loss",
]
