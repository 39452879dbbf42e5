"""Table 3: the errors of differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import key
from podium_studies.hiranandani2020 import splits
from podium_studies.recipe import Recipe

RECIPE = Recipe("r", "", "", "", "", parameters={"cutoffs": [2, 3]})
PAPER = "paper"


def test_the_error_of_a_difference_with_one_repeat_is_that_of_a_bootstrap_over_users() -> None:
    rng = np.random.default_rng(0)
    recipe = replace(RECIPE, repeats=1)
    cells = simulated(rng, 1, between_users=0.3, between_repeats=0.0)
    pairs = [(cells[name], cells[_other(name)]) for name in cells if "method=a" in name]
    actual = splits.difference(recipe, cells, ("a", PAPER), ("b", PAPER))
    drawn = np.array([_once(pairs, rng.integers(0, 80, 80)) for _ in range(3000)])
    means: list[float] = [np.mean(a["gain"]) - np.mean(b["gain"]) for a, b in pairs]
    assert actual.value == pytest.approx(100 * np.mean(means))
    assert actual.n == len({user for each, _ in pairs for user in each["user"]})
    assert actual.std_error == pytest.approx(drawn.std(), rel=0.08)


@pytest.mark.parametrize(("users", "repeats"), [(0.4, 0.0), (0.0, 0.3), (0.3, 0.15)])
def test_errors_of_differences_are_how_far_they_vary(users: float, repeats: float) -> None:
    rng = np.random.default_rng(1)
    recipe = replace(RECIPE, repeats=6)
    actual = [
        splits.difference(recipe, simulated(rng, 6, users, repeats), ("a", PAPER), ("b", PAPER))
        for _ in range(300)
    ]
    varied = np.std([each.value for each in actual])
    assert np.sqrt(np.mean([each.std_error**2 for each in actual])) == pytest.approx(
        varied, rel=0.15
    )


def simulated(
    rng: np.random.Generator, n_repeats: int, between_users: float, between_repeats: float
) -> dict[str, dict[str, Any]]:
    """Return cells of two methods that differ by user, by repeat and by chance."""
    of_user = rng.normal(0, between_users, 80)
    cells: dict[str, dict[str, Any]] = {}
    for seed in range(n_repeats):
        of_repeat = rng.normal(0, between_repeats)
        for k in (2, 3):
            users = np.sort(rng.permutation(80)[: 20 + 15 * k])
            lift = of_user[users] + of_repeat
            gains = {"a": rng.random(users.size) + lift, "b": rng.random(users.size)}
            for name, gain in gains.items():
                cell = {"user": users.tolist(), "gain": gain.tolist()}
                cells[key(seed=seed, k=k, method=name, protocol=PAPER)] = cell
    return cells


def _other(name: str) -> str:
    return name.replace("method=a", "method=b")


def _once(pairs: list[tuple[Any, Any]], sample: Any) -> float:
    times = np.bincount(sample, minlength=80)
    gains = [(np.subtract(a["gain"], b["gain"]), times[a["user"]]) for a, b in pairs]
    return 100 * float(np.mean([np.average(gain, weights=weights) for gain, weights in gains]))
