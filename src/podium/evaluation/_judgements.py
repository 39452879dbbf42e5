"""The search for the judgements of unjudged items that minimise a measure or a difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.discounts import discounts, gains
from podium.errors import ArgumentError, arg
from podium.evaluation import _unjudged_kernels as kernels
from podium.metrics import Measure
from podium.metrics.grades import refuse_extreme
from podium.ranking import Ranking, count_between
from podium.types import Offsets, PerGroup, PerRow

_MOST_GRADES = 100


class RunValues(NamedTuple):
    """The lists of one run: the list and value of each user, and the rank of each unjudged item."""

    ranking: Ranking
    group: NDArray[np.int64]
    value: PerGroup
    rank: NDArray[np.int64]


class Minima(NamedTuple):
    """Minima of each user, between `offsets`, and the items, the most harmful of each user first.

    The first minimum of a user is over all judgements. In each further one, the next item is fixed
    as not relevant.
    """

    values: PerRow
    offsets: Offsets
    order: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Search:
    """The search for extreme judgements. `lists` are those of any run: all have the same truth."""

    measure: Measure
    levels: NDArray[np.float64]
    offsets: Offsets
    lists: RunValues

    @property
    def options(self) -> dict[str, Any]:
        return {**self.measure.metric.options, **dict(self.measure.options)}

    def minima(
        self, base: RunValues | None, candidate: RunValues | None, *, with_fixed: bool = False
    ) -> Minima:
        """Minimise candidate - base for each user; a run that is None has the value 0."""
        n_users, n_items = self.offsets.size - 1, int(self.offsets[-1])
        bounds_at = self.offsets + np.arange(n_users + 1) if with_fixed else np.arange(n_users + 1)
        result = Minima(np.empty(int(bounds_at[-1])), bounds_at, np.empty(n_items, np.int64))
        items = kernels.Items(self.offsets, bounds_at, result.order)
        values = [np.zeros(n_users) if run is None else run.value for run in (base, candidate)]
        weights = [self._by_rank(run) for run in (base, candidate)]
        if self.measure.name == "rr":
            kernels.first_minima(items, *weights, *values, result.values)
        else:
            kernels.linear_minima(
                items,
                weights[1] - weights[0],
                values[1] - values[0],
                self._counts,
                self._level_gains(),
                self._divisors,
                result.values,
            )
        return result

    def _by_rank(self, run: RunValues | None) -> PerRow:
        """Return the weight of each item's rank; 0 below the cutoff or without a rank."""
        if run is None:
            return np.zeros(int(self.offsets[-1]))
        depth = int(run.rank.max(initial=0))
        depth = depth if self.measure.k is None else min(depth, self.measure.k)
        weights = np.concatenate([[0.0], self._weights(depth), [0.0]])
        return weights[np.minimum(run.rank, depth + 1)]

    def _weights(self, depth: int) -> PerRow:
        if self.measure.name == "rr":
            return 1.0 / np.arange(1, depth + 1)
        if self.measure.name == "ndcg":
            return discounts(depth, self.options["discount"])
        return np.ones(depth)

    def _level_gains(self) -> NDArray[np.float64]:
        """Return how much each level of grades adds to the gain of the one below."""
        if not self.measure.graded:
            return np.ones(1)
        return np.diff(gains(self.levels, self.options["gain"]), prepend=0.0)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """Return the number of items that are judged to be of at least each level."""
        ranking, group = self.lists.ranking, self.lists.group
        columns = [
            count_between(ranking.ideal >= level, ranking.ideal_offsets)[group]
            for level in self.levels
        ]
        return np.stack(columns, axis=1)

    @cached_property
    def _divisors(self) -> PerRow:
        """Return the divisor of a sum by the number of positives: weights of the best list."""
        k = self.measure.k
        n_best = int((self._counts[:, 0] + np.diff(self.offsets)).max(initial=0))
        n_positives = np.arange(n_best + 1)
        reachable = n_positives if k is None else np.minimum(n_positives, k)
        if self.measure.name == "ndcg":
            return np.concatenate([[0.0], np.cumsum(self._weights(n_best))])[reachable]
        norm = self.options["norm"]
        if norm == "k":
            return np.full(n_best + 1, float(_check.cutoff(k)))
        return (reachable if norm == "min" else n_positives).astype(np.float64)


def distinct_levels(
    measure: Measure, ranking: Ranking, grades: ArrayLike | None
) -> NDArray[np.float64]:
    """Return the grades that a measure distinguishes, or the lowest relevance of a positive."""
    if not measure.graded:
        return np.array([ranking.min_relevance])
    known = np.unique(ranking.ideal)
    levels = known if grades is None else np.unique(_check.relevance(grades, None, name="grades"))
    levels = levels[levels > 0]
    if ranking.low_grades == "zero":
        levels = levels[levels >= ranking.min_relevance]
    unknown = known[~np.isin(known, levels)]
    if unknown.size:
        raise ArgumentError(f"grades must hold all relevances, but {unknown[0]:g} is missing.")
    if levels.size > _MOST_GRADES:
        raise ArgumentError(
            f"{arg.unjudged('bounds')} takes at most {_MOST_GRADES} distinct relevances > 0 for "
            f"{measure}, got {levels.size}. Round the relevances, or use "
            f"{arg.unjudged('negative')}."
        )
    refuse_extreme(levels, {**measure.metric.options, **dict(measure.options)}["gain"])
    return levels if levels.size else np.ones(1)
