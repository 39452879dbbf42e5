"""A scan with a budget for all items has no error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from studies.tests.made_samples import small

from podium_studies.jin2021 import proxies as study
from podium_studies.runner import reproduce


def test_budget_for_all_items_has_no_error(two_tastes: Callable[..., Path], tmp_path: Path) -> None:
    folder = two_tastes(60, n_items=60, n_drawn=8, n_train=30)
    recipe = small(
        "sampled-proxy", 2, compared=["RoBiRank"], proxies=["popularity"], budget=55, depth=60
    )
    found = reproduce(recipe, tmp_path, data=folder)
    errors = study.errors(recipe, found.cells)
    np.testing.assert_allclose(errors["RoBiRank", "popularity"], 0.0, atol=1e-12)
