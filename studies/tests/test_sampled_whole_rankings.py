"""The study of whole rankings from shared candidates: known errors, and the recipe on made data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.tests.made_samples import small

from podium_studies.cells import parts
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


def test_errors_are_relative() -> None:
    recipe = small(
        "sampled-shared", 2, compared=["itemKNN"], proxies=["popularity"], measures=["recall@10"]
    )
    cells: dict[str, Any] = {}
    for cell in study.cells(recipe):
        value = 0.6 if parts(cell)["proxy"] == study.BASELINE else 0.52
        cells[cell] = {"exact": [0.5], "estimates": {"estimate": [value], "naive": [1.0]}}
    figures = study.fold(recipe, cells)
    assert figures["itemKNN by random items recall@10: estimate"].value == pytest.approx(0.2)
    assert figures["popularity / random items: geometric mean"].value == pytest.approx(0.2)
    assert figures["random items / naive: geometric mean"].value == pytest.approx(0.2)
