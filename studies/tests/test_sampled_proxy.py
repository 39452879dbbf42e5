"""The study of scans with a proxy: known errors, and the recipe on made data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import parts
from podium_studies.jin2021 import proxies as study
from podium_studies.recipe import Recipe, load
from podium_studies.runner import reproduce

METHODS: dict[str, Any] = {"RoBiRank": {"n_factors": 4, "n_epochs": 3}, "itemKNN": {"k": 5}}


def small(**changes: Any) -> Recipe:
    """Return the recipe for made data, with methods that need no other package."""
    recipe = load("sampled-proxy")
    (source,) = recipe.data
    parameters: dict[str, Any] = {
        **recipe.parameters,
        "protocol": {"format": "lists", "users": 0, "least": 2, "shape": []},
        "methods": METHODS,
        "compared": [*METHODS],
        "proxies": ["popularity", "own items first", "itemKNN", "random list"],
        "budget": 20,
        **changes,
    }
    data = (dataclasses.replace(source, folder="set", files=()),)
    return dataclasses.replace(recipe, parameters=parameters, repeats=2, claims=(), data=data)


@pytest.fixture(scope="module")
def done(two_tastes: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = two_tastes(120, n_items=120, n_drawn=12, n_train=90)
    return reproduce(small(), tmp_path_factory.mktemp("out"), data=folder)


def test_scans_stay_in_the_budget(done: Any) -> None:
    for cell, result in done.cells.items():
        if parts(cell)["proxy"] == study.BASELINE:
            assert set(result["estimates"]) == set(small().parameters["estimators"])
        else:
            assert result["scored"] <= 20
            assert 0 <= result["open"] <= 1


def test_budget_for_all_items_has_no_error(two_tastes: Callable[..., Path], tmp_path: Path) -> None:
    folder = two_tastes(60, n_items=60, n_drawn=8, n_train=30)
    recipe = small(compared=["RoBiRank"], proxies=["popularity"], budget=55, depth=60)
    found = reproduce(recipe, tmp_path, data=folder)
    errors = study.errors(recipe, found.cells)
    np.testing.assert_allclose(errors["RoBiRank", "popularity"], 0.0, atol=1e-12)


def test_ratios_are_of_the_best_estimator() -> None:
    recipe = small(compared=["itemKNN"], proxies=["popularity"], measures=["recall@10"])
    cells: dict[str, Any] = {}
    for cell in study.cells(recipe):
        is_baseline = parts(cell)["proxy"] == study.BASELINE
        values = {"MLE": [0.6], "BV(0.1)": [0.9]} if is_baseline else {"scan": [0.51]}
        cells[cell] = {"exact": [0.5], "estimates": values}
    figures = study.fold(recipe, cells)
    assert figures["itemKNN by popularity: recall@10"].value == pytest.approx(0.02 / 0.2)
    assert figures["proxies: largest"].value == pytest.approx(0.1)
