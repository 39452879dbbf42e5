"""podium.compare on tables: all pairs and their letters, segments, several splits and seeds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from tests.cli.conftest import SCHEMAS
from tests.raised import raises

import podium
from podium import evaluation
from podium.errors import ArgumentError, PodiumWarning
from podium.evaluation import stats

N, K = 120, 8
RUNS_APART = {"user": [1], "item": [7], "score": [1.0]}
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


def test_all_pairs_are_tested_once_and_corrected_together() -> None:
    comparison = podium.compare(truth(), RUNS, MEASURES, pairs="all")
    pairs = [(d.measure, d.baseline, d.run) for d in comparison.differences]
    assert pairs == [(m, a, b) for m in MEASURES for a, b in combinations(RUNS, 2)]
    p_values = [d.p_value for d in comparison.differences]
    np.testing.assert_allclose(
        [d.holm_p_value for d in comparison.differences], stats.holm(p_values)
    )
    first = podium.compare(truth(), RUNS, MEASURES)
    for d in first.differences:
        assert comparison.difference(d.measure, d.run, d.baseline).test == d.test


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


def test_a_segment_is_compared_as_if_it_were_all_users() -> None:
    comparison = podium.compare(truth(), RUNS, "ndcg@3", by="country", users=USERS)
    is_uk = USERS["country"] == "UK"
    of_uk = {name: np.isin(table["user"], np.flatnonzero(is_uk)) for name, table in RUNS.items()}
    kept = {n: {c: v[of_uk[n]] for c, v in table.items()} for n, table in RUNS.items()}
    truth_rows = np.repeat(is_uk, 2)
    alone = podium.compare({c: v[truth_rows] for c, v in truth().items()}, kept, "ndcg@3")
    for d in alone.differences:
        segment = comparison.difference("ndcg@3", d.run, by="country", segment="UK")
        assert segment.test == d.test
    assert len(comparison.differences) == 3 * (1 + 2)
    p_values = [d.p_value for d in comparison.differences]
    np.testing.assert_allclose(
        [d.holm_p_value for d in comparison.differences], stats.holm(p_values)
    )


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


@pytest.mark.parametrize("pairs", ["first", "all"])
@pytest.mark.parametrize("runs", [RUNS, {"a": several(3.0, range(2)), "b": several(1.0, range(2))}])
def test_json_form_is_that_of_the_schema(pairs: Any, runs: dict[str, Any]) -> None:
    import json

    schema = json.loads((SCHEMAS / "comparison.json").read_text())
    comparison = podium.compare(truth(), runs, MEASURES, by="engagement", pairs=pairs)
    plain = json.loads(json.dumps(comparison.as_json(), allow_nan=False))
    Draft202012Validator(schema).validate(plain)


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (RUNS, {"pairs": "some"}, "pairs must be one of 'first' or 'all', got 'some'"),
        ({"a": several(1.0, range(2)), "b": several(1.0, range(3))}, {}, r"runs\['b'\] must have"),
        ({"a": several(1.0, range(1)), "b": RUNS["weak"]}, {}, r"must have at least two splits"),
        (
            {"a": several(1.0, range(2)), "b": RUNS["weak"]},
            {"splits": ["x", "x"]},
            "splits must be 2 distinct names",
        ),
        (RUNS, {"splits": ["x", "y"]}, r"splits requires a list of tables .* got \['x', 'y'\]"),
        ({"a": several(1.0, range(2)), "b": RUNS["weak"]}, {"interval": "bootstrap"}, "bootstrap"),
    ],
)
def test_wrong_requests_are_refused(
    runs: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        podium.compare(truth(), runs, "rr", **options).as_json()


def test_a_run_can_not_have_the_name_of_a_difference() -> None:
    runs = {"a": RUNS["weak"], "b": RUNS["fair"], "b - a": RUNS["good"]}
    with pytest.raises(ArgumentError, match="'b - a', which is the name of a difference"):
        podium.compare(truth(), runs, "ndcg@3")


def test_open_ties_are_said_of_each_run() -> None:
    judged = {"user": [1], "item": [1]}
    tied = {"user": [1, 1], "item": [1, 2], "score": [1.0, 1.0]}
    clear = {**tied, "score": [2.0, 1.0]}
    with pytest.warns(PodiumWarning, match=r"rr of b is between .* also matters for rr of c\."):
        podium.compare(judged, {"a": clear, "b": tied, "c": tied}, "rr", like="ranx")


def test_a_difference_that_was_not_tested_names_the_option() -> None:
    comparison = podium.compare(truth(), RUNS, "rr")
    with raises(ArgumentError, "pairs"):
        comparison.difference("rr", "good", "fair")


def sparse_truth() -> dict[str, Any]:
    """Return a truth without most of the items of the runs, with grades 1 and 2."""
    rng = np.random.default_rng(0)
    users = np.arange(6)
    return {
        "user": np.repeat(users, 2),
        "item": np.concatenate([rng.choice(4, 2, replace=False) for _ in users]),
        "relevance": rng.integers(0, 3, 12),
    }


def short_run(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    items = np.concatenate([rng.choice(5, 3, replace=False) for _ in range(6)])
    return {"user": np.repeat(np.arange(6), 3), "item": items, "rank": np.tile([1, 2, 3], 6)}


def pairs_of(table: dict[str, Any]) -> set[tuple[int, int]]:
    return set(zip(table["user"].tolist(), table["item"].tolist(), strict=True))


def test_ranges_of_differences_hold_for_every_judgement() -> None:
    judged, runs = sparse_truth(), {"a": short_run(1), "b": short_run(2), "c": short_run(3)}
    comparison = podium.compare(judged, runs, ["ndcg@2", "ap@3"], pairs="all", unjudged="bounds")
    shown = set().union(*(pairs_of(table) for table in runs.values()))
    unjudged = np.array(sorted(shown - pairs_of(judged)))
    rng = np.random.default_rng(4)
    users = set(np.unique(judged["user"][judged["relevance"] > 0]).tolist())
    keeps = np.array([u in users for u in unjudged[:, 0]])  # the others stay undefined
    for _ in range(30):
        grades = rng.integers(0, 3, len(unjudged)) * keeps
        more = {
            "user": np.append(judged["user"], unjudged[:, 0]),
            "item": np.append(judged["item"], unjudged[:, 1]),
            "relevance": np.append(judged["relevance"], grades),
        }
        drawn = podium.compare(more, runs, ["ndcg@2", "ap@3"], pairs="all", n_permutations=10)
        for d, of_draw in zip(comparison.differences, drawn.differences, strict=True):
            assert d.unjudged is not None
            assert d.unjudged.low - 1e-12 <= of_draw.test.difference <= d.unjudged.high + 1e-12


def test_labels_settle_the_sign_of_a_difference() -> None:
    judged, runs = sparse_truth(), {"a": short_run(1), "b": short_run(2)}
    [d] = podium.compare(judged, runs, "ndcg@2", unjudged="bounds").differences
    assert d.unjudged is not None
    assert d.unjudged.can_reverse
    assert d.labels is not None
    more = {
        "user": np.append(judged["user"], d.labels["user"]),
        "item": np.append(judged["item"], d.labels["item"]),
        "relevance": np.append(judged["relevance"], np.zeros(d.labels["user"].size, np.int64)),
    }
    [settled] = podium.compare(more, runs, "ndcg@2", unjudged="bounds").differences
    assert settled.unjudged is not None
    assert settled.test.difference == pytest.approx(d.test.difference)
    assert not settled.unjudged.can_reverse


def test_bounds_need_one_truth() -> None:
    runs = {"a": [RUNS["weak"]] * 2, "b": RUNS["good"]}
    with raises(ArgumentError, "unjudged"):
        podium.compare(truth(), runs, "rr", unjudged="bounds")


def test_measures_of_the_items_shown_are_compared() -> None:
    past = {"user": np.arange(40), "item": np.arange(40) % 9}
    measures = ["ndcg@3", "coverage@3", "gini@3", "novelty@3"]
    comparison = podium.compare(
        truth(), RUNS, measures, catalogue=past, by="country", users=USERS, pairs="all"
    )
    for measure in measures:
        evaluation = podium.measure(
            truth(), RUNS["good"], measure, **({} if measure == "ndcg@3" else {"catalogue": past})
        )
        assert comparison.evaluations["good"].means[measure] == pytest.approx(
            evaluation.means[measure]
        )
    gini = comparison.difference("gini@3", "good")
    assert np.isnan(gini.test.randomisation_p_value)
    assert gini.p_value == gini.test.t_p_value
    assert gini.as_json()["wins"] is None
    of_uk = {d.measure for d in comparison.differences if d.segment == "UK"}
    assert of_uk == {"ndcg@3", "novelty@3"}
    assert set(comparison.letters) == set(measures)


def test_runs_under_other_conventions_are_not_compared() -> None:
    tied = {**RUNS["weak"], "score": np.zeros(N * K)}
    worst, best = (podium.measure(truth(), tied, "rr", ties=ties) for ties in ("worst", "best"))
    with pytest.raises(ArgumentError, match="got ties='worst' in old and 'best' in new"):
        evaluation.compare_evaluations({"old": worst, "new": best})


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


@pytest.mark.parametrize("runs", [(RUNS_APART, RUNS_APART), ([RUNS_APART, RUNS_APART],)])
def test_runs_apart_are_refused_with_the_right_call(runs: tuple[Any, ...]) -> None:
    truth = {"user": [1], "item": [7]}
    with pytest.raises(ArgumentError, match=r"runs .* compare\(truth, \{'a': a, 'b': b\}"):
        podium.compare(truth, *runs, ["rr"])


def test_bounds_without_a_measure_of_relevance_have_no_range() -> None:
    truth = {"user": [1, 2], "item": [1, 2]}
    a = {"user": [1, 2], "item": [1, 2], "score": [1.0, 1.0]}
    b = {"user": [1, 2], "item": [2, 1], "score": [1.0, 1.0]}
    past = {"user": [1, 1, 2], "item": [1, 2, 1]}
    [d] = podium.compare(
        truth, {"a": a, "b": b}, "popularity@1", unjudged="bounds", catalogue=past
    ).differences
    assert d.unjudged is None
    assert d.test.equal == 0  # user 1: 2 past interactions, then 1; user 2: 1, then 2


def test_ties_that_a_package_leaves_open_can_be_passed() -> None:
    truth = {"user": [1, 1], "item": [1, 2], "relevance": [1, 0]}
    run = {"user": [1, 1], "item": [1, 2], "score": [0.5, 0.5]}
    orders: Any = (("best", 1.0), ("worst", 0.5))
    for ties, value in orders:
        result = podium.measure(truth, run, "rr@2", like="ir_measures", ties=ties)
        assert result.values["rr@2"].tolist() == [value]


def test_only_all_pairs_have_letters() -> None:
    assert podium.compare(truth(), RUNS, "rr").letters == {}
