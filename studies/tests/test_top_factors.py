"""The study of tuned recommenders: parts of the pairs, figures of known values, small runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from studies.tests.record import recipe_data

from podium_studies.recipe import load
from podium_studies.study import Recipe
from podium_studies.yun2014 import top_factors
from podium_studies.yun2014.top_factors import DEFAULTS, PODIUM

SHOWN = [PODIUM, DEFAULTS, "EASE", "ItemKNN", "popularity"]


def small(name: str, **parameters: Any) -> Recipe:
    """Return a recipe without data files to check, with few methods and short searches."""
    recipe = load(name)
    settings = {"methods": SHOWN, "search": {"n_trials": 2}, "seeds": 2, "shape": []}
    data = tuple(replace(source, files=()) for source in recipe.data)
    claims = tuple(c for c in recipe.claims if "EASE" in c.figure or "defaults" in c.figure)
    changed = {**recipe.parameters, **settings, **parameters}
    return replace(recipe, parameters=changed, data=data, claims=claims)


def test_a_published_split_is_kept_but_for_repeated_and_known_pairs(tmp_path: Path) -> None:
    recipe_data.published_split(tmp_path)
    recipe = small("topk-factorization-pinterest")
    context = top_factors.prepare(recipe, {"pinterest-37k": tmp_path})
    train, test = context.train, context.test
    assert set(train.data.tolist()) == set(test.data.tolist()) == {1.0}
    assert train.multiply(test).nnz == 0
    assert np.diff(train.indptr).tolist() == [8] * 60
    assert np.diff(test.indptr).tolist() == [4] * 60
