"""A metric, as another package would add it, with its brute-force definition for the laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from podium.metrics import register
from podium.ranking import Ranking
from podium.testing.oracles import DEFINITIONS, Definition, Ranked
from podium.types import PerGroup


@register("f1", cutoff="required", aliases=("f-score",), ideal_defined=False, linear=True)
def f1(ranking: Ranking, *, k: int) -> PerGroup:
    """Return the harmonic mean of precision and recall among the k top ranks."""
    groups = ranking.groups
    position = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
    positive = ranking.averaged((ranking.relevance >= ranking.min_relevance).astype(np.float64))
    hits = np.bincount(groups.index, positive * (position < k), groups.n_groups)
    return 2.0 * hits / (k + ranking.n_pos)


def _f1(ranked: Ranked, *, k: int) -> Fraction:
    return Fraction(2 * ranked.flags[:k].count(True), k + ranked.listing.n_pos)


DEFINITIONS["f1"] = Definition(_f1)
