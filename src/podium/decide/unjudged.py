"""What judgements of unjudged items could change in a gate: ranges, and labels that settle them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium._numbers import measured
from podium._text import counted
from podium.decide.claims import Claim
from podium.types import Labels

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
