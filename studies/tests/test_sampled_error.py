"""The study of errors by size and seconds: known errors, and the recipe on made data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.report import figures as drawn
from podium.sampled import RankDistribution, get
from podium_studies.cells import parts
from podium_studies.jin2021 import error as figures
from podium_studies.jin2021 import error as study
from podium_studies.jin2021 import error_runs as timing
from podium_studies.jin2021.error_runs import designs, growing
from podium_studies.jin2021.evaluations import estimates
from podium_studies.recipe import Recipe, load
from podium_studies.runner import reproduce

METHODS: dict[str, Any] = {"RoBiRank": {"n_factors": 4, "n_epochs": 3}, "itemKNN": {"k": 5}}
FIXED, GROWING = [5, 10, 20], [[5, 10], [5, 10, 20]]
RECIPES = ["sampled-error", "sampled-error-citeulike"]


def small(**changes: Any) -> Recipe:
    """Return the recipe for made data, with methods that need no other package."""
    recipe = load("sampled-error")
    parameters: dict[str, Any] = {
        **recipe.parameters,
        "protocol": {"format": "lists", "users": 0, "least": 2, "shape": []},
        "methods": METHODS,
        "fixed": FIXED,
        "growing": GROWING,
        "few": 10,
        "timed": ["RoBiRank", "itemKNN"],
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
    return two_tastes(120, n_items=120, n_drawn=12, n_train=90)


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "_TIMES", 1)
        return reproduce(small(), tmp_path_factory.mktemp("out"), data=folder)


def without_seconds(cells: Any) -> dict[str, Any]:
    return {cell: result for cell, result in cells.items() if parts(cell)["part"] != study.SECONDS}


def made_up(recipe: Recipe, off: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """Return cells in which an estimate of a design is off by a share, one for each repeat."""
    exact = [0.5, 0.2, 0.1]
    cells: dict[str, Any] = {}
    for cell in study.cells(recipe):
        key_parts = parts(cell)
        if key_parts["part"] == study.SECONDS:
            each = dict.fromkeys(designs(recipe), 2.0)
            taken = dict.fromkeys(recipe.parameters["estimators"], each)
            cells[cell] = {"kind": "share", "all": 6.0, "scoring": each, "estimating": taken}
            continue
        repeat = int(key_parts["repeat"])
        cells[cell] = {
            "exact": exact,
            "cost": {name: float(np.max(size)) / 2 for name, size in designs(recipe).items()},
            "estimates": {
                label: {
                    name: [value * (1 + off[label][name][repeat]) for value in exact]
                    for name in designs(recipe)
                    if name in off[label]
                }
                for label in recipe.parameters["estimators"]
            },
        }
    return cells


def constant(recipe: Recipe, error: dict[str, float]) -> dict[str, dict[str, list[float]]]:
    """Return errors of either sign and one size, for each design."""
    signs = [1.0, -1.0] * (recipe.repeats or 1)
    by_estimator: dict[str, dict[str, list[float]]] = {}
    for label, text in recipe.parameters["estimators"].items():
        there = designs(recipe) if get(text).grows else recipe.parameters["fixed"]
        by_estimator[label] = {str(name): [s * error[str(name)] for s in signs] for name in there}
    return by_estimator


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_claims_figures_that_there_are(name: str) -> None:
    recipe = load(name).repeated(2)
    errors = dict.fromkeys(designs(recipe), 0.1)
    actual = figures.fold(recipe, made_up(recipe, constant(recipe, errors)))
    assert {claim.figure for claim in recipe.claims} <= set(actual)
    parameters = recipe.parameters
    labels = set(parameters["estimators"])
    assert {each for pair in parameters["compared"] for each in pair} <= labels
    assert {
        *parameters["with_history"],
        *parameters["grown"],
        *parameters["timed_estimators"],
    } <= labels
    assert parameters["judged"] in parameters["measures"]
    assert set(parameters["timed"]) <= set(parameters["methods"])
    assert parameters["few"] in parameters["fixed"]


def test_errors_are_roots_of_mean_squares_over_exact() -> None:
    recipe = small(methods={"itemKNN": {}}, timed=[])
    off = constant(recipe, dict.fromkeys(designs(recipe), 0.2))
    off["MLE"]["10"] = [0.3, 0.0, -0.6]
    actual = figures.fold(recipe, made_up(recipe, off))
    expected = np.sqrt((0.09 + 0.36) / 3)
    assert actual["ndcg@10: MLE at 10"].value == pytest.approx(expected)
    assert actual["ndcg@10: BV(0.1) at 10"].value == pytest.approx(0.2)
    assert actual["ndcg@10: BV(0.1) at 10"].std_error == pytest.approx(0.0, abs=1e-12)
    assert actual["ndcg@10: Smooth / MLE at 10"].value == pytest.approx(0.2 / expected)
    assert actual["ndcg@10: MLE at 20 / at 10"].value == pytest.approx(0.2 / expected)


def test_methods_are_joined_by_the_geometric_mean() -> None:
    assert figures.root(np.array([0.01, 0.04])) == pytest.approx(np.sqrt(0.1 * 0.2))


def test_growing_sample_is_compared_at_its_cost() -> None:
    """Errors 1 / n of samples of one size: a growing one of cost 10 has to beat 1 / 10."""
    recipe = small(methods={"itemKNN": {}}, timed=[])
    errors = {"5": 1 / 5, "10": 1 / 10, "20": 1 / 20, "5 to 10": 0.1, "5 to 20": 0.05}
    actual = figures.fold(recipe, made_up(recipe, constant(recipe, errors)))
    assert actual["ndcg@10: BV(0.01) at 5 to 20 / fixed at its cost"].value == pytest.approx(0.5)
    assert not any(name.startswith("ndcg@10: MES at 5 to") for name in actual)


def test_items_for_an_error_are_interpolated_in_logarithms() -> None:
    sizes, roots = np.array([10.0, 100.0, 1000.0]), np.array([0.4, 0.2, 0.1])
    assert figures.items_for(0.2 * np.sqrt(0.5), sizes, roots) == pytest.approx(100 * np.sqrt(10))
    assert figures.items_for(0.2, sizes, roots) == pytest.approx(100)
    assert np.isnan(figures.items_for(0.05, sizes, roots))
    assert figures.items_for(0.5, sizes, roots) == 10


def test_items_for_an_error_are_those_that_keep_to_it() -> None:
    sizes, roots = np.array([10.0, 100.0, 1000.0]), np.array([0.1, 0.4, 0.1])
    assert figures.items_for(0.2, sizes, roots) == pytest.approx(100 * np.sqrt(10))


def test_cells_hold_what_estimators_give(folder: Path) -> None:
    recipe = small()
    context = study.prepare(recipe, {"set": folder / "set"})
    actual = study.run(recipe, context, "part=errors/method=itemKNN/repeat=1")
    known = RankDistribution.of_ranks(context.ranks("itemKNN"), context.held_out.n_items)
    measures = recipe.parameters["measures"]
    assert actual["exact"] == [known.expect(each) for each in measures]
    assert [*actual["cost"]] == ["5", "10", "20", "5 to 10", "5 to 20"]
    assert actual["cost"]["10"] == 10 < 20 >= actual["cost"]["5 to 20"] > 5
    plain, with_history = context.sample("itemKNN", (5, 10, 20), 1)
    for label, ranks in (("BV(0.01)", plain), ("MLE", plain), ("Smooth, history", with_history)):
        estimator = get(recipe.parameters["estimators"][label])
        expected = [estimator.estimate(ranks, each) for each in measures]
        assert actual["estimates"][label]["5 to 20"] == pytest.approx(expected)
    assert set(actual["estimates"]["CLS"]) == {"5", "10", "20"}


def test_values_that_are_kept_change_no_estimate(folder: Path) -> None:
    context = study.prepare(small(), {"set": folder / "set"})
    for repeat in (0, 1):
        ranks = context.sample("itemKNN", 10, repeat)[0]
        for text in ("cls", "bv(gamma=0.01)"):
            one = estimates(get(text), ranks, ["recall@10"])
            assert one == pytest.approx([get(text).estimate(ranks, "recall@10")])


def test_recipe_runs_on_made_data_and_resumes(done: Any, folder: Path) -> None:
    rerun = reproduce(small(), done.page.parents[1], data=folder)
    assert rerun.resumed == len(done.cells) == 2 * (3 + 1)
    assert rerun.cells == done.cells
    stored = json.loads((done.page.parent / "results.json").read_text())
    assert len(stored["figures"]) == len(done.done.figures)


def test_errors_do_not_depend_on_what_ran_before(done: Any, folder: Path) -> None:
    recipe = small()
    for cell in list(without_seconds(done.cells))[2::3]:
        context = study.prepare(recipe, {"set": folder / "set"})
        rerun = json.loads(json.dumps(study.run(recipe, context, cell)))
        assert rerun == done.cells[cell]


@pytest.mark.long
def test_seconds_are_told_of_every_design_and_estimator(done: Any) -> None:
    recipe = small()
    for method, kind in (("RoBiRank", timing.FACTORS), ("itemKNN", timing.SHARE)):
        actual = done.cells[f"part=seconds/method={method}"]
        assert actual["kind"] == kind
        assert [*actual["scoring"]] == [*designs(recipe)]
        assert [*actual["estimating"]] == [*recipe.parameters["estimators"]]
        assert [*actual["estimating"]["MES"]] == ["5", "10", "20"]
        assert [*actual["estimating"]["MLE"]] == [*designs(recipe)]
        assert actual["all"] >= 0


@pytest.mark.long
def test_samples_of_models_without_factors_are_charged_their_share(done: Any, folder: Path) -> None:
    actual = done.cells["part=seconds/method=itemKNN"]
    n_items = study.prepare(small(), {"set": folder / "set"}).held_out.n_items
    assert actual["scoring"]["10"] == pytest.approx(actual["all"] * 11 / n_items)


def test_plots_have_sizes_growth_and_seconds(done: Any) -> None:
    recipe = small()
    plots = done.done.plots
    n_measures = len(recipe.parameters["measures"])
    assert len(plots) == 2 * n_measures + len(recipe.parameters["timed"])
    by_size, grown, timed = plots[0], plots[n_measures], plots[-1]
    assert [line["label"] for line in by_size["series"]] == [*recipe.parameters["estimators"]]
    assert all(line["x"] == FIXED for line in by_size["series"])
    lines = {line["label"]: line for line in grown["series"]}
    assert len(lines["MLE, growing"]["x"]) == len(growing(recipe))
    assert lines["MLE, growing"]["x"] != lines["MLE, one size"]["x"]
    assert [line["label"] for line in timed["series"]][-1] == "all items: no error"
    assert all(len(plot["series"]) <= 8 for plot in plots)
    assert all(drawn.draw(plot, width=360).startswith("<svg") for plot in plots)


def test_tables_say_what_each_design_gives() -> None:
    recipe = small(methods={"itemKNN": {}}, timed=["itemKNN"])
    errors = {"5": 1 / 5, "10": 1 / 10, "20": 1 / 20, "5 to 10": 0.1, "5 to 20": 0.05}
    cells = made_up(recipe, constant(recipe, errors))
    tables = [*study.tables(recipe, cells, figures.fold(recipe, cells))]
    by_design, parts_of, growth, taken = tables[0], tables[3], tables[6], tables[7]
    rows = {row[0]: row[1:] for row in by_design["rows"]}
    assert rows["MLE"] == ["0.200", "0.100", "0.050", "0.100", "0.050"]
    assert rows["CLS"] == ["0.200", "0.100", "0.050", "", ""]
    spread = np.std([0.1, -0.1, 0.1], ddof=1)
    assert parts_of["rows"][0] == ["CLS", f"{0.1 / 3:+.3f} ± {spread:.3f}"]
    assert growth["rows"][1][:4] == ["BV(0.1)", "5 to 20", "10", "20"]
    assert all(len(row) == len(table["columns"]) for table in tables for row in table["rows"])
    assert taken["rows"][0] == ["scoring", *["2.000"] * 5]
