"""The study of tuned recommenders: parts of the pairs, figures of known values, small runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.tests.record import recipe_data

from podium.errors import DataError
from podium_studies.recipe import Recipe, load, names
from podium_studies.runner import reproduce
from podium_studies.yun2014 import top_factors
from podium_studies.yun2014.top_factors import DEFAULTS, PODIUM

RECIPES = [name for name in names() if name.startswith("topk-factorization")]
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


@pytest.mark.parametrize("name", RECIPES)
def test_other_data_are_refused(name: str, tmp_path: Path) -> None:
    recipe = small(name, shape=load(name).parameters["shape"])
    writers = {"split": recipe_data.published_split, "citeulike-a": recipe_data.counted_lists}
    writers.get(recipe.parameters["format"], recipe_data.ratings)(tmp_path)
    with pytest.raises(DataError, match=r"60 users.* which is not"):
        top_factors.prepare(recipe, {recipe.data[0].folder: tmp_path})


def test_a_small_run_resumes_and_compares_users(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    recipe_data.ratings(data)
    recipe = small("topk-factorization-ml1m")
    first = reproduce(recipe, out, data=data)
    again = reproduce(recipe, out, data=data)
    assert again.resumed == len(SHOWN)
    assert json.dumps(again.cells) == json.dumps(first.cells)  # nan is not equal to itself
    tuned, default, ease = (first.cells[f"method={name}"] for name in (PODIUM, DEFAULTS, "EASE"))
    assert len(tuned["means"]["ndcg@20"]) == 2  # one value per seed
    assert len(ease["means"]["ndcg@20"]) == 1  # EASE draws nothing
    assert default["trials"] == []
    assert max(trial["mean"] for trial in tuned["trials"]) >= tuned["trials"][0]["mean"]
    figures = first.done.figures
    gap = figures[f"{PODIUM} − EASE ndcg@20"].value
    levels = [figures[f"{name} ndcg@20"].value for name in (PODIUM, "EASE")]
    assert gap == pytest.approx(levels[0] - levels[1], abs=1e-5)
    page = (out / recipe.name / "report.html").read_text()
    assert "Every fit of the searches" in page
    json.loads((out / recipe.name / "results.json").read_text())


def test_the_error_of_a_difference_includes_seeds() -> None:
    one = {"values": {"m": [0.5, None, 0.7]}, "means": {"m": [0.5, 0.7]}}
    other = {"values": {"m": [0.1, None, 0.1]}, "means": {"m": [0.1]}}
    measured = top_factors._difference(one, other, "m")  # pyright: ignore[reportPrivateUsage]
    assert measured.value == pytest.approx(0.5)
    assert measured.n == 2
    assert measured.std_error**2 == pytest.approx(0.02 / 2 + 0.02 / 2)
