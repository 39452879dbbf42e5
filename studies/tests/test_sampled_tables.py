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
from podium_studies.cells import parts, seed_of
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


@pytest.fixture(scope="module")
def cells(folder: Path) -> dict[str, Any]:
    recipe = table2(6)
    context = study.prepare(recipe, {"set": folder / "set"})
    return {cell: study.run(recipe, context, **parts(cell)) for cell in study.cells(recipe)}


def test_a_cell_has_what_each_estimator_says_of_the_same_sample(folder: Path) -> None:
    recipe = table2(1)
    context = study.prepare(recipe, {"set": folder / "set"})
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


def test_ratios_and_errors_are_those_of_the_repeats(cells: dict[str, Any]) -> None:
    recipe = table2(6)
    actual = study.fold(recipe, cells)
    block = cells["method=EASE/first=0/n=6"]
    mle = np.array(block["estimates"]["MLE"][1]) / block["exact"]["ndcg@10"]
    ratio = actual["EASE ndcg@10: MLE / exact"]
    assert ratio.value == pytest.approx(mle.mean())
    assert ratio.std_error == pytest.approx(mle.std(ddof=1) / math.sqrt(6))
    assert actual["EASE ndcg@10: exact"].value == pytest.approx(1000 * block["exact"]["ndcg@10"])
    other = cells["method=itemKNN/first=0/n=6"]
    knn = np.array(other["estimates"]["MLE"][1]) / other["exact"]["ndcg@10"]
    off = [math.sqrt(((each - 1) ** 2).mean()) for each in (mle, knn)]
    assert actual["MLE: error, ndcg@10"].value == pytest.approx(math.sqrt(off[0] * off[1]))
    assert actual["MLE: largest error, ndcg@10"].value == pytest.approx(max(off))


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


def test_figures_of_the_papers_estimators() -> None:
    papers = ["CLS", "BV(0.1)", "BV(0.01)", "MLE", "WMLE", "MES"]
    recipe = table2(1, papers=papers, own=[], compared=["EASE"])
    values = Values(["EASE"], papers, ["ap"], np.array([[0.5]]), np.empty(0), 1, 1)
    mean = np.array([1.5, 0.7, 1.1, 0.98, 9.0, 1.2])[None, :, None]
    found = statistics(recipe, values, moments(mean, np.arange(1.0, 7)[None, :, None] / 10))
    actual: Any = {name: getattr(value, "value", value) for name, value in found.items()}
    least = {name: actual[f"{name}: rows with least or second least bias"] for name in papers}
    assert least == {**dict.fromkeys(papers, 0.0), "MLE": 1.0, "BV(0.01)": 1.0}
    assert actual["MLE / BV(0.01): spread"] == pytest.approx(4 / 3)
    assert actual["CLS − the worst of BV, MLE and MES: bias"] == pytest.approx(0.5 - 0.3)


def test_pairs_in_order_count_every_measure() -> None:
    exact = np.array([[0.3, 0.3], [0.2, 0.4], [0.1, 0.5]])
    estimates = np.array([[0.5, 0.1], [0.6, 0.2], [0.1, 0.3]])
    assert study._n_pairs_in_order(exact, exact) == 6
    assert study._n_pairs_in_order(exact, estimates) == 2 + 3


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


def test_winners_are_counted_for_the_truly_best() -> None:
    recipe = small(
        "sampled-table4",
        4,
        methods={**METHODS, "EASE": {}},
        measures=["recall@1"],
        estimators={"A": "cls", "B": "mle"},
        differences=[["B", "A"]],
        compared=["EASE", "itemKNN"],
    )
    exact = {"EASE": 0.2, "itemKNN": 0.3, "RoBiRank": 0.9}
    estimates = {
        "EASE": {"A": [0.5, 0.5, 0.5, 0.5], "B": [0.1, 0.1, 0.4, 0.3]},
        "itemKNN": {"A": [0.4, 0.4, 0.4, 0.4], "B": [0.2, 0.2, 0.2, 0.3]},
        "RoBiRank": {"A": [0.9] * 4, "B": [0.9] * 4},
    }
    made = {
        f"method={name}/first=0/n=4": {
            "users": 50,
            "items": 20,
            "exact": {"recall@1": exact[name]},
            "estimates": {label: [row] for label, row in estimates[name].items()},
        }
        for name in exact
    }
    actual = study.counts(recipe, made)
    assert actual["A: recall@1"].value == 0.0
    assert actual["B: recall@1"].value == pytest.approx(50.0)  # a draw is no win
    assert actual["B: recall@1"].std_error == pytest.approx(100 * math.sqrt(1 / 3 / 4))
    assert actual["B − A: all measures"].value == pytest.approx(50.0)
    assert actual["best by exact recall@1 is itemKNN"].value == pytest.approx(300.0)
