"""The study of tuned recommenders: the parts of a published split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from studies.tests.record import recipe_data

from podium_studies.recipe import load
from podium_studies.yun2014 import top_factors


def test_a_published_split_is_kept_but_for_repeated_and_known_pairs(tmp_path: Path) -> None:
    recipe_data.published_split(tmp_path)
    recipe = load("topk-factorization-pinterest")
    changed = {**recipe.parameters, "shape": [], "methods": [top_factors.PODIUM, "EASE"]}
    recipe = replace(recipe, parameters=changed)
    context = top_factors.prepare(recipe, {"pinterest-37k": tmp_path})
    train, test = context.train, context.test
    assert set(train.data.tolist()) == set(test.data.tolist()) == {1.0}
    assert train.multiply(test).nnz == 0
    assert np.diff(train.indptr).tolist() == [8] * 60
    assert np.diff(test.indptr).tolist() == [4] * 60
