"""Evaluations: segments, streams, conventions, pairs of runs by label, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.raised import raises

from podium.errors import ArgumentError, PodiumWarning
from podium.evaluation import compare_evaluations, evaluate, measure, stats
from podium.evaluation.evaluation import Evaluation
from podium.ranking import Ranking
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


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ([10, 0.5, 0.25], ["0.25", "0.5", "10"]),
        (["10 to 20", "5 to 9", "5 to 10"], ["5 to 9", "5 to 10", "10 to 20"]),
        ([5, None, 10], ["5", "10", "unknown"]),
        ([30.0, float("nan"), 30.0], ["30.0", "unknown"]),
        (["unknown", None, "unknown"], ["no value", "unknown"]),
    ],
)
def test_segments_are_in_the_order_of_numbers_in_their_names(
    ranking: Ranking, key: list[Any], names: list[str]
) -> None:
    segments = evaluate(ranking, "rr").segmented("age", np.array(key, object)).segments
    assert [s.name for s in segments] == names
    assert np.sum([s.mask for s in segments], axis=0).tolist() == [1, 1, 1]


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


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        (lambda r: evaluate(r, "rr", undefined="error"), ("undefined",)),
        (lambda r: evaluate(r, []), ("measures",)),
        (lambda r: evaluate(r, ["rr", "mrr"]), ("measures",)),
        (lambda r: evaluate(r, "coverage@2"), ("catalogue",)),
        (lambda r: evaluate(r, "diversity@2"), ("items",)),
        (lambda r: evaluate([r, r], "rr"), ()),
        (lambda r: evaluate([], "rr"), ()),
        (lambda r: evaluate(r, "rr").pooled("rr"), ()),
        (lambda r: evaluate(r, "rr").segmented("country", ["UK", "DE"]), ()),
        (lambda r: evaluate(r, "rr").summary("ap"), ()),
        (lambda r: evaluate(r, "rr").segmented("engagement"), ("by",)),
    ],
)
def test_bad_arguments_are_named(ranking: Ranking, call: Any, parameters: tuple[str, ...]) -> None:
    with raises(ArgumentError, *parameters):
        call(ranking)


def test_values_are_found_by_any_text_of_a_measure(ranking: Ranking) -> None:
    e = evaluate(ranking, ["map@2", "ndcg(gain=linear)@ 3", "precision@2"])
    assert list(e.values) == ["map@2", "ndcg(gain=linear)@ 3", "precision@2"]
    for table in (e.values, e.means):
        assert table["map@2"] is table["ap@2"] is table["ap(norm=n_pos)@2"]
        assert "map@2" in table
        assert table.get("MAP @ two") is None
        assert "ap@3" not in table
    assert "p@2" not in e.weights or e.weights["p@2"] is e.weights["precision@2"]


@pytest.mark.parametrize(
    ("relevance", "options", "measures", "message"),
    [
        (1.0, {"min_relevance": 6}, ["rr", "ap@2"], "min_relevance=6: the largest is 1"),
        (0.25, {}, ["rr", "ndcg@2"], "largest is 0.25, so rr is undefined"),
        (0.0, {}, ["ndcg@2"], "ndcg@2 is undefined"),
        (1.0, {}, ["pap@9"], "pap@9 is undefined for all groups"),
        (1.0, {}, ["err@2"], r"adds only 0\.0625"),
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


TRUTH = {"user": [1, 1, 2, 3], "item": ["a", "b", "a", "c"]}
RUN = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
USERS = {"user": [3, 2, 1], "country": ["x", "y", "x"]}


def test_users_table_shares_the_name_of_the_user_column() -> None:
    truth, run = (
        {"who": t["user"], **{k: v for k, v in t.items() if k != "user"}} for t in (TRUTH, RUN)
    )
    users = {"who": USERS["user"], "country": USERS["country"]}
    e = measure(truth, run, "recall@1", missing="zero", by="country", users=users, user="who")
    plain = measure(TRUTH, RUN, "recall@1", missing="zero", by="country", users=USERS)
    assert [s.mask.tolist() for s in e.segments] == [s.mask.tolist() for s in plain.segments]


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
def test_users_that_a_package_refuses_can_have_a_rule() -> None:
    with pytest.raises(ArgumentError, match="missing"):
        measure(TRUTH, RUN, "rr@5", like="recbole")
    given = measure(TRUTH, RUN, "rr@5", like="recbole", missing="zero")
    assert given.conventions["missing"] == given.as_json()["protocol"]["missing"] == "zero"
    assert given.means == measure(TRUTH, RUN, "rr@5", missing="zero").means


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ({"by": "country"}, ("by", "users")),
        ({"users": USERS}, ("users", "by")),
        ({"by": "engagement", "users": USERS}, ("users", "by")),
        ({"by": "n_pos", "users": {**USERS, "n_pos": [5, 6, 7]}}, ("by",)),
    ],
)
def test_segments_that_fit_no_table_of_users_are_refused(
    options: Any, parameters: tuple[str, ...]
) -> None:
    with raises(ArgumentError, *parameters):
        measure(TRUTH, RUN, "recall@1", missing="zero", **options)


N, SIZE = 24, 6
MEASURES = ["rr", "ndcg@3", "topk_loss@1"]
RELEVANT = np.tile([1, 1, 0, 0, 0, 0], N)


def run(noise: float, *, labels: Any = None, seed: int = 0, **options: Any) -> Evaluation:
    """Evaluate lists with two positives in six, ranked the better the smaller the noise."""
    scores = RELEVANT + noise * np.random.default_rng(seed).normal(size=N * SIZE)
    qid = np.repeat(np.arange(N) if labels is None else labels, SIZE)
    return evaluate(Ranking.from_scores(scores, RELEVANT, qid), MEASURES, **options)


def test_groups_are_matched_by_label() -> None:
    a = run(2.0).segmented("odd", np.arange(N) % 2)
    b = run(1.0, labels=np.arange(10, 10 + N), seed=1)
    comparison = compare_evaluations({"a": a, "b": b})
    shared = np.arange(10, N)
    for e in comparison.evaluations.values():
        assert e.labels.tolist() == shared.tolist()
    expected = stats.paired(a.values["rr"][10:], b.values["rr"][: N - 10])
    assert comparison.difference("rr", "b").test == expected
    masks = [s.mask.tolist() for s in comparison.evaluations["a"].segments]
    assert masks == [(shared % 2 == 0).tolist(), (shared % 2 == 1).tolist()]
    scores = RELEVANT + np.random.default_rng(0).normal(size=N * SIZE)
    blocks = [
        Ranking.from_scores(scores[SIZE * i :][:SIZE], RELEVANT[:SIZE], np.full(SIZE, i))
        for i in reversed(range(1, N))
    ]
    comparison = compare_evaluations({"whole": run(1.0), "stream": evaluate(blocks, MEASURES)})
    test = comparison.difference("rr", "stream").test
    assert (test.wins, test.losses, test.equal) == (0, 0, N - 1)


def test_runs_that_cannot_be_paired_are_refused() -> None:
    one = run(1.0)
    other_measure = evaluate(Ranking.from_scores([1.0], [1]), "rr")
    for runs in (
        {},
        {"a": one},
        {"a": one, "b": run(1.0, labels=np.arange(100, 100 + N))},
        {"a": one, "b": other_measure},
    ):
        with pytest.raises(ArgumentError):
            compare_evaluations(runs)
    with pytest.raises(ArgumentError, match="got undefined='skip' in a and 'zero' in b"):
        compare_evaluations({"a": one, "b": run(1.0, undefined="zero")})
    other_intervals = run(1.0, interval="bootstrap", level=0.9)
    assert compare_evaluations({"a": one, "b": other_intervals}).differences
