"""A deviation of explain, as another package would add it."""

from __future__ import annotations

from podium.decide.explain.deviation import Case, register
from podium.types import PerGroup


@register("recall-plus-one", "recall")
def recall_plus_one(case: Case) -> PerGroup:
    """One is added to the number of relevant items.

    Divide the hits by the number of relevant items.
    """
    return case.n_hits / (case.ranking.n_pos + 1)
