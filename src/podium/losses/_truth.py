"""Ground-truth scores: one for each row, from its grade and, inside a tie, from its rank.

The m rows of one grade g have scores inside (g - delta / 2, g + delta / 2), delta being the
least difference of two grades of the list: all different, in the drawn order, and g on average.
A row's rank r = 0, …, m - 1 in its tie places it at ``((m - 1) / 2 - r) / m`` of that interval,
which lies in (-1/2, 1/2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.groups import Groups
from podium.losses import _orders, inputs
from podium.losses._orders import Keys
from podium.types import Counts, Mask, PerGroup, PerRow, RowIndex


@dataclass(frozen=True, eq=False)
class Places:
    """Lists in their ground-truth order, place after place.

    Attributes
    ----------
    rows : int64, (n_rows,)
        The row at each place.
    index : int64, (n_rows,)
        Its group's number.
    grades : float64, (n_rows,)
        Its grade by the best of its list, so that nothing overflows.
    best : float64, (n_groups,)
        That best grade; 1 where it is 0.
    inside : float64, (n_rows,)
        Where in its tie it stands, in (-1/2, 1/2), falling.
    tie : int64, (n_rows,)
        Number of its tie, counted over all lists.
    gap : float64, (n_groups,)
        Least difference of two grades of a list, by the best; 0 where there is one grade.
    """

    rows: RowIndex
    index: RowIndex
    grades: PerRow
    best: PerGroup
    inside: PerRow
    tie: RowIndex
    gap: PerGroup

    @classmethod
    def of(cls, grades: PerRow, keys: Keys, groups: Groups) -> Places:
        """Sort each list, and rank its rows inside their ties."""
        rows = _orders.sorted_rows(grades, keys, groups)
        index = groups.index[rows]
        first = groups.offsets[:-1][groups.sizes > 0]
        raw = grades[rows]
        best = np.ones(groups.n_groups)
        best[groups.sizes > 0] = raw[first]
        best[best == 0.0] = 1.0
        ordered = raw / best[index]
        starts = np.ones(rows.size, np.bool_)
        same_list = index[1:] == index[:-1]
        starts[1:] = (raw[1:] != raw[:-1]) | ~same_list
        tie = np.cumsum(starts) - 1
        falls = starts[1:] & same_list
        gap = np.full(groups.n_groups, np.inf)
        apart = np.maximum(ordered[:-1] - ordered[1:], inputs.TINY)  # division may make them equal
        np.minimum.at(gap, index[1:][falls], apart[falls])
        gap[np.isinf(gap)] = 0.0
        return cls(rows, index, ordered, best, _inside(starts, tie), tie, gap)

    def with_tail(self, values: PerRow, n_head: Counts) -> PerRow:
        """Return falling values with the mean of those below the head in all their places."""
        below = self._place() >= n_head[self.index]
        count = np.bincount(self.index[below], minlength=n_head.size)
        total = np.bincount(self.index[below], values[below], n_head.size)
        mean = total / np.maximum(count, 1)
        return np.where(below, mean[self.index], values)

    def averaged(self, values: PerRow) -> PerRow:
        """Return the mean of the values of each tie: that over all its orders."""
        total = np.bincount(self.tie, values)
        return (total / np.bincount(self.tie))[self.tie] if values.size else values

    def sums(self, values: NDArray[np.float64]) -> PerGroup:
        """Return the sum of each list."""
        return np.bincount(self.index, values, self.gap.size).astype(np.float64, copy=False)

    def _place(self) -> NDArray[np.int64]:
        """Return places from 0 in each list."""
        starts = np.searchsorted(self.index, np.arange(self.gap.size))
        return np.arange(self.index.size) - starts[self.index]


def _inside(starts: Mask, tie: RowIndex) -> PerRow:
    first = np.flatnonzero(starts)
    size = np.diff(np.append(first, starts.size))[tie]
    rank = np.arange(starts.size) - first[tie]
    return ((size - 1) / 2 - rank) / size
