"""Table 1 of hiranandani2020: five rankings, which the measures order differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from podium.metrics import parse
from podium.ranking import Ranking
from podium_studies.cells import key, parts, sweep
from podium_studies.study import Cells, Figures, Grid, Measured, Recipe, Result, Study


def cells(recipe: Recipe) -> Iterator[str]:
    """Yield one key per ranking."""
    return sweep(ranking=recipe.parameters["rankings"])


def run(recipe: Recipe, context: Any, ranking: str) -> Result:
    """Return the measures of one ranking."""
    labels: Sequence[int] = recipe.parameters["rankings"][ranking]
    ranked = Ranking.from_scores(-np.arange(len(labels), dtype=np.float64), labels)
    return {text: float(parse(text)(ranked)[0]) for text in recipe.parameters["measures"][ranking]}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return every measure of every ranking."""
    return {
        f"{text} of {parts(cell)['ranking']}": Measured(value)
        for cell, result in cells.items()
        for text, value in result.items()
    }


def shown(recipe: Recipe, cells: Cells, figures: Figures) -> Iterator[Grid]:
    """Yield the values of the rankings by measure for each cutoff."""
    for rankings, k in ((("f1", "f2", "f3"), 2), (("f4", "f5"), 6)):
        title, measures = f"Five relevant items, k = {k}", cells[key(ranking=rankings[0])]
        grid = Grid(title, rankings, [*measures], "{1} of {0}", head="ranking")
        yield replace(grid, plot="intervals", axis="value of the measure")


STUDY = Study(cells, run, fold, shown=shown)
"""Table 1."""
