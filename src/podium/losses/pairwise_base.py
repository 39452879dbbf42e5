"""What the losses of pairs share: their target, their protocol, and where they are undefined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import ByGroup
from podium.types import Mask, Offsets, PerGroup, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class PairTarget:
    """What a loss of pairs needs to know of the labels; no pair is stored.

    Attributes
    ----------
    groups : Groups
        The groups it was prepared for.
    rows : int64, (n_rows,)
        Rows by group and falling relevance, equal ones in the caller's order.
    bounds : int64, (n_levels + 1,)
        Where each level, the rows of one group with one relevance, begins in `rows`.
    levels : int64, (n_groups + 1,)
        The first level of each group.
    n_pairs : float64, (n_groups,)
        Number of pairs of rows of different relevance.
    share : float64, (n_groups,)
        Weight of each group by their mean; 0 for a group that is left out.
    """

    groups: Groups
    rows: RowIndex
    bounds: Offsets
    levels: Offsets
    n_pairs: PerGroup
    share: PerGroup

    @property
    def defined(self) -> Mask:
        """Which groups the loss is defined on."""
        return self.n_pairs > 0

    @property
    def scale(self) -> PerGroup:
        """Weight of each pair in its group's value."""
        return self.share / np.maximum(self.n_pairs, 1.0)


@dataclass(frozen=True)
class PairwiseLoss(ByGroup):
    """What the losses of pairs share; use one of its classes."""

    name: ClassVar[str]
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool]
    upper_bounds: ClassVar[str | None] = None
    shift_invariant: ClassVar[bool] = True
    _visits_pairs: ClassVar[bool] = False

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
    ) -> PairTarget:
        """Sort each group into levels of relevance; nothing here is random.

        Parameters
        ----------
        relevance : float64, (n_rows,)
            Graded, >= 0, in the order of the rows that `groups` was made from. Every difference
            counts, and all alike.
        groups : Groups
        weights : float64, (n_rows,), optional
            One weight per group, repeated on its rows.
        rng : numpy.random.Generator, optional
            Not drawn from: rows of equal relevance make no pair.

        Raises
        ------
        ArgumentError
            For lengths that differ, a negative relevance or weight, or weights that vary within
            a group.

        Warns
        -----
        CostWarning
            If the loss visits more than a billion pairs at each evaluation.
        """
        grades = inputs.relevance_of(relevance, groups)
        rows = np.lexsort((-grades, groups.index))
        bounds, levels = _levels(grades[rows], groups)
        n_pairs = _n_pairs(bounds, levels)
        per_group = inputs.group_weights(weights, groups, self.name)
        share = inputs.shares(per_group, n_pairs > 0)
        if self._visits_pairs:
            instead = "'pairwise-hinge' and 'pairwise-exponential' visit none, 'softmax' neither."
            inputs.tell_pairs(float(n_pairs.sum()), self.name, instead)
        return PairTarget(groups, rows, bounds, levels, n_pairs, share)

    def why_undefined(self, target: PairTarget) -> str:
        """Say what a group needs, how many lack it, and what to do."""
        lacking = int(np.count_nonzero(~target.defined & (target.groups.sizes > 0)))
        return (
            f"{self.name} needs two rows of different relevance in a group, and {lacking} of "
            f"{target.groups.n_groups} groups have one row or one relevance. "
            "Check the relevance and qid."
        )


def _levels(falling: PerRow, groups: Groups) -> tuple[Offsets, Offsets]:
    """Return where levels begin among rows by group and falling relevance, and whose they are."""
    begins = np.ones(falling.size, np.bool_)
    begins[1:] = falling[1:] != falling[:-1]
    begins[groups.offsets[:-1][groups.sizes > 0]] = True
    starts = np.flatnonzero(begins)
    return np.append(starts, falling.size), np.searchsorted(starts, groups.offsets)


def _n_pairs(bounds: Offsets, levels: Offsets) -> PerGroup:
    sizes = np.diff(bounds).astype(np.float64)
    in_group = np.repeat(np.arange(levels.size - 1), np.diff(levels))
    rows = np.bincount(in_group, sizes, levels.size - 1)
    return (rows**2 - np.bincount(in_group, sizes**2, levels.size - 1)) / 2
