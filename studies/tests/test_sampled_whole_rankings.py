"""Whole rankings from all candidates have no error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from studies.tests.made_samples import small

from podium_studies.jin2021 import whole_rankings as study


def test_all_items_have_no_error(two_tastes: Callable[..., Path], tmp_path: Path) -> None:
    folder = two_tastes(60, n_items=60, n_drawn=12, n_train=10)
    recipe = small(
        "sampled-shared", 1, compared=["RoBiRank"], proxies=["popularity"], scored=200, listed=5
    )
    context = study.prepare(recipe, {"set": folder / "set"})
    for estimator in ("auto", "naive"):
        shared = study.sample(context, "RoBiRank", "popularity", 0)
        assert shared.is_exact
        found = study.measured(recipe, shared, estimator)
        np.testing.assert_allclose(found, study.exact(context, "RoBiRank"), atol=1e-12)
