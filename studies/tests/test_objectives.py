"""The comparison of objectives: what is learned, choices, and intervals over users."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from podium_studies.folds import Candidate
from podium_studies.hiranandani2020 import objectives, splits
from podium_studies.hiranandani2020.objectives import METHODS
from podium_studies.recipe import load
from podium_studies.rows import Parts, Rows
from podium_studies.study import Recipe

OURS = "group-logistic, pooled"


def parameters() -> dict[str, Any]:
    """Return the recipe's parameters with two penalties and configurations, and few trees."""
    given = load("pap-objectives").parameters
    return {
        **given,
        "l2": {name: [1e-4, 1e-2] for name in given["l2"]},
        "trees": given["trees"][:2],
        "fixed": {**given["fixed"], "num_iterations": 9},
        "look_every": 4,
    }


def made_up(seed: int = 0) -> Rows:
    """Return 30 users with 60 rows each, of which one feature tells the positives."""
    rng = np.random.default_rng(seed)
    item = rng.integers(0, 50, 1800)
    X = np.column_stack([rng.normal(size=50)[item], rng.normal(size=(1800, 3))])
    y = (X[:, 0] + 0.5 * rng.normal(size=1800) > 1).astype(float)
    return Rows(X, y, np.repeat(np.arange(30) * 2, 60), item * 10)


@pytest.mark.parametrize("name", [OURS, "LightGBM binary", "pap-logistic"])
def test_nothing_is_learned_from_labels_of_other_parts(name: str) -> None:
    pytest.importorskip("lightgbm")
    parts = splits.scaled_parts(load("pap-objectives"), made_up())(0)
    train, valid, test = parts
    flipped = Parts(train, replace(valid, y=1 - valid.y), replace(test, y=1 - test.y))
    fits = [METHODS[name].candidates(data, parameters(), 3) for data in (parts, flipped)]
    for one, other in zip(*fits, strict=True):
        assert np.array_equal(one.valid, other.valid)
        assert np.array_equal(one.test, other.test)


def test_the_best_on_validation_is_kept_for_each_cutoff_the_first_of_equal_ones() -> None:
    valid = Rows(np.zeros((6, 1)), np.array([1.0, 1, 0, 0, 0, 0]), np.zeros(6, int))

    scores = {
        "worst": [0, 0, 9, 9, 9, 9],
        "one": [5, 1, 3, 2, 0, 0],  # pap@1 1, pap@2 1/2
        "again": [5, 1, 3, 2, 0, 0],
        "two": [4, 4, 5, 1, 1, 1],  # pap@1 0, pap@2 1/2
    }
    tried = (Candidate({"name": n}, np.array(s, float), np.zeros(6)) for n, s in scores.items())
    best = objectives.choose(tried, valid, [1, 2])
    assert [actual.options["name"] for _, actual in best] == ["one", "one"]
    assert [value for value, _ in best] == [1.0, 0.5]


def test_own_best_is_chosen_by_test_means_or_by_validation() -> None:
    one, other = np.zeros((2, 4, 2)), np.zeros((2, 4, 2))
    one[..., 0], other[..., 1] = 1.0, 1.0
    one[:, 3], other[:, 3] = np.nan, np.nan
    valid = np.array([[[0.2, 0.2], [0.1, 0.3]], [[0.1, 0.3], [0.2, 0.2]]])
    best, chosen = objectives.best_values(np.stack([one, other]), valid)
    assert np.nanmin(best) == 1.0
    assert np.nanmin(chosen[0]) == 1.0
    assert np.nanmax(chosen[1]) == 0.0


def _measured(gap: Any) -> dict[str, Any]:
    recipe = Recipe("r", "", "", "", "", parameters={"draws": 3000})
    times = objectives.bootstrap_counts(recipe, gap.shape[1])
    return dict(objectives.differences("d", gap, times, range(gap.shape[2])))


def test_the_error_of_a_mean_with_all_users_is_that_of_independent_users() -> None:
    gap = np.random.default_rng(0).normal(0.3, 2.0, (1, 200, 1))
    actual = _measured(gap)["d k=0"]
    assert actual.value == pytest.approx(gap.mean())
    assert actual.std_error == pytest.approx(gap.std() / np.sqrt(200), rel=0.05)
    assert actual.n == 200
