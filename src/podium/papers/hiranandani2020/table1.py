"""Table 1 of hiranandani2020: five rankings, by measures that disagree about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.metrics import parse
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
    return [
        _plot(cells, ("f1", "f2", "f3"), "Five relevant items, k = 2"),
        _plot(cells, ("f4", "f5"), "Five relevant items, k = 6"),
    ]


def _plot(cells: Cells, names: Sequence[str], title: str) -> Figure:
    measures = list(cells[key(ranking=names[0])])
    return {
        "kind": "grouped_intervals",
        "title": title,
        "axis_label": "value of the measure",
        "panels": [
            {"title": text, "rows": [_row(name, cells, text) for name in names]}
            for text in measures
        ],
    }


def _row(name: str, cells: Cells, text: str) -> Mapping[str, Any]:
    value = cells[key(ranking=name)][text]
    return {"label": name, "value": value, "low": None, "high": None, "series": name}


STUDY = Study(cells, run, fold, plots=plots)
"""Table 1."""
