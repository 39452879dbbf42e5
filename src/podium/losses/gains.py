"""Gains of rows as weights of a loss, and the DCG of the best order of each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium import _check
from podium.discounts import Gain, discounts, gains
from podium.errors import ArgumentError, arg
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import Lists
from podium.losses.listwise import several_grades
from podium.types import PerGroup, PerRow

_MAX_GAIN = 1e100  # the largest gain whose sums and products stay in the range of floats


@dataclass(frozen=True, eq=False)
class GainTarget(Lists):
    """The target of a loss that compares each row with a gain with all rows of its group.

    It is defined on groups with rows of two grades and a gain above 0.

    Attributes
    ----------
    worth : float64, (n_rows,)
        The gain of each row, by default over the ideal DCG of its group.
    """

    worth: PerRow


def gain_target(
    name: str,
    gain: Gain,
    grades: PerRow,
    groups: Groups,
    weights: PerRow | None,
    *,
    k: int | None = None,
    normalize: bool = True,
) -> GainTarget:
    """Return the target of the loss of this name; the ideal DCG is that of the k top ranks."""
    worth = row_gains(grades, gain, groups)
    ideal = ideal_gains(worth, groups, k)
    defined = several_grades(grades, groups) & (ideal > 0.0)
    if normalize:
        worth = worth / np.where(defined, ideal, 1.0)[groups.index]
    share = inputs.group_shares(weights, groups, name, defined)
    n_pairs = float(groups.sizes[groups.index[worth > 0.0]].sum(dtype=np.float64))
    inputs.warn_about_pairs(n_pairs, name, "Use 'softmax', which visits no pairs.")
    return GainTarget(groups, share, defined, inputs.rows_by_group(groups), worth)


def row_gains(grades: PerRow, gain: Gain, groups: Groups) -> PerRow:
    """Return the gain of each row, or raise if one is so large that sums may overflow."""
    with np.errstate(over="ignore"):
        by_row = gains(grades, gain)
    if by_row.max(initial=0.0) > _MAX_GAIN:
        row = int(np.argmax(by_row))
        label = _check.label(groups.labels[groups.index[row]])
        raise ArgumentError(
            f"relevance has a gain above {_MAX_GAIN:g} with {arg.gain(gain)}, got {grades[row]:g} "
            f"in qid {label}. Scale the relevance, or pass {arg.gain('linear')}."
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
