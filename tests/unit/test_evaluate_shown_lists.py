"""Measures of the items shown see the lists that measures of relevance see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.raised import raises

import podium
from podium.errors import ArgumentError
from podium.executors import Threads
from podium.metrics import SHOWN

N_USERS, N_ITEMS, SIZE = 60, 300, 9
MEASURES = [*(f"{name}@4" for name in SHOWN), "precision@4"]


def tables() -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
    """Return a truth, a run, and the tables of items; many scores differ by about 1e-9 only."""
    rng = np.random.default_rng(0)
    shown = np.argsort(rng.random((N_USERS, N_ITEMS)), axis=1)[:, :SIZE]
    user, item = np.repeat(np.arange(N_USERS), SIZE), shown.ravel()
    score = rng.integers(-3, 4, item.size) / 4 + rng.random(item.size) * 1e-9
    run = pl.DataFrame({"user": user, "item": item, "score": score})
    truth = run.select("user", "item").filter(pl.col("item") % 3 == 0)
    past = {"user": np.arange(450) % 7, "item": np.arange(450) % N_ITEMS}  # all items
    kinds = {"item": np.arange(N_ITEMS), "kind": [f"k{i % 4}" for i in range(N_ITEMS)]}
    return truth, run, {"catalogue": past, "items": kinds, "missing": "zero"}


BY_HAND = {
    "score_above": (0.3, lambda run: run.filter(pl.col("score") > 0.3)),
    "single_precision": (
        True,
        lambda run: run.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64)),
    ),
}


@pytest.mark.filterwarnings("ignore:.*order of equal scores")
@pytest.mark.parametrize("option", BY_HAND)
@pytest.mark.parametrize("in_parts", [False, True])
def test_options_of_scores_change_what_is_shown(
    tmp_path: Path, option: str, *, in_parts: bool
) -> None:
    truth, run, given = tables()
    value, by_hand = BY_HAND[option]
    without = podium.measure(truth, run, MEASURES, **given)
    expected = podium.measure(truth, by_hand(run), MEASURES, **given)
    run.write_parquet(tmp_path / "run.parquet")
    parts: dict[str, Any] = {"executor": Threads(2)} if in_parts else {}
    found = podium.measure(
        truth, tmp_path / "run.parquet", MEASURES, **given, **parts, **{option: value}
    )
    for measure in MEASURES:
        np.testing.assert_array_equal(found.values[measure], expected.values[measure])
        assert not np.array_equal(found.values[measure], without.values[measure], equal_nan=True)


def test_removed_items_remain_in_the_catalogue() -> None:
    run = {"user": [1, 1], "item": ["a", "b"], "score": [1.0, -1.0]}
    truth, past = {"user": [1], "item": ["a"]}, {"user": [1], "item": ["a"]}
    for least, expected in ((None, 2 / 2), (0, 1 / 2)):
        result = podium.measure(truth, run, "coverage@2", catalogue=past, score_above=least)
        assert result.means == {"coverage@2": expected}
    order = {"user": [1, 1], "item": ["a", "b"], "rank": [1, 2]}
    with raises(ArgumentError, "score_above"):
        podium.measure(truth, order, "coverage@2", catalogue=past, score_above=0)
