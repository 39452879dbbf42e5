"""Table 3: what a cell is, how cells become figures, and the recipes on made-up files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.report import figures as report_figures
from podium.report import tables as report_tables
from podium_studies.cells import key, parts
from podium_studies.hiranandani2020 import behance, citation, splits, table3
from podium_studies.hiranandani2020.table3 import METHODS, PAPER, RANDOM, ZERO, grid
from podium_studies.recipe import Recipe, load
from podium_studies.rows import Parts, Rows
from podium_studies.runner import reproduce
from podium_studies.study import Measured

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")
NAMES = ("pap-table3-movielens", "pap-table3-citation", "pap-table3-behance")


def small(name: str = NAMES[0], **parameters: Any) -> Recipe:
    """Return a recipe with short grids, two cutoffs and two repeats."""
    recipe = load(name)
    few: dict[str, Any] = {
        **recipe.parameters,
        "cutoffs": [2, 3],
        "random_draws": 3,
        PAPER: {
            "learning_rate": [0.1, 0.5],
            "l2": [0.01],
            "max_iter": 5,
            "final": dict.fromkeys(recipe.parameters[PAPER]["final"], 8),
        },
        ZERO: {"learning_rate": [0.5], "l2": [0.0, 0.01], "max_iter": 5},
        "C": {name: [1.0] for name in recipe.parameters["C"]},
        **parameters,
    }
    shown = [f"{label} k={k}" for label in ("GD-avg", "Select") for k in few["cutoffs"]]
    printed = {"rows": 100.0, **dict.fromkeys(shown, 50.0)}
    return replace(recipe, parameters=few, repeats=2, printed=printed)


def made_up(seed: int = 0) -> Rows:
    """Return 30 users with 60 rows each, of which one feature tells the positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1800, 4))
    y = (X[:, 0] + rng.normal(size=1800) > 1).astype(float)
    return Rows(X, y, np.repeat(np.arange(30) * 2, 60))


def context_of(recipe: Recipe, source: Rows | Parts) -> table3.Context:
    return table3.Context(recipe, source, "f")


@pytest.fixture(scope="module")
def done() -> tuple[Recipe, dict[str, Mapping[str, Any]]]:
    recipe = small()
    context = context_of(recipe, made_up())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recipe, {cell: table3.run(recipe, context, cell) for cell in table3.cells(recipe)}


@pytest.mark.long
def test_every_method_runs_under_each_of_its_protocols(done: Any) -> None:
    _, cells = done
    key_parts = [parts(cell) for cell in cells if "seed" in cell]
    assert {each["method"] for each in key_parts} == {*METHODS, RANDOM}
    assert len(key_parts) == 2 * 2 * (1 + sum(len(m.protocols) for m in METHODS.values()))
    for each in key_parts:
        actual = cells[key(**each)]
        assert len(actual["gain"]) == len(actual["user"]) == actual["users"] > 10
        assert np.mean(actual["gain"]) == pytest.approx(actual["pap"], abs=1e-6)
        assert actual["half"] >= actual["pap"] - 1e-12


def test_learning_beats_random_weights(done: Any) -> None:
    recipe, cells = done
    figures = table3.fold(recipe, cells)
    for label in ("logistic", "GD-avg (w0 = 0)", "GD-ramp (w0 = 0)", "Greedy", "Select (w0 = 0)"):
        assert figures[f"{label} k=3"].value > figures[f"{RANDOM} k=3"].value + 10


def test_a_cell_does_not_depend_on_those_before_it(done: Any) -> None:
    recipe, cells = done
    for cell in list(cells)[7::10]:
        assert table3.run(recipe, context_of(recipe, made_up()), cell) == cells[cell]


@pytest.mark.long
def test_all_methods_have_the_same_users_at_a_split_and_cutoff(done: Any) -> None:
    _, cells = done
    by_place: dict[tuple[str, str], set[tuple[int, ...]]] = {}
    for cell, actual in cells.items():
        if "seed" in parts(cell):
            place = parts(cell)["seed"], parts(cell)["k"]
            by_place.setdefault(place, set()).add(tuple(actual["user"]))
    assert all(len(users) == 1 for users in by_place.values())


