"""The runner: checkpoints, resuming, data sets, and what it writes."""

from __future__ import annotations

import hashlib
import json
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from podium.errors import ArgumentError, DataError
from podium_studies import runner
from podium_studies.cells import generator, key, mean
from podium_studies.runner import reproduce
from podium_studies.study import Claim, DataFile, DataSet, Grid, Recipe, Study

CONTENT = b"1,2\n"
SUM = hashlib.sha256(CONTENT).hexdigest()
DATA = DataSet("set", "A made-up set", "https://example.org/set", "free", (DataFile("x.csv", SUM),))


class Toy:
    """A study that draws numbers, notes what it did, and stops where it is told to."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.error: BaseException | None = None
        self.stop_at = -1

    def study(self) -> Study:
        return Study(self.cells, self.run, self.fold, self.prepare, self.shown)

    def cells(self, recipe: Recipe) -> list[str]:
        return [key(seed=seed) for seed in range(recipe.repeats or 1)]

    def prepare(self, recipe: Recipe, paths: Any) -> dict[str, Path]:
        return dict(paths)

    def run(self, recipe: Recipe, context: Any, seed: int) -> dict[str, Any]:
        if len(self.done) == self.stop_at:
            raise self.error or KeyboardInterrupt
        self.done.append(key(seed=seed))
        values = generator(recipe, "values", seed).random(2)
        return {"value": values[0], "all": values, "lost": np.nan, "n": np.int64(2)}

    def fold(self, recipe: Recipe, cells: Any) -> dict[str, Any]:
        assert all(np.isnan(each["lost"]) and each["n"] == 2 for each in cells.values())
        return {"value": mean(each["value"] for each in cells.values())}

    def shown(self, recipe: Recipe, cells: Any, figures: Any) -> list[Any]:
        values = [each["value"] for each in cells.values()]
        series = [{"label": "value", "x": list(range(len(values))), "y": values}]
        plot = {"kind": "line_plot", "title": "Values / by seed", "series": series}
        return [Grid("Values", ["value"], [""], "{}{}", plot="intervals"), plot]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    toy_study = Toy()
    module = types.ModuleType("toy.study")
    module.STUDY = toy_study.study()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy", types.ModuleType("toy"))
    monkeypatch.setitem(sys.modules, "toy.study", module)
    return toy_study


@pytest.fixture
def recipe() -> Recipe:
    return Recipe(
        *("toy", "A toy", "hiranandani2020", "Table 0", "toy.study"),
        repeats=6,
        printed={"value": 0.5},
        tolerance=0.3,
        claims=(Claim("Values are positive.", "value", above=0.0),),
        notes=("Nothing <b>to</b> note.",),
    )


def results(out: Path) -> dict[str, Any]:
    stored = json.loads((out / "toy" / "results.json").read_text())
    return {name: value for name, value in stored.items() if name != "seconds"}


def lines(out: Path) -> list[dict[str, Any]]:
    text = (out / "toy" / runner.FILE).read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_run_writes_its_files_and_nothing_else(toy, recipe, tmp_path):
    outcome = reproduce(recipe, tmp_path)
    assert {file.name for file in (tmp_path / "toy").iterdir()} == {
        *("cells.jsonl", "report.html", "results.json"),
        *("plot-1-values.svg", "plot-2-values-by-seed.svg"),
    }
    page = outcome.page.read_text()
    assert page.rstrip().endswith("</html>")
    assert "Nothing &lt;b&gt;to&lt;/b&gt; note." in page
    assert "https://" not in page
    assert results(tmp_path)["verdict"]["overall"] == outcome.verdict.overall == "reproduced"


def test_interrupted_run_resumes_to_the_same_result(toy, recipe, tmp_path):
    reproduce(recipe, tmp_path / "whole")
    toy.done, toy.stop_at = [], 4
    with pytest.raises(KeyboardInterrupt):
        reproduce(recipe, tmp_path / "parts")
    assert not (tmp_path / "parts" / "toy" / "results.json").exists()
    toy.done, toy.stop_at = [], -1
    outcome = reproduce(recipe, tmp_path / "parts")
    assert toy.done == ["seed=4", "seed=5"]
    assert outcome.resumed == 4
    assert results(tmp_path / "parts") == results(tmp_path / "whole")


def test_line_that_a_kill_cut_off_is_done_again(toy, recipe, tmp_path):
    reproduce(recipe, tmp_path)
    before = results(tmp_path)
    file = tmp_path / "toy" / runner.FILE
    file.write_text(file.read_text()[:-20])
    toy.done = []
    reproduce(recipe, tmp_path)
    assert toy.done == ["seed=5"]
    assert results(tmp_path) == before
    assert len(lines(tmp_path)) == 5 + 1


def test_line_that_is_broken_elsewhere_is_an_error(toy, recipe, tmp_path):
    reproduce(recipe, tmp_path)
    file = tmp_path / "toy" / runner.FILE
    file.write_text(file.read_text().replace('{"hash"', "{hash", 1))
    with pytest.raises(DataError):
        reproduce(recipe, tmp_path)
    assert reproduce(recipe, tmp_path, fresh=True).resumed == 0


def test_cells_of_other_settings_are_never_mixed_in(toy, recipe, tmp_path, monkeypatch):
    reproduce(recipe, tmp_path)
    toy.done = []
    outcome = reproduce(replace(recipe, parameters={"k": 2}), tmp_path)
    assert (outcome.resumed, outcome.others, len(toy.done)) == (0, 6, 6)
    assert reproduce(recipe, tmp_path).resumed == 6
    monkeypatch.setattr(podium, "__version__", "999.0")
    assert reproduce(recipe, tmp_path).resumed == 0


def test_error_in_a_cell_names_it_and_keeps_the_others(toy, recipe, tmp_path):
    toy.stop_at, toy.error = 3, ArgumentError("k is too large.")
    with pytest.raises(ArgumentError, match=r"^toy, cell seed=3: k is too large\.$"):
        reproduce(recipe, tmp_path)
    assert sum("cell" in line for line in lines(tmp_path)) == 3


@pytest.mark.long
def test_processes_side_by_side_find_the_same(tmp_path):
    one = reproduce("pap-table2", tmp_path / "one", repeats=2)
    two = reproduce("pap-table2", tmp_path / "two", repeats=2, jobs=2)
    assert repr(one.cells) == repr(two.cells)  # nan is not equal to itself, but reads the same


@pytest.mark.parametrize(
    ("given", "found"), [(".", "set"), ("set", "set"), ("set/x.csv", "set/x.csv")]
)
def test_data_set_is_found_however_it_is_given(toy, recipe, tmp_path, given, found):
    seen: list[Any] = []
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "x.csv").write_bytes(CONTENT)
    study = replace(toy.study(), prepare=lambda recipe, paths: seen.append(paths))
    sys.modules["toy.study"].STUDY = study  # type: ignore[attr-defined]
    reproduce(replace(recipe, data=(DATA,)), tmp_path / "out", data=tmp_path / given)
    assert seen == [{"set": tmp_path / found}]


def test_absent_or_other_data_are_refused(toy, recipe, tmp_path):
    needs = replace(recipe, data=(DATA,))
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.csv").write_bytes(b"other")
    (tmp_path / "x.zip").write_bytes(b"no archive")
    for data in (None, "nowhere", "empty", "other", "x.zip"):
        with pytest.raises(DataError):
            reproduce(needs, tmp_path / "out", data=data and tmp_path / data)
    assert not (tmp_path / "out").exists()


def test_data_without_a_known_checksum_still_tell_cells_apart(toy, recipe, tmp_path):
    needs = replace(recipe, data=(replace(DATA, files=(DataFile("x.csv"),)),))
    for content in (b"a", b"b"):
        (tmp_path / "x.csv").write_bytes(content)
        outcome = reproduce(needs, tmp_path / "out", data=tmp_path)
        assert outcome.resumed == 0
    assert outcome.others == 6
