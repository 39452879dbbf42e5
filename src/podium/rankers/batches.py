"""Mini-batches of whole groups, each an objective of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.rankers.objective import Labels, LinearObjective
from podium.types import PerGroup, RowIndex


@dataclass(frozen=True, eq=False)
class Batches:
    """The groups that a loss learns from, to be drawn without replacement.

    A batch's objective is scaled such that its expectation is the whole objective, whatever
    weights the loss gives groups and rows: by the batch's part of the whole loss at scores of 0.

    Attributes
    ----------
    objective : LinearObjective
    labels : Labels
        What the objective's target was prepared from.
    groups : int64, (n_used,)
        Groups on which the loss is defined and that have a weight.
    at_zero : float64, (n_groups,)
        Each group's part of the whole loss at scores of 0, times n_used.
    """

    objective: LinearObjective
    labels: Labels
    groups: NDArray[np.int64]
    at_zero: PerGroup

    @classmethod
    def of(cls, objective: LinearObjective, labels: Labels) -> Batches:
        """Find the groups to draw from."""
        values, _ = objective.loss.value_and_grad(np.zeros(labels.groups.n_rows), objective.target)
        defined = ~np.isnan(values)
        n_defined = max(1, int(np.count_nonzero(defined)))
        used = np.flatnonzero(defined & labels.has_weight)
        return cls(objective, labels, used, values * (used.size / n_defined))

    def epoch(self, number: int, size: int, seed: int) -> Iterator[LinearObjective]:
        """Yield all groups once, `size` at a time, in an order of this seed and epoch alone."""
        order = np.random.default_rng([seed, number]).permutation(self.groups)
        for start in range(0, order.size, size):
            yield self._batch(order[start : start + size])

    def _batch(self, chosen: NDArray[np.int64]) -> LinearObjective:
        groups, labels = self.labels.groups, self.labels
        rows, sizes = rows_of_groups(groups, chosen), groups.sizes[chosen]
        weights = None if labels.weights is None else labels.weights[rows]
        target = self.objective.loss.prepare(
            labels.relevance[rows], Groups.from_sizes(sizes), weights=weights
        )
        batch = replace(self.objective, target=target, rows=rows)
        here = batch.loss_at(np.zeros(rows.size))[0]
        whole = float(self.at_zero[chosen].mean())
        return replace(batch, scale=whole / here) if here else batch


def rows_of_groups(groups: Groups, chosen: NDArray[np.int64]) -> RowIndex:
    """Return the rows of the chosen groups, group after group."""
    sizes = groups.sizes[chosen]
    before = np.cumsum(sizes) - sizes
    places = np.arange(int(sizes.sum())) + np.repeat(groups.offsets[chosen] - before, sizes)
    return places if groups.order is None else groups.order[places]
