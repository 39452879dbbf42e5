"""Measures as one number, where higher is better: for validation, early stopping and `score`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.metrics import Measure, parse
from podium.rankers.objective import defined_mean
from podium.ranking import Ranking
from podium.types import PerRow

_LARGEST = 10  # the largest label that is taken for a grade


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


def are_grades(relevance: PerRow) -> bool:
    """Return whether labels are grades: more than two values, and none above 10.

    Larger labels are counts or times, whose exponential gain would be extreme.
    """
    return bool(np.max(relevance, initial=0.0) <= _LARGEST) and np.unique(relevance).size > 2


def undefined_text(
    measure: Measure,
    relevance: PerRow,
    groups: Groups,
    min_relevance: float,
    weights: PerRow | None,
) -> str:
    """Return a message on why a measure is undefined on all groups."""
    gains_below = measure.graded and given(min_relevance) is None
    low = np.nextafter(0.0, 1.0) if gains_below else min_relevance
    n_pos = np.bincount(groups.index, relevance >= low, groups.n_groups)
    text = (
        f"{measure} is defined on none of the {groups.n_groups} groups, so that the score is nan: "
        f"{np.count_nonzero(n_pos == 0)} have no row of relevance "
        f"{'> 0' if gains_below else f'>= {min_relevance:g}'}, and "
        f"{np.count_nonzero(n_pos == groups.sizes)} no other row (at most "
        f"{(groups.sizes - n_pos).max(initial=0):g})"
    )
    if weights is not None:
        weight = np.bincount(groups.index, weights, groups.n_groups)
        text += f"; {np.count_nonzero(weight == 0)} have weight 0"
    return (
        f"{text}. Choose another {arg.eval_metric}, such as 'ndcg@10', or check y, qid and "
        f"{arg.min_relevance}."
    )


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
                f"{arg.eval_set} has no group on which {parsed} is defined. Give it groups with "
                f"positives (and enough negatives), or choose another {arg.eval_metric}."
            )
        return sign * mean

    return validate
