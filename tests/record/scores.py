"""Losses and metrics on lists drawn from a seed, and summaries of metrics over groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from tests.record import names
from tests.record.text import attempt, bits

Entries = Iterator[tuple[str, list[str]]]

TIES = ("worst", "best", "average", "id", "random")

# Options to record besides the defaults with k = 1, 3 and none (if the loss allows it).
LOSS_OPTIONS = {
    "group-logistic": ("soft=true",),
    "lambdarank": ("gain=linear", "sigma=2"),
    "listmle": (
        "head=relevant", "n_orders=3", "min_relevance=2",
    ),
    "listnet": ("scale=2",),
    "listnet-luce": ("scale=2",),
    "logistic": ("min_relevance=2",),
    "pap-avg": ("clip=true", "min_relevance=2"),
    "pap-logistic": ("weight=3,temperature=0.5", "min_relevance=2"),
    "pap-max": ("clip=true",),
    "pap-ramp": ("clip=true",),
    "pap-struct": ("clip=true",),
    "pap-tight-struct": ("clip=true",),
    "pap-tight-struct-exact": ("clip=true",),
    "pauc-hinge": ("clip=true",),
    "robirank": ("type=2", "gain=linear", "normalize=false", "type=0"),
    "robust-binary": ("type=2", "type=0"),
}  # fmt: skip

METRIC_OPTIONS = {
    "ap": ("norm=min", "norm=retrieved"),
    "dcg": ("gain=exp2", "discount=letor"),
    "err": ("max_grade=3",),
    "ndcg": ("gain=exp2", "discount=letor"),
    "pap": ("clip=true",),
    "pauc": ("clip=true",),
    "rbp": ("p=0.5",),
    "recall": ("norm=min",),
}
CUTOFFS = ("", "@1", "@3", "@10")


def lists(kind: str) -> tuple[Any, Any, Any]:
    """Return scores, relevance and qid of lists; the rows of a list are not contiguous.

    "even" has ten lists of eight rows. "ragged" has twelve lists of 1 to 23 rows, of which some
    have no positive and some no negative. "ties" has ragged lists with few distinct scores.
    """
    rng = np.random.default_rng(len(kind))
    sizes = np.full(10, 8) if kind == "even" else np.arange(12) * 2 + 1
    qid = rng.permutation(np.repeat(np.arange(sizes.size) * 3, sizes))
    scores = rng.normal(size=qid.size)
    if kind == "ties":
        scores = np.round(scores)
    grades = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0, 3.0], qid.size)
    grades[qid == 6] = 0.0
    grades[qid == 9] = 2.0
    return scores, grades, qid


def losses(package: str = "podium") -> Entries:
    """Yield every loss that a package registers: value, gradient and curvature by list."""
    for name in of_package(package):
        for text in _texts(name, LOSS_OPTIONS.get(name, ()), CUTOFFS[:3]):
            yield text, attempt(partial(_loss, text))


def of_package(package: str) -> list[str]:
    """Return the names of the losses of podium, or of a package with plugins."""
    registry = names.losses.REGISTRY
    return sorted(n for n, loss in registry.items() if loss.__module__.startswith(f"{package}."))


def _texts(name: str, options: tuple[str, ...], cutoffs: tuple[str, ...]) -> list[str]:
    with_options = [f"{name}({option}){k}" for option in options for k in ("", "@3")]
    return [*(f"{name}{k}" for k in cutoffs), *with_options]


def _loss(text: str) -> list[str]:
    loss = names.losses.get(text)
    rows = [repr(loss)]
    for kind in ("even", "ragged", "ties"):
        scores, grades, qid = lists(kind)
        for relevance, label in ((grades, "grades"), ((grades > 1) * 1.0, "binary")):
            rows += attempt(partial(_values, loss, scores, relevance, qid, f"{kind} {label}"))
    scores, grades, qid = lists("ragged")
    weights = 0.5 + qid % 5 / 4  # the same within a group, as most losses require
    return rows + attempt(partial(_values, loss, scores, grades, qid, "weighted", weights))


def _values(
    loss: Any, scores: Any, relevance: Any, qid: Any, label: str, weights: Any = None
) -> list[str]:
    groups = names.Groups.from_qid(qid)
    rng = np.random.default_rng(7)
    target = loss.prepare(relevance, groups, weights=weights, rng=rng)
    value, grad = loss.value_and_grad(scores, target)
    results = {"value": value, "grad": grad, "curvature": loss.curvature(scores, target)}
    return [bits(f"{label} {name}", result) for name, result in results.items()]


def metrics() -> Entries:
    """Yield every registered metric by group and rule for ties; means, tests and intervals."""
    for base in sorted({name.removesuffix("@k") for name in names.metrics.REGISTRY}):
        for text in _texts(base, METRIC_OPTIONS.get(base, ()), CUTOFFS):
            yield text, attempt(partial(_metric, text))
    yield from _evaluations()


def _metric(text: str) -> list[str]:
    measure = names.metrics.parse(text)
    rows = [str(measure)]
    for kind in ("even", "ragged", "ties"):
        for ties in TIES if kind == "ties" else TIES[:1]:
            label = f"{kind} {ties}"
            rows += attempt(partial(_of_groups, measure, kind, ties), label)
    return rows


def _of_groups(measure: Any, kind: str, ties: str) -> list[str]:
    return [bits("values", measure(_ranking(kind, ties)))]


def _ranking(kind: str, ties: str) -> Any:
    scores, grades, qid = lists(kind)
    item = np.random.default_rng(1).permutation(qid.size)
    return names.Ranking.from_scores(scores, grades, qid, ties=ties, item=item, seed=3)


def _evaluations() -> Entries:
    measures = ["pap@3", "ndcg@5", "recall@5", "auc"]
    truth, runs = _tables()
    for options in _REDUCED:
        all_options = {"missing": "zero", **options}
        measure = partial(
            names.podium.measure, truth, runs["a"], measures, by="engagement", **all_options
        )
        yield f"measure {options}", attempt(partial(_written, measure))
        compare = partial(
            names.podium.compare, truth, runs, measures, n_permutations=500, **all_options
        )
        yield f"compare {options}", attempt(partial(_written, compare))


_REDUCED: tuple[dict[str, Any], ...] = (
    {}, {"interval": "bootstrap"}, {"undefined": "zero", "level": 0.8}
)  # fmt: skip


def _tables() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    rng = np.random.default_rng(5)
    user, item = np.repeat(np.arange(40), 25), np.tile(np.arange(25), 40)
    gain = (rng.random(user.size) < 0.2) * rng.integers(1, 4, user.size)
    truth = {"user": user, "item": item, "relevance": gain}
    scores = {name: rng.normal(size=user.size) + gain * lift for name, lift in _LIFTS.items()}
    is_listed = rng.random(user.size) < 0.8
    runs = {
        name: {"user": user[is_listed], "item": item[is_listed], "score": score[is_listed]}
        for name, score in scores.items()
    }
    return truth, runs


_LIFTS = {"a": 0.2, "b": 0.5, "c": 0.3}


def _written(make: Callable[[], Any]) -> list[str]:
    result = make()
    return [str(result), *json.dumps(result.as_json(), indent=1, default=str).split("\n")]
