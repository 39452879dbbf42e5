"""Windows of time over purchases: what was known before a moment, and what came after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from podium.data import OnlineRetail
from podium.errors import ArgumentError

DAY = 1440  # minutes
WINDOW_DAYS = 56  # whole weeks, so that every window has as many Sundays

Ids = NDArray[np.int64]
Sparse = Any  # scipy.sparse.csr_matrix, of which SciPy ships no types


@dataclass(frozen=True, eq=False)
class Purchases:
    """Rows of bought products, in any order, and the shop that they come from.

    Attributes
    ----------
    user, item, minute, quantity : int64, (n_rows,)
    n_users, n_items : int
    """

    user: Ids
    item: Ids
    minute: Ids
    quantity: Ids
    n_users: int
    n_items: int

    @classmethod
    def of(cls, shop: OnlineRetail, users: Ids | None = None) -> Purchases:
        """Take the purchases of a shop, or of some of its customers; cancellations are left out."""
        keep = shop.quantity > 0
        if users is not None:
            keep &= np.isin(shop.user, users)
        columns = (shop.user, shop.item, shop.minute, shop.quantity)
        return cls(*(c[keep] for c in columns), n_users=shop.n_users, n_items=shop.n_items)

    def between(self, start: int, stop: int) -> Purchases:
        """Keep what was bought from minute start on, and before minute stop."""
        keep = (self.minute >= start) & (self.minute < stop)
        columns = {n: getattr(self, n)[keep] for n in ("user", "item", "minute", "quantity")}
        return replace(self, **columns)

    @cached_property
    def matrix(self) -> Sparse:
        """float32 CSR, (n_users, n_items): 1 where the customer bought the product."""
        return ones(self.weighted(np.ones(self.user.size)))

    def weighted(self, weight: NDArray[np.float64]) -> Sparse:
        """float32 CSR, (n_users, n_items): the sum of the weights of the pair's rows."""
        shape = (self.n_users, self.n_items)
        cells: Any = (weight.astype(np.float32), (self.user, self.item))
        return sp.csr_matrix(cells, shape=shape)


@dataclass(frozen=True)
class Window:
    """A part of the year: from minute `start` on, and before minute `stop`."""

    start: int
    stop: int


def consecutive(purchases: Purchases, days: int = WINDOW_DAYS) -> dict[str, Window]:
    """Return the last three windows of the data: "train", "valid" and "test", in that order."""
    end = int(purchases.minute.max()) + 1
    starts = [end - n * days * DAY for n in (3, 2, 1)]
    if starts[0] <= purchases.minute.min():
        raise ArgumentError(f"days must leave purchases before three windows, got {days}.")
    return {
        name: Window(start, start + days * DAY)
        for name, start in zip(("train", "valid", "test"), starts, strict=True)
    }


def new_purchases(purchases: Purchases, window: Window) -> Sparse:
    """Return what was bought in the window by who had bought before, and never this product.

    float32 CSR, (n_users, n_items), ones. Customers without an earlier purchase have an empty
    row: nothing is known of them that could be personal.
    """
    before = purchases.between(0, window.start).matrix
    during = purchases.between(window.start, window.stop).matrix
    known = sp.diags((np.diff(before.indptr) > 0).astype(np.float32))
    new = (known @ (during - during.multiply(before))).tocsr()
    new.eliminate_zeros()
    new.sort_indices()
    return new


def ones(matrix: Sparse) -> Sparse:
    """Return the matrix with 1 in all its stored cells."""
    result = matrix.copy()
    result.data[:] = 1
    return result
