"""Segments of the groups, by their number of positives or a column of users."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import ArgumentError
from podium.types import Counts, Labels, Mask

BUILT_IN = ("engagement", "n_pos")
"""The segments that need no table of users."""

_QUANTILES = 4


@dataclass(frozen=True)
class Segment:
    """A part of the groups: what divides them, the name of the part, and its mask."""

    by: str
    name: str
    mask: Mask

    def as_json(self, measures: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON form, with the results of measures in this segment."""
        start = {"by": self.by, "name": self.name, "n_groups": int(self.mask.sum())}
        return {**start, "measures": measures}


def by_engagement(n_pos: Counts, k: int) -> tuple[Segment, ...]:
    """Divide the groups into those with at most k positives, and the others."""
    parts = {f"n_pos <= {k}": n_pos <= k, f"n_pos > {k}": n_pos > k}
    return tuple(Segment("engagement", name, mask) for name, mask in parts.items())


def by_quantile(n_pos: Counts) -> tuple[Segment, ...]:
    """Divide the groups with positives into parts of about equal size by n_pos."""
    positive_counts = n_pos[n_pos > 0]
    if not positive_counts.size:
        return ()
    shares = np.arange(1, _QUANTILES + 1) / _QUANTILES
    cuts = np.quantile(positive_counts, shares, method="inverted_cdf")
    segments: list[Segment] = []
    low = 1
    for high in np.unique(cuts).astype(int).tolist():
        name = f"n_pos {low}" if low == high else f"n_pos {low}-{high}"
        segments.append(Segment("n_pos", name, (n_pos >= low) & (n_pos <= high)))
        low = high + 1
    return tuple(segments)


def by_value(by: str, key: Labels, n_groups: int) -> tuple[Segment, ...]:
    """Divide the groups by their value in a column, in the order of the numbers in values."""
    if key.shape != (n_groups,):
        raise ArgumentError(
            f"key must have one value per group, got shape {key.shape} for {n_groups} groups."
        )
    from podium.data.users import name_of_missing

    texts = [None if value is None or value != value else str(value) for value in key.tolist()]
    missing = name_of_missing(text for text in texts if text is not None)
    names = np.array([missing if text is None else text for text in texts])
    distinct_names = sorted(np.unique(names).tolist(), key=numbers_in_order)
    return tuple(Segment(by, name, names == name) for name in distinct_names)


def numbers_in_order(name: str) -> list[str | float]:
    """Return the key that sorts names by the numbers in them: n_pos 7-13 before n_pos 14-29."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    return [float(part) if i % 2 else part for i, part in enumerate(parts)]
