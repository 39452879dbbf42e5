"""The study of errors by size and seconds: known errors, and the recipe on made data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies.tests.made_samples import small

from podium.sampled import get
from podium_studies.cells import parts
from podium_studies.jin2021 import error as study
from podium_studies.jin2021.error import designs
from podium_studies.recipe import Recipe

SIZES = {"fixed": [5, 10, 20], "growing": [[5, 10], [5, 10, 20]], "few": 10, "timed": []}


def made_up(recipe: Recipe, off: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """Return cells in which an estimate of a design is off by a share, one for each repeat."""
    exact = [0.5, 0.2, 0.1]
    cells: dict[str, Any] = {}
    for cell in study.cells(recipe):
        key_parts = parts(cell)
        repeat = int(key_parts["repeat"])
        cells[cell] = {
            "exact": exact,
            "cost": {name: float(np.max(size)) / 2 for name, size in designs(recipe).items()},
            "estimates": {
                label: {
                    name: [value * (1 + off[label][name][repeat]) for value in exact]
                    for name in designs(recipe)
                    if name in off[label]
                }
                for label in recipe.parameters["estimators"]
            },
        }
    return cells


def constant(recipe: Recipe, error: dict[str, float]) -> dict[str, dict[str, list[float]]]:
    """Return errors of either sign and one size, for each design."""
    signs = [1.0, -1.0] * (recipe.repeats or 1)
    by_estimator: dict[str, dict[str, list[float]]] = {}
    for label, text in recipe.parameters["estimators"].items():
        there = designs(recipe) if get(text).grows else recipe.parameters["fixed"]
        by_estimator[label] = {str(name): [s * error[str(name)] for s in signs] for name in there}
    return by_estimator


def test_errors_are_roots_of_mean_squares_over_exact() -> None:
    recipe = small("sampled-error", 3, methods={"itemKNN": {}}, **SIZES)
    off = constant(recipe, dict.fromkeys(designs(recipe), 0.2))
    off["MLE"]["10"] = [0.3, 0.0, -0.6]
    actual = study.fold(recipe, made_up(recipe, off))
    expected = np.sqrt((0.09 + 0.36) / 3)
    assert actual["ndcg@10: MLE at 10"].value == pytest.approx(expected)
    assert actual["ndcg@10: BV(0.1) at 10"].value == pytest.approx(0.2)
    assert actual["ndcg@10: BV(0.1) at 10"].std_error == pytest.approx(0.0, abs=1e-12)
    assert actual["ndcg@10: Smooth / MLE at 10"].value == pytest.approx(0.2 / expected)
    assert actual["ndcg@10: MLE at 20 / at 10"].value == pytest.approx(0.2 / expected)


def test_growing_sample_is_compared_at_its_cost() -> None:
    """Errors 1 / n of samples of one size: a growing one of cost 10 has to beat 1 / 10."""
    recipe = small("sampled-error", 3, methods={"itemKNN": {}}, **SIZES)
    errors = {"5": 1 / 5, "10": 1 / 10, "20": 1 / 20, "5 to 10": 0.1, "5 to 20": 0.05}
    actual = study.fold(recipe, made_up(recipe, constant(recipe, errors)))
    assert actual["ndcg@10: BV(0.01) at 5 to 20 / fixed at its cost"].value == pytest.approx(0.5)
    assert not any(name.startswith("ndcg@10: MES at 5 to") for name in actual)


def test_items_for_an_error_are_interpolated_in_logarithms() -> None:
    sizes, roots = np.array([10.0, 100.0, 1000.0]), np.array([0.4, 0.2, 0.1])
    assert study.items_for(0.2 * np.sqrt(0.5), sizes, roots) == pytest.approx(100 * np.sqrt(10))
    assert study.items_for(0.2, sizes, roots) == pytest.approx(100)
    assert np.isnan(study.items_for(0.05, sizes, roots))
    assert study.items_for(0.5, sizes, roots) == 10


def test_items_for_an_error_are_those_that_keep_to_it() -> None:
    sizes, roots = np.array([10.0, 100.0, 1000.0]), np.array([0.1, 0.4, 0.1])
    assert study.items_for(0.2, sizes, roots) == pytest.approx(100 * np.sqrt(10))
