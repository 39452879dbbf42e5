"""RoBiRank's study on MovieLens-1M: figures of known values, and the recipe on made-up ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import parts
from podium_studies.recipe import Recipe, load
from podium_studies.yun2014 import ml1m
from podium_studies.yun2014.ml1m import ROBIRANK


def cells_of(recipe: Recipe, levels: Mapping[str, list[list[float]]]) -> dict[str, Any]:
    """Return cells in which a method's seeds give users these values by each measure."""
    measures = recipe.parameters["measures"]
    cells: dict[str, Any] = {}
    for cell in ml1m.cells(recipe):
        key_parts = parts(cell)
        rows = levels.get(key_parts["method"], [[0.5, 0.5, 0.5]] * 9)
        row = rows[int(key_parts.get("seed", 0))]
        cells[cell] = {
            "seconds": 3.0,
            "clock": 2.0,
            "means": dict.fromkeys(measures, float(np.mean(row))),
            "values": dict.fromkeys(measures, row),
        }
        if key_parts["part"] == ml1m.TUNING:
            options = ml1m.points(recipe, key_parts["method"])[int(key_parts["point"])]
            best = options == recipe.parameters["methods"][key_parts["method"]]["chosen"]
            cells[cell] |= {"options": options, "means": dict.fromkeys(measures, float(best))}
    return cells


def test_difference_is_by_user_after_the_mean_over_seeds() -> None:
    recipe = replace(load("robirank-ml1m"), repeats=2)
    mine = [[0.9, 0.5, 0.4], [0.7, 0.5, 0.6]]  # means over seeds .8, .5, .5; of seeds .6, .6
    theirs = [[0.5, 0.4, 0.3], [0.5, 0.4, 0.6]]  # .5, .4, .45; of seeds .4, .5
    figures = ml1m.fold(recipe, cells_of(recipe, {ROBIRANK: mine, "ALS": theirs}))
    gap = figures[f"{ROBIRANK} − ALS ndcg@10"]
    gaps = np.array([0.3, 0.1, 0.05])
    assert gap.value == pytest.approx(gaps.mean())
    of_users, of_seeds = gaps.var(ddof=1) / 3, np.var([0.4, 0.5], ddof=1) / 2
    assert gap.std_error == pytest.approx(np.sqrt(of_users + of_seeds))
    assert gap.n == 3
    assert figures[f"{ROBIRANK} ndcg@10"].value == pytest.approx(0.6)
    assert figures["ALS, seconds on the clock"].value == 2.0


def test_user_without_a_value_is_left_out_of_the_difference() -> None:
    recipe = replace(load("robirank-ml1m"), repeats=1)
    cells = cells_of(recipe, {ROBIRANK: [[0.9, float("nan"), 0.4]], "EASE": [[0.5, 0.4, 0.3]]})
    gap = ml1m.fold(recipe, cells)[f"{ROBIRANK} − EASE ndcg@10"]
    assert gap.value == pytest.approx((0.4 + 0.1) / 2)
    assert gap.n == 2


def test_grid_that_chose_otherwise_is_counted() -> None:
    recipe = load("robirank-ml1m")
    cells = cells_of(recipe, {})
    for cell, actual in cells.items():
        key_parts = parts(cell)
        if key_parts["part"] == ml1m.TUNING and key_parts["method"] in ("EASE", "ItemKNN"):
            actual["means"] = dict.fromkeys(actual["means"], float(key_parts["point"]))
    last = [ml1m.points(recipe, name)[-1] for name in ("EASE", "ItemKNN")]
    chosen = [recipe.parameters["methods"][name]["chosen"] for name in ("EASE", "ItemKNN")]
    wrong = sum(one != other for one, other in zip(last, chosen, strict=True))
    assert ml1m.fold(recipe, cells)[ml1m.OTHER_CHOICE].value == wrong
    assert ml1m.best(recipe, cells, "EASE") == last[0]
