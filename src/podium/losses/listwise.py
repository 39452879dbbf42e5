"""The base of the listwise losses: drawn orders of tied rows, and ground-truth scores.

A ground-truth order contains the rows of a list by falling grade; the order of tied rows is drawn.
Each row has a ground-truth score that depends on its grade and on its rank within its tie. The m
rows of one grade g have distinct scores in (g - delta / 2, g + delta / 2), in the drawn order and
with mean g; delta is the least difference of two grades of the list. The row of rank r = 0, …,
m - 1 within its tie is at ``((m - 1) / 2 - r) / m`` of that interval, a number in (-1/2, 1/2).
"""

# Some declarations depend on a parameter and are therefore properties.
# pyright: reportIncompatibleVariableOverride=false

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.losses.base import GroupLoss
from podium.types import Counts, Keys, Mask, PerGroup, PerRow, RowIndex

GradeTies: TypeAlias = Literal["fixed", "redrawn", "averaged"]


class ListwiseLoss(GroupLoss):
    """The base class of the listwise losses."""

    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True


class DrawnLoss(ListwiseLoss):
    """A loss that orders rows of equal grade. A subclass implements `_drawn_target`.

    Parameters
    ----------
    ties : {"fixed", "redrawn", "averaged"}
        The order of rows of equal grade: drawn once, drawn in each epoch (by solvers that support
        it), or the mean over orders.
    """

    ties: GradeTies
    constraints: ClassVar[_check.Constraints] = {
        "ties": partial(_check.choice, options=("fixed", "redrawn", "averaged"))
    }

    @property
    def draws(self) -> bool:
        """Whether the target depends on drawn keys."""
        return self._n_orders > 0

    @property
    def redraws(self) -> bool:
        """Whether the keys are drawn again in each epoch, so that the objective is random."""
        return self.ties == "redrawn"

    @property
    def _n_orders(self) -> int:
        return int(self.ties != "averaged")

    def draw(self, groups: Groups, rng: np.random.Generator) -> Keys:
        """Draw the keys that order rows of equal grade; the row with the largest key comes first.

        Parameters
        ----------
        groups : Groups
            The groups of the rows.
        rng : numpy.random.Generator
            The source of random numbers.

        Returns
        -------
        float64, (n_rows, n_orders)
            One column per order of a list, and no column if nothing is drawn. The keys are drawn
            group after group, by rising label, so that they do not depend on the order of groups
            in a file.
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

        Among rows of equal grade, the one with the largest key comes first. `keys` are the result
        of `draw`; without them they are drawn with rng.

        Raises
        ------
        ArgumentError
            If the keys have another shape or are not finite, or for the reasons of
            `Loss.prepare`.
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
                f"keys must have shape {expected}, for (rows, orders), got {array.shape}. Use the "
                "result of the loss's method draw."
            )
        if not np.isfinite(array).all():
            raise ArgumentError("keys must be finite. Use the result of the loss's method draw.")
        return array


def several_grades(grades: PerRow, groups: Groups) -> Mask:
    """Return the mask of groups that have two rows of different grade."""
    from podium.losses.listwise_kernels import mark_several

    several = np.zeros(groups.n_groups, np.bool_)
    mark_several(grades, inputs.rows_by_group(groups), groups.offsets, several)
    return several


def heads(k: int | None, sizes: Counts) -> Counts:
    """Return the length of the head of each list: k, or the whole list if it is shorter."""
    return sizes if k is None else np.minimum(sizes, k)


def head_first(grades: PerRow, keys: Keys, groups: Groups, n_head: Counts) -> NDArray[np.int64]:
    """Return the rows, group after group, with the n_head best of each group in order and first.

    The shape is (n_orders, n_rows), with one order per column of the keys. Cost: O(n) for heads of
    up to 64 places, because the other rows are not ordered. For longer heads each list is sorted.
    """
    from podium._kernels import read_only
    from podium.losses.listwise_kernels import order_heads

    rows = inputs.rows_by_group(groups)
    out = np.empty(keys.T.shape, np.int64)
    order_heads(read_only(grades), read_only(keys.T), rows, groups.offsets, n_head, out)
    return out


def sorted_rows(grades: PerRow, keys: Keys, groups: Groups) -> RowIndex:
    """Return the rows, group after group, by falling grade and key (without keys, stably)."""
    tie_keys = (-keys[:, 0],) if keys.shape[1] else ()
    return np.lexsort((*tie_keys, -grades, groups.index))


@dataclass(frozen=True, eq=False)
class Places:
    """The places of all lists in their ground-truth order.

    Attributes
    ----------
    rows : int64, (n_rows,)
        The row at each place.
    index : int64, (n_rows,)
        The number of its group.
    grades : float64, (n_rows,)
        Its grade divided by the best grade of the list, which prevents overflow.
    best : float64, (n_groups,)
        The best grade of each list; 1 if it is 0.
    tie_position : float64, (n_rows,)
        The position within its tie, in (-1/2, 1/2), falling.
    tie : int64, (n_rows,)
        The number of its tie, counted over all lists.
    gap : float64, (n_groups,)
        The least difference of two grades of a list, divided by the best grade; 0 for a list with
        one grade.
    """

    rows: RowIndex
    index: RowIndex
    grades: PerRow
    best: PerGroup
    tie_position: PerRow
    tie: RowIndex
    gap: PerGroup

    @classmethod
    def of(cls, grades: PerRow, keys: Keys, groups: Groups) -> Places:
        """Sort each list and rank its rows within their ties."""
        rows = sorted_rows(grades, keys, groups)
        index = groups.index[rows]
        first_rows = groups.offsets[:-1][groups.sizes > 0]
        sorted_grades = grades[rows]
        best = np.ones(groups.n_groups)
        best[groups.sizes > 0] = sorted_grades[first_rows]
        best[best == 0.0] = 1.0
        relative_grades = sorted_grades / best[index]
        starts = np.ones(rows.size, np.bool_)
        same_list = index[1:] == index[:-1]
        starts[1:] = (sorted_grades[1:] != sorted_grades[:-1]) | ~same_list
        tie = np.cumsum(starts) - 1
        begins_lower_grade = starts[1:] & same_list
        gap = np.full(groups.n_groups, np.inf)
        # The division may make two grades equal.
        differences = np.maximum(relative_grades[:-1] - relative_grades[1:], inputs.TINY)
        np.minimum.at(gap, index[1:][begins_lower_grade], differences[begins_lower_grade])
        gap[np.isinf(gap)] = 0.0
        return cls(rows, index, relative_grades, best, _tie_positions(starts, tie), tie, gap)

    def with_tail(self, values: PerRow, n_head: Counts) -> PerRow:
        """Return falling values, with those below the head replaced by their mean."""
        below = self._place() >= n_head[self.index]
        count = np.bincount(self.index[below], minlength=n_head.size)
        total = np.bincount(self.index[below], values[below], n_head.size)
        mean = total / np.maximum(count, 1)
        return np.where(below, mean[self.index], values)

    def averaged(self, values: PerRow) -> PerRow:
        """Return values replaced by the mean of their tie, which is the mean over all orders."""
        total = np.bincount(self.tie, values)
        return (total / np.bincount(self.tie))[self.tie] if values.size else values

    def sums(self, values: NDArray[np.float64]) -> PerGroup:
        """Return the sum of the values of each list."""
        return np.bincount(self.index, values, self.gap.size).astype(np.float64, copy=False)

    def _place(self) -> NDArray[np.int64]:
        """Return the number of each place within its list, from 0."""
        starts = np.searchsorted(self.index, np.arange(self.gap.size))
        return np.arange(self.index.size) - starts[self.index]


def _tie_positions(starts: Mask, tie: RowIndex) -> PerRow:
    first = np.flatnonzero(starts)
    size = np.diff(np.append(first, starts.size))[tie]
    rank = np.arange(starts.size) - first[tie]
    return ((size - 1) / 2 - rank) / size
