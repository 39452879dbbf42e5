"""Gains of rows as weights of a loss, and the DCG of the best order of each group."""

from __future__ import annotations

import numpy as np

from podium import _check
from podium.discounts import Gain, discounts, gains
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.types import PerGroup, PerRow

_MAX_GAIN = 1e100  # the largest gain whose sums and products stay in the range of floats


def row_gains(grades: PerRow, gain: Gain, groups: Groups) -> PerRow:
    """Return the gain of each row, or raise if one is so large that sums may overflow."""
    with np.errstate(over="ignore"):
        by_row = gains(grades, gain)
    if by_row.max(initial=0.0) > _MAX_GAIN:
        row = int(np.argmax(by_row))
        label = _check.label(groups.labels[groups.index[row]])
        raise ArgumentError(
            f"relevance has a gain above {_MAX_GAIN:g} with gain={gain!r}, got "
            f"{grades[row]:g} in qid {label}. Scale the relevance, or pass gain='linear'."
        )
    return by_row


def ideal_gains(by_row: PerRow, groups: Groups, k: int | None = None) -> PerGroup:
    """Return the DCG of the k top ranks, or of all ranks, of each group in the best order."""
    falling = np.lexsort((-by_row, groups.index))
    ranks = np.arange(by_row.size) - np.repeat(groups.offsets[:-1], groups.sizes)
    discounted = by_row[falling] * rank_discounts(groups, k)[ranks]
    return np.bincount(groups.index[falling], discounted, groups.n_groups).astype(np.float64)


def rank_discounts(groups: Groups, k: int | None = None) -> PerRow:
    """Return the discount of each rank of the longest group, 0 below rank k."""
    weights = discounts(int(groups.sizes.max(initial=0)))
    weights[k:] = 0.0 if k is not None else weights[k:]
    return weights
