"""Shared functions of the studies on splits of users' rows: values by user, and their figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium.metrics import pap
from podium.papers import views
from podium.papers.recipe import Recipe
from podium.papers.rows import Rows
from podium.papers.study import Cells, Figures, Result, key
from podium.ranking import Ranking
from podium.report import Figure
from podium.types import PerGroup, PerRow, Ties

PERCENT = 100.0
_DECIMALS = 6


def gains(
    scores: PerRow, rows: Rows, cutoffs: Sequence[int], ties: Ties = "worst"
) -> list[PerGroup]:
    """Return pap by user for each cutoff; nan for users on which pap@k is undefined."""
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties=ties)
    return [pap(ranking, k=k) for k in cutoffs]


def tested(gain: PerGroup, test: Rows) -> dict[str, Any]:
    """Return the mean "pap", the ids "user" on which it is defined, and their values "gain"."""
    is_defined = np.isfinite(gain)
    return {
        "pap": float(gain[is_defined].mean()),
        "user": np.unique(test.qid)[is_defined].tolist(),
        "gain": gain[is_defined].round(_DECIMALS).tolist(),
    }


def by_split(recipe: Recipe, cells: Cells, **asked: Any) -> list[Result]:
    """Return the results of one method by split; `asked` is the rest of the key."""
    return [cells[key(seed=seed, **asked)] for seed in range(recipe.repeats or 1)]


def levels(recipe: Recipe, figures: Figures, title: str, labels: Mapping[str, str]) -> Figure:
    """Return a figure of pap against k; `labels` maps a label in `figures` to a curve's name."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return views.lines(
        title,
        [
            views.band(curve_name, cutoffs, [figures[f"{label} k={k}"] for k in cutoffs])
            for label, curve_name in labels.items()
        ],
        "k",
        "pap@k (%)",
        caption="Mean over splits; the band is its 95 % interval over splits.",
    )
