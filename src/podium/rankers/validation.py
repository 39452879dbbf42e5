"""Measures as one number, where higher is better: for validation, early stopping and `score`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from podium.errors import ArgumentError, arg
from podium.metrics import Measure
from podium.metrics.measures import parse_relevance
from podium.rankers.inputs import Rows
from podium.rankers.objective import Labels, defined_mean
from podium.ranking import Ranking
from podium.types import PerGroup, PerRow

_LARGEST = 10  # the largest label that is taken for a grade


class MeasureOnRows:
    """The mean of a measure over the groups of fixed rows; rows are sorted into groups once.

    Parameters
    ----------
    measure : Measure
    rows : Rows or Labels
        The relevance, groups and weights of rows; a group's weight is the mean weight of its rows.
    min_relevance : float
        The smallest relevance of a positive.
    """

    def __init__(self, measure: Measure, rows: Rows | Labels, *, min_relevance: float) -> None:
        self.measure, self._rows, self._min_relevance = measure, rows, min_relevance
        groups = rows.groups
        self._relevance = groups.gather(rows.relevance)
        labels = None if groups.n_groups == 1 else groups.index
        self._ranked = Ranking.from_scores(
            np.zeros(groups.n_rows), rows.relevance, labels, min_relevance=threshold(min_relevance)
        )
        # The ranking has no empty groups.
        self._share: PerGroup | None = None
        if rows.weights is not None:
            totals = np.bincount(groups.index, rows.weights, groups.n_groups)
            self._share = (totals / np.maximum(groups.sizes, 1))[groups.sizes > 0]

    def __call__(self, scores: PerRow) -> float:
        """Return the mean over the groups on which it is defined; nan if there is none."""
        prepared = self._ranked
        ranking = Ranking.from_grouped(
            prepared.groups,
            self._rows.groups.gather(scores),
            self._relevance.copy(),
            ideal=(prepared.ideal_offsets, prepared.ideal),
            n_items=prepared.n_items,
            min_relevance=prepared.min_relevance,
            low_grades=prepared.low_grades,
        )
        values = self.measure(ranking)
        if self._share is None:
            return defined_mean(values)
        used = ~np.isnan(values) & (self._share > 0)
        if not used.any():
            return np.nan
        return float(np.average(values[used], weights=self._share[used]))

    def why_undefined(self, where: str = "") -> str:
        """Return a message on why the measure is undefined on all groups; `where` says of what."""
        measure, groups, weights = self.measure, self._rows.groups, self._rows.weights
        gains_below = measure.graded and threshold(self._min_relevance) is None
        low = np.nextafter(0.0, 1.0) if gains_below else self._min_relevance
        n_pos = np.bincount(groups.index, self._rows.relevance >= low, groups.n_groups)
        text = (
            f"{measure} is defined on none of the {groups.n_groups} groups{where}: "
            f"{np.count_nonzero(n_pos == 0)} have no row of relevance "
            f"{'> 0' if gains_below else f'>= {low:g}'}, and "
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


def threshold(min_relevance: float) -> float | None:
    """Return the threshold of a loss for measures; None if it is 1, the default of losses.

    A threshold that is passed to a measure sets lower grades to 0, but a default must not.
    """
    return None if min_relevance == 1.0 else min_relevance


def are_grades(relevance: PerRow) -> bool:
    """Return whether labels are grades: more than two values, and none above 10.

    Larger labels are counts or times, whose exponential gain would be extreme.
    """
    return bool(np.max(relevance, initial=0.0) <= _LARGEST) and np.unique(relevance).size > 2


def validator(
    measure: str | Measure, rows: Rows | Labels, *, min_relevance: float, where: str = ""
) -> Callable[[PerRow], float]:
    """Return a function from scores to the mean of a measure, signed so that higher is better.

    Raises
    ------
    ArgumentError
        If that function is called and the measure is defined on no group; `where` says of what.
    """
    mean_of = MeasureOnRows(parse_relevance(measure), rows, min_relevance=min_relevance)

    def validate(scores: PerRow) -> float:
        mean = mean_of(scores)
        if mean != mean:  # nan
            raise ArgumentError(mean_of.why_undefined(where))
        return mean_of.measure.metric.sign * mean

    return validate
