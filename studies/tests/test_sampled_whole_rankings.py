"""The study of whole rankings from shared candidates: known errors, and the recipe on made data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import parts
from podium_studies.jin2021 import whole_rankings as study
from podium_studies.recipe import Recipe, load
from podium_studies.runner import reproduce

METHODS: dict[str, Any] = {"RoBiRank": {"n_factors": 4, "n_epochs": 3}, "itemKNN": {"k": 5}}


def small(**changes: Any) -> Recipe:
    """Return the recipe for made data, with methods that need no other package."""
    recipe = load("sampled-shared")
    (source,) = recipe.data
    parameters: dict[str, Any] = {
        **recipe.parameters,
        "protocol": {"format": "lists", "users": 0, "least": 2, "shape": []},
        "methods": METHODS,
        "compared": [*METHODS],
        "proxies": ["popularity", "itemKNN"],
        "scored": 30,
        "listed": 15,
        **changes,
    }
    data = (dataclasses.replace(source, folder="set", files=()),)
    return dataclasses.replace(recipe, parameters=parameters, repeats=2, claims=(), data=data)


@pytest.fixture(scope="module")
def done(two_tastes: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = two_tastes(120, n_items=120, n_drawn=16, n_train=14)
    return reproduce(small(), tmp_path_factory.mktemp("out"), data=folder)


def test_exact_values_are_those_of_recommendations(done: Any) -> None:
    for cell in done.cells.values():
        assert all(0 < value < 1 for value in cell["exact"])
        naive = np.array(cell["estimates"]["naive"])
        assert (naive >= np.array(cell["exact"]) - 1e-12).all()


def test_all_items_have_no_error(two_tastes: Callable[..., Path], tmp_path: Path) -> None:
    folder = two_tastes(60, n_items=60, n_drawn=12, n_train=10)
    recipe = small(compared=["RoBiRank"], proxies=["popularity"], scored=200, listed=5)
    recipe = dataclasses.replace(recipe, repeats=1)
    context = study.prepare(recipe, {"set": folder / "set"})
    for estimator in ("auto", "naive"):
        shared = context.sample("RoBiRank", "popularity", 0)
        assert shared.is_exact
        found = context.measured(shared, estimator)
        np.testing.assert_allclose(found, context.exact("RoBiRank"), atol=1e-12)


def test_errors_are_relative() -> None:
    recipe = small(compared=["itemKNN"], proxies=["popularity"], measures=["recall@10"])
    cells: dict[str, Any] = {}
    for cell in study.cells(recipe):
        value = 0.6 if parts(cell)["proxy"] == study.RANDOM else 0.52
        cells[cell] = {"exact": [0.5], "estimates": {"estimate": [value], "naive": [1.0]}}
    figures = study.fold(recipe, cells)
    assert figures["itemKNN by random items recall@10: estimate"].value == pytest.approx(0.2)
    assert figures["popularity / random items: geometric mean"].value == pytest.approx(0.2)
    assert figures["random items / naive: geometric mean"].value == pytest.approx(0.2)
