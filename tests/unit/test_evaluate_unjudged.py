"""Bounds over unjudged items: from tables, in an evaluation, and for two runs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium import data
from podium.errors import ArgumentError, PodiumWarning
from podium.evaluation import (
    difference_bounds,
    judgement_bounds,
    labels_to_settle,
    measure,
)
from podium.metrics import parse
from podium.ranking import Ranking

TRUTH = {"user": ["u", "u", "v"], "item": [1, 2, 1], "relevance": [1, 2, 1]}
RUN = {"user": ["u", "u", "v", "v"], "item": [9, 1, 1, 9], "score": [4, 3, 2, 1]}


@pytest.mark.parametrize("ties", ["worst", "best", "average"])
def test_ties_with_unjudged_items_are_refused_unless_ids_order_them(ties: Any) -> None:
    tied = {**RUN, "score": [4, 3, 1, 1]}
    with raises(ArgumentError, "unjudged", "ties"):
        measure(TRUTH, tied, "recall", unjudged="bounds", ties=ties)
    for rule in ("id", "random"):
        measure(TRUTH, tied, "recall", unjudged="bounds", ties=rule)
    judged_only = {"user": ["u", "u", "u", "v"], "item": [9, 1, 2, 1], "score": [4, 3, 3, 1]}
    measure(TRUTH, judged_only, "recall", unjudged="bounds", ties=ties)


def test_a_grade_includes_the_levels_below_it() -> None:
    # Grade 2 at rank 4 moves the second item of the ideal list from grade 1 to grade 2. Level 2
    # alone, without level 1, would give a lower value.
    r = Ranking.from_scores([4, 3, 2, 1], [2, 1, 1, 0], judged=[True, True, True, False])
    weights = 1 / np.log2([2, 3, 4, 5])
    low, high = judgement_bounds(r, "ndcg")
    assert low == pytest.approx(weights @ [2, 1, 1, 2] / (weights @ [2, 2, 1, 1]), abs=1e-12)
    assert high == pytest.approx(1.0, abs=1e-12)


def test_high_grades_that_differ_little_are_given_together() -> None:
    order = -np.arange(5)
    r = Ranking.from_scores(order, [3, 0, 0, 0, 0], judged=[True, True, True, False, False])
    values = [
        parse("ndcg")(Ranking.from_scores(order, [3, 0, 0, *grades]))[0]
        for grades in product((0, 3, 4), repeat=2)
    ]
    low, high = judgement_bounds(r, "ndcg", [3, 4])
    assert low == pytest.approx(min(values), abs=1e-12)
    assert high == pytest.approx(max(values), abs=1e-12)


def test_labels_are_the_fewest_here_and_weights_count() -> None:
    users = np.arange(3)
    truth = {"user": users, "item": [0, 0, 0]}
    base = {"user": [0, 1, 2, 2], "item": [7, 8, 0, 9], "rank": [1, 1, 1, 2]}
    candidate = {"user": [0, 1, 2, 2], "item": [0, 0, 9, 0], "rank": [1, 1, 1, 2]}
    pool = data.pool_unjudged(truth, base, candidate)
    # 1 + 1 - 1; items 7 and 8 could make each of the first two differences 0.
    assert difference_bounds(pool, "p@1")["precision@1"].value.tolist() == [1.0, 1.0, -1.0]
    labels = labels_to_settle(pool, "precision@1")
    assert labels["user"].tolist() == [0]
    assert labels["item"].tolist() == [7]
    assert not labels_to_settle(pool, "p@1", weights=np.array([1.0, 0.0, 0.0]))["user"].size
    equal = labels_to_settle(pool, "p@1", weights=np.array([1.0, 0.0, 1.0]))
    assert not equal["item"].size


def test_what_has_no_bounds_is_refused() -> None:
    n = 101  # ndcg takes at most 100 grades
    many = Ranking.from_scores(-np.arange(n), np.arange(n) + 1.0, judged=np.ones(n, np.bool_))
    two = Ranking.from_scores([2, 1], [1, 0], judged=[True, False])
    ties = Ranking.from_scores([2.0, 2.0], [0, 1], ties="threshold", judged=[False, True])
    judgement_bounds(many, "precision@5")
    one_user = {name: column[:2] for name, column in RUN.items()}
    labels = np.array(["u", "v"])
    for call in (
        lambda: judgement_bounds(many, "ndcg"),
        lambda: judgement_bounds(many, "ndcg", [1.0]),
        lambda: judgement_bounds(two, "ndcg(gain=exp2)", [1, 2000]),
        lambda: judgement_bounds(ties, "ap"),
        lambda: measure(TRUTH, RUN, "rr").bounds_of_mean("rr"),
        lambda: data.pool_unjudged(TRUTH, RUN, one_user, labels=labels, missing="skip"),
        lambda: data.pool_unjudged(TRUTH, RUN, RUN, unjudged="skip"),
    ):
        with pytest.raises(ArgumentError):
            call()
    assert data.pool_unjudged(TRUTH, RUN, one_user, missing="skip").labels.tolist() == ["u"]
    nothing = {**TRUTH, "relevance": [0, 0, 0]}
    with pytest.warns(PodiumWarning):
        undefined = measure(nothing, RUN, "rr", unjudged="bounds")
    assert np.isnan(undefined.bounds_of_mean("rr")).all()
