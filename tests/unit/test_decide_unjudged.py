"""The gate with unjudged="bounds": ranges against all judgements, and labels that settle them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from podium import measure
from podium.decide import Gate, gate
from podium.errors import ArgumentError, PodiumWarning
from podium.types import PerGroup

Table = dict[str, Any]

# Item 0 is relevant to each user, and item 1 has been judged as not relevant.
TRUTH: Table = {"user": [0, 0, 1, 2], "item": [0, 1, 0, 0], "relevance": [1, 0, 1, 1]}
USERS: Table = {"user": [0, 1, 2], "country": ["FR", "UK", "UK"], "visits": [2, 1, 0.5]}
PAST: Table = {"user": [9, 9], "item": [0, 7]}


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


def decided(name: str, **options: Any) -> Gate:
    return gate(TRUTH, BASE, CANDIDATE, name, unjudged="bounds", **options)


@pytest.mark.parametrize("weight", [None, "visits"])
def test_ranges_are_those_of_all_judgements(weight: str | None) -> None:
    names = ("ndcg@2", "rr", "precision@1", "recall@2", "ap")
    guards = dict.fromkeys(names[1:], -2.0)
    result = decided(names[0], guards=guards, by="country", users=USERS, weight=weight)
    weights = np.array(USERS["visits"] if weight else [1.0, 1.0, 1.0])
    rows = {"": [1, 1, 1], "FR": [1, 0, 0], "UK": [0, 1, 1]}
    assert [claim.measure for claim in result.claims] == [*names] * 3
    for claim in result.claims:
        shares = weights * rows[claim.segment]
        means = differences(claim.measure) @ shares / shares.sum()
        assert claim.unjudged is not None
        assert claim.unjudged.exact
        assert claim.unjudged.low == pytest.approx(means.min(), abs=1e-12)
        assert claim.unjudged.high == pytest.approx(means.max(), abs=1e-12)
        assert claim.unjudged.low <= claim.difference <= claim.unjudged.high


@pytest.mark.parametrize("name", ["ndcg@2", "rr", "precision@1", "ap"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_labels_that_turn_out_not_relevant_settle_the_order(name: str, weight: str | None) -> None:
    users: dict[str, Any] = {} if weight is None else {"users": USERS, "weight": weight}
    result = decided(name, **users)
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


def test_verdicts_are_those_of_unjudged_items_as_not_relevant() -> None:
    options: dict[str, Any] = {"guards": {"rr": -0.1}, "by": "country", "users": USERS}
    bounded = decided("ndcg@2", **options).as_json()
    plain = gate(TRUTH, BASE, CANDIDATE, "ndcg@2", **options).as_json()
    assert plain["unjudged"] is None
    for one, other in zip(bounded["claims"], plain["claims"], strict=True):
        assert other["unjudged"] is None
        assert one | {"unjudged": None} == other
    for name in ("decision", "verdict", "reasons"):
        assert bounded[name] == plain[name]
    assert bounded["conventions"] == plain["conventions"] | {"unjudged": "bounds"}


def test_measures_of_the_items_shown_have_no_range() -> None:
    guards = {"coverage@1": -1.0, "popularity@2": 9.0}
    result = decided("rr", guards=guards, catalogue=PAST)
    assert [claim.unjudged is None for claim in result.claims] == [False, True, True]


def test_undefined_users_follow_the_rule() -> None:
    truth = {name: column[:3] for name, column in TRUTH.items()}
    truth = {"user": [*truth["user"], 2], "item": [*truth["item"], 1], "relevance": [1, 0, 1, 0]}
    options: dict[str, Any] = {"measure": "rr", "unjudged": "bounds"}
    skipped = gate(truth, BASE, CANDIDATE, **options).primary
    zero = gate(truth, BASE, CANDIDATE, **options, undefined="zero").primary
    assert skipped.unjudged is not None
    assert zero.unjudged is not None
    assert (skipped.n_users, zero.n_users) == (2, 3)
    assert 3 * zero.unjudged.low == pytest.approx(2 * skipped.unjudged.low)
    assert 3 * zero.unjudged.high == pytest.approx(2 * skipped.unjudged.high)


def test_users_of_one_run_have_no_effect() -> None:
    further = {name: [*BASE[name], value] for name, value in (("user", 3), ("item", 6))}
    base = {**further, "rank": [*BASE["rank"], 1]}
    truth = {name: [*TRUTH[name], value] for name, value in zip(TRUTH, (3, 0, 1), strict=True)}
    options: dict[str, Any] = {"unjudged": "bounds", "missing": "skip"}
    assert gate(truth, base, CANDIDATE, "rr", **options).claims == decided("rr").claims


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "sequential": (
        {"sequential": True, "state": "s", "horizon": 9},
        r"^unjudged='bounds' is not available with sequential=True, because .* Use the gate once",
    ),
    "measure": (
        {"measure": "pap@3"},
        r"^unjudged='bounds' is not available for pap@3\. It supports precision, recall, rr, ",
    ),
    "guard": (
        {"guards": {"hit_rate@1": -0.1, "coverage@1": -1}, "catalogue": PAST},
        r"^unjudged='bounds' is not available for hit_rate@1\. It supports precision",
    ),
}


@pytest.mark.parametrize(("options", "pattern"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_range_is_refused(options: dict[str, Any], pattern: str) -> None:
    arguments: dict[str, Any] = {"measure": "rr", "unjudged": "bounds", **options}
    with pytest.raises(ArgumentError, match=pattern):
        gate("none.csv", "none.csv", "none.csv", **arguments)


def test_sentences_of_runs_without_unjudged_items_or_users() -> None:
    judged = run((0, 1), (0,), (0,))
    result = gate(TRUTH, judged, judged, "rr", unjudged="bounds")
    assert "\nThe lists contain no unjudged items.\n" in str(result)
    irrelevant = {**TRUTH, "relevance": [0, 0, 0, 0]}
    with pytest.warns(PodiumWarning):
        result = gate(irrelevant, BASE, CANDIDATE, "rr", unjudged="bounds")
    assert "\nNo user has a value of rr, so unjudged items have no effect.\n" in str(result)
    assert result.as_json()["claims"][0]["unjudged"]["low"] is None
