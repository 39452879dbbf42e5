"""Mini-batches of whole groups: their rows, and a target that was prepared for these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.losses import Loss
from podium.rankers._draws import generator, keys_of
from podium.rankers.objective import Labels, defined_mean
from podium.types import Keys, PerGroup, PerRow, RowIndex

_LEVEL = -1.0  # equal scores at which every loss has a value > 0: a squared loss may be 0 at 0


@dataclass(frozen=True, eq=False)
class Batch:
    """Some groups.

    Attributes
    ----------
    rows : int64, (n_chosen,)
        Positions of their rows in the labels, group after group.
    target : Any
        What ``loss.prepare`` returned for these rows.
    scale : float
        What the loss is multiplied by, so that the mean over batches is the whole loss.
    """

    rows: RowIndex
    target: Any
    scale: float


@dataclass(frozen=True, eq=False)
class Batches:
    """The groups that a loss learns from, to be drawn without replacement.

    A batch is scaled such that the expectation of its loss is the whole loss, whatever weights
    the loss gives groups and rows: by the batch's part of the whole loss at equal scores, which
    does not depend on how ties are broken.

    Attributes
    ----------
    loss : Loss
    labels : Labels
        What the whole target was prepared from.
    seed : int
        Of the order of groups, and of the keys of a loss that draws.
    groups : int64, (n_used,)
        Groups on which the loss is defined and that have a weight.
    level : float64, (n_groups,)
        Each group's part of the whole loss at equal scores, times n_used.
    """

    loss: Loss
    labels: Labels
    seed: int
    groups: NDArray[np.int64]
    level: PerGroup

    @classmethod
    def of(cls, loss: Loss, target: Any, labels: Labels, seed: int) -> Batches:
        """Find the groups to draw from; the target is that of all rows."""
        values, _ = loss.value_and_grad(_equal(labels.groups.n_rows), target)
        defined = ~np.isnan(values)
        n_defined = max(1, int(np.count_nonzero(defined)))
        used = np.flatnonzero(defined & labels.has_weight)
        return cls(loss, labels, seed, used, values * (used.size / n_defined))

    def epoch(self, number: int, size: int) -> Iterator[Batch]:
        """Yield all groups once, `size` at a time, in an order of the seed and epoch alone."""
        order = np.random.default_rng([self.seed, number]).permutation(self.groups)
        keys = keys_of(self.loss, self.labels, self.seed, number)
        rng = generator(self.seed, number)
        for start in range(0, order.size, size):
            yield self._batch(order[start : start + size], keys, rng)

    def _batch(
        self, chosen: NDArray[np.int64], keys: Keys | None, rng: np.random.Generator
    ) -> Batch:
        labels = self.labels
        rows, sizes = rows_of_groups(labels.groups, chosen), labels.groups.sizes[chosen]
        weights = None if labels.weights is None else labels.weights[rows]
        given: dict[str, Any] = {} if keys is None else {"keys": keys[rows]}
        target = self.loss.prepare(
            labels.relevance[rows], Groups.from_sizes(sizes), weights=weights, rng=rng, **given
        )
        here = defined_mean(self.loss.value_and_grad(_equal(rows.size), target)[0])
        return Batch(rows, target, float(self.level[chosen].mean()) / here if here else 1.0)


def _equal(n_rows: int) -> PerRow:
    return np.full(n_rows, _LEVEL)


def rows_of_groups(groups: Groups, chosen: NDArray[np.int64]) -> RowIndex:
    """Return the rows of the chosen groups, group after group."""
    sizes = groups.sizes[chosen]
    before = np.cumsum(sizes) - sizes
    places = np.arange(int(sizes.sum())) + np.repeat(groups.offsets[chosen] - before, sizes)
    return places if groups.order is None else groups.order[places]
