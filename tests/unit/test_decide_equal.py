"""The gate of equal lists, which needs no test, and of unjudged items: what settles the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.gate_tables import BASE, PAST, TRUTH, Table

from podium.data import pool_unjudged
from podium.decide import gate
from podium.errors import PodiumWarning
from podium.evaluation import labels_to_settle


def with_scores(table: Table, scores: Any) -> Table:
    return {**table, "score": np.asarray(scores, float)}


def lists(*items: list[int]) -> Table:
    """Return the lists of users, the best item first."""
    rows = [(u, i, -r) for u, of in enumerate(items) for r, i in enumerate(of)]
    user, item, score = (list(column) for column in zip(*rows, strict=True))
    return {"user": user, "item": item, "score": score}


def equal(truth: Table, base: Table, candidate: Table, measure: str, **options: Any) -> bool:
    result = gate(truth, base, candidate, measure, **options)
    assert result.passed == (result.verdict != "cannot tell")
    return result.verdict == "equal"


@pytest.mark.parametrize(
    ("measure", "depth"),
    [("precision@2", 2), ("ndcg@2", 2), ("pap@2", 3), ("auc@2", 2), ("rr", 5), ("pauc@1", 5)],
)
def test_lists_are_compared_to_the_depth_that_a_measure_reads(measure: str, depth: int) -> None:
    truth = {"user": [0, 1], "item": [1, 1]}
    base = lists([1, 2, 3, 4, 5], [2, 1, 3, 4, 5])
    for place in range(2, 5):
        items = [1, 2, 3, 4, 5]
        items[place] = 9
        assert equal(truth, base, lists(items, [2, 1, 3, 4, 5]), measure) == (place >= depth)


@pytest.mark.filterwarnings("ignore:The order of equal scores")
def test_ties_must_be_the_same() -> None:
    truth = {"user": [0], "item": [3]}
    base = {"user": [0] * 3, "item": [1, 2, 3], "score": [2.0, 1.0, 1.0]}
    assert equal(truth, base, with_scores(base, [9, 5, 5]), "rr@2")
    assert not equal(truth, base, with_scores(base, [3, 2, 1]), "rr@2")
    # Item 3 is in the tie that crosses the cutoff, so that a tie rule could choose it.
    swapped = {"user": [0] * 3, "item": [1, 2, 4], "score": [2.0, 1.0, 1.0]}
    truth = {"user": [0, 0], "item": [1, 2]}
    assert not equal(truth, base, swapped, "rr@2")
    assert not equal(truth, with_scores(base, [2, 1 + 1e-12, 1]), base, "rr@3")
    options: Any = {"single_precision": True, "ties": "worst"}
    assert equal(truth, with_scores(base, [2, 1 + 1e-12, 1]), base, "rr@3", **options)


def test_lists_are_those_after_the_conventions() -> None:
    truth = {"user": [0, 0, 0], "item": [1, 2, 3], "relevance": [0, 1, 0]}
    base, other = lists([1, 8, 2, 3]), lists([9, 1, 2, 3])
    assert not equal(truth, base, other, "rr@3")
    assert equal(truth, base, other, "rr@3", unjudged="skip")
    base = {"user": [0, 0], "item": [2, 8], "score": [1.0, 0.0]}
    other = {"user": [0, 0], "item": [2, 9], "score": [1.0, 0.0]}
    assert not equal(truth, base, other, "rr@2")
    assert equal(truth, base, other, "rr@2", score_above=0)
    # With unretrieved="drop", the items below the score decide which relevant items count.
    assert not equal(truth, base, other, "rr@2", like="torchmetrics")


def test_a_guard_that_requires_a_gain_is_broken_and_users_without_a_value_give_no_pass() -> None:
    broken = gate(
        TRUTH, BASE, BASE, "ndcg@5", guards={"recall@5": 0.1, "coverage@2": -0.1}, catalogue=PAST
    )
    assert (broken.decision, [c.verdict for c in broken.claims]) == (
        "fail",
        ["equal", "inferior", "equal"],
    )
    assert "the runs are equal" in str(gate(TRUTH, BASE, BASE, "ndcg@5"))
    truth = {"user": [0, 1], "item": [1, 1], "relevance": [1, 1]}
    with pytest.warns(UserWarning, match="min_relevance"):
        none = gate(truth, lists([1], [1]), lists([1], [1]), "rr", min_relevance=2)
    assert (none.decision, none.primary.n_users) == ("cannot tell", 0)


# Item 0 is relevant to each user, and item 1 has been judged as not relevant.
PARTLY_JUDGED: Table = {"user": [0, 0, 1, 2], "item": [0, 1, 0, 0], "relevance": [1, 0, 1, 1]}
VISITORS: Table = {"user": [0, 1, 2], "visits": [2, 1, 0.5]}


FIRST = lists([7, 0, 1], [8, 0], [0, 9])
SECOND = lists([0, 7], [0, 5], [9, 0, 1])


@pytest.mark.parametrize("name", ["ndcg@2", "rr", "precision@1", "ap"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_labels_are_those_that_settle_the_weighted_order(name: str, weight: str | None) -> None:
    users: dict[str, Any] = {} if weight is None else {"users": VISITORS, "weight": weight}
    result = gate(PARTLY_JUDGED, FIRST, SECOND, name, unjudged="bounds", **users)
    pool = pool_unjudged(PARTLY_JUDGED, FIRST, SECOND)
    weights = None if weight is None else np.array(VISITORS["visits"])
    expected = labels_to_settle(pool, name, weights=weights)
    assert result.primary.unjudged is not None
    assert result.primary.unjudged.can_reverse
    assert result.labels_to_settle is not None
    for column, labels in expected.items():
        assert labels.size
        np.testing.assert_array_equal(result.labels_to_settle[column], labels)


def test_measures_of_the_items_shown_have_no_range() -> None:
    options: dict[str, Any] = {"guards": {"coverage@1": -1.0}, "catalogue": PAST}
    result = gate(PARTLY_JUDGED, FIRST, SECOND, "rr", unjudged="bounds", **options)
    assert [claim.unjudged is None for claim in result.claims] == [False, True]


def test_runs_without_unjudged_items_or_users_have_a_text() -> None:
    judged = lists([0, 1], [0], [0])
    assert "no unjudged items" in str(gate(PARTLY_JUDGED, judged, judged, "rr", unjudged="bounds"))
    irrelevant = {**PARTLY_JUDGED, "relevance": [0, 0, 0, 0]}
    with pytest.warns(PodiumWarning):
        result = gate(irrelevant, FIRST, SECOND, "rr", unjudged="bounds")
    assert "No user has a value of rr" in str(result)
    assert result.as_json()["claims"][0]["unjudged"]["low"] is None
