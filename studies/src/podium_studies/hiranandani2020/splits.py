"""Shared functions of the studies on splits of users' rows: values by user, and their figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from podium.metrics import pap
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow, Ties
from podium_studies.cells import key, repeats
from podium_studies.recipe import Recipe
from podium_studies.rows import Rows
from podium_studies.study import Cells, Measured, Result

PERCENT = 100.0
NOTE = "Mean over splits; the band is its 95 % interval over splits."
_DECIMALS = 6

Run: TypeAlias = tuple[str, str]  # method and protocol


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


def by_split(recipe: Recipe, cells: Cells, **key_parts: Any) -> list[Result]:
    """Return the results of one method by split; `key_parts` is the rest of the key."""
    return [cells[key(seed=seed, **key_parts)] for seed in repeats(recipe)]


def difference(recipe: Recipe, cells: Cells, one: Run, other: Run) -> Measured:
    """Return the mean difference of two runs over cutoffs and repeats, in percentage points.

    Users and repeats (splits and starts) are both random. The variance is that of a bootstrap
    over users with all their values, to first order, plus the additional variance of the means of
    the repeats. With one repeat, it has only the first term. `n` is the number of users.
    """
    means_and_influences = [
        _influences(recipe, cells, one, other, seed) for seed in repeats(recipe)
    ]
    means = np.array([repeat_mean for repeat_mean, _ in means_and_influences])
    users = np.concatenate(
        [np.fromiter(user_influence, np.int64) for _, user_influence in means_and_influences]
    )
    influences = np.concatenate(
        [np.fromiter(user_influence.values(), float) for _, user_influence in means_and_influences]
    )
    influences /= means.size
    labels, codes = np.unique(users, return_inverse=True)
    user_variance = float(np.sum(np.bincount(codes, weights=influences) ** 2))
    repeat_variance = float(means.var(ddof=1)) / means.size if means.size > 1 else 0.0
    shared_variance = float(np.sum(influences**2))
    spread = math.sqrt(user_variance + max(0.0, repeat_variance - shared_variance))
    return Measured(float(means.mean()), spread, labels.size)


def _influences(
    recipe: Recipe, cells: Cells, one: Run, other: Run, seed: int
) -> tuple[float, dict[int, float]]:
    """Return the mean difference over cutoffs in one repeat, and each user's influence on it."""
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    influence: dict[int, float] = {}
    means: list[float] = []
    for k in cutoffs:
        result, baseline_result = (
            cells[key(seed=seed, k=k, method=name, protocol=protocol)]
            for name, protocol in (one, other)
        )
        gain = PERCENT * (np.array(result["gain"]) - np.array(baseline_result["gain"]))
        means.append(float(gain.mean()))
        user_influences = (gain - gain.mean()) / gain.size / len(cutoffs)
        for user, user_influence in zip(result["user"], user_influences.tolist(), strict=True):
            influence[user] = influence.get(user, 0.0) + user_influence
    return float(np.mean(means)), influence
