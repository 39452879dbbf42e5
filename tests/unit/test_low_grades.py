"""Relevance has one meaning: grades below a threshold that is passed count as 0 everywhere."""

from __future__ import annotations

from math import log2

import pytest
from scipy.sparse import csr_array

import podium
from podium import data
from podium.catalogue import rank_all
from podium.evaluation import evaluate, judgement_bounds

TRUTH = {"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], "relevance": [3, 5, 4, 2]}
RUN = {"user": [1, 1, 1, 2], "item": [1, 2, 3, 1], "score": [3.0, 2.0, 1.0, 1.0]}
# User 1 ranks the grades 3, 5, 4. User 2 has no grade of at least 4.
ZEROED = (5 / log2(3) + 4 / log2(4)) / (5 + 4 / log2(3))
KEPT = (3 + 5 / log2(3) + 4 / log2(4)) / (5 + 4 / log2(3) + 3 / log2(4))


def test_a_catalogue_applies_the_rule() -> None:
    scores, truth = [[3.0, 2.0, 1.0]], csr_array([[3.0, 5.0, 4.0]])
    for depth in (None, 3):
        ranking = rank_all(scores, truth, min_relevance=4, depth=depth)
        assert evaluate(ranking, "ndcg").means["ndcg"] == pytest.approx(ZEROED)
        kept = rank_all(scores, truth, min_relevance=4, low_grades="keep", depth=depth)
        assert evaluate(kept, "ndcg").means["ndcg"] == pytest.approx(KEPT)


def test_explain_finds_a_threshold_and_the_rule() -> None:
    found = podium.explain(TRUTH, RUN, "ndcg", value=f"{ZEROED:.4f}").search
    assert found is not None
    assert {"min_relevance": 4.0} in [change for m in found.matches for change in m.changes]
    kept = podium.explain(TRUTH, RUN, "ndcg", min_relevance=4, value=f"{(KEPT + 1) / 2:.4f}").search
    assert kept is not None
    assert {"low_grades": "keep"} in [change for m in kept.matches for change in m.changes]
    for steps in podium.explain(TRUTH, RUN, "ndcg", min_relevance=4).packages:
        result = podium.measure(TRUTH, RUN, "ndcg", min_relevance=4, like=steps.like)
        assert steps.end == pytest.approx(result.means["ndcg"])


def test_bounds_judge_items_by_grades_that_count() -> None:
    truth = {"user": [1, 1], "item": [1, 2], "relevance": [2, 5]}
    run = {"user": [1, 1], "item": [9, 2], "score": [2.0, 1.0]}
    ranking = data.ranking(truth, run, min_relevance=4, unjudged="bounds")
    low, high = judgement_bounds(ranking, "ndcg@2", grades=[2, 5])
    # Item 9 has grade 0 or 5; grade 2 counts as 0.
    assert low == pytest.approx([1 / log2(3)])
    assert high == pytest.approx([1.0])
