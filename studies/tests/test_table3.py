"""Table 3: what a cell is, how cells become figures, and the recipes on made-up files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import key, parts
from podium_studies.hiranandani2020 import splits, table3
from podium_studies.hiranandani2020.table3 import PAPER, ZERO
from podium_studies.recipe import Recipe, load
from podium_studies.rows import Parts, Rows

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
NAMES = ("pap-table3-movielens", "pap-table3-citation", "pap-table3-behance")


def small(name: str = NAMES[0], **parameters: Any) -> Recipe:
    """Return a recipe with short grids, two cutoffs and two repeats."""
    recipe = load(name)
    few: dict[str, Any] = {
        **recipe.parameters,
        "cutoffs": [2, 3],
        "random_draws": 3,
        PAPER: {
            "learning_rate": [0.1, 0.5],
            "l2": [0.01],
            "max_iter": 5,
            "final": dict.fromkeys(recipe.parameters[PAPER]["final"], 8),
        },
        ZERO: {"learning_rate": [0.5], "l2": [0.0, 0.01], "max_iter": 5},
        "C": {name: [1.0] for name in recipe.parameters["C"]},
        **parameters,
    }
    shown = [f"{label} k={k}" for label in ("GD-avg", "Select") for k in few["cutoffs"]]
    printed = {"rows": 100.0, **dict.fromkeys(shown, 50.0)}
    return replace(recipe, parameters=few, repeats=2, printed=printed)


def made_up(seed: int = 0) -> Rows:
    """Return 30 users with 60 rows each, of which one feature tells the positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1800, 4))
    y = (X[:, 0] + rng.normal(size=1800) > 1).astype(float)
    return Rows(X, y, np.repeat(np.arange(30) * 2, 60))


def context_of(recipe: Recipe, source: Rows | Parts) -> table3.Context:
    return table3.Context(recipe, source, "f")


@pytest.fixture(scope="module")
def done() -> tuple[Recipe, dict[str, Mapping[str, Any]]]:
    recipe = small()
    context = context_of(recipe, made_up())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recipe, {
            cell: table3.run(recipe, context, **parts(cell)) for cell in table3.cells(recipe)
        }


def test_the_error_of_a_difference_with_one_repeat_is_that_of_a_bootstrap_over_users() -> None:
    rng = np.random.default_rng(0)
    recipe = replace(small(), repeats=1)
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
    recipe = replace(small(), repeats=6)
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


def test_logistic_regression_is_compared_with_the_best_printed(done: Any) -> None:
    recipe, cells = done
    printed = {"rows": 1.0, "GD-avg k=2": 10.0, "Select k=2": 20.0, "GD-avg k=3": 99.0}
    figures = table3.fold(replace(recipe, printed=printed), cells)
    least = figures["logistic − best printed, least over k"]
    assert least.value == pytest.approx(figures["logistic k=3"].value - 99.0)
    assert least.std_error == figures["logistic k=3"].std_error
