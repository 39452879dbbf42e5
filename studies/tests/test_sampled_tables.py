"""The studies of sampled evaluations: made data through them, and what the recipes print."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium import sampled
from podium.sampled import RankDistribution
from podium_studies.cells import parts, seed_of
from podium_studies.jin2021 import tables as figures
from podium_studies.jin2021 import tables as study
from podium_studies.jin2021 import winners as winners
from podium_studies.jin2021.evaluations import geometric_mean
from podium_studies.jin2021.tables import Moments, jackknife
from podium_studies.recipe import Recipe, load
from podium_studies.study import Measured

METHODS: dict[str, Any] = {"EASE": {"l2": 20.0}, "itemKNN": {"k": 5}, "RoBiRank": {"n_factors": 4}}
PAPERS = ("sampled-table2", "sampled-table3", "sampled-table3-210k")


def small(name: str = "sampled-table2", **changes: Any) -> Recipe:
    """Return a recipe for made data: methods without other packages, nothing printed."""
    recipe = load(name)
    parameters = {
        **recipe.parameters,
        "protocol": {"format": "lists", "users": 0, "least": 2, "shape": []},
        "methods": METHODS,
        "compared": ["EASE", "itemKNN"],
        **changes,
    }
    parameters.pop("paper", None)
    (source,) = recipe.data
    return dataclasses.replace(
        recipe,
        parameters=parameters,
        printed={},
        tolerances={},
        claims=(),
        data=(dataclasses.replace(source, folder="set", files=()),),
    )


@pytest.fixture(scope="module")
def folder(two_tastes: Callable[..., Path]) -> Path:
    return two_tastes(150, n_items=200, n_drawn=15, n_train=100)


@pytest.fixture(scope="module")
def cells(folder: Path) -> dict[str, Any]:
    recipe = small().repeated(6)
    context = study.prepare(recipe, {"set": folder / "set"})
    return {cell: study.run(recipe, context, **parts(cell)) for cell in study.cells(recipe)}


def test_a_cell_has_what_each_estimator_says_of_the_same_sample(folder: Path) -> None:
    recipe = small().repeated(1)
    context = study.prepare(recipe, {"set": folder / "set"})
    actual = study.run(recipe, context, method="EASE", first=0, n=1)
    ranks = context.ranks("EASE")
    exact = RankDistribution.of_ranks(ranks, context.held_out.n_items)
    assert actual["exact"] == {m: exact.expect(m) for m in recipe.parameters["measures"]}
    with_history = context.drawn(
        "EASE", recipe.parameters["n_negatives"], seed_of(recipe, "sample EASE", 0)
    )
    assert with_history[0].history is None
    assert with_history[1].history is not None
    assert with_history[0].ranks.tolist() == with_history[1].ranks.tolist()
    for label, sample in (
        ("MLE", with_history[0]),
        ("CLS", with_history[0]),
        ("Smooth, history", with_history[1]),
    ):
        made = sampled.get(recipe.parameters["estimators"][label])
        expected = [made.estimate(sample, m) for m in recipe.parameters["measures"]]
        (ours,) = zip(*actual["estimates"][label], strict=True)
        assert ours == pytest.approx(expected, rel=1e-6)
    assert actual["estimates"]["Smooth"] != actual["estimates"]["Smooth, history"]


def test_ratios_and_errors_are_those_of_the_repeats(cells: dict[str, Any]) -> None:
    recipe = small().repeated(6)
    actual = figures.fold(recipe, cells)
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


def test_moments_without_a_repeat_are_those_of_the_others() -> None:
    ratios = np.random.default_rng(0).lognormal(0, 0.3, (2, 3, 1, 5))
    moments = Moments.of(ratios)
    others = np.delete(ratios, 2, axis=-1)
    np.testing.assert_allclose(moments.mean[..., 3], others.mean(axis=-1))
    np.testing.assert_allclose(moments.sd[..., 3], others.std(axis=-1, ddof=1))
    np.testing.assert_allclose(moments.error[..., 0] ** 2, ((ratios - 1) ** 2).mean(axis=-1))


def test_jackknife_error_of_a_mean_is_the_usual_one() -> None:
    ratios = np.random.default_rng(0).normal(1, 0.2, (1, 1, 1, 30))
    actual = jackknife(Moments.of(ratios).mean[0, 0, 0])
    assert actual.value == pytest.approx(ratios.mean())
    assert actual.std_error == pytest.approx(ratios.std(ddof=1) / math.sqrt(30))
    assert geometric_mean(np.array([[2.0], [8.0]])).tolist() == [pytest.approx(4.0)]


def printed(mean: Any, sd: Any) -> Moments:
    """Return the moments of printed ratios, without those that leave out a repeat."""
    error = np.sqrt((mean - 1.0) ** 2 + sd**2)
    return Moments(mean[..., None], sd[..., None], error[..., None])


def of_papers(means: Any) -> dict[str, Measured]:
    """Return the figures of six estimators for one method and measure."""
    papers = ["CLS", "BV(0.1)", "BV(0.01)", "MLE", "WMLE", "MES"]
    mean = np.array(means, np.float64)[None, :, None]
    moments = printed(mean, np.array([1.0, 1, 2, 3, 4, 5])[None, :, None] / 10)
    return figures.paper_figures(papers, papers, np.array([[0.5]]), moments)


def test_figures_of_the_papers_estimators() -> None:
    actual = of_papers([1.5, 0.7, 1.1, 0.98, 9.0, 1.2])
    least = {
        name: actual[f"{name}: rows with least or second least bias"].value
        for name in ["MLE", "MES"]
    }
    assert least == {"MLE": 1.0, "MES": 0.0}
    assert actual["BV(0.01): rows with least or second least bias"].value == 1.0
    assert actual["MLE / BV(0.01): spread"].value == pytest.approx(3 / 2)
    assert actual["CLS − the worst of BV, MLE and MES: bias"].value == pytest.approx(0.5 - 0.3)


def test_pairs_in_order_count_every_measure() -> None:
    exact = np.array([[0.3, 0.3], [0.2, 0.4], [0.1, 0.5]])
    estimates = np.array([[0.5, 0.1], [0.6, 0.2], [0.1, 0.3]])
    assert figures._n_pairs_in_order(exact, exact) == 6
    assert figures._n_pairs_in_order(exact, estimates) == 2 + 3


@pytest.mark.parametrize("name", PAPERS)
def test_printed_figures_follow_from_the_papers_table(name: str) -> None:
    recipe = load(name)
    table = figures.paper_values(recipe)
    assert table is not None
    levels = table["mean"][:, :1]
    exact = levels[:, 0] / figures.UNIT
    moments = printed(table["mean"][:, 1:] / levels, table["sd"][:, 1:] / levels)
    papers, measures = recipe.parameters["papers"], recipe.parameters["measures"]
    expected = {
        f"{method} {measure}: {estimator} / exact": moments.mean[i, j, k, 0]
        for i, method in enumerate(recipe.parameters["compared"])
        for j, estimator in enumerate(papers)
        for k, measure in enumerate(measures)
    }
    both = figures.error_figures(papers, papers, measures, moments)
    both |= figures.paper_figures(papers, papers, exact, moments)
    expected |= {key: actual.value for key, actual in both.items()}
    expected |= {
        f"{method} {measure}: exact": 1000 * exact[i, k]
        for i, method in enumerate(recipe.parameters["compared"])
        for k, measure in enumerate(measures)
    }
    assert set(recipe.printed) == set(expected)
    assert all(recipe.printed[key] == pytest.approx(v, abs=6e-4) for key, v in expected.items())


def test_winners_are_counted_for_the_truly_best() -> None:
    recipe = small("sampled-table4", measures=["recall@1"], estimators={"A": "cls", "B": "mle"})
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
        for name in METHODS
    }
    recipe = dataclasses.replace(
        recipe, parameters={**recipe.parameters, "differences": [["B", "A"]]}
    )
    actual = winners.fold(recipe, made)
    assert actual["A: recall@1"].value == 0.0
    assert actual["B: recall@1"].value == pytest.approx(50.0)  # a draw is no win
    assert actual["B: recall@1"].std_error == pytest.approx(100 * math.sqrt(1 / 3 / 4))
    assert actual["B − A: all measures"].value == pytest.approx(50.0)
    assert actual["best by exact recall@1 is itemKNN"].value == pytest.approx(300.0)
