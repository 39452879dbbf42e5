"""Table 1 of hiranandani2020: five rankings, which the measures order differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.metrics import parse
from podium.ranking import Ranking
from podium.report import Figure
from podium_studies import views
from podium_studies.recipe import Recipe
from podium_studies.study import Cells, Figures, Measured, Result, Study, key, parts


def cells(recipe: Recipe) -> Sequence[str]:
    """Return one key per ranking."""
    return [key(ranking=name) for name in recipe.parameters["rankings"]]


def run(recipe: Recipe, context: Any, cell: str) -> Result:
    """Return the measures of one ranking."""
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
    """Return one figure per cutoff, with the values of the rankings by measure."""
    ranking_figures: list[Figure] = []
    for rankings, k in ((("f1", "f2", "f3"), 2), (("f4", "f5"), 6)):
        results = {name: cells[key(ranking=name)] for name in rankings}
        panels = {
            text: [
                views.point_row(name, result[text], series=name) for name, result in results.items()
            ]
            for text in results[rankings[0]]
        }
        title = f"Five relevant items, k = {k}"
        ranking_figures.append(views.intervals(title, panels, axis_label="value of the measure"))
    return ranking_figures


STUDY = Study(cells, run, fold, plots=plots)
"""Table 1."""
