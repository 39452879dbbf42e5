"""Ground-truth orders: a list's rows by falling grade, tied ones in an order that is drawn."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import inputs
from podium.types import Counts, Mask, PerRow, RowIndex

Keys: TypeAlias = NDArray[np.float64]  # (n_rows, n_orders), in the caller's row order
GradeTies: TypeAlias = Literal["fixed", "redrawn", "averaged"]

TIES: tuple[GradeTies, ...] = ("fixed", "redrawn", "averaged")


class Drawing:
    """What the losses share that put rows of equal grade in an order."""

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


def cutoff_or_none(k: Any) -> int | None:
    """Return k as an int >= 1, or None for the whole list."""
    return _check.cutoff(k, required=False)


def rows_by_group(groups: Groups) -> RowIndex:
    """Return the positions of all rows, group after group."""
    return np.arange(groups.n_rows) if groups.order is None else groups.order


def several_grades(grades: PerRow, groups: Groups) -> Mask:
    """Return which groups have two rows of different grade."""
    from podium.losses._listwise_kernels import mark_several

    several = np.zeros(groups.n_groups, np.bool_)
    mark_several(grades, rows_by_group(groups), groups.offsets, several)
    return several


def heads(k: int | None, sizes: Counts) -> Counts:
    """Return how many places the head of each list has: all of a list that is no longer than k."""
    return sizes if k is None else np.minimum(sizes, k)


def head_first(grades: PerRow, keys: Keys, groups: Groups, n_head: Counts) -> NDArray[np.int64]:
    """Return rows group after group, the n_head best of each in their order and then the rest.

    Shape (n_orders, n_rows): one order for each column of the keys. Cost: O(n) for a head of up
    to 64 places, which is all that is ordered; a longer one sorts its list.
    """
    from podium.losses._listwise_kernels import order_heads

    rows = rows_by_group(groups)
    by_order = np.ascontiguousarray(keys.T)
    out = np.empty(by_order.shape, np.int64)
    order_heads(grades, by_order, rows, groups.offsets, n_head, out)
    return out


def sorted_rows(grades: PerRow, keys: Keys, groups: Groups) -> RowIndex:
    """Return rows group after group, each by falling grade; without a key in the caller's order."""
    tie_keys = (-keys[:, 0],) if keys.shape[1] else ()
    return np.lexsort((*tie_keys, -grades, groups.index))


def shares_of(weights: Any, groups: Groups, name: str, defined: Mask) -> NDArray[np.float64]:
    """Return what each group's value is multiplied by; see `podium.losses.inputs.shares`."""
    return inputs.shares(inputs.group_weights(weights, groups, name), defined)
