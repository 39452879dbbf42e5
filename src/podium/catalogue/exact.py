"""Products of factors with the same bits in every order of computation.

The summation order of a matrix product depends on its shape, the number of threads and the device.
Therefore matrix products only select pairs of a user and an item. The scores of these pairs are
computed again in a fixed order. A bound on the rounding errors of both computations shows which
pairs the matrix product cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.catalogue import _exact_kernels
from podium.catalogue._exact_kernels import Best, Proposals

Floats: TypeAlias = "NDArray[np.floating[Any]]"  # float32 or float64
Ints: TypeAlias = "NDArray[np.int64]"

_SPARE = 2  # items that are first proposed in addition to k
_WIDER = 8  # growth of the number of proposals for users that are not settled
_MOST = 2**22  # proposals at a time


class Proposed(NamedTuple):
    """Items proposed to some users, best first: (n, width) each, filled with -1 and -inf."""

    items: Ints
    scores: Floats


@dataclass(frozen=True, eq=False)
class Products:
    """Two factors of one type, and a bound on the difference of a score between two orders.

    Attributes
    ----------
    users, items : float32 or float64, (n_users, n_factors), (n_items, n_factors)
    slack : (n_users,)
        The largest difference between a user's score here and in a matrix product.
    could_overflow : bool
        Whether a score could be too large for the type of the factors; there are no bounds then.
    """

    users: Floats
    items: Floats
    slack: Floats
    could_overflow: bool

    @classmethod
    def of(cls, users: Floats, items: Floats) -> Products:
        """Compute the bounds.

        The rounding error of a dot product is at most terms x eps x |u| |v| (Cauchy-Schwarz). It is
        taken at the longest item. Each order of summation errs by at most half of eps per term.
        """
        largest = _lengths(users) * _lengths(items).max(initial=0.0)
        n_terms = np.count_nonzero(users, axis=1)
        rounding = np.where(n_terms > 1, n_terms + 4, 0) * np.finfo(users.dtype).eps
        could_overflow = bool((largest > np.finfo(users.dtype).max / 4).any())
        slack = np.zeros_like(largest) if could_overflow else rounding * largest
        return cls(users, items, slack.astype(users.dtype), could_overflow)

    def of_users(self, first: int, n_users: int) -> Products:
        """Return the products of consecutive users."""
        part = slice(first, first + n_users)
        return replace(self, users=self.users[part], slack=self.slack[part])

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        """Return the scores of pairs of a user and an item: (n,)."""
        scores = np.empty(rows.size, self.users.dtype)
        _exact_kernels.pair_products(self.users, self.items, rows, columns, scores)
        return scores

    def best(self, k: int, propose: Callable[[Ints, int], Proposed]) -> tuple[Ints, Floats]:
        """Return each user's k best items and their scores; -1 and -inf if there are fewer.

        The result for a user depends only on the user's factors and the items' factors. Among equal
        scores the lower item number is first.

        Parameters
        ----------
        k : int
        propose : (users, width) -> Proposed
            A function that returns the best items of some users by a matrix product.
        """
        n_users, n_items = self.users.shape[0], self.items.shape[0]
        items: Ints = np.full((n_users, k), -1)
        scores = np.full((n_users, k), -np.inf, self.users.dtype)
        factors = _exact_kernels.Factors(self.users, self.items, self.slack)
        unsettled: Ints = np.arange(n_users, dtype=np.int64)
        width = min(k + _SPARE, n_items + 1)
        while unsettled.size:
            is_settled = np.empty(unsettled.size, np.bool_)
            step = max(1, _MOST // width)
            for start in range(0, unsettled.size, step):
                part = unsettled[start : start + step]
                proposals = Proposals(part, *propose(part, width))
                marks = is_settled[start : start + step]
                _exact_kernels.settle(factors, proposals, Best(items, scores), marks)
            unsettled = np.compress(~is_settled, unsettled)
            # If all items and one more are proposed, the last one is -1, which settles the user.
            width = min(_WIDER * width, n_items + 1)
        return items, scores


def _lengths(factors: Floats) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->i", factors, factors, dtype=np.float64))
