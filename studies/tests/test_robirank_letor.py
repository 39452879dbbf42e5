"""The study of RoBiRank on LETOR: figures of known values, and the recipe on made-up files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from podium_studies.cells import parts
from podium_studies.recipe import Recipe, load
from podium_studies.yun2014 import letor
from podium_studies.yun2014.letor import ROBIRANK


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
