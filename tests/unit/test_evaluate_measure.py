"""measure and compare: from a truth and runs to values, with segments and conventions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.raised import raises

from podium.errors import ArgumentError
from podium.evaluation import measure

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
