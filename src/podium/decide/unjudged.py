"""What judgements of unjudged items could change in a gate: ranges, and labels that settle them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium._numbers import measured
from podium._text import counted
from podium.decide.claims import Claim
from podium.decide.pairs import Pairs
from podium.evaluation import (
    DifferenceBounds,
    UnjudgedRange,
    difference_bounds,
    labels_to_settle,
)
from podium.evaluation.unjudged import range_of_mean
from podium.metrics import Measure
from podium.protocol import Protocol
from podium.types import Labels, PerGroup, Undefined

if TYPE_CHECKING:
    from podium.data.unjudged import UnjudgedPool

_ROUNDING = 1e-12  # a difference that is this close to 0 is 0


@dataclass(frozen=True, eq=False)
class Unjudged:
    """The unjudged items of both runs.

    Attributes
    ----------
    n_items : int
        The number of pairs of a user and an unjudged item of either list.
    to_settle : dict
        The columns user and item, one row per item, the most effective first. If these items turn
        out not relevant, no judgement of the others reverses the order in the primary measure. The
        columns are empty if no judgement can reverse it, or if the difference is 0.
    """

    n_items: int
    to_settle: dict[str, Labels]

    @property
    def n_labels(self) -> int:
        """The number of labels that would settle the order."""
        return self.to_settle["item"].size

    def sentence(self, primary: Claim) -> str:
        """Return a sentence on whether judgements could reverse the primary measure's order."""
        reach = primary.unjudged
        if reach is None or np.isnan(reach.low):
            return f"No user has a value of {primary.measure}, so unjudged items have no effect."
        if not self.n_items:
            return "The lists contain no unjudged items."
        low, high = measured(reach.low, "+"), measured(reach.high, "+")
        ends = f"the difference in {primary.measure} lies between {low} and {high}"
        ends += "." if reach.exact else " (outer bounds)."
        items = counted(self.n_items, "unjudged items")
        if abs(primary.difference) < _ROUNDING:
            return f"The runs are equal if the {items} are not relevant: {ends}"
        if not reach.can_reverse:
            return f"No judgement of the {items} can reverse the order: {ends}"
        labels = (
            "1 label would settle it, if the item turns out not relevant."
            if self.n_labels == 1
            else f"{self.n_labels:,} labels would settle it, if no item turns out relevant."
        )
        return f"Judging the {items} could reverse the order: {ends} {labels}"

    def as_json(self, primary: Claim) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "n_items": self.n_items,
            "n_labels": self.n_labels,
            "sentence": self.sentence(primary),
        }


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges of differences over all judgements of unjudged items.

    Attributes
    ----------
    pool : UnjudgedPool
        The unjudged items of the users of a gate, in the order of their ids.
    bounds : dict of str to DifferenceBounds
        The bounds of each user by measure, without the measures of the items shown.
    position : int64, (n_users,)
        The position in `pool` of each user of the gate.
    weight : float64, (n_users,), or None
        The weights in the order of `pool`.
    undefined : {"skip", "zero", "one", "error"}
    """

    pool: UnjudgedPool
    bounds: dict[str, DifferenceBounds]
    position: NDArray[np.int64]
    weight: PerGroup | None
    undefined: Undefined

    def of(self, measure: Measure, rows: NDArray[np.int64]) -> UnjudgedRange | None:
        """Return the range of the mean over some users; None for a measure of the items shown."""
        bounds = self.bounds.get(str(measure))
        if bounds is None:
            return None
        mask = np.zeros(self.pool.labels.size, np.bool_)
        mask[self.position[rows]] = True
        return range_of_mean(bounds, weights=self.weight, rows=mask, undefined=self.undefined)

    def summary(self, primary: Claim) -> Unjudged:
        """Return the number of unjudged items, and the labels that settle the primary order."""
        reach = primary.unjudged
        labels = {"user": self.pool.labels[:0], "item": self.pool.items(np.empty(0, np.int64))}
        if reach is not None and reach.can_reverse and abs(primary.difference) >= _ROUNDING:
            labels = labels_to_settle(self.pool, primary.measure, weights=self.weight)
        return Unjudged(int(self.pool.n_unjudged.sum()), labels)


def read_ranges(
    tables: tuple[Any, Any, Any],
    pairs: Pairs,
    protocol: Protocol,
) -> Ranges:
    """Return the ranges for the users of `pairs`, given the truth and both runs.

    The users of a gate are shuffled. The pool has them in order, as the tables do, because reading
    the lists of a million users in random order is slow.
    """
    from podium import data

    order = np.argsort(pairs.labels)
    position = np.empty(order.size, np.int64)
    position[order] = np.arange(order.size)
    pool = data.pool_unjudged(*tables, protocol, labels=pairs.labels[order])
    of_relevance = [m for m in protocol.measures if m.metric.reads == "relevance"]
    weight = None if pairs.weight is None else pairs.weight[order]
    return Ranges(
        pool, difference_bounds(pool, of_relevance), position, weight, protocol.undefined or "skip"
    )
