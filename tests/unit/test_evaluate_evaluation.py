"""Evaluation: means, policies for undefined groups, pooled forms, segments, JSON, streams."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raised import raises

from podium.errors import ArgumentError, PodiumWarning
from podium.evaluation import Evaluation, evaluate, stats
from podium.metrics import parse
from podium.ranking import Ranking
from podium.testing import oracles
from podium.testing.strategies import Case, cases

NOTHING_TO_FIND = pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
"""Ignores warnings of tests in which a measure may be undefined for all drawn lists."""

# Group 1 has both positives first, group 2 its one positive last, group 3 nothing to find.
SCORES = [9.0, 8.0, 7.0, 6.0, 9.0, 8.0, 7.0, 9.0, 8.0]
RELEVANCE = [1, 1, 0, 0, 0, 0, 1, 0, 0]
QID = [1, 1, 1, 1, 2, 2, 2, 3, 3]


@pytest.fixture
def ranking() -> Ranking:
    return Ranking.from_scores(SCORES, RELEVANCE, QID)


def test_means_are_over_the_groups_where_a_measure_is_defined(ranking: Ranking) -> None:
    e = evaluate(ranking, ["rr", "pap@2", "precision@2"])
    assert e.means == {
        "rr": (1 / 1 + 1 / 3) / 2,
        "pap@2": (4 / 4 + 0 / 2) / 2,
        "precision@2": (2 / 2 + 0 / 2) / 2,
    }
    assert e.measures == ["rr", "pap@2", "precision@2"]
    assert e.labels.tolist() == [1, 2, 3]
    assert e.n_pos.tolist() == [2, 1, 0]
    assert (e.n_groups, e.summary("rr").n_groups, e.summary("rr").n_undefined) == (3, 2, 1)


@pytest.mark.parametrize(
    ("undefined", "expected"), [("skip", (1 + 0) / 2), ("zero", (1 + 0 + 0) / 3), ("one", 2 / 3)]
)
def test_undefined_groups_count_as_the_policy_says(
    ranking: Ranking, undefined: Any, expected: float
) -> None:
    e = evaluate(ranking, "pap@2", undefined=undefined)
    summary = e.summary("pap@2")
    assert summary.mean == pytest.approx(expected, rel=1e-15)
    assert summary.n_undefined == 1
    assert summary.n_groups == (2 if undefined == "skip" else 3)
    assert e.conventions["undefined"] == undefined


def test_undefined_groups_can_be_refused(ranking: Ranking) -> None:
    with raises(ArgumentError, "undefined"):
        evaluate(ranking, "rr", undefined="error")
    defined = Ranking.from_scores(SCORES[:7], RELEVANCE[:7], QID[:7])
    assert evaluate(defined, "rr", undefined="error").means == {"rr": (1 + 1 / 3) / 2}


# --- Pooled -------------------------------------------------------------------------------------


@NOTHING_TO_FIND
@given(case=cases(whole=True), k=st.integers(1, 4), clip=st.booleans())
@settings(max_examples=2 * settings().max_examples)
def test_pooled_pairs_equal_a_count_over_all_groups(case: Case, k: int, clip: bool) -> None:
    text = f"pap(clip={clip})@{k}"
    correct = pairs = 0
    for x in case.listings().values():
        value = oracles.brute_force("pap", x, k=k, clip=clip)
        if value is not None:
            n = min(k, x.n_pos) * min(k, x.n_neg)
            correct, pairs = correct + value * n, pairs + n
    got = evaluate(case.ranking(), text).pooled(text).mean
    assert np.isnan(got) if pairs == 0 else got == pytest.approx(float(correct / pairs), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pauc@2", (4 + 0) / (2 * 2 + 1 * 2)),
        ("auc", (4 + 0) / (2 * 2 + 1 * 2)),
        ("precision@2", (2 + 0) / (2 + 2)),
        ("recall@2", (2 + 0) / (2 + 1)),
        ("recall(norm=min)@1", (1 + 0) / (1 + 1)),
    ],
)
def test_pooled_forms_weigh_groups_by_what_they_divide_by(
    ranking: Ranking, text: str, expected: float
) -> None:
    assert evaluate(ranking, text).pooled(text).mean == pytest.approx(expected, rel=1e-15)


def test_measures_without_a_pooled_form_raise_and_list_those_with_one(ranking: Ranking) -> None:
    e = evaluate(ranking, ["rr", "pap@2"])
    with pytest.raises(ArgumentError, match=r"rr has no pooled form\. .*: pap@2"):
        e.pooled("rr")
    with pytest.raises(ArgumentError, match="that have one: none"):
        evaluate(ranking, "rr").pooled("rr")


# --- Segments -----------------------------------------------------------------------------------


def segments(e: Evaluation) -> dict[str, list[bool]]:
    return {s.name: s.mask.tolist() for s in e.segments}


def test_engagement_needs_a_cutoff(ranking: Ranking) -> None:
    with raises(ArgumentError, "by"):
        evaluate(ranking, "rr").segmented("engagement")
    with pytest.raises(ArgumentError, match="k must be an integer >= 1"):
        evaluate(ranking, "rr").segmented("engagement", k=0)


@NOTHING_TO_FIND
@given(n_pos=st.lists(st.integers(0, 6), min_size=1, max_size=30))
@settings(max_examples=2 * settings().max_examples)
def test_n_pos_segments_hold_every_group_that_has_positives_once(n_pos: list[int]) -> None:
    n = 7 * len(n_pos)
    relevance = np.concatenate([np.arange(7) < p for p in n_pos]).astype(float)
    e = evaluate(Ranking.from_scores(-np.arange(n), relevance, np.arange(n) // 7), "rr")
    masks = [s.mask for s in e.segmented("n_pos").segments]
    inside = np.sum(masks, axis=0) if masks else np.zeros(len(n_pos))
    assert inside.tolist() == [float(p > 0) for p in n_pos]
    assert len(masks) <= 4
    assert all(m.any() for m in masks)


def test_segments_are_in_the_order_of_numbers_in_their_names(ranking: Ranking) -> None:
    for key in ([10, 0.5, 0.25], ["10 to 20", "5 to 9", "5 to 10"], [5, None, 10]):
        segments = evaluate(ranking, "rr").segmented("age", np.array(key, object)).segments
        expected = {
            10: ["0.25", "0.5", "10"],
            "10 to 20": ["5 to 9", "5 to 10", "10 to 20"],
            5: ["5", "10", "unknown"],
        }
        assert [s.name for s in segments] == expected[key[0]]


def test_a_key_has_one_value_per_group(ranking: Ranking) -> None:
    with pytest.raises(ArgumentError, match=r"key must have one value per group, got shape \(2,\)"):
        evaluate(ranking, "rr").segmented("country", ["UK", "DE"])


# --- JSON ---------------------------------------------------------------------------------------


def test_json_holds_measures_segments_and_conventions(ranking: Ranking) -> None:
    e = evaluate(ranking, ["pap@2", "rr"]).segmented("engagement")
    result = json.loads(json.dumps(e.as_json(pooled=True), allow_nan=False))
    assert set(result) == {"measures", "segments", "conventions"}
    assert result["measures"]["pap@2"]["mean"] == 1 / 2
    assert result["measures"]["pap@2"]["pooled"]["mean"] == 4 / 6
    assert "pooled" not in result["measures"]["rr"]
    assert result["measures"]["rr"]["n_undefined"] == 1
    assert len(result["measures"]["rr"]["interval"]) == 2
    first = result["segments"][0]
    assert (first["by"], first["name"], first["n_groups"]) == ("engagement", "n_pos <= 2", 3)
    assert set(first["measures"]) == {"pap@2", "rr"}
    assert result["segments"][1]["measures"]["rr"]["mean"] is None
    assert result["conventions"] == {
        "ties": "worst",
        "min_relevance": 1.0,
        "low_grades": "keep",
        "undefined": "skip",
        "interval": "t",
        "seed": 0,
    }


# --- Streams ------------------------------------------------------------------------------------


@NOTHING_TO_FIND
@given(case=cases(whole=True), data=st.data())
def test_a_stream_of_rankings_equals_one_ranking(case: Case, data: Any) -> None:
    measures = ["pap@2", "ndcg@3", "rr"]
    blocks = data.draw(st.permutations(sorted(set(case.qid))))
    parts = (
        Ranking.from_scores(
            *([column[i] for i, q in enumerate(case.qid) if q == label]
              for column in (case.scores, case.relevance, case.qid)),
            min_relevance=case.min_relevance,
            low_grades=case.low_grades,
        )
        for label in blocks
    )  # fmt: skip
    whole, streamed = evaluate(case.ranking(), measures), evaluate(parts, measures)
    assert streamed.labels.tolist() == whole.labels.tolist()
    assert streamed.n_pos.tolist() == whole.n_pos.tolist()
    for name in measures:
        np.testing.assert_array_equal(streamed.values[name], whole.values[name])
    np.testing.assert_array_equal(streamed.weights["pap@2"], whole.weights["pap@2"])


def test_a_stream_must_hold_each_group_once(ranking: Ranking) -> None:
    with pytest.raises(ArgumentError, match="Two parts hold group 1"):
        evaluate([ranking, ranking], "rr")
    with pytest.raises(ArgumentError, match="rankings must hold at least one Ranking"):
        evaluate([], "rr")


# --- Errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"undefined": "drop"}, "undefined must be one of 'skip', 'zero', 'one' or 'error'"),
        ({"undefined": "skp"}, "Did you mean 'skip'"),
        ({"level": 95}, "level must be a number > 0 and < 1, got 95"),
        ({"level": 0}, "level must be a number > 0 and < 1, got 0"),
        ({"interval": "normal"}, "interval must be one of 't', 'wilson' or 'bootstrap'"),
        (
            {"interval": "wilson", "measures": ["rr", "dcg@5"]},
            "interval='wilson' requires measures with finite bounds, and dcg@5 has none",
        ),
        ({"measures": "ndgc@3"}, "Did you mean 'ndcg'"),
        ({"measures": []}, "measures must name at least one measure"),
        ({"measures": ["rr", "mrr"]}, "measures names mrr twice"),
    ],
)
def test_bad_arguments_are_named(ranking: Ranking, changed: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        evaluate(ranking, **{"measures": "rr", **changed})


def test_intervals_stay_where_a_mean_can_be(ranking: Ranking) -> None:
    e = evaluate(ranking, ["rr", "precision@2", "dcg@2", "topk_loss@1"], level=0.999)
    for name in e.values:
        low, high = parse(name).metric.bounds
        assert low <= e.summary(name).interval.low <= e.summary(name).interval.high <= high
    wide = stats.summarize([1, 1 / 3], level=0.999).interval
    assert wide.low < 0 < 1 < wide.high
    assert e.summary("rr").interval == (0, 1)
    assert e.pooled("precision@2").interval == (0, 1)
    assert e.summary("dcg@2").interval.high > 2  # which has no upper bound
    assert e.summary("rr").std_error == stats.summarize([1, 1 / 3]).std_error


def test_values_are_found_by_any_text_of_a_measure(ranking: Ranking) -> None:
    e = evaluate(ranking, ["map@2", "ndcg(gain=linear)@ 3", "precision@2"])
    assert list(e.values) == ["map@2", "ndcg(gain=linear)@ 3", "precision@2"]
    for table in (e.values, e.means):
        assert table["map@2"] is table["ap@2"] is table["ap(norm=n_pos)@2"]
        assert "map@2" in table
        assert table.get("MAP @ two") is None
        with pytest.raises(KeyError, match="ap@3"):
            table["ap@3"]
    assert "p@2" not in e.weights or e.weights["p@2"] is e.weights["precision@2"]


@pytest.mark.parametrize(
    ("relevance", "options", "measures", "message"),
    [
        (1.0, {"min_relevance": 6}, ["rr", "ap@2"], r"reaches min_relevance=6: the largest is 1, "),
        (0.25, {}, ["rr", "ndcg@2"], r"largest is 0.25, so rr is undefined\. Pass min_relevance=0"),
        (0.0, {}, ["ndcg@2"], r"No relevance is above 0, so ndcg@2 is undefined"),
        (1.0, {}, ["pap@9"], r"pap@9 is undefined for all groups \(3 groups\): none has k = 9 neg"),
        (1.0, {}, ["err@2"], r"adds only 0\.0625\. Write err\(max_grade=1\)@2 if relevance is 0"),
    ],
)
def test_undefined_or_small_values_warn_with_the_reason(
    relevance: float, options: Any, measures: list[str], message: str
) -> None:
    grades = [relevance * g for g in RELEVANCE]
    with pytest.warns(PodiumWarning, match=message) as caught:
        evaluate(Ranking.from_scores(SCORES, grades, QID, **options), measures)
    assert len(caught) == 1
    block = [Ranking.from_scores([1, 0], [5, 0], [99, 99])]  # a later block of a stream
    evaluate([Ranking.from_scores(SCORES, RELEVANCE, QID), *block], ["rr", "pap@1"])


def test_engagement_divides_at_the_k_of_pap() -> None:
    r = Ranking.from_scores([3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0])
    names = [s.name for s in evaluate(r, ["hit_rate@1", "pap@2"]).segmented("engagement").segments]
    assert names == ["n_pos <= 2", "n_pos > 2"]
    names = [s.name for s in evaluate(r, ["rr@3", "rr@1"]).segmented("engagement").segments]
    assert names == ["n_pos <= 3", "n_pos > 3"]
    with raises(ArgumentError, "k", "by"):
        evaluate(r, "rr").segmented("n_pos", k=3)


def test_segments_keep_groups_without_a_value() -> None:
    r = Ranking.from_scores([1.0, 1.0, 1.0], [1, 1, 1], qid=[1, 2, 3])
    e = evaluate(r, "rr").segmented("age", [30.0, float("nan"), 30.0])
    assert {s.name: s.mask.tolist() for s in e.segments} == {
        "30.0": [True, False, True],
        "unknown": [False, True, False],
    }
