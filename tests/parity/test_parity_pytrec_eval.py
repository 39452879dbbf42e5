"""pytrec_eval (NIST's trec_eval): per query, string ids, runs with and without ties.

podium's convention mapped to the peer's: ``ties="id"`` (of equal scores, the greater document id
first), string ids, ``unretrieved`` for judged documents that the run lacks.

Known differences
-----------------
======================  ====================================  ====================================
convention              trec_eval                             podium
======================  ====================================  ====================================
nothing relevant        0 (map, ndcg, …), in the mean         nan, counted; undefined="zero"
scores                  kept in single precision: what is     double precision
                        equal there is a tie
ties                    by id always                          "worst" by default
rank column of a run    ignored                               read where there is no score
======================  ====================================  ====================================
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import podium
from podium.evaluation import evaluate
from podium.metrics import parse
from podium.ranking import Ranking

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

Table = dict[str, dict[str, Any]]

MEASURES = {
    "ndcg": "ndcg",
    "ndcg_cut_1": "ndcg@1",
    "ndcg_cut_5": "ndcg@5",
    "ndcg_cut_30": "ndcg@30",
    "P_1": "precision@1",
    "P_5": "precision@5",
    "P_30": "precision@30",
    "recall_5": "recall@5",
    "recall_30": "recall@30",
    "map": "ap",
    "map_cut_5": "ap@5",
    "recip_rank": "rr",
    "Rprec": "r_precision",
    "success_1": "hit_rate@1",
    "success_5": "hit_rate@5",
}
ASKED = {
    "ndcg", "map", "recip_rank", "Rprec", "success.1,5", "map_cut.5", "recall.5,30", "P.1,5,30",
    "ndcg_cut.1,5,30",
}  # fmt: skip


def tables(levels: int) -> tuple[Table, Table]:
    """Qrels and a run of 60 queries; the fewer levels of scores, the more ties."""
    rng = np.random.default_rng(levels)
    qrels: Table = {}
    run: Table = {}
    for q in range(60):
        documents = [f"d{i}" for i in rng.choice(60, rng.integers(1, 25), replace=False)]
        judged = [f"d{i}" for i in rng.choice(60, rng.integers(1, 25), replace=False)]
        run[f"q{q}"] = {d: float(rng.integers(levels)) - levels / 2 for d in documents}
        qrels[f"q{q}"] = {d: int(rng.integers(0, 4)) for d in judged}
    return qrels, run


def ranking(qrels: Table, run: Table, **conventions: Any) -> Ranking:
    rows = [(s, qrels[q].get(d, 0), q, d) for q in run for d, s in run[q].items()]
    lost = [(r, q) for q in run for d, r in qrels[q].items() if d not in run[q] and r > 0]
    scores, relevance, qid, item = zip(*rows, strict=True)
    hidden = ([r for r, _ in lost], np.array([q for _, q in lost], dtype=str))
    return Ranking.from_scores(
        scores, relevance, np.array(qid), item=np.array(item), unretrieved=hidden, **conventions
    )


def peer(qrels: Table, run: Table, level: int = 1) -> Table:
    return pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level).evaluate(run)


def compare(qrels: Table, run: Table, min_relevance: int = 1) -> None:
    ours = ranking(qrels, run, ties="id", min_relevance=min_relevance, low_grades="keep")
    theirs = peer(qrels, run, min_relevance)
    for name, text in MEASURES.items():
        got = parse(text)(ours)
        expected = [theirs[q][name] for q in ours.groups.labels]
        np.testing.assert_allclose(np.nan_to_num(got), expected, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("levels", [1, 2, 5, 10**6])
def test_every_measure_of_every_query_whatever_the_ties(levels: int) -> None:
    compare(*tables(levels))


def test_relevance_level_is_min_relevance() -> None:
    compare(*tables(5), min_relevance=2)


def test_the_runs_have_ties_that_matter() -> None:
    qrels, run = tables(2)
    by_rule = [parse("rr")(ranking(qrels, run, ties=t)) for t in ("worst", "id", "best")]
    for a, b in itertools.pairwise(by_rule):
        assert np.any(a < b)
        assert not np.any(a > b)


# --- Known differences --------------------------------------------------------------------------


def test_queries_with_nothing_relevant_are_zero_there_and_nan_here() -> None:
    qrels: Table = {"q": {"a": 0}, "r": {"a": 1}}
    run: Table = {"q": {"a": 1.0}, "r": {"a": 1.0}}
    theirs = peer(qrels, run)
    ours = ranking(qrels, run, ties="id")
    for name, text in MEASURES.items():
        assert theirs["q"][name] == 0
        assert np.isnan(parse(text)(ours)[0])
        as_zero = evaluate(ours, text, undefined="zero").means[str(parse(text))]
        assert as_zero == (theirs["q"][name] + theirs["r"][name]) / 2


def test_scores_that_single_precision_cannot_tell_apart() -> None:
    qrels: Table = {"q": {"a": 1, "b": 0}}
    run: Table = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    assert parse("rr")(ranking(qrels, run, ties="id")).tolist() == [1]
    assert peer(qrels, run)["q"]["recip_rank"] == 1 / 2


@pytest.mark.parametrize("threshold", [1, 2])
def test_bpref_counts_judged_items_only(threshold: int) -> None:
    rng = np.random.default_rng(8)
    qrels, run = {}, {}
    for query in range(60):
        items = rng.permutation(40)
        judged = items[: rng.integers(1, 25)]
        grades = rng.choice([0, 0, 1, 2], judged.size)
        qrels[str(query)] = {str(i): int(g) for i, g in zip(judged, grades, strict=True)}
        listed = rng.permutation(40)[: rng.integers(1, 30)]
        run[str(query)] = {str(i): float(s) for s, i in enumerate(listed)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"bpref"}, relevance_level=threshold)
    expected = {query: values["bpref"] for query, values in theirs.evaluate(run).items()}
    tables = [
        {
            "user": [query for query, items in table.items() for _ in items],
            "item": [item for items in table.values() for item in items],
            name: [value for items in table.values() for value in items.values()],
        }
        for name, table in (("relevance", qrels), ("score", run))
    ]
    mine = podium.measure(*tables, "bpref", min_relevance=threshold)
    for query, value in zip(mine.labels.tolist(), mine.values["bpref"], strict=True):
        assert np.nan_to_num(value) == pytest.approx(expected[query], abs=1e-6)
