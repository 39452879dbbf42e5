"""The gate of two runs with the same lists, which needs no test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.unit.gate_tables import BASE, PAST, SIZE, TRUTH, N, Table

from podium.decide import gate


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
