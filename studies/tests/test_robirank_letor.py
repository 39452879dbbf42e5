"""The study of RoBiRank on LETOR: figures of known values, and the recipe on made-up files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import DataError
from podium_studies.cells import parts
from podium_studies.recipe import Recipe, load
from podium_studies.runner import reproduce
from podium_studies.yun2014 import letor
from podium_studies.yun2014.letor import METHODS, OTHER, ROBIRANK

pytestmark = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")

DATA = Path(os.environ.get("PODIUM_DATA", Path(__file__).parents[3] / "shared" / "data"))
OHSUMED = DATA / "letor-ohsumed"
N_QUERIES, N_ROWS = 15, 25


def part(number: int) -> str:
    """Return three queries of made-up lines in three grades, by the first two of four features."""
    rng = np.random.default_rng(number)
    lines: list[str] = []
    for query in range(3 * number, 3 * number + 3):
        X = rng.random((N_ROWS, 4))
        grades = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=N_ROWS), [0.9, 1.2])
        for y, x in zip(grades, X, strict=True):
            features = " ".join(f"{i}:{v:.6f}" for i, v in enumerate(x, 1))
            lines.append(f"{int(y)} qid:{query} {features}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the five parts."""
    folder = tmp_path_factory.mktemp("letor")
    for number in range(5):
        (folder / f"S{number + 1}.txt").write_text(part(number))
    return folder


def small(**parameters: Any) -> Recipe:
    """Return the recipe for the made-up files, whatever their checksums, with short grids."""
    recipe = load("robirank-letor")
    data = tuple(replace(each, files=()) for each in recipe.data)
    settings: dict[str, Any] = dict(recipe.parameters)
    settings["collections"] = {
        "OHSUMED": {**settings["collections"]["OHSUMED"], "queries": N_QUERIES}
    }
    for name in ("lbfgs", "stopped", "listnet", "rankcosine", "subgradient", "baselines"):
        settings[name] = {**settings[name], "grid": _one_each(settings[name]["grid"])}
    for name, steps in (("lbfgs", "max_iter"), ("subgradient", "max_iter"), _ROUNDS):
        settings[name] = {**settings[name], "fixed": {**settings[name]["fixed"], steps: 40}}
    return replace(recipe, data=data, parameters={**settings, **parameters})


