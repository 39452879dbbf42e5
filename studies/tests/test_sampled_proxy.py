"""The study of scans with a proxy: known errors, and the recipe on made data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.tests.made_samples import small

from podium_studies.cells import parts
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


def test_ratios_are_of_the_best_estimator() -> None:
    recipe = small(
        "sampled-proxy", 2, compared=["itemKNN"], proxies=["popularity"], measures=["recall@10"]
    )
    cells: dict[str, Any] = {}
    for cell in study.cells(recipe):
        is_baseline = parts(cell)["proxy"] == study.BASELINE
        values = {"MLE": [0.6], "BV(0.1)": [0.9]} if is_baseline else {"scan": [0.51]}
        cells[cell] = {"exact": [0.5], "estimates": values}
    figures = study.fold(recipe, cells)
    assert figures["itemKNN by popularity: recall@10"].value == pytest.approx(0.02 / 0.2)
    assert figures["proxies: largest"].value == pytest.approx(0.1)