def test_options_are_those_of_the_grid_and_the_final_fit_is_longer(done: Any) -> None:
    _, cells = done
    chosen = cells[key(seed=0, k=2, method="GD-avg", protocol=PAPER)]["chosen"]
    assert chosen["learning_rate"] in (0.1, 0.5)
    assert chosen["max_iter"] == 8
    assert cells[key(seed=0, k=2, method="GD-avg", protocol=ZERO)]["chosen"]["max_iter"] == 5


def test_only_the_start_differs_where_the_split_is_given(done: Any) -> None:
    recipe, _ = done
    scaled = context_of(recipe, made_up()).scaled(0)
    context = context_of(recipe, scaled)
    assert np.array_equal(context.scaled(0).test.X, context.scaled(1).test.X)
    cells = [key(seed=s, k=2, method="GD-avg", protocol=PAPER) for s in (0, 1)]
    one, other = (table3.run(recipe, context, cell) for cell in cells)
    assert one["user"] == other["user"]
    assert one["gain"] != other["gain"]


def test_counts_are_of_all_parts_together(done: Any) -> None:
    recipe, cells = done
    counts = cells[key(data="counts")]
    rows = made_up()
    assert counts == {"rows": 1800, "positives": int(rows.y.sum()), "users": 30, "features": "f"}
    assert context_of(recipe, context_of(recipe, rows).scaled(3)).counts() == counts


def test_the_error_of_a_difference_with_one_repeat_is_that_of_a_bootstrap_over_users() -> None:
    rng = np.random.default_rng(0)
    recipe = replace(small(), repeats=1)
    cells = simulated(rng, 1, between_users=0.3, between_repeats=0.0)
    pairs = [(cells[name], cells[_other(name)]) for name in cells if "method=a" in name]
    actual = splits.difference(recipe, cells, ("a", PAPER), ("b", PAPER))
    drawn = np.array([_once(pairs, rng.integers(0, 80, 80)) for _ in range(3000)])
    means: list[float] = [np.mean(a["gain"]) - np.mean(b["gain"]) for a, b in pairs]
    assert actual.value == pytest.approx(100 * np.mean(means))
    assert actual.n == len({user for each, _ in pairs for user in each["user"]})
    assert actual.std_error == pytest.approx(drawn.std(), rel=0.08)


@pytest.mark.parametrize(("users", "repeats"), [(0.4, 0.0), (0.0, 0.3), (0.3, 0.15)])
def test_errors_of_differences_are_how_far_they_vary(users: float, repeats: float) -> None:
    rng = np.random.default_rng(1)
    recipe = replace(small(), repeats=6)
    actual = [
        splits.difference(recipe, simulated(rng, 6, users, repeats), ("a", PAPER), ("b", PAPER))
        for _ in range(300)
    ]
    varied = np.std([each.value for each in actual])
    assert np.sqrt(np.mean([each.std_error**2 for each in actual])) == pytest.approx(
        varied, rel=0.15
    )


def simulated(
    rng: np.random.Generator, n_repeats: int, between_users: float, between_repeats: float
) -> dict[str, dict[str, Any]]:
    """Return cells of two methods that differ by user, by repeat and by chance."""
    of_user = rng.normal(0, between_users, 80)
    cells: dict[str, dict[str, Any]] = {}
    for seed in range(n_repeats):
        of_repeat = rng.normal(0, between_repeats)
        for k in (2, 3):
            users = np.sort(rng.permutation(80)[: 20 + 15 * k])
            lift = of_user[users] + of_repeat
            gains = {"a": rng.random(users.size) + lift, "b": rng.random(users.size)}
            for name, gain in gains.items():
                cell = {"user": users.tolist(), "gain": gain.tolist()}
                cells[key(seed=seed, k=k, method=name, protocol=PAPER)] = cell
    return cells


def _other(name: str) -> str:
    return name.replace("method=a", "method=b")


def _once(pairs: list[tuple[Any, Any]], sample: Any) -> float:
    times = np.bincount(sample, minlength=80)
    gains = [(np.subtract(a["gain"], b["gain"]), times[a["user"]]) for a, b in pairs]
    return 100 * float(np.mean([np.average(gain, weights=weights) for gain, weights in gains]))


