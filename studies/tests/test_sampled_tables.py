"""The studies of sampled evaluations: made data through them, and what the recipes print."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.tests.made_samples import METHODS, small

from podium import sampled
from podium.sampled import RankDistribution
from podium_studies.cells import seed_of
from podium_studies.jin2021 import evaluations
from podium_studies.jin2021 import tables as study
from podium_studies.jin2021.evaluations import jackknife, ranks
from podium_studies.jin2021.tables import Values, statistics
from podium_studies.recipe import load

PAPERS = ("sampled-table2", "sampled-table3", "sampled-table3-210k")
table2 = partial(
    small, "sampled-table2", methods={**METHODS, "EASE": {"l2": 20.0}}, compared=["EASE", "itemKNN"]
)


@pytest.fixture(scope="module")
def folder(two_tastes: Callable[..., Path]) -> Path:
    return two_tastes(150, n_items=200, n_drawn=15, n_train=100)


def test_a_cell_has_what_each_estimator_says_of_the_same_sample(folder: Path) -> None:
    recipe = table2(1)
    context = evaluations.prepare(recipe, {"set": folder / "set"})
    actual = study.run(recipe, context, method="EASE", first=0, n=1)
    exact = RankDistribution.of_ranks(ranks(context, "EASE"), context.n_items)
    assert actual["exact"] == {m: exact.expect(m) for m in recipe.parameters["measures"]}
    seed = seed_of(recipe, "sample EASE", 0)
    readings = context.readings("EASE", recipe.parameters["n_negatives"], seed)
    samples = {label: sample for label, _, sample in readings}
    assert samples["Smooth"].history is None
    assert samples["Smooth, history"].history is not None
    assert samples["Smooth"].ranks.tolist() == samples["Smooth, history"].ranks.tolist()
    for label in ("MLE", "CLS", "Smooth, history"):
        made = sampled.get(recipe.parameters["estimators"][label])
        expected = [made.estimate(samples[label], m) for m in recipe.parameters["measures"]]
        (ours,) = zip(*actual["estimates"][label], strict=True)
        assert ours == pytest.approx(expected, rel=1e-6)
    assert actual["estimates"]["Smooth"] != actual["estimates"]["Smooth, history"]


def test_jackknife_error_of_a_mean_is_the_usual_one() -> None:
    runs = np.random.default_rng(0).normal(1, 0.2, 30)
    actual = jackknife(runs, lambda mean: {"mean": float(mean), "square": float(mean) ** 2})
    assert actual["mean"].value == pytest.approx(runs.mean())
    assert actual["mean"].std_error == pytest.approx(runs.std(ddof=1) / math.sqrt(30))
    others = [np.delete(runs, i).mean() ** 2 for i in range(30)]
    assert actual["square"].std_error == pytest.approx(np.std(others) * math.sqrt(29))


def moments(mean: Any, sd: Any) -> Any:
    """Return the moments of printed ratios."""
    return np.stack([mean, mean**2 + sd**2, (mean - 1.0) ** 2 + sd**2])


@pytest.mark.parametrize("name", PAPERS)
def test_printed_figures_follow_from_the_papers_table(name: str) -> None:
    recipe = load(name)
    recipe = replace(recipe, parameters={**recipe.parameters, "own": []})
    names = [recipe.parameters[part] for part in ("compared", "papers", "measures")]
    table = {  # (n_methods, 1 + n_estimators, n_measures); the first column is exact
        part: np.array([np.transpose([by[name][m] for m in names[2]]) for name in names[0]])
        for part, by in recipe.parameters["paper"].items()
    }
    levels = table["mean"][:, :1]
    values = Values(*names, levels[:, 0] / study.UNIT, np.empty(0), 1, 1)
    ratios = moments(table["mean"][:, 1:] / levels, table["sd"][:, 1:] / levels)
    found = statistics(recipe, values, ratios)
    expected: Any = {key: getattr(value, "value", value) for key, value in found.items()}
    assert set(recipe.printed) == set(expected)
    assert all(recipe.printed[key] == pytest.approx(v, abs=6e-4) for key, v in expected.items())
