"""RoBiRank's study on MovieLens-1M: figures of known values, and the recipe on made-up ratings."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import parts
from podium_studies.recipe import Recipe, load
from podium_studies.yun2014 import ml1m
from podium_studies.yun2014.ml1m_methods import METHODS, ROBIRANK

N_USERS, N_ITEMS = 60, 80
INSTALLED = [
    name
    for name in METHODS
    if not (name in ("ALS", "BPR") and importlib.util.find_spec("implicit") is None)
    and not (name == "WARP" and importlib.util.find_spec("lightfm") is None)
]
"""Methods whose packages are there; podium's own always."""


def made_up() -> list[tuple[int, int]]:
    """Return pairs of two tastes, ids with gaps, in no order."""
    rng = np.random.default_rng(0)
    same = (np.arange(N_USERS)[:, None] + np.arange(N_ITEMS)) % 2 == 0
    likes = rng.random(same.shape) < np.linspace(0.05, 0.9, N_ITEMS) * np.where(same, 1.0, 0.2)
    pairs = rng.permutation(np.argwhere(likes))
    return [(3 * int(user) + 1, 7 * int(item) + 2) for user, item in pairs]


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with made-up ratings in the publisher's form."""
    folder = tmp_path_factory.mktemp("ml-1m")
    lines = [f"{user}::{item}::{1 + item % 5}::{9 * item}\n" for user, item in made_up()]
    (folder / "ratings.dat").write_text("".join(lines))
    return folder


def small(**parameters: Any) -> Recipe:
    """Return the recipe for made-up pairs, with what is installed and short grids."""
    recipe = load("robirank-ml1m")
    methods = {name: _short(recipe.parameters["methods"][name]) for name in INSTALLED}
    settings: dict[str, Any] = {
        **recipe.parameters, "methods": methods, "passes": [1, 3, 8], "sha256": "", **parameters
    }  # fmt: skip
    figures = [claim for claim in recipe.claims if _there(claim.figure)]
    return replace(recipe, parameters=settings, repeats=2, claims=tuple(figures))


def _there(figure: str) -> bool:
    return all(name in INSTALLED for name in METHODS if f"− {name} " in figure)


def _short(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the method with few factors and passes, and a grid of the first options or two."""
    few = {"n_factors": 4, "n_epochs": 4}
    fixed = {name: few.get(name, value) for name, value in settings["fixed"].items()}
    one = {name: values[:1] for name, values in settings["grid"].items()}
    for name in list(one)[:1]:
        one[name] = settings["grid"][name][:2]
    chosen = {name: values[0] for name, values in one.items()}
    return {"fixed": fixed, "grid": one, "chosen": chosen}


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
    gap = ml1m.difference(cells, "EASE", "ndcg@10")
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


def test_parts_are_disjoint_shares_of_each_users_pairs(ratings: Path) -> None:
    context = ml1m.prepare(small(), {"ml-1m": ratings})
    pairs = np.array(made_up())
    n_users, n_items = (np.unique(column).size for column in pairs.T)
    for complete, left, right in (
        (None, context.train, context.test),
        (context.train, context.learn, context.valid),
    ):
        both = left + right
        assert left.shape == right.shape == (n_users, n_items)
        assert both.max() == 1.0
        assert both.nnz == (len(pairs) if complete is None else complete.nnz)
        sizes = np.diff(both.indptr)
        assert np.diff(right.indptr).tolist() == [int(0.2 * size) for size in sizes]
    assert ((context.learn + context.valid) != context.train).nnz == 0


def test_split_is_of_ids_and_not_of_the_files_order(ratings: Path, tmp_path: Path) -> None:
    """The pairs alone, sorted and packed, give the same parts as the publisher's file."""
    lines = "".join(f"{user},{item}\n" for user, item in sorted(made_up()))
    with gzip.open(tmp_path / "pairs.csv.gz", "wt") as file:
        file.write(f"user_id,item_id\n{lines}")
    one, two = (ml1m.prepare(small(), {"ml-1m": each}) for each in (ratings, tmp_path))
    for part in ("train", "test", "learn", "valid"):
        assert (getattr(one, part) != getattr(two, part)).nnz == 0