@pytest.mark.long
def test_plots_and_tables_can_be_drawn(done: Any) -> None:
    recipe, cells = done
    figures = table3.STUDY.fold(recipe, cells)
    for plot in table3.STUDY.plots(recipe, cells, figures):
        assert "GD-avg" in report_figures.draw(plot)
    tables = list(table3.STUDY.tables(recipe, cells, figures))
    text = report_tables.to_text(tables[0])
    assert "GD-avg (w0 = 0)" in text
    assert f"{figures['GD-avg k=2'].value:.1f} ±" in text
    assert text.count("(50.0)") == 4


@pytest.mark.parametrize("name", NAMES)
def test_recipes_print_what_their_study_measures(name: str) -> None:
    recipe = load(name)
    measured = {
        f"{label} k={k}" for label in table3.runs(recipe) for k in recipe.parameters["cutoffs"]
    }
    assert {*recipe.printed} - {"rows", "positives", "users"} <= measured
    assert len(recipe.printed) == 3 + 7 * 5
    assert [claim.figure for claim in recipe.claims if "GD-avg" in claim.figure] == [
        f"GD-avg − {other}" for other in ("SVM-pAUC", "Greedy", "SGD@k-avg", "Select")
    ]
    final = recipe.parameters[PAPER]["final"]
    method_names = recipe.parameters["methods"]
    assert {method for method in method_names if METHODS[method].descends} <= {*final}
    assert all(grid(method, ZERO, recipe.parameters) for method in method_names)


def test_logistic_regression_is_compared_with_the_best_printed(done: Any) -> None:
    recipe, cells = done
    printed = {"rows": 1.0, "GD-avg k=2": 10.0, "Select k=2": 20.0, "GD-avg k=3": 99.0}
    figures = table3.fold(replace(recipe, printed=printed), cells)
    least = figures["logistic − best printed, least over k"]
    assert least.value == pytest.approx(figures["logistic k=3"].value - 99.0)
    assert least.std_error == figures["logistic k=3"].std_error


def test_an_unknown_method_or_data_set_is_named() -> None:
    with pytest.raises(ValueError, match=r"methods must be one of .* Did you mean 'GD-avg'"):
        table3.cells(small(methods=["GD-awg"]))
    with pytest.raises(ValueError, match="dataset must be one of 'movielens', 'citation'"):
        table3.prepare(small(dataset="netflix"), {"x": Path()})


SHORT = ["GD-avg", "SVM-pAUC", "Greedy", "SGD@k-avg", "Select"]


@pytest.mark.long
def test_citation_runs_from_its_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    for seed, name in enumerate(citation.FILES):
        rng = np.random.default_rng(seed)
        names = [*citation.SIDE, *(str(i) for i in range(100))]
        frame = pandas.DataFrame(rng.normal(size=(600, 105)), columns=names)
        frame["u_id"] = np.repeat(np.arange(20), 30)
        frame["paper_id_written"] = "p"
        frame["label"] = (frame["CoAuthorCount"] + rng.normal(size=600) > 1).astype(int)
        frame.to_pickle(tmp_path / name)
    outcome = reproduce(small(NAMES[1], methods=SHORT), tmp_path / "out", data=tmp_path)
    assert outcome.done.figures["rows"].value > 1000
    assert outcome.page.exists()


@pytest.mark.long
def test_behance_runs_from_its_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(900, 3))
    item = np.array([f"{i:08d}" for i in range(900)])
    np.savez(tmp_path / behance.REDUCED, item=item, features=features)
    lines: list[str] = []
    for user in range(12):
        expected = rng.permutation(np.argsort(-features[:, 0])[:450])[: 60 + user]
        lines += [f"u{user:02d} {item[i]} {time}" for time, i in enumerate(expected)]
    (tmp_path / behance.LIKES).write_text("\n".join(lines))
    outcome = reproduce(small(NAMES[2], methods=SHORT), tmp_path / "out", data=tmp_path)
    assert outcome.done.figures["users"] == Measured(12.0)
    assert "image features from image_features.npz" in outcome.page.read_text()
    written = json.loads((tmp_path / "out" / NAMES[2] / "results.json").read_text())
    assert "GD-avg k=2" in json.dumps(written)
