"""The study of learned rank distributions: known curves, and the recipe on made data."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from podium_studies.jin2021 import figures as figures
from podium_studies.recipe import Recipe, load

METHODS: dict[str, Any] = {"EASE": {"l2": 20.0}, "itemKNN": {"k": 5}}


def small(**changes: Any) -> Recipe:
    """Return the recipe for made data, with methods that need no other package."""
    recipe = load("sampled-figures")
    parameters: dict[str, Any] = {
        **recipe.parameters,
        "protocol": {"format": "lists", "users": 0, "least": 2, "shape": []},
        "methods": METHODS,
        "n_negatives": 20,
        "depth": 30,
        "cutoffs": [5, 20],
        **changes,
    }
    (source,) = recipe.data
    return dataclasses.replace(
        recipe,
        parameters=parameters,
        repeats=3,
        claims=(),
        data=(dataclasses.replace(source, folder="set", files=()),),
    )


def made_up(
    exact: list[float], runs: dict[str, list[list[float]]]
) -> tuple[Recipe, dict[str, Any]]:
    """Return a recipe of one method, and cells of these curves."""
    recipe = small(
        methods={"EASE": {}}, depth=len(exact), cutoffs=[2], compared=[[*runs]],
        estimators=dict.fromkeys(runs, "mle"),
    )  # fmt: skip
    cells: dict[str, Any] = {"part=exact/method=EASE": {"users": 50, "recall": exact}}
    for i, _ in enumerate(next(iter(runs.values()))):
        each = {label: curves[i] for label, curves in runs.items()}
        cells[f"part=sample/method=EASE/repeat={i}"] = {"recall": each}
    return recipe, cells


def test_distances_are_of_the_mean_curve_and_of_each() -> None:
    exact = [0.1, 0.3, 0.4]
    above, below = [0.2, 0.4, 0.5], [0.0, 0.2, 0.3]  # all by .1
    flat = [0.1, 0.3, 0.5]
    recipe, cells = made_up(exact, {"one": [above, below], "two": [flat, flat]})
    actual = figures.fold(recipe, cells)
    level = (0.1 + 0.3 + 0.4) / 3
    assert actual["EASE, one cdf distance"].value == pytest.approx(0.0)
    assert actual["EASE, one cdf distance of one sample"].value == pytest.approx(0.1 / level)
    assert actual["EASE, two cdf distance"].value == pytest.approx(0.1 / 3 / level)
    assert actual["EASE, two cdf distance"].std_error == pytest.approx(0.0)
    assert actual["EASE, one − exact recall@2"].value == pytest.approx(0.0)
    assert actual["EASE, one − two recall@2"].value == pytest.approx(0.0)
    assert actual["EASE, one − two recall@2"].std_error == pytest.approx(0.1)
    apart = actual["EASE, one − two cdf apart"]
    assert apart.value == pytest.approx(0.1 / 3 / ((0.1 + 0.3 + 0.5) / 3))
