"""The study of scale: made data of the right shape, and what fits of them say."""

from __future__ import annotations

import dataclasses
from importlib import util
from typing import Any

import numpy as np
import pytest

from podium.report import figures
from podium_studies.cells import parts
from podium_studies.recipe import Recipe, load
from podium_studies.verdict import judge
from podium_studies.yun2014 import scale as study
from podium_studies.yun2014.scale import DIFFERING
from podium_studies.yun2014.scale_fit import Shape, draw, in_process, measure

SMALL = Shape(700, 3_000, 20_000)
VARY = {"threads": [1, 2], "blocks": [1], "factors": [2, 4], "shares": [0.5], "workers": []}


def small(**changes: Any) -> Recipe:
    recipe = load("robirank-scale")
    fewer = {"fraction": 0.0002, "factors": 4, "passes": 2, "vary": VARY}
    return dataclasses.replace(recipe, parameters={**recipe.parameters, **fewer, **changes})


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    recipe = small()
    return {cell: measure(study.asked(recipe, cell)) for cell in study.cells(recipe)}


def test_full_shape_is_the_papers() -> None:
    assert Shape.of(1.0) == Shape(1_129_318, 386_133, 49_824_519)
    assert load("robirank-scale-full").parameters["fraction"] == 1.0


def test_part_has_all_songs_and_the_same_pairs_a_user() -> None:
    tenth = Shape.of(0.1)
    assert (tenth.n_users, tenth.n_items) == (112_932, 386_133)
    assert tenth.n_pairs / tenth.n_users == pytest.approx(49_824_519 / 1_129_318, rel=1e-5)


def test_pairs_are_distinct_and_hardly_fewer_than_drawn() -> None:
    data = draw(SMALL, [1])
    assert data.shape == (700, 3_000)
    assert data.has_canonical_format
    assert (data.data == 1).all()
    assert 0.9 * SMALL.n_pairs < data.nnz < SMALL.n_pairs


def test_popularity_and_activity_have_long_tails() -> None:
    data = draw(Shape(20_000, 10_000, 800_000), [1])
    heard = np.sort(np.bincount(data.indices, minlength=10_000))[::-1]
    rank = np.arange(10_000)
    share = np.log((rank + 51) / (rank + 50)) / np.log(1 + 10_000 / 50)  # of 1 / (r + 50)
    assert heard[:10].sum() / data.nnz == pytest.approx(share[:10].sum(), rel=0.1)
    assert heard[5_000:].sum() / data.nnz == pytest.approx(share[5_000:].sum(), rel=0.1)
    songs = np.diff(data.indptr)
    assert songs.min() >= 6  # 9 or 10 are drawn, some of them twice
    assert songs.max() > 10 * songs.mean()
    assert np.median(songs) < songs.mean()


def test_data_follow_from_the_seeds_alone() -> None:
    first, rerun, other = (draw(SMALL, seeds) for seeds in ([1, 0], [1, 0], [1, 1]))
    np.testing.assert_array_equal(first.indices, rerun.indices)
    np.testing.assert_array_equal(first.indptr, rerun.indptr)
    assert first.nnz != other.nnz or (first.indices != other.indices).any()


def test_users_are_drawn_in_blocks_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    in_one_block = draw(SMALL, [1])
    monkeypatch.setattr("podium_studies.yun2014.scale_fit._BLOCK", 300)
    parts_of_it = draw(SMALL, [1])
    assert np.diff(parts_of_it.indptr).min() > 0
    assert parts_of_it.nnz == pytest.approx(in_one_block.nnz, rel=0.02)


def test_cells_differ_from_the_usual_one_in_one_thing() -> None:
    listed = [parts(cell) for cell in study.cells(small())]
    usual = {"repeat": "0", "fraction": "0.0002", "factors": "4", "blocks": "auto", "threads": "1"}
    assert listed[0] == usual
    assert len(listed) == 5
    assert all(sum(key_parts[k] != usual[k] for k in usual) == 1 for key_parts in listed[1:])


@pytest.mark.parametrize("there", [True, False])
def test_workers_are_measured_where_ray_is_installed(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    def find(name: str) -> str | None:
        return name if there else None

    monkeypatch.setattr(util, "find_spec", find)
    listed = [parts(cell) for cell in study.cells(load("robirank-scale"))]
    assert [key_parts["workers"] for key_parts in listed if "workers" in key_parts] == [
        "1",
        "2",
    ] * there
    assert all(("workers" in key_parts) != ("threads" in key_parts) for key_parts in listed)


def test_repeats_draw_other_data() -> None:
    recipe = small().repeated(2)
    first, *_, last = study.cells(recipe)
    assert (parts(first)["repeat"], parts(last)["repeat"]) == ("0", "1")
    assert study.asked(recipe, first).seeds != study.asked(recipe, last).seeds


def test_threads_change_no_bit_and_blocks_and_factors_do(cells: dict[str, Any]) -> None:
    sums = {cell: result["factors"] for cell, result in cells.items()}
    one, two, *others = sums.values()
    assert one == two
    assert one not in others
    folded = study.STUDY.fold(small(), cells)
    assert folded[DIFFERING].value == 0.0
    assert judge(small(), folded).overall == "all claims hold"


def test_factors_that_differ_are_counted(cells: dict[str, Any]) -> None:
    cell = next(cell for cell in cells if parts(cell)["threads"] == "2")
    changed = cells | {cell: cells[cell] | {"factors": "other"}}
    folded = study.STUDY.fold(small(), changed)
    assert folded[DIFFERING].value == 1.0
    assert judge(small(), folded).overall != "all claims hold"


def test_results_tell_what_was_fitted(cells: dict[str, Any]) -> None:
    for cell, result in cells.items():
        key_parts = parts(cell)
        assert result["users"] == round(float(key_parts["fraction"]) * 1_129_318)
        assert result["items"] == 386_133
        assert key_parts["blocks"] == "auto" or result["blocks"] == int(key_parts["blocks"])
        assert 0.0 < result["cost"] < 1.0  # less than equal scores cost


@pytest.mark.long
def test_fit_in_a_process_of_its_own_is_the_same_fit(cells: dict[str, Any]) -> None:
    cell, result = next(iter(cells.items()))
    alone = in_process(study.asked(small(), cell))
    assert alone.keys() == result.keys()
    assert alone["factors"] == result["factors"]
    assert alone["memory"] >= alone["before"] > 0


def test_page_shows_every_fit_and_what_was_varied(cells: dict[str, Any]) -> None:
    recipe = small()
    folded = study.STUDY.fold(recipe, cells)
    (table,) = study.STUDY.tables(recipe, cells, folded)
    assert len(table["rows"]) == len(cells)
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    plots = [*study.plots(recipe, cells, folded)]
    varied = {plot["title"].partition(" against ")[2] for plot in plots}
    assert varied == {"threads", "blocks of items", "factors", "million pairs"}
    for plot in plots:
        assert all(len(line["x"]) == 2 for line in plot["series"])
        assert figures.draw(plot).startswith("<svg")