def _one_each(grid: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a grid of one point: the second values, or the only ones."""
    return {name: values[1:2] or values for name, values in grid.items()}


_ROUNDS = ("rankboost", "n_rounds")


def made_up_cells(recipe: Recipe, levels: Mapping[str, float]) -> dict[str, Any]:
    """Return cells in which a method has its level for every query, 0.5 where none is given."""
    return {
        cell: {
            "query": [1, 2, 3],
            "values": {
                name: [levels.get(parts(cell)["method"], 0.5)] * 3
                for name in recipe.parameters["measures"]
            },
            "chosen": {"l2": 1.0},
        }
        for cell in letor.cells(recipe)
    }


def test_recipe_has_every_method_once_and_claims_figures_that_there_are() -> None:
    recipe = load("robirank-letor")
    assert list(recipe.parameters["methods"]) == list(METHODS)
    assert list(recipe.parameters["measures"]) == [f"N@{k}" for k in range(1, 11)]
    assert set(recipe.parameters["curves"]) <= set(METHODS)
    figures = letor.fold(recipe, made_up_cells(recipe, {}))
    assert {claim.figure for claim in recipe.claims} <= set(figures)
    n_rivals = sum(method.kind == OTHER for method in METHODS.values())
    assert figures[f"{letor.ABOVE} N@1"].n == n_rivals
    by_chance = [claim.text for claim in recipe.claims if "by chance" in claim.text]
    assert by_chance
    assert all(text.endswith(f"one of {n_rivals}") for text in by_chance)


def test_standing_is_against_rivals_only() -> None:
    recipe = load("robirank-letor")
    levels = {ROBIRANK: 0.6, "RoBiRank, hinge": 0.9, "binary, type I": 0.8, "ListNet": 0.7}
    figures = letor.fold(recipe, made_up_cells(recipe, levels))
    n_rivals = len(letor.rivals(recipe))
    assert figures["RoBiRank − the best of the others N@10"].value == pytest.approx(-0.1)
    assert figures["RoBiRank − RoBiRank, hinge N@10"].value == pytest.approx(-0.3)
    assert figures["RoBiRank − RankBoost, mean over measures"].value == pytest.approx(0.1)
    for label, count in (
        (letor.ABOVE, n_rivals - 1),
        (letor.ABOVE + letor.SHOWN, n_rivals - 1),
        (letor.BELOW + letor.SHOWN, 1),
    ):
        assert figures[f"{label} N@3"].value == count


def test_a_difference_that_varies_by_query_has_an_interval_with_0() -> None:
    recipe = load("robirank-letor")
    cells = made_up_cells(recipe, {ROBIRANK: 0.51})
    for cell, actual in cells.items():
        if parts(cell)["method"] == "ListNet":
            actual["values"] = {name: [0.1, 0.5, 0.9] for name in actual["values"]}
    figures = letor.fold(recipe, cells)
    n_rivals = len(letor.rivals(recipe))
    assert figures[f"{letor.ABOVE} N@1"].value == n_rivals
    assert figures[f"{letor.ABOVE}{letor.SHOWN} N@1"].value == n_rivals - 1


def test_unknown_methods_are_named() -> None:
    with pytest.raises(ValueError, match="Did you mean 'RankBoost'"):
        list(letor.cells(small(methods=["Rankboost"])))


def test_without_data_one_line_says_what_to_fetch(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        reproduce("robirank-letor", tmp_path)
    text = str(raised.value)
    assert "\n" not in text
    data = load("robirank-letor").data[0]
    assert all(each in text for each in (data.title, data.url, data.licence))


@pytest.fixture(scope="module")
def done(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return reproduce(small(), tmp_path_factory.mktemp("out"), data=files)


@pytest.mark.long
def test_recipe_runs_on_a_users_files_and_resumes(done: Any, files: Path) -> None:
    rerun = reproduce(small(), done.page.parents[1], data=files)
    assert rerun.resumed == len(done.cells) == 5 * len(METHODS)
    assert rerun.cells == done.cells
    stored = json.loads((done.page.parent / "results.json").read_text())
    assert {each["standing"] for each in stored["claims"]} <= {"holds", "open", "fails"}
    text = done.page.read_text()
    assert "cutoff k" in text
    assert all(name in text for name in METHODS)


@pytest.mark.long
def test_every_method_learns(done: Any) -> None:
    """On grades that are near a linear function: far above a random order."""
    for name in METHODS:
        assert done.done.figures[f"{name} N@10"].value > 0.6, name


@pytest.mark.long
def test_a_cell_does_not_depend_on_those_before_it(done: Any, files: Path) -> None:
    recipe = small()
    for cell in list(done.cells)[3::40]:
        context = letor.prepare(recipe, {"letor-ohsumed": files})
        rerun = json.loads(json.dumps(letor.run(recipe, context, cell)))
        assert rerun == done.cells[cell]


@pytest.mark.long
@pytest.mark.skipif(not OHSUMED.exists(), reason=f"no letor-ohsumed in {DATA} (set PODIUM_DATA)")
def test_robirank_and_rho_on_ohsumed() -> None:
    """One fold: what is published learns, and types differ, so that rho has an effect."""
    recipe = load("robirank-letor")
    context = letor.prepare(recipe, {"letor-ohsumed": OHSUMED})
    one: dict[str, Any] = {
        name: letor.run(recipe, context, f"data=OHSUMED/method={name}/draw=0/fold=2")
        for name in (ROBIRANK, "RoBiRank, type II")
    }
    means = {
        name: float(np.mean(np.array(actual["values"]["N@10"]))) for name, actual in one.items()
    }
    assert min(means.values()) > 0.3
    assert one[ROBIRANK]["values"] != one["RoBiRank, type II"]["values"]
