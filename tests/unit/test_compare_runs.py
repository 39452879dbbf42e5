"""podium.compare on tables: all pairs and their letters, segments, several splits and seeds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

import podium
from podium import evaluation
from podium.errors import ArgumentError
from podium.evaluation import stats

N, K = 120, 8
USERS = {"user": np.arange(N), "country": np.where(np.arange(N) % 3, "FR", "UK")}


def truth() -> dict[str, Any]:
    return {"user": np.repeat(np.arange(N), 2), "item": np.tile([0, 1], N)}


def run(noise: float, seed: int) -> dict[str, Any]:
    scores = np.random.default_rng(seed).normal(size=(N, K)) * noise - np.arange(K)
    return {
        "user": np.repeat(np.arange(N), K),
        "item": np.tile(np.arange(K), N),
        "score": scores.ravel(),
    }


RUNS = {"weak": run(9.0, 1), "fair": run(2.0, 2), "also fair": run(2.0, 3), "good": run(0.5, 4)}
MEASURES = ["ndcg@3", "topk_loss@1"]


@pytest.mark.parametrize(("n_permutations", "is_drawn"), [(239, True), (238, False)])
def test_many_tests_are_t_tests_if_sign_patterns_could_not_be_significant(
    n_permutations: int, is_drawn: bool
) -> None:
    comparison = podium.compare(truth(), RUNS, MEASURES, pairs="all", n_permutations=n_permutations)
    assert len(comparison.differences) == 12  # 12 / (1 + 239) = 0.05
    for d in comparison.differences:
        assert np.isnan(d.test.randomisation_p_value) != is_drawn
    assert comparison.difference("ndcg@3", "good", "weak").holm_p_value <= 0.05


@pytest.mark.parametrize("measure", MEASURES)
def test_runs_have_a_letter_in_common_if_they_do_not_differ(measure: str) -> None:
    comparison = podium.compare(truth(), RUNS, MEASURES, pairs="all")
    letters = comparison.letters[measure]
    for a, b in combinations(RUNS, 2):
        is_significant = comparison.difference(measure, b, a).holm_p_value <= 0.05
        assert set(letters[a]).isdisjoint(letters[b]) == is_significant
    assert "a" in letters["good"]
    assert letters["fair"] == letters["also fair"]
    first = podium.compare(truth(), RUNS, measure)
    assert first.letters == {}
    with raises(ArgumentError, "pairs"):
        first.difference(measure, "good", "fair")


def several(noise: float, seeds: range) -> list[Any]:
    return [run(noise, seed) for seed in seeds]


def test_seeds_are_groups_of_both_levels() -> None:
    seeds = {"a": several(3.0, range(3)), "b": several(2.0, range(10, 13))}
    comparison = podium.compare(truth(), seeds, "ndcg@3")
    values = [
        [podium.measure(truth(), table, "ndcg@3").values["ndcg@3"] for table in tables]
        for tables in seeds.values()
    ]
    differences = np.ravel(values[1]) - np.ravel(values[0])
    expected = stats.crossed_mean(differences, np.tile(np.arange(N), 3), np.repeat(np.arange(3), N))
    test = comparison.difference("ndcg@3", "b").test
    assert test.difference == pytest.approx(expected.mean)
    assert test.std_error == pytest.approx(expected.std_error)
    assert test.n_groups == 3 * N
    assert np.isnan(test.randomisation_p_value)
    assert comparison.difference("ndcg@3", "b").holm_p_value == test.t_p_value


def test_splits_have_their_own_truths_and_users() -> None:
    parts = [np.arange(N) < 50, np.arange(N) >= 50]
    truths = [{c: v[np.repeat(part, 2)] for c, v in truth().items()} for part in parts]
    tables = {
        name: [{c: v[np.repeat(part, K)] for c, v in RUNS[name].items()} for part in parts]
        for name in ("weak", "good")
    }
    comparison = podium.compare(
        truths, tables, MEASURES, by=["country", "n_pos"], users=USERS, splits=["early", "late"]
    )
    whole = podium.compare(truth(), {name: RUNS[name] for name in tables}, MEASURES)
    for measure in MEASURES:
        found, expected = (c.difference(measure, "good").test for c in (comparison, whole))
        assert found.difference == pytest.approx(expected.difference)
        assert (found.wins, found.losses) == (expected.wins, expected.losses)
    weak = comparison.evaluations["weak"]
    assert set(weak.labels) == {f"{'early' if u < 50 else 'late'}/{u}" for u in range(N)}
    uk = next(s for s in weak.segments if s.name == "UK")
    assert {label.split("/")[1] for label in weak.labels[uk.mask]} == {
        str(u) for u in range(0, N, 3)
    }


def test_pooled_forms_of_splits_have_the_errors_of_users_and_splits() -> None:
    splits, users = np.repeat(["a", "b", "c"], 50), np.tile(np.arange(50), 3)
    values = np.repeat([0.2, 0.5, 0.8], 50)
    result = evaluation.Evaluation(
        np.char.add(np.char.add(splits, "/"), users.astype(str)),
        np.ones(150, np.int64),
        {"precision@2": values},
        {"precision@2": np.full(150, 2.0)},
        users=users,
        splits=splits,
    )
    mean, pooled = result.summary("precision@2"), result.pooled("precision@2")
    assert pooled.std_error == pytest.approx(mean.std_error)
    np.testing.assert_allclose(pooled.interval, mean.interval)
    some = users < 30
    expected = stats.crossed_mean(values[some], users[some], splits[some]).std_error
    assert result.summary("precision@2", some).std_error == pytest.approx(expected)


SEEDS = several(1.0, range(2))


@pytest.mark.parametrize(
    ("runs", "options"),
    [
        ({"a": SEEDS, "b": several(1.0, range(3))}, {}),
        ({"a": several(1.0, range(1)), "b": RUNS["weak"]}, {}),
        ({"a": SEEDS, "b": RUNS["weak"]}, {"splits": ["x", "x"]}),
        (RUNS, {"splits": ["x", "y"]}),
        ({"a": RUNS["weak"], "b": RUNS["fair"], "b - a": RUNS["good"]}, {}),
        ([RUNS["weak"], RUNS["fair"]], {}),
        ({}, {}),
        ({"only": RUNS["weak"]}, {}),
    ],
)
def test_wrong_requests_are_refused(runs: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        podium.compare(truth(), runs, "rr", **options)
