"""Mini-batches of whole groups: their rows, and the loss's target for these rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.losses import Loss
from podium.rankers.objective import Labels, defined_mean
from podium.types import Keys, PerGroup, PerRow, RowIndex

_LEVEL = -1.0  # the equal scores; every loss is > 0 there, while a squared loss may be 0 at 0


@dataclass(frozen=True, eq=False)
class Batch:
    """A mini-batch of groups.

    Attributes
    ----------
    rows : int64, (n_chosen,)
        The positions of the batch's rows in the labels, group after group.
    target : Any
        The result of ``loss.prepare`` for these rows.
    scale : float
        The factor of the batch's loss; with it the mean over batches is the whole loss.
    """

    rows: RowIndex
    target: Any
    scale: float


@dataclass(frozen=True, eq=False)
class Batches:
    """The groups that a loss learns from, drawn without replacement.

    Each batch is scaled so that the expectation of its loss is the whole loss, whatever weights
    the loss gives groups and rows. The scale is the batch's part of the whole loss at equal
    scores, which does not depend on how ties are broken.

    Attributes
    ----------
    loss : Loss
    labels : Labels
        The labels from which the whole target was prepared.
    seed : int
        The seed of the order of groups.
    keys : dict
        The argument `keys` of ``loss.prepare`` for all rows, if the loss draws.
    groups : int64, (n_used,)
        The groups on which the loss is defined and that have a weight.
    level : float64, (n_groups,)
        The part of each group in the whole loss at equal scores, times n_used.
    """

    loss: Loss
    labels: Labels
    seed: int
    keys: dict[str, Keys]
    groups: NDArray[np.int64]
    level: PerGroup

    @classmethod
    def of(cls, loss: Loss, target: Any, labels: Labels, seed: int) -> Batches:
        """Find the groups to draw from; `target` is the target of all rows."""
        values, _ = loss.value_and_grad(_equal(labels.groups.n_rows), target)
        defined = ~np.isnan(values)
        n_defined = max(1, int(np.count_nonzero(defined)))
        used = np.flatnonzero(defined & labels.has_weight)
        keys = labels.keys(loss, seed)
        return cls(loss, labels, seed, keys, used, values * (used.size / n_defined))

    def epoch(self, number: int, size: int) -> Iterator[Batch]:
        """Yield every group once, `size` at a time; the order depends on seed and epoch only."""
        order = np.random.default_rng([self.seed, number]).permutation(self.groups)
        for start in range(0, order.size, size):
            yield self._batch(order[start : start + size])

    def _batch(self, chosen: NDArray[np.int64]) -> Batch:
        labels = self.labels
        rows, sizes = rows_of_groups(labels.groups, chosen), labels.groups.sizes[chosen]
        weights = None if labels.weights is None else labels.weights[rows]
        keys: dict[str, Any] = {name: keys[rows] for name, keys in self.keys.items()}
        target = self.loss.prepare(
            labels.relevance[rows], Groups.from_sizes(sizes), weights=weights, **keys
        )
        batch_level = defined_mean(self.loss.value_and_grad(_equal(rows.size), target)[0])
        return Batch(
            rows, target, float(self.level[chosen].mean()) / batch_level if batch_level else 1.0
        )


def _equal(n_rows: int) -> PerRow:
    return np.full(n_rows, _LEVEL)


def rows_of_groups(groups: Groups, chosen: NDArray[np.int64]) -> RowIndex:
    """Return the positions of the rows of the chosen groups, group after group."""
    sizes = groups.sizes[chosen]
    before = np.cumsum(sizes) - sizes
    places = np.arange(int(sizes.sum())) + np.repeat(groups.offsets[chosen] - before, sizes)
    return places if groups.order is None else groups.order[places]
