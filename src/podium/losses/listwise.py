"""What the listwise losses share: drawn orders of tied rows, and scores of the ground truth.

A ground-truth order has a list's rows by falling grade, tied ones in an order that is drawn.
Ground-truth scores are one for each row, from its grade and, inside a tie, from its rank.
The m rows of one grade g have scores inside (g - delta / 2, g + delta / 2), delta being the
least difference of two grades of the list: all different, in the drawn order, and g on average.
A row's rank r = 0, …, m - 1 in its tie places it at ``((m - 1) / 2 - r) / m`` of that interval,
which lies in (-1/2, 1/2).
"""

# Some declarations depend on a parameter, and are properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss
from podium.types import Counts, Keys, Mask, PerGroup, PerRow, RowIndex

GradeTies: TypeAlias = Literal["fixed", "redrawn", "averaged"]

TIES: tuple[GradeTies, ...] = ("fixed", "redrawn", "averaged")


class ListwiseLoss(GroupLoss):
    """What the listwise losses share; use one of its classes."""

    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def why_undefined(self, target: Any) -> str:
        """Say what a group needs, how many lack it, and what to do."""
        sizes = target.groups.sizes
        short = int(np.count_nonzero(sizes < 2))
        return (
            f"{self.name} needs rows of two grades in a group, but {short} of {sizes.size} groups "
            f"have fewer than two rows and {int(np.count_nonzero(~target.defined)) - short} "
            f"{self._lack()}. Check relevance and qid."
        )

    def _lack(self) -> str:
        return "one grade only"


class DrawnLoss(ListwiseLoss):
    """A loss that puts rows of equal grade in an order; a subclass has `_drawn_target`.

    Parameters
    ----------
    ties : {"fixed", "redrawn", "averaged"}
        The order of rows of equal grade: drawn once, drawn anew in each epoch (by a solver that
        can), or the mean over orders.
    """

    ties: GradeTies

    @property
    def draws(self) -> bool:
        """Whether the target depends on drawn keys."""
        return self._n_orders > 0

    @property
    def redraws(self) -> bool:
        """Whether these are to be drawn anew in each epoch, so that the objective is random."""
        return self.ties == "redrawn"

    @property
    def _n_orders(self) -> int:
        return int(self.ties != "averaged")

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Draw the keys that put rows of equal grade in an order: the largest key comes first.

        Parameters
        ----------
        groups : Groups
        rng : numpy.random.Generator

        Returns
        -------
        float64, (n_rows, n_orders)
            One column for each order of a list, none where nothing is drawn. Drawn group after
            group, by rising label: the order of groups in a file changes nothing.
        """
        return groups.scatter(rng.random((groups.n_rows, self._n_orders)))

    def prepare(
        self,
        relevance: PerRow,
        groups: Groups,
        *,
        weights: PerRow | None = None,
        rng: np.random.Generator | None = None,
        keys: Keys | None = None,
    ) -> Any:
        """Return the target; see `Loss.prepare`.

        Of rows of equal grade, the one with the largest key comes first. `keys` are from `draw`;
        without them they are drawn with rng. Keys of another shape are an ArgumentError.
        """
        grades = inputs.relevance_of(relevance, groups)
        return self._drawn_target(grades, groups, weights, self._keys(groups, rng, keys))

    def _target(self, grades: PerRow, groups: Groups, weights: PerRow | None) -> Any:
        return self.prepare(grades, groups, weights=weights)

    @abc.abstractmethod
    def _drawn_target(
        self, grades: PerRow, groups: Groups, weights: PerRow | None, keys: Keys
    ) -> Any: ...

    def _keys(self, groups: Groups, rng: np.random.Generator | None, keys: Any) -> Keys:
        if keys is None:
            return self.draw(groups, np.random.default_rng(0) if rng is None else rng)
        array = np.asarray(keys, dtype=np.float64)
        expected = (groups.n_rows, self._n_orders)
        if array.shape != expected:
            raise ArgumentError(
                f"keys must have shape {expected}, one row per row and one column per order, got "
                f"{array.shape}. Take them from the loss's draw."
            )
        if not np.isfinite(array).all():
            raise ArgumentError("keys must be finite. Take them from the loss's draw.")
        return array


def several_grades(grades: PerRow, groups: Groups) -> Mask:
    """Return which groups have two rows of different grade."""
    from podium.losses.listwise_kernels import mark_several

    several = np.zeros(groups.n_groups, np.bool_)
    mark_several(grades, inputs.rows_by_group(groups), groups.offsets, several)
    return several


def heads(k: int | None, sizes: Counts) -> Counts:
    """Return how many places the head of each list has: all of a list that is no longer than k."""
    return sizes if k is None else np.minimum(sizes, k)


def head_first(grades: PerRow, keys: Keys, groups: Groups, n_head: Counts) -> NDArray[np.int64]:
    """Return rows group after group, the n_head best of each in their order and then the rest.

    Shape (n_orders, n_rows): one order for each column of the keys. Cost: O(n) for a head of up
    to 64 places, which is all that is ordered; a longer one sorts its list.
    """
    from podium.losses.listwise_kernels import order_heads

    rows = inputs.rows_by_group(groups)
    by_order = np.ascontiguousarray(keys.T)
    out = np.empty(by_order.shape, np.int64)
    order_heads(grades, by_order, rows, groups.offsets, n_head, out)
    return out


def sorted_rows(grades: PerRow, keys: Keys, groups: Groups) -> RowIndex:
    """Return rows group after group, each by falling grade; without a key in the caller's order."""
    tie_keys = (-keys[:, 0],) if keys.shape[1] else ()
    return np.lexsort((*tie_keys, -grades, groups.index))


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
        rows = sorted_rows(grades, keys, groups)
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
