"""The study of top-k consistency: small runs of its cells, and what the page is made of."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from podium.groups import Groups
from podium.report import figures
from podium_studies.cells import key, parts
from podium_studies.recipe import Recipe, load
from podium_studies.verdict import judge
from podium_studies.xia2009 import enumeration as study
from podium_studies.xia2009.enumeration_curves import curve
from podium_studies.xia2009.enumeration_losses import NAMES, Gentle, make_loss

SMALL = {"spaces": 6, "many_spaces": 40, "n_random_scores": 4, "p1": [0.335, 0.995, 5]}
SMALLER: dict[str, Any] = {
    **SMALL,
    "sizes": [[3, 1], [3, 2], [4, 1]],
    "curves": [["listmle", "original"], ["squared", "top-k"], ["gentle", "original"]],
}


def small(**changes: Any) -> Recipe:
    recipe = load("topk-consistency")
    return dataclasses.replace(recipe, parameters={**recipe.parameters, **SMALLER, **changes})


@pytest.fixture(scope="module")
def cells() -> dict[str, Any]:
    recipe = small()
    return {cell: study.run(recipe, None, cell) for cell in study.cells(recipe)}


def test_recipe_names_losses_that_there_are() -> None:
    recipe = load("topk-consistency")
    for cell in study.cells(recipe):
        key_parts = parts(cell)
        if "loss" in key_parts:
            assert key_parts["loss"] in NAMES
            make_loss(key_parts["loss"], key_parts["form"], 1)
    assert all(k < n for n, k in recipe.parameters["sizes"])


@pytest.mark.long
def test_every_claim_is_judged(cells: dict[str, Any]) -> None:
    recipe = small()
    actual = judge(recipe, study.STUDY.fold(recipe, cells))
    assert len(actual.claims) == len(recipe.claims) == 16
    standing = {claim.text.split(":")[0]: how for claim, _, how in actual.claims}
    assert standing["Theorem 6"] == standing["Theorem 7"] == standing["Section 4.3.1"] == "holds"
    assert standing["Footnote 4 as printed"] == "fails"
    assert standing["Proposition 10 as printed"] == "fails"


@pytest.mark.long
def test_page_draws_for_each_size(cells: dict[str, Any]) -> None:
    recipe = small()
    folded = study.STUDY.fold(recipe, cells)
    tables = study.STUDY.tables(recipe, cells, folded)
    assert len(tables) == 1 + 3
    assert all(len(row) == len(t["columns"]) for t in tables for row in t["rows"])
    for plot in study.STUDY.plots(recipe, cells, folded):
        assert figures.draw(plot).startswith("<svg")


def test_cells_are_the_same_on_every_run_and_see_the_same_spaces() -> None:
    recipe = small()
    cell = key(part="loss", n=3, k=1, loss="squared", form="original")
    assert study.run(recipe, None, cell) == study.run(recipe, None, cell)
    first, rerun = (study.drawn(recipe, "preserving", 3, 1) for _ in range(2))
    for a, b in zip(first, rerun, strict=True):
        np.testing.assert_array_equal(a.probabilities, b.probabilities)
    other = study.drawn(recipe, "arbitrary", 3, 1)
    assert not np.array_equal(first[0].probabilities, other[0].probabilities)


@pytest.mark.parametrize(
    ("loss", "form", "first"),
    [
        ("listmle", "original", 0.526097),
        ("squared", "original", 0.5),
        # softmax of (2, 1, 0) in expectation: p1 (e^2 - e) = p2 (e^2 - 1)
        ("listnet", "original", (math.e + 1) / (3 * math.e + 1)),
        ("listmle", "top-k", 1 / 3),
        ("gentle", "original", 1 / 3),
    ],
)
def test_thresholds_of_proposition_10(loss: str, form: str, first: float) -> None:
    actual = curve(small(), make_loss(loss, form, 1))
    assert actual["first from"] == pytest.approx(first, abs=1e-6)
    assert [lead > 0 for lead in actual["lead"]] == [p1 > first for p1 in actual["p1"]]


def test_gradient_of_the_counter_example() -> None:
    rng = np.random.default_rng(0)
    loss = Gentle()
    target = loss.prepare(np.array([3.0, 2.0, 1.0, 1.0, 3.0, 2.0]), Groups.from_sizes([3, 3]))
    s = rng.standard_normal(6)
    grad = loss.value_and_grad(s, target)[1]
    for row in range(6):
        h = 1e-6 * np.eye(6)[row]
        up, down = (loss.value_and_grad(s + d, target)[0].mean() for d in (h, -h))
        assert grad[row] == pytest.approx((up - down) / 2e-6, abs=1e-8)
