"""Shared functions of the studies on splits of users' rows: values by user, and their figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from podium.metrics import pap
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow, Ties
from podium_studies.cells import generator, key, repeats
from podium_studies.rows import Parts, Rows, drawn
from podium_studies.study import Cells, Measured, Recipe

PERCENT = 100.0
NOTE = "Mean over splits; the band is its 95 % interval over splits."
_DECIMALS = 6

Run: TypeAlias = tuple[str, str]  # method and protocol


def scaled_parts(recipe: Recipe, source: Rows | Parts) -> Callable[[int], Parts]:
    """Return a function from a repeat's seed to its scaled parts. It caches the last result.

    Rows are divided at random for each seed; parts as published are the same for all seeds.
    """

    @lru_cache(maxsize=1)
    def scaled(seed: int) -> Parts:
        if isinstance(source, Parts):
            return source.scaled()
        return drawn(source, generator(recipe, "split", seed)).scaled()

    return scaled


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


def difference(recipe: Recipe, cells: Cells, one: Run, other: Run) -> Measured:
    """Return the mean difference of two runs over cutoffs and repeats, in percentage points.

    Users and repeats (splits and starts) are both random. The variance is that of a bootstrap
    over users with all their values, to first order, plus the additional variance of the means of
    the repeats. With one repeat, it has only the first term. `n` is the number of users.
    """
    cutoffs: Sequence[int] = recipe.parameters["cutoffs"]
    means: list[float] = []
    influences: list[dict[int, float]] = []  # of each user on the mean over repeats, by repeat
    for seed in repeats(recipe):
        influence: dict[int, float] = {}
        gaps: list[float] = []
        for k in cutoffs:
            keys = (key(seed=seed, k=k, method=name, protocol=by) for name, by in (one, other))
            result, baseline = (cells[cell] for cell in keys)
            gap = PERCENT * np.subtract(result["gain"], baseline["gain"])
            gaps.append(float(gap.mean()))
            by_user = (gap - gap.mean()) / gap.size / len(cutoffs)
            for user, value in zip(result["user"], by_user.tolist(), strict=True):
                influence[user] = influence.get(user, 0.0) + value
        means.append(float(np.mean(gaps)))
        influences.append(influence)
    n = len(means)
    users = np.concatenate([np.fromiter(influence, np.int64) for influence in influences])
    values = np.concatenate([np.fromiter(each.values(), float) for each in influences]) / n
    labels, codes = np.unique(users, return_inverse=True)
    user_variance = float(np.sum(np.bincount(codes, weights=values) ** 2))
    repeat_variance = float(np.var(means, ddof=1)) / n if n > 1 else 0.0
    shared_variance = float(np.sum(values**2))
    spread = math.sqrt(user_variance + max(0.0, repeat_variance - shared_variance))
    return Measured(float(np.mean(means)), spread, labels.size)
