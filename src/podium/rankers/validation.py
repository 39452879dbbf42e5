"""A measure as one number, higher is better: for validation, early stopping and `score`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.errors import ArgumentError
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
) -> float:
    """Return the mean of a measure over the groups where it is defined; nan where there is none."""
    ranking = Ranking.from_scores(scores, relevance, qid, min_relevance=min_relevance)
    return defined_mean(parse(measure)(ranking))


def validator(
    measure: str | Measure, relevance: PerRow, qid: Any, *, min_relevance: float = 1.0
) -> Callable[[PerRow], float]:
    """Return a function from scores to the mean of a measure, signed so that higher is better.

    Raises
    ------
    ArgumentError
        From that function, if the measure is defined on no group.
    """
    parsed = parse(measure)
    sign = 1.0 if parsed.metric.higher_is_better else -1.0

    def validate(scores: PerRow) -> float:
        mean = mean_measure(parsed, scores, relevance, qid, min_relevance=min_relevance)
        if mean != mean:  # nan
            raise ArgumentError(
                f"eval_set has no group on which {parsed} is defined. Give it groups with "
                "positives (and enough negatives), or choose another eval_measure."
            )
        return sign * mean

    return validate
