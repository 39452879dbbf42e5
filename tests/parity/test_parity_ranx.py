"""ranx: per query, on distinct scores.

podium's convention mapped to the peer's: ``ndcg`` is the linear gain, ``ndcg_burges`` is
``gain=exp2``; average precision divides by all positives; ``rel_lvl`` is min_relevance.

Known differences
-----------------
=====================  =====================================  =====================================
convention             ranx                                   podium
=====================  =====================================  =====================================
ties                   by row order, through an unstable      `ties=`; "worst" by default
                       sort of the run
nothing relevant       0, in the mean                         nan, counted; undefined="zero"
rbp                    weighs by grade, and may exceed 1      share of positives
threads                an evaluation of fewer than ten        never touches the thread count
                       queries leaves numba at one thread
=====================  =====================================  =====================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from podium.metrics import parse
from podium.ranking import Ranking

pytestmark = [
    pytest.mark.long,  # the peer is compiled anew in each process
    pytest.mark.filterwarnings("ignore"),  # the peer's own, at import and compilation
]

Table = dict[str, dict[str, Any]]

MEASURES = {
    "ndcg": "ndcg",
    "ndcg@5": "ndcg@5",
    "ndcg_burges@5": "ndcg(gain=exp2)@5",
    "precision@3": "precision@3",
    "precision@30": "precision@30",
    "recall@5": "recall@5",
    "map": "ap",
    "map@5": "ap@5",
    "mrr": "rr",
    "mrr@2": "rr@2",
    "r-precision": "r_precision",
    "hit_rate@2": "hit_rate@2",
}


@pytest.fixture(scope="module")
def ranx() -> Iterator[Any]:
    import warnings

    import numba

    threads = numba.get_num_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield pytest.importorskip("ranx", reason="ranx is not installed")
    numba.set_num_threads(threads)  # the peer leaves it at one after a small evaluation


def tables() -> tuple[Table, Table]:
    """Qrels, all with something relevant, and a run with distinct scores, of 30 queries."""
    rng = np.random.default_rng(0)
    qrels: Table = {}
    run: Table = {}
    for q in range(30):
        documents = [f"d{i}" for i in rng.choice(40, rng.integers(1, 20), replace=False)]
        judged = [f"d{i}" for i in rng.choice(40, rng.integers(1, 20), replace=False)]
        scores = rng.permutation(len(documents)) - 5.0
        run[f"q{q:02}"] = dict(zip(documents, scores.tolist(), strict=True))
        qrels[f"q{q:02}"] = {d: int(rng.integers(0, 4)) for d in judged} | {judged[0]: 3}
    return qrels, run


def ranking(qrels: Table, run: Table, **conventions: Any) -> Ranking:
    rows = [(s, qrels[q].get(d, 0), q) for q in run for d, s in run[q].items()]
    lost = [(r, q) for q in run for d, r in qrels[q].items() if d not in run[q]]
    scores, relevance, qid = zip(*rows, strict=True)
    hidden = ([r for r, _ in lost], np.array([q for _, q in lost], dtype=str))
    return Ranking.from_scores(scores, relevance, np.array(qid), unretrieved=hidden, **conventions)


def peer(ranx: Any, qrels: Table, run: Table, name: str) -> Any:
    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), name, return_mean=False)
    return np.asarray(found)


@pytest.mark.long
def test_every_measure_of_every_query(ranx: Any) -> None:
    qrels, run = tables()
    for name, text in MEASURES.items():
        got = parse(text)(ranking(qrels, run))
        np.testing.assert_allclose(got, peer(ranx, qrels, run, name), rtol=1e-12, err_msg=name)


@pytest.mark.long
def test_relevance_level_is_min_relevance(ranx: Any) -> None:
    qrels, run = tables()
    for name, text in {"map-l2": "ap", "recall@5-l2": "recall@5", "mrr-l2": "rr"}.items():
        got = parse(text)(ranking(qrels, run, min_relevance=2))
        np.testing.assert_allclose(got, peer(ranx, qrels, run, name), rtol=1e-12, err_msg=name)


# --- Known differences --------------------------------------------------------------------------


def test_queries_with_nothing_relevant_are_zero_there_and_nan_here(ranx: Any) -> None:
    qrels: Table = {"q": {"a": 0}}
    run: Table = {"q": {"a": 1.0}}
    for name in ("ndcg", "map", "mrr"):
        assert peer(ranx, qrels, run, name).tolist() == [0]
        assert np.isnan(parse(MEASURES[name])(ranking(qrels, run))).all()


def test_rank_biased_precision_weighs_grades_there(ranx: Any) -> None:
    qrels, run = tables()
    flags = {q: {d: min(r, 1) for d, r in qrels[q].items()} for q in qrels}
    ours = parse("rbp")(ranking(qrels, run))
    np.testing.assert_allclose(ours, peer(ranx, flags, run, "rbp.80"), rtol=1e-12)
    assert np.any(ours < peer(ranx, qrels, run, "rbp.80"))
    only: Table = {"q": {"a": 9}}
    assert peer(ranx, only, {"q": {"a": 1.0}}, "rbp.80")[0] == pytest.approx(9 * 0.2)
    assert parse("rbp")(ranking(only, {"q": {"a": 1.0}}))[0] == pytest.approx(0.2)


def test_equal_scores_stand_by_row_order(ranx: Any) -> None:
    qrels: Table = {"q": {"a": 1}}
    values = {
        float(peer(ranx, qrels, {"q": dict.fromkeys(order, 1.0)}, "mrr")[0])
        for order in (("a", "b", "c"), ("c", "b", "a"))
    }
    assert values == {1.0, 1 / 3}
    for order in (("a", "b", "c"), ("c", "b", "a")):
        run: Table = {"q": dict.fromkeys(order, 1.0)}
        assert parse("rr")(ranking(qrels, run)).tolist() == [1 / 3]
