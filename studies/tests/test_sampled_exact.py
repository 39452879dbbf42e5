"""Samples of all items have no error, and drawn ranks follow their distribution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.tests.made_samples import small

from podium_studies.jin2021 import coverage, proxies, whole_rankings
from podium_studies.recipe import load
from podium_studies.runner import reproduce

POPULATIONS = load("sampled-coverage").parameters["populations"]
SHOWN: dict[str, Any] = {"compared": ["RoBiRank"], "proxies": ["popularity"]}


def test_budget_for_all_items_has_no_error(two_tastes: Callable[..., Path], tmp_path: Path) -> None:
    folder = two_tastes(60, n_items=60, n_drawn=8, n_train=30)
    recipe = small("sampled-proxy", 2, **SHOWN, budget=55, depth=60)
    errors = proxies.errors(recipe, reproduce(recipe, tmp_path, data=folder).cells)
    np.testing.assert_allclose(errors["RoBiRank", "popularity"], 0.0, atol=1e-12)


def test_whole_rankings_of_all_items_have_no_error(two_tastes: Callable[..., Path]) -> None:
    folder = two_tastes(60, n_items=60, n_drawn=12, n_train=10)
    recipe = small("sampled-shared", 1, **SHOWN, scored=200, listed=5)
    context = whole_rankings.prepare(recipe, {"set": folder / "set"})
    for estimator in ("auto", "naive"):
        shared = whole_rankings.sample(context, "RoBiRank", "popularity", 0)
        assert shared.is_exact
        found = whole_rankings.measured(recipe, shared, estimator)
        np.testing.assert_allclose(found, whole_rankings.exact(context, "RoBiRank"), atol=1e-12)


@pytest.mark.parametrize("name", list(POPULATIONS))
def test_populations_are_distributions(name: str) -> None:
    law = coverage.cumulative(POPULATIONS[name], 500)
    assert law[-1] == 1
    assert (np.diff(law, prepend=0.0) >= 0).all()


def test_drawn_ranks_follow_the_mixture() -> None:
    parts: Any = [[0.5, "power", 0.9, 0.0], [0.5, "beta", 0.5, 2.0]]
    ranks = coverage.draw(parts, 50, 20_000, np.random.default_rng(0))
    assert ranks.min() == 1
    shares = np.cumsum(np.bincount(ranks, minlength=51)[1:]) / ranks.size
    np.testing.assert_allclose(shares, coverage.cumulative(parts, 50), atol=0.02)
