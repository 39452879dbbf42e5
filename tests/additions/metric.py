"""A metric, as another package would add it, with its brute-force definition for the laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from podium.metrics import register
from podium.ranking import Ranking
from podium.testing.oracles import DEFINITIONS, Definition, Ranked
from podium.types import PerGroup


@register("f2", cutoff="required", aliases=("f-score",), ideal_defined=False, linear=True)
def f2(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the mean of precision and recall, recall with four times the weight, at k."""
    groups = ranking.groups
    position = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
    positive = ranking.averaged((ranking.relevance >= ranking.min_relevance).astype(np.float64))
    hits = np.bincount(groups.index, positive * (position < k), groups.n_groups)
    return 5.0 * hits / (k + 4.0 * ranking.n_pos)


def _f2(ranked: Ranked, *, k: int) -> Fraction:
    return Fraction(5 * ranked.flags[:k].count(True), k + 4 * ranked.listing.n_pos)


DEFINITIONS["f2"] = Definition(_f2)
