"""The gate of equal lists, which needs no test, and of unjudged items: what settles the order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.unit.gate_tables import BASE, PAST, SIZE, TRUTH, N, Table

from podium import measure
from podium.decide import gate
from podium.errors import PodiumWarning
from podium.types import PerGroup


def with_scores(table: Table, scores: Any) -> Table:
    return {**table, "score": np.asarray(scores, float)}


def lists(*items: list[int], first_user: int = 0) -> Table:
    """Return the lists of users, the best item first."""
    rows = [(u + first_user, i, -r) for u, of in enumerate(items) for r, i in enumerate(of)]
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


def test_parts_and_memory_agree(tmp_path: Path) -> None:
    n = 4 * N
    users, items = np.repeat(np.arange(n), SIZE), np.tile(np.arange(SIZE), n)
    score = np.random.default_rng(3).normal(size=users.size)
    a = pl.DataFrame({"user": users, "item": items, "score": score}).with_columns(
        user=pl.format("u{}", "user")
    )
    one_off = pl.Series(np.where(np.arange(users.size) == users.size - 1, 99, items))
    tables = {
        "t": a.filter(pl.col("item") == 0).drop("score"),
        "a": a,
        "b": a.with_columns(pl.col("score") * 2).sample(fraction=1, shuffle=True, seed=1),
        "c": a.with_columns(item=one_off),
    }
    for name, table in tables.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    for memory in (None, "64KiB"):
        for other, verdict in (("b", "equal"), ("c", "cannot tell")):
            paths = [tmp_path / f"{name}.parquet" for name in ("t", "a", other)]
            assert gate(*paths, "ndcg", memory=memory).verdict == verdict


# Item 0 is relevant to each user, and item 1 has been judged as not relevant.
PARTLY_JUDGED: Table = {"user": [0, 0, 1, 2], "item": [0, 1, 0, 0], "relevance": [1, 0, 1, 1]}
VISITORS: Table = {"user": [0, 1, 2], "visits": [2, 1, 0.5]}


def ranked(*lists: Sequence[int]) -> Table:
    """Return the table of the lists of users 0, 1, 2."""
    rows = [(u, i, p + 1) for u, items in enumerate(lists) for p, i in enumerate(items)]
    return dict(zip(("user", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))


FIRST = ranked((7, 0, 1), (8, 0), (0, 9))
SECOND = ranked((0, 7), (0, 5), (9, 0, 1))
UNJUDGED = [(0, 7), (1, 5), (1, 8), (2, 1), (2, 9)]
JUDGEMENTS = np.array(list(product((0, 1), repeat=len(UNJUDGED))))


@cache
def differences(name: str) -> PerGroup:
    """Return the difference of each user after each way to judge the items, (32, 3)."""
    users, items = zip(*UNJUDGED, strict=True)
    rows: list[PerGroup] = []
    for labels in JUDGEMENTS:
        added = zip(PARTLY_JUDGED, (users, items, labels), strict=True)
        truth = {column: [*PARTLY_JUDGED[column], *values] for column, values in added}
        base, candidate = (measure(truth, lists, name).values[name] for lists in (FIRST, SECOND))
        rows.append(candidate - base)
    return np.array(rows)


@pytest.mark.parametrize("name", ["ndcg@2", "rr", "precision@1", "ap"])
@pytest.mark.parametrize("weight", [None, "visits"])
def test_labels_that_turn_out_not_relevant_settle_the_order(name: str, weight: str | None) -> None:
    users: dict[str, Any] = {} if weight is None else {"users": VISITORS, "weight": weight}
    result = gate(PARTLY_JUDGED, FIRST, SECOND, name, unjudged="bounds", **users)
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
    weights = np.array(VISITORS["visits"] if weight else [1.0, 1.0, 1.0])
    sums = differences(name) @ weights
    assert sums[~JUDGEMENTS[:, fixed].any(axis=1)].min() >= -1e-12
    assert sums[~JUDGEMENTS[:, fixed[1:]].any(axis=1)].min() < 0


def test_runs_without_unjudged_items_or_users_have_a_text() -> None:
    judged = ranked((0, 1), (0,), (0,))
    assert "no unjudged items" in str(gate(PARTLY_JUDGED, judged, judged, "rr", unjudged="bounds"))
    irrelevant = {**PARTLY_JUDGED, "relevance": [0, 0, 0, 0]}
    with pytest.warns(PodiumWarning):
        result = gate(irrelevant, FIRST, SECOND, "rr", unjudged="bounds")
    assert "No user has a value of rr" in str(result)
    assert result.as_json()["claims"][0]["unjudged"]["low"] is None
