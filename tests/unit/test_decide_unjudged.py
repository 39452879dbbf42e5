"""The gate with unjudged="bounds": labels that settle the order, against all judgements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from podium import measure
from podium.decide import gate
from podium.errors import PodiumWarning
from podium.types import PerGroup

Table = dict[str, Any]

# Item 0 is relevant to each user, and item 1 has been judged as not relevant.
TRUTH: Table = {"user": [0, 0, 1, 2], "item": [0, 1, 0, 0], "relevance": [1, 0, 1, 1]}
USERS: Table = {"user": [0, 1, 2], "visits": [2, 1, 0.5]}


def run(*lists: Sequence[int]) -> Table:
    """Return the table of the lists of users 0, 1, 2."""
    rows = [(u, i, p + 1) for u, items in enumerate(lists) for p, i in enumerate(items)]
    return dict(zip(("user", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))


BASE = run((7, 0, 1), (8, 0), (0, 9))
CANDIDATE = run((0, 7), (0, 5), (9, 0, 1))
UNJUDGED = [(0, 7), (1, 5), (1, 8), (2, 1), (2, 9)]
JUDGEMENTS = np.array(list(product((0, 1), repeat=len(UNJUDGED))))


@cache
def differences(name: str) -> PerGroup:
    """Return the difference of each user after each way to judge the items, (32, 3)."""
    users, items = zip(*UNJUDGED, strict=True)
    rows: list[PerGroup] = []
    for labels in JUDGEMENTS:
        added = zip(TRUTH, (users, items, labels), strict=True)
        truth = {column: [*TRUTH[column], *values] for column, values in added}
        base, candidate = (measure(truth, lists, name).values[name] for lists in (BASE, CANDIDATE))
        rows.append(candidate - base)
    return np.array(rows)


@pytest.mark.parametrize("name", ["ndcg@2", "rr", "precision@1", "ap"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_labels_that_turn_out_not_relevant_settle_the_order(name: str, weight: str | None) -> None:
    users: dict[str, Any] = {} if weight is None else {"users": USERS, "weight": weight}
    result = gate(TRUTH, BASE, CANDIDATE, name, unjudged="bounds", **users)
    assert result.primary.difference > 0
    assert result.primary.unjudged is not None
    assert result.primary.unjudged.can_reverse
    labels = result.labels_to_settle
    assert labels is not None
    fixed = [
        UNJUDGED.index((int(user), int(item)))
        for user, item in zip(labels["user"], labels["item"], strict=True)
    ]
    assert 0 < len(fixed) < len(UNJUDGED)
    weights = np.array(USERS["visits"] if weight else [1.0, 1.0, 1.0])
    sums = differences(name) @ weights
    assert sums[~JUDGEMENTS[:, fixed].any(axis=1)].min() >= -1e-12
    assert sums[~JUDGEMENTS[:, fixed[1:]].any(axis=1)].min() < 0


def test_runs_without_unjudged_items_or_users_have_a_text() -> None:
    judged = run((0, 1), (0,), (0,))
    assert "no unjudged items" in str(gate(TRUTH, judged, judged, "rr", unjudged="bounds"))
    irrelevant = {**TRUTH, "relevance": [0, 0, 0, 0]}
    with pytest.warns(PodiumWarning):
        result = gate(irrelevant, BASE, CANDIDATE, "rr", unjudged="bounds")
    assert "No user has a value of rr" in str(result)
    assert result.as_json()["claims"][0]["unjudged"]["low"] is None
