"""Table 1 of hiranandani2020: five rankings, by measures that disagree about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.metrics import parse
from podium.papers import views
from podium.papers.recipe import Recipe
from podium.papers.study import Cells, Figures, Measured, Result, Study, key, parts
from podium.ranking import Ranking
from podium.report import Figure


def cells(recipe: Recipe) -> Sequence[str]:
    """Return a cell for each of the rankings."""
    return [key(ranking=name) for name in recipe.parameters["rankings"]]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Measure one ranking."""
    name = parts(cell)["ranking"]
    labels: Sequence[int] = recipe.parameters["rankings"][name]
    ranking = Ranking.from_scores(-np.arange(len(labels), dtype=np.float64), labels)
    return {text: float(parse(text)(ranking)[0]) for text in recipe.parameters["measures"][name]}


def fold(recipe: Recipe, cells: Cells) -> Figures:
    """Return every measure of every ranking."""
    return {
        f"{text} of {parts(cell)['ranking']}": Measured(value)
        for cell, result in cells.items()
        for text, value in result.items()
    }


def plots(recipe: Recipe, cells: Cells, figures: Figures) -> Sequence[Figure]:
    """Show which ranking each measure prefers."""
    found: list[Figure] = []
    for names, k in ((("f1", "f2", "f3"), 2), (("f4", "f5"), 6)):
        values = {name: cells[key(ranking=name)] for name in names}
        panels = {
            text: [views.bare(name, each[text], series=name) for name, each in values.items()]
            for text in values[names[0]]
        }
        title = f"Five relevant items, k = {k}"
        found.append(views.intervals(title, panels, axis_label="value of the measure"))
    return found


STUDY = Study(cells, run, fold, plots=plots)
"""Table 1."""
