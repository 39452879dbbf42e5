"""A metric, as another package would add it, with its brute-force definition for the laws."""

from __future__ import annotations

import numpy as np

from podium.metrics import register
from podium.ranking import Ranking
from podium.testing.pairs.formulas import METRICS, List, Metric
from podium.types import PerGroup


@register("dice", cutoff="required", aliases=("sorensen",), ideal_defined=False, linear=True)
def dice(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the Sorensen-Dice coefficient of the k top items and the positives."""
    groups = ranking.groups
    position = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
    positive = ranking.averaged((ranking.relevance >= ranking.min_relevance).astype(np.float64))
    hits = np.bincount(groups.index, positive * (position < k), groups.n_groups)
    return 2.0 * hits / (k + ranking.n_pos)


def _dice(ranked: List, *, k: int) -> float:
    return 2 * sum(ranked.hits[:k]) / (k + ranked.n_pos)


METRICS["dice"] = Metric(_dice, average="orders")
