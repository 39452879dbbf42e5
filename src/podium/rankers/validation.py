"""Measures as one number, where higher is better: for validation, early stopping and `score`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.metrics import Measure, parse
from podium.rankers.objective import defined_mean
from podium.ranking import Ranking
from podium.types import PerRow


def mean_measure(
    measure: str | Measure,
    scores: PerRow,
    relevance: PerRow,
    qid: Any,
    *,
    min_relevance: float = 1.0,
    weights: PerRow | None = None,
) -> float:
    """Return the mean of a measure over the groups on which it is defined; nan if there is none.

    `weights` are by row; a group's weight is the mean weight of its rows.
    """
    ranking = Ranking.from_scores(scores, relevance, qid, min_relevance=given(min_relevance))
    values = parse(measure)(ranking)
    if weights is None:
        return defined_mean(values)
    groups = Groups.single(weights.size) if qid is None else Groups.from_qid(qid)
    group_weights = np.add.reduceat(groups.gather(weights), groups.offsets[:-1]) / groups.sizes
    used = ~np.isnan(values) & (group_weights > 0)
    return float(np.average(values[used], weights=group_weights[used])) if used.any() else np.nan


def given(min_relevance: float) -> float | None:
    """Return the threshold of a loss for measures; None if it is 1, the default of losses.

    A threshold that is passed to a measure sets lower grades to 0, but a default must not.
    """
    return None if min_relevance == 1.0 else min_relevance


def validator(
    measure: str | Measure, relevance: PerRow, qid: Any, *, min_relevance: float = 1.0
) -> Callable[[PerRow], float]:
    """Return a function from scores to the mean of a measure, signed so that higher is better.

    Raises
    ------
    ArgumentError
        If that function is called and the measure is defined on no group.
    """
    parsed = parse(measure)
    sign = parsed.metric.sign

    def validate(scores: PerRow) -> float:
        mean = mean_measure(parsed, scores, relevance, qid, min_relevance=min_relevance)
        if mean != mean:  # nan
            raise ArgumentError(
                f"eval_set has no group on which {parsed} is defined. Give it groups with "
                "positives (and enough negatives), or choose another eval_metric."
            )
        return sign * mean

    return validate
