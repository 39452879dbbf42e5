"""The study of scale: made data of the right shape, and what fits of them say."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from podium_studies.cells import parts
from podium_studies.recipe import load
from podium_studies.study import Recipe
from podium_studies.verdict import judge
from podium_studies.yun2014 import scale as study
from podium_studies.yun2014.scale import DIFFERING, draw, measure

VARY = {"threads": [1, 2], "blocks": [1], "factors": [2, 4], "shares": [0.5], "workers": []}


def small(**changes: Any) -> Recipe:
    recipe = load("robirank-scale")
    fewer = {"fraction": 0.0002, "factors": 4, "passes": 2, "vary": VARY}
    return dataclasses.replace(recipe, parameters={**recipe.parameters, **fewer, **changes})


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    recipe = small()
    return {cell: measure(**study.asked(recipe, **parts(cell))) for cell in study.cells(recipe)}


def test_popularity_and_activity_have_long_tails() -> None:
    data = draw(20_000, 800_000, [1], 10_000)
    heard = np.sort(np.bincount(data.indices, minlength=10_000))[::-1]
    rank = np.arange(10_000)
    share = np.log((rank + 51) / (rank + 50)) / np.log(1 + 10_000 / 50)  # of 1 / (r + 50)
    assert heard[:10].sum() / data.nnz == pytest.approx(share[:10].sum(), rel=0.1)
    assert heard[5_000:].sum() / data.nnz == pytest.approx(share[5_000:].sum(), rel=0.1)
    songs = np.diff(data.indptr)
    assert songs.min() >= 6  # 9 or 10 are drawn, some of them twice
    assert songs.max() > 10 * songs.mean()
    assert np.median(songs) < songs.mean()


def test_users_are_drawn_in_blocks_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    in_one_block = draw(700, 20_000, [1], 3_000)
    monkeypatch.setattr("podium_studies.yun2014.scale._BLOCK", 300)
    parts_of_it = draw(700, 20_000, [1], 3_000)
    assert np.diff(parts_of_it.indptr).min() > 0
    assert parts_of_it.nnz == pytest.approx(in_one_block.nnz, rel=0.02)


def test_cells_differ_from_the_usual_one_in_one_thing() -> None:
    listed = [parts(cell) for cell in study.cells(small())]
    usual = {"repeat": 0, "fraction": "0.0002", "factors": 4, "blocks": "auto", "threads": 1}
    assert listed[0] == usual
    assert len(listed) == 5
    assert all(sum(key_parts[k] != usual[k] for k in usual) == 1 for key_parts in listed[1:])


def test_threads_change_no_bit_and_blocks_and_factors_do(cells: dict[str, Any]) -> None:
    sums = {cell: result["factors"] for cell, result in cells.items()}
    one, two, *others = sums.values()
    assert one == two
    assert one not in others
    folded = study.STUDY.fold(small(), cells)
    assert folded[DIFFERING].value == 0.0
    assert judge(small(), folded).overall == "all claims hold"


def test_factors_that_differ_are_counted(cells: dict[str, Any]) -> None:
    cell = next(cell for cell in cells if parts(cell)["threads"] == 2)
    changed = cells | {cell: cells[cell] | {"factors": "other"}}
    folded = study.STUDY.fold(small(), changed)
    assert folded[DIFFERING].value == 1.0
    assert judge(small(), folded).overall != "all claims hold"
