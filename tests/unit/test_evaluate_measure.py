"""measure and compare: from a truth and runs to values, with segments and conventions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.errors import ArgumentError, UnsettledError
from podium.evaluation import compare, measure

TRUTH = {"user": [1, 1, 2, 3], "item": ["a", "b", "a", "c"]}
RUN = {"user": [1, 1, 2], "item": ["a", "c", "c"], "score": [0.9, 0.8, 0.7]}
USERS = {"user": [3, 2, 1], "country": ["x", "y", "x"]}


def test_conventions_are_kept_for_the_record() -> None:
    e = measure(TRUTH, RUN, "rr", missing="zero", ties="best", undefined="zero", n_items=9)
    assert e.conventions == {
        "ties": "best",
        "min_relevance": 1.0,
        "low_grades": "keep",
        "undefined": "zero",
        "interval": "t",
        "seed": 0,
        "missing": "zero",
        "unjudged": "negative",
        "unretrieved": "count",
        "single_precision": False,
        "score_above": None,
        "n_items": 9,
    }


def test_segments_by_column_of_users_and_built_in_together() -> None:
    e = measure(TRUTH, RUN, "recall@1", missing="zero", by=["engagement", "country"], users=USERS)
    masks = {(s.by, s.name): s.mask.tolist() for s in e.segments}
    assert masks == {
        ("engagement", "n_pos <= 1"): [False, True, True],
        ("engagement", "n_pos > 1"): [True, False, False],
        ("country", "x"): [True, False, True],
        ("country", "y"): [False, True, False],
    }
    assert (
        json.loads(json.dumps(e.as_json()))["segments"][2]["measures"]["recall@1"]["mean"] == 1 / 4
    )


def test_a_column_needs_a_table_of_users() -> None:
    with pytest.raises(ArgumentError, match=r"got 'country'.* Pass users to use one of its col"):
        measure(TRUTH, RUN, "rr", missing="zero", by="country")


def test_ratings_need_a_threshold() -> None:
    truth = {"user": [1, 1], "item": ["a", "c"], "rating": [5, 2]}
    run = {"user": [1, 1], "item": ["a", "c"], "score": [1.0, 2.0]}
    with pytest.raises(ArgumentError, match="min_relevance"):
        measure(truth, run, "rr")
    assert measure(truth, run, "rr", min_relevance=4).means == {"rr": 1 / 2}


def test_lists_that_are_too_short_are_counted() -> None:
    truth = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
    run = {"user": [1, 2], "item": ["a", "a"], "score": [1.0, 1.0]}
    with pytest.raises(
        UnsettledError, match=r"for 1 of 2 groups, first group 1 \(a list of length 1\)"
    ):
        measure(truth, run, "pap@2")


def test_users_that_nothing_divides_by_are_refused() -> None:
    for by in ((), "engagement"):
        with pytest.raises(ArgumentError, match="users has no effect, because by names none"):
            measure(TRUTH, RUN, "recall@1", missing="zero", by=by, users=USERS)


@pytest.mark.parametrize("by", ["n_pos", ["country", "n_pos"]])
def test_a_column_with_the_name_of_a_built_in_division_is_refused(by: Any) -> None:
    users = {**USERS, "n_pos": [5, 6, 7]}
    with pytest.raises(ArgumentError, match="by='n_pos' is a column of users and a division"):
        measure(TRUTH, RUN, "recall@1", missing="zero", by=by, users=users)
    measure(TRUTH, RUN, "recall@1", missing="zero", by="country", users=users)


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
    assert given.conventions["missing"] == "zero"
    assert given.means == measure(TRUTH, RUN, "rr@5", missing="zero").means
    with pytest.raises(ArgumentError, match=r"missing='zero' and like='trec_eval' both set"):
        measure(TRUTH, RUN, "rr", like="trec_eval", missing="zero")


@pytest.mark.parametrize(
    ("like", "text", "option", "value"),
    [
        ("torchmetrics", "ndcg@2", "ties", "best"),
        ("torchmetrics", "ap", "score_above", 0.3),
        ("torchmetrics", "ndcg@2", "score_above", 0.3),
        ("trec_eval", "rr", "score_above", 0),
    ],
)
def test_conventions_of_a_package_for_one_measure_can_not_be_passed(
    like: str, text: str, option: str, value: Any
) -> None:
    with pytest.raises(ArgumentError, match=f"^{option}={value!r} and like='{like}' both set"):
        measure(TRUTH, RUN, text, like=like, **{option: value})


@pytest.mark.parametrize("runs", [{}, {"only": RUN}])
def test_a_comparison_needs_two_runs(runs: Any) -> None:
    with pytest.raises(ArgumentError, match=f"runs must hold at least two runs, got {len(runs)}"):
        compare(TRUTH, runs, "rr")
