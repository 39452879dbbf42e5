"""Calls of the library with one or two odd arguments, or with a damaged file."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from tests.fuzz import tables
from tests.fuzz.case import Case, Corpus
from tests.fuzz.damage import spoil
from tests.fuzz.odd import odd, odd_numbers
from tests.ranked import rank_all

import podium as library
from podium import catalogue, data, losses, metrics, recommenders, sampled
from podium.data import splits
from podium.evaluation import stats
from podium.groups import Groups
from podium.ranking import Ranking

N = 12
_MEASURES = ("ndcg@3", "pap@2", "recall@1", "ap", "rr", "err@5", ["ndcg@3", "rr"], "rbp(p=0.8)")


def calls(rng: random.Random, corpus: Corpus) -> Case:
    """Return a call whose arguments are valid, except at most two."""
    del corpus
    function, arguments = rng.choice(_CALLS)(rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        name = rng.choice(list(arguments))
        arguments[name] = odd(rng, arguments[name])
    return Case(call=lambda: function(**arguments))


def archives(rng: random.Random, corpus: Corpus) -> Case:
    """Return a call that reads a file of rows in the format of LETOR, most often a damaged one."""
    del corpus
    rows = tables.write(tables.rows_to_learn(rng), "svmlight")
    files = {"rows.svmlight": spoil(rows, rng) if rng.random() < 0.7 else rows}
    return Case(files=files, call=lambda: data.read_features("rows.svmlight"))


_Call = tuple[Callable[..., Any], dict[str, Any]]


def _numbers(rng: random.Random, n: int = N) -> Any:
    return np.array([round(rng.gauss(0, 1), 1) for _ in range(n)])


def _whole(rng: random.Random, top: int, n: int = N) -> Any:
    return np.array([rng.randrange(top) for _ in range(n)])


def _pairs(rng: random.Random, last: str, values: Any) -> dict[str, Any]:
    keys = rng.sample(range(24), N)
    return {"user": np.array(keys) % 4, "item": np.array(keys) // 4, last: values}


def _measure(rng: random.Random) -> _Call:
    truth = _pairs(rng, "relevance", _whole(rng, 3))
    run = {**truth, "score": _numbers(rng)}
    del run["relevance"]
    part = rng.choice((truth, run, None))
    if part is not None:
        name = rng.choice(list(part))
        part[name] = odd(rng, part[name])
    options = {"missing": "zero", "min_relevance": 1.0, "n_items": 24, "ties_seed": 0}
    options |= {"ties": "worst", "undefined": "skip"}
    if rng.random() < 0.3:
        runs = {"a": run, "b": {**run, "score": _numbers(rng)}}
        comparison_options = {"protocol": rng.choice(_MEASURES), "n_permutations": 20, "level": 0.9}
        return library.compare, {"truth": truth, "runs": runs, **comparison_options, **options}
    measure_options = {"protocol": rng.choice(_MEASURES), "interval": "t", "by": "n_pos"}
    return library.measure, {"truth": truth, "run": run, **measure_options, **options}


def _ranking(rng: random.Random) -> _Call:
    def measured(**arguments: Any) -> None:
        ranking = Ranking.from_scores(**arguments)
        for measure in metrics.parse_all(("ndcg@3", "pap@2", "ap", "rr", "recall@2")):
            measure(ranking)

    return measured, {
        "scores": _numbers(rng), "relevance": _whole(rng, 2), "qid": _whole(rng, 3),
        "ties": rng.choice(("worst", "best", "average", "random")), "n_items": N + 5, "seed": 1,
        "min_relevance": 1.0,
    }  # fmt: skip


def _groups(rng: random.Random) -> _Call:
    constructor = rng.choice(((Groups.from_qid, "qid"), (Groups.from_sizes, "sizes")))
    return constructor[0], {constructor[1]: _whole(rng, 3)}


def _parse(rng: random.Random) -> _Call:
    return metrics.parse_all, {"measures": rng.choice(_MEASURES)}


def _loss(rng: random.Random) -> _Call:
    def value(name: str, scores: Any, relevance: Any, **params: Any) -> None:
        loss = losses.get(name, **params)
        groups = Groups.from_sizes([5, 4, 3])
        target = loss.prepare(relevance, groups)
        loss.value_and_grad(scores, target)
        loss.curvature(scores, target)

    name = rng.choice(list(losses.REGISTRY))
    # Losses require float64 of (n_rows,); estimators check these arguments for their callers.
    scores, relevance = odd_numbers(rng, _numbers(rng)), _whole(rng, 2).astype(float)
    params = {"k": 2} if rng.random() < 0.5 else {}
    scores = np.nan_to_num(scores)
    return lambda **given: value(name, scores, relevance, **given), {**params, "scale": 1.0}


def _top(rng: random.Random) -> _Call:
    seen = sparse.random(4, 6, 0.3, format="csr", random_state=1)
    scores = _numbers(rng, 24).reshape(4, 6)
    if rng.random() < 0.5:
        truth = sparse.csr_array(np.eye(4, 6))
        options = {"truth": truth, "exclude": seen, "overlap": "drop", "depth": 3, "ties": "worst"}
        return rank_all, {"scores": scores, **options}
    # The result always has k columns, so k must be small enough for memory.
    k = rng.choice((3, 3, 100, 0, -1, 1.5, "x", None))
    return lambda **given: catalogue.top_k(k=k, **given), {"scores": scores, "exclude": seen}


def _sampled(rng: random.Random) -> _Call:
    def evaluate(measures: Any, estimator: Any, level: Any, **ranks: Any) -> None:
        sampled.evaluate(
            sampled.SampledRanks(**ranks), measures, estimator=estimator, level=level,
            n_bootstrap=3, bounds=False,
        )  # fmt: skip

    return evaluate, {
        "ranks": 1 + _whole(rng, 10), "n_negatives": 9, "n_items": 50, "user": _whole(rng, 5),
        "measures": rng.choice(("ndcg@3", "recall@2", "rr")), "level": 0.9,
        "estimator": rng.choice(("naive", "cls", "mes")), "history": _whole(rng, 3),
    }  # fmt: skip


def _draws(rng: random.Random) -> _Call:
    targets = sparse.csr_array(np.eye(4, 8))
    if rng.random() < 0.5:
        return sampled.draw_candidates, {"targets": targets, "uniform": 3, "seed": 0}
    return sampled.sample_ranks, {
        "targets": targets,
        "n_negatives": 3,
        "seed": 0,
        "replacement": True,
        "scores": _numbers(rng, 32).reshape(4, 8),
        "ties": "worst",
    }


def _stats(rng: random.Random) -> _Call:
    a, b = _numbers(rng), _numbers(rng)
    return rng.choice((
        (stats.summarize, {"values": a, "level": 0.9, "n_resamples": 50, "method": "bca"}),
        (stats.summarize, {"values": a, "level": 0.9}),
        (stats.paired, {"a": a, "b": b, "n_permutations": 50, "level": 0.9}),
        (stats.holm, {"p_values": np.abs(a) % 1}),
        (stats.pooled, {"values": a, "weights": np.abs(b), "level": 0.9}),
        (stats.crossed_mean, {"values": a, "users": _whole(rng, 4), "splits": _whole(rng, 3)}),
        (stats.letters, {"means": a, "differs": np.abs(np.subtract.outer(a, a)) > 1}),
        (stats.summarize, {"values": np.abs(a) % 1, "method": "wilson", "bounds": (0.0, 1.0)}),
    ))  # fmt: skip


def _splits(rng: random.Random) -> _Call:
    user, time = _whole(rng, 3), _numbers(rng)
    X = _numbers(rng, 2 * N).reshape(N, 2)
    relevance, item = _whole(rng, 2), _whole(rng, 6)
    return rng.choice((
        (data.splits.by_group, {"qid": user, "test": 0.3, "valid": 0.2, "seed": 0}),
        (data.splits.by_time, {"timestamp": time, "test": 0.3}),
        (data.splits.by_time_per_user, {"user": user, "timestamp": time, "test": 0.3}),
        (data.splits.leave_last_out, {"user": user, "timestamp": time, "n": 1}),
        (splits.random, {"n_rows": N, "user": user, "test": 0.3, "seed": 0}),
        (data.normalize_by_query, {"X": X, "qid": user}),
        (data.pooled_relevance, {"relevance": relevance, "user": user, "item": item, "share": 0.5}),
        (data.to_frame, {"columns": {"user": user, "x": time}}),
        (data.read_interactions, {"source": {"user": user, "item": item, "value": relevance}}),
        (data.read_features, {"source": {"user": user, "relevance": relevance, "x": time}}),
    ))  # fmt: skip


def _margins(rng: random.Random) -> _Call:
    scores, relevance, qid = _numbers(rng), _whole(rng, 2), _whole(rng, 2)
    rows = {"scores": scores, "relevance": relevance, "qid": qid}
    return losses.margins, {**rows, "k": 1, "delta": 1.0, "clip": True}


def _recommend(rng: random.Random) -> _Call:
    def recommend(model: Any, user_items: Any, k: Any) -> None:
        fitted = model.fit(user_items)
        fitted.recommend(k)

    model = rng.choice((recommenders.EASE, recommenders.ItemKNN, recommenders.Popularity))()
    user_items = sparse.csr_array(np.array([[1.0, 0, 2, 0], [0, 1, 0, 1], [1, 1, 0, 0]]))
    return lambda **given: recommend(model, **given), {"user_items": user_items, "k": 2}


_CALLS: tuple[Callable[[random.Random], _Call], ...] = (
    *(_measure,) * 4, *(_ranking,) * 3, _groups, _parse, _loss, _loss, _top, _sampled, _sampled,
    _draws, _stats, *(_splits,) * 3, _margins, _recommend,
)  # fmt: skip
