"""What the studies on splits of users' rows share: a method's values by user, and their page."""

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
    """Return pap by user for each cutoff; nan for a user that a cutoff does not suit."""
    ranking = Ranking.from_scores(scores, rows.y, qid=rows.qid, ties=ties)
    return [pap(ranking, k=k) for k in cutoffs]


def tested(gain: PerGroup, test: Rows) -> dict[str, Any]:
    """Return the mean "pap", the ids "user" of those that it is defined on, and their "gain"."""
    known = np.isfinite(gain)
    return {
        "pap": float(gain[known].mean()),
        "user": np.unique(test.qid)[known].tolist(),
        "gain": gain[known].round(_DECIMALS).tolist(),
    }


def by_split(recipe: Recipe, cells: Cells, **asked: Any) -> list[Result]:
    """Return the results of one method, or whatever else the rest of a key names, by split."""
    return [cells[key(seed=seed, **asked)] for seed in range(recipe.repeats or 1)]


def levels(recipe: Recipe, figures: Figures, title: str, labels: Mapping[str, str]) -> Figure:
    """Return pap against k; `labels` has the figures' labels, and what each curve is called."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    return views.lines(
        title,
        [
            views.band(shown, cutoffs, [figures[f"{label} k={k}"] for k in cutoffs])
            for label, shown in labels.items()
        ],
        "k",
        "pap@k (%)",
        caption="Mean over splits; the band is its 95 % interval over splits.",
    )
