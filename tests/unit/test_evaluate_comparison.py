"""Comparison: alignment of groups, directions of wins, and the correction for many tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium.evaluation import compare_evaluations, evaluate, stats
from podium.evaluation.evaluation import Evaluation
from podium.ranking import Ranking

N, SIZE = 24, 6
MEASURES = ["rr", "ndcg@3", "topk_loss@1"]


def run(noise: float, *, labels: Any = None, seed: int = 0, **options: Any) -> Evaluation:
    """Evaluate lists with two positives in six, ranked the better the smaller the noise."""
    rng = np.random.default_rng(seed)
    relevance = np.tile([1, 1, 0, 0, 0, 0], N)
    scores = relevance + noise * rng.normal(size=N * SIZE)
    names = np.arange(N) if labels is None else np.asarray(labels)
    return evaluate(
        Ranking.from_scores(scores, relevance, np.repeat(names, SIZE)), MEASURES, **options
    )


def test_groups_that_only_some_runs_hold_are_left_out() -> None:
    a, b = run(2.0), run(1.0, labels=np.arange(10, 10 + N), seed=1)
    comparison = compare_evaluations({"a": a, "b": b})
    shared = np.arange(10, N)
    for e in comparison.evaluations.values():
        assert e.labels.tolist() == shared.tolist()
    expected = stats.paired(a.values["rr"][10:], b.values["rr"][: N - 10])
    assert comparison.difference("rr", "b").test == expected


def test_groups_are_matched_by_label_whatever_order_a_stream_had() -> None:
    whole = run(1.0)
    rng = np.random.default_rng(0)
    relevance = np.tile([1, 1, 0, 0, 0, 0], N)
    scores = relevance + 1.0 * rng.normal(size=N * SIZE)
    blocks = [
        Ranking.from_scores(scores[6 * i : 6 * i + 6], relevance[:6], np.full(6, i))
        for i in reversed(range(1, N))
    ]
    comparison = compare_evaluations({"whole": whole, "stream": evaluate(blocks, MEASURES)})
    test = comparison.difference("rr", "stream").test
    assert (test.wins, test.losses, test.equal) == (0, 0, N - 1)


def test_segments_follow_their_groups() -> None:
    a = run(2.0).segmented("odd", np.arange(N) % 2)
    b = run(1.0, labels=np.arange(5, 5 + N), seed=1)
    aligned = compare_evaluations({"a": a, "b": b}).evaluations["a"]
    assert [s.mask.tolist() for s in aligned.segments] == [
        (np.arange(5, N) % 2 == 0).tolist(),
        (np.arange(5, N) % 2 == 1).tolist(),
    ]


def test_runs_that_cannot_be_paired_are_refused() -> None:
    one = run(1.0)
    other_measure = evaluate(Ranking.from_scores([1.0], [1]), "rr")
    for runs in (
        {},
        {"a": one},
        {"a": one, "b": run(1.0, labels=np.arange(100, 100 + N))},
        {"a": one, "b": other_measure},
        {"a": one, "b": run(1.0, undefined="zero")},
    ):
        with pytest.raises(ArgumentError):
            compare_evaluations(runs)
