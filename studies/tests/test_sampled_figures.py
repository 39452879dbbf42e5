"""The study of learned rank distributions: known curves, and the recipe on made data."""

from __future__ import annotations

from typing import Any

import pytest
from studies.tests.made_samples import small

from podium_studies.jin2021 import figures
from podium_studies.recipe import Recipe


def made_up(
    exact: list[float], runs: dict[str, list[list[float]]]
) -> tuple[Recipe, dict[str, Any]]:
    """Return a recipe of one method, and cells of these curves."""
    recipe = small(
        "sampled-figures", 2, methods={"EASE": {}}, depth=len(exact), cutoffs=[2],
        compared=[[*runs]], estimators=dict.fromkeys(runs, "mle"),
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
