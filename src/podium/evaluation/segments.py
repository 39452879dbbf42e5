"""Segments: parts of the groups, by their number of positives or by a column of users."""

from __future__ import annotations

from dataclasses import dataclass

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


def by_engagement(n_pos: Counts, k: int) -> tuple[Segment, ...]:
    """Divide the groups into those with at most k positives, and the others."""
    fits = n_pos <= k
    return (
        Segment("engagement", f"n_pos <= {k}", fits),
        Segment("engagement", f"n_pos > {k}", ~fits),
    )


def by_quantile(n_pos: Counts) -> tuple[Segment, ...]:
    """Divide the groups with positives into parts of about equal size by n_pos."""
    positive_counts = n_pos[n_pos > 0]
    if not positive_counts.size:
        return ()
    cuts = np.quantile(
        positive_counts, np.arange(1, _QUANTILES + 1) / _QUANTILES, method="inverted_cdf"
    )
    segments: list[Segment] = []
    low = 1
    for high in np.unique(cuts).astype(int).tolist():
        name = f"n_pos {low}" if low == high else f"n_pos {low}-{high}"
        segments.append(Segment("n_pos", name, (n_pos >= low) & (n_pos <= high)))
        low = high + 1
    return tuple(segments)


def by_value(by: str, key: Labels, n_groups: int) -> tuple[Segment, ...]:
    """Divide the groups by their value in a column."""
    if key.shape != (n_groups,):
        raise ArgumentError(
            f"key must have one value per group, got shape {key.shape} for {n_groups} groups."
        )
    names = np.array(
        ["unknown" if value is None or value != value else str(value) for value in key.tolist()]
    )
    return tuple(Segment(by, str(name), names == name) for name in np.unique(names))
