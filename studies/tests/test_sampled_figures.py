"""The study of learned rank distributions: known curves, and the recipe on made data."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.report import figures as drawn
from podium.sampled import RankDistribution, get
from podium_studies.cells import parts
from podium_studies.jin2021 import figures as figures
from podium_studies.jin2021 import figures as study
from podium_studies.recipe import Recipe, load
from podium_studies.runner import reproduce

METHODS: dict[str, Any] = {"EASE": {"l2": 20.0}, "itemKNN": {"k": 5}}


def small(**changes: Any) -> Recipe:
    """Return the recipe for made data, with methods that need no other package."""
    recipe = load("sampled-figures")
    parameters: dict[str, Any] = {
        **recipe.parameters,
        "protocol": {"format": "lists", "users": 0, "least": 2, "shape": []},
        "methods": METHODS,
        "n_negatives": 20,
        "depth": 30,
        "cutoffs": [5, 20],
        **changes,
    }
    (source,) = recipe.data
    return dataclasses.replace(
        recipe,
        parameters=parameters,
        repeats=3,
        claims=(),
        data=(dataclasses.replace(source, folder="set", files=()),),
    )


@pytest.fixture(scope="module")
def folder(two_tastes: Callable[..., Path]) -> Path:
    return two_tastes(120, n_items=160, n_drawn=12, n_train=90)


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return reproduce(small(), tmp_path_factory.mktemp("out"), data=folder)


def made_up(
    exact: list[float], runs: dict[str, list[list[float]]]
) -> tuple[Recipe, dict[str, Any]]:
    """Return a recipe of one method, and cells of these curves."""
    recipe = small(
        methods={"EASE": {}}, depth=len(exact), cutoffs=[2], compared=[[*runs]],
        estimators=dict.fromkeys(runs, "mle"),
    )  # fmt: skip
    cells: dict[str, Any] = {"part=exact/method=EASE": {"users": 50, "recall": exact}}
    for i, _ in enumerate(next(iter(runs.values()))):
        each = {label: curves[i] for label, curves in runs.items()}
        cells[f"part=sample/method=EASE/repeat={i}"] = {"recall": each}
    return recipe, cells


def test_recipe_claims_figures_that_there_are() -> None:
    recipe = load("sampled-figures").repeated(2)
    curve = np.linspace(0.1, 0.5, recipe.parameters["depth"])
    labels = recipe.parameters["estimators"]
    cells = {
        cell: {"users": 9, "recall": curve}
        if parts(cell)["part"] == figures.EXACT
        else {"recall": dict.fromkeys(labels, curve)}
        for cell in study.cells(recipe)
    }
    actual = figures.fold(recipe, cells)
    assert {claim.figure for claim in recipe.claims} <= set(actual)
    assert {name for pair in recipe.parameters["compared"] for name in pair} <= set(labels)
    assert {*recipe.parameters["with_history"], *recipe.parameters["apart"]} <= set(labels)
    assert "NeuMF" in recipe.parameters["methods"]


def test_distances_are_of_the_mean_curve_and_of_each() -> None:
    exact = [0.1, 0.3, 0.4]
    above, below = [0.2, 0.4, 0.5], [0.0, 0.2, 0.3]  # all by .1
    flat = [0.1, 0.3, 0.5]
    recipe, cells = made_up(exact, {"one": [above, below], "two": [flat, flat]})
    actual = figures.fold(recipe, cells)
    level = (0.1 + 0.3 + 0.4) / 3
    assert actual["EASE, one cdf distance"].value == pytest.approx(0.0)
    assert actual["EASE, one cdf distance of one sample"].value == pytest.approx(0.1 / level)
    assert actual["EASE, two cdf distance"].value == pytest.approx(0.1 / 3 / level)
    assert actual["EASE, two cdf distance"].std_error == pytest.approx(0.0)
    assert actual["EASE, one − exact recall@2"].value == pytest.approx(0.0)
    assert actual["EASE, one − two recall@2"].value == pytest.approx(0.0)
    assert actual["EASE, one − two recall@2"].std_error == pytest.approx(0.1)
    apart = actual["EASE, one − two cdf apart"]
    assert apart.value == pytest.approx(0.1 / 3 / ((0.1 + 0.3 + 0.5) / 3))


def test_shares_are_compared_rank_by_rank() -> None:
    exact = [0.1, 0.3, 0.4]  # shares .1, .2, .1
    other = [0.2, 0.3, 0.4]  # shares .2, .1, .1
    recipe, cells = made_up(exact, {"one": [other, other], "two": [exact, exact]})
    actual = figures.fold(recipe, cells)
    level = (0.1 + 0.2 + 0.1) / 3
    assert actual["EASE, one pmf distance"].value == pytest.approx(0.2 / 3 / level)
    assert actual["EASE, two pmf distance"].value == 0.0
    gap = actual["EASE, one pmf distance − cdf distance"].value
    assert gap == pytest.approx(0.2 / 3 / level - 0.1 / 3 / (0.8 / 3))


def test_users_chance_is_how_far_shares_of_so_many_users_are() -> None:
    """Against a simulation: shares of 4,000 users, drawn from given chances."""
    shares = np.array([0.01, 0.005, 0.02])
    rng = np.random.default_rng(0)
    counts = rng.multinomial(4000, [*shares, 1 - shares.sum()], 20_000)[:, :3] / 4000
    simulated = np.abs(counts - shares).mean() / shares.mean()
    assert figures.chance(np.cumsum(shares), 4000) == pytest.approx(simulated, rel=0.03)


def test_standard_error_of_a_mean_is_the_usual_one() -> None:
    runs = np.array([[1.0], [2.0], [4.0], [9.0]])
    actual = figures.statistic_of_mean(runs, lambda mean: float(mean[0]))
    assert actual.value == 4.0
    assert actual.std_error == pytest.approx(runs.std(ddof=1) / math.sqrt(4))
    assert math.isnan(figures.statistic_of_mean(runs[:1], lambda mean: float(mean[0])).std_error)


def test_cells_are_the_estimators_own_curves(folder: Path) -> None:
    recipe = small()
    context = study.prepare(recipe, {"set": folder / "set"})
    actual = study.run(recipe, context, "part=sample/method=EASE/repeat=1")
    plain, with_history = context.sample("EASE", 20, 1)
    np.testing.assert_array_equal(plain.ranks, with_history.ranks)
    assert plain.history is None
    np.testing.assert_array_equal(with_history.history, context.held_out.history)
    for label, ranks in (("MLE", plain), ("Smooth", plain), ("Smooth, history", with_history)):
        text = recipe.parameters["estimators"][label]
        expected = get(text).fit(ranks).cdf[:30]
        np.testing.assert_allclose(actual["recall"][label], expected, atol=1e-7)
    exact = study.run(recipe, context, "part=exact/method=EASE")
    known = RankDistribution.of_ranks(context.ranks("EASE"), context.held_out.n_items)
    np.testing.assert_allclose(exact["recall"], known.cdf[:30], atol=1e-7)


def test_samples_differ_by_repeat_and_method_and_not_by_what_ran_before(folder: Path) -> None:
    recipe = small()
    one, other = (study.prepare(recipe, {"set": folder / "set"}) for _ in range(2))
    first, second = (one.sample("EASE", 20, repeat)[0].ranks for repeat in (0, 1))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(other.sample("EASE", 20, 1)[0].ranks, second)
    assert not np.array_equal(one.sample("EASE", 25, 0)[0].ranks, first)


def test_recipe_runs_on_made_data_and_resumes(done: Any, folder: Path) -> None:
    rerun = reproduce(small(), done.page.parents[1], data=folder)
    assert rerun.resumed == len(done.cells) == 2 * (1 + 3)
    assert rerun.cells == done.cells
    stored = json.loads((done.page.parent / "results.json").read_text())
    assert len(stored["figures"]) == len(done.done.figures)
    assert "estimate / exact" in done.page.read_text()


def test_mean_estimates_are_near_and_the_tilted_one_is_far(done: Any) -> None:
    actual = done.done.figures
    for method in METHODS:
        far = actual[f"{method}, WMLE cdf distance"].value
        assert far > 2 * actual[f"{method}, MLE cdf distance"].value
        assert far > 2 * actual[f"{method}, Smooth cdf distance"].value
        assert actual[f"{method}, WMLE − MLE recall@5"].value > 0


def test_plots_have_a_line_for_each_estimator_and_the_exact_one(done: Any) -> None:
    plots = done.done.plots
    labels = {"exact", *small().parameters["estimators"]}
    assert len(plots) == 3 * len(METHODS)
    for shares, recall, ratio in (plots[:3], plots[3:]):
        assert {line["label"] for line in recall["series"]} == labels
        for plot in (shares, ratio):
            assert {line["label"] for line in plot["series"]} == labels - {"WMLE"}
        exact = np.array(recall["series"][0]["y"])
        np.testing.assert_allclose(np.cumsum(shares["series"][0]["y"]), exact, atol=1e-5)
        assert all(len(line["x"]) == 30 for line in ratio["series"])
    assert all(drawn.draw(plot, width=360).startswith("<svg") for plot in plots)


def test_rank_that_no_target_reaches_has_no_ratio() -> None:
    recipe, cells = made_up([0.0, 0.3], {"one": [[0.1, 0.3]] * 2, "two": [[0.2, 0.3]] * 2})
    recipe = dataclasses.replace(recipe, parameters={**recipe.parameters, "apart": []})
    *_, ratio = study.plots(recipe, cells, figures.fold(recipe, cells))
    assert ratio["series"][1]["y"] == [None, 1.0]
