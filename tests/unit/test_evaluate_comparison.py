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


def test_tests_are_paired_by_group_against_the_first_run() -> None:
    a, b, c = run(2.0), run(1.0, seed=1), run(0.1, seed=2)
    comparison = compare_evaluations({"a": a, "b": b, "c": c})
    assert comparison.baseline == "a"
    assert {d.measure for d in comparison.differences} == set(MEASURES)
    assert comparison.difference("rr", "b").test == stats.paired(a.values["rr"], b.values["rr"])
    assert comparison.difference("rr", "c").test.difference == pytest.approx(
        c.means["rr"] - a.means["rr"]
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


def test_holm_corrects_over_all_measures_and_runs() -> None:
    runs = {"a": run(2.0), "b": run(1.0, seed=1), "c": run(0.3, seed=2)}
    comparison = compare_evaluations(runs)
    cells = [(m, r) for m in MEASURES for r in ("b", "c")]
    raw = [comparison.difference(m, r).p_value for m, r in cells]
    np.testing.assert_allclose(
        [comparison.difference(m, r).holm_p_value for m, r in cells], stats.holm(raw)
    )
    smallest = int(np.argmin(raw))
    m, r = cells[smallest]
    assert comparison.difference(m, r).holm_p_value == pytest.approx(
        min(1, len(cells) * raw[smallest])
    )


@pytest.mark.parametrize(("undefined", "n_groups"), [("skip", 1), ("zero", 2), ("one", 2)])
def test_undefined_groups_follow_the_policy(undefined: Any, n_groups: int) -> None:
    relevance, qid = [1, 0, 0, 0], [1, 1, 2, 2]
    a, b = (
        evaluate(Ranking.from_scores(s, relevance, qid), "rr", undefined=undefined)
        for s in ([1.0, 2.0, 2.0, 1.0], [2.0, 1.0, 2.0, 1.0])
    )
    test = compare_evaluations({"a": a, "b": b}).difference("rr", "b").test
    assert (test.n_groups, test.n_undefined) == (n_groups, 1)
    assert test.difference == (1 - 1 / 2) / n_groups
    assert (test.wins, test.equal) == (1, n_groups - 1)


def test_runs_that_share_no_group_are_refused() -> None:
    with pytest.raises(ArgumentError, match="runs have no user in common"):
        compare_evaluations({"a": run(1.0), "b": run(1.0, labels=np.arange(100, 100 + N))})


def test_runs_must_be_evaluated_by_the_same_measures() -> None:
    other = evaluate(Ranking.from_scores([1.0], [1]), "rr")
    with pytest.raises(
        ArgumentError, match=r"must have the same measures, got rr, ndcg@3, .* in a "
    ):
        compare_evaluations({"a": run(1.0), "b": other})


def test_one_run_is_not_a_comparison() -> None:
    for runs in ({}, {"a": run(1.0)}):
        with pytest.raises(ArgumentError, match=f"must hold at least two runs, got {len(runs)}"):
            compare_evaluations(runs)
