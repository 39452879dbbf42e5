"""What every recommender does: take in pairs, score all items, show the best ones."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from podium import _check
from podium.catalogue import ScoreFunction, top_k, top_k_factors
from podium.errors import ArgumentError
from podium.recommenders._scored import Floats, Ints, ranks_of, scores_of
from podium.types import PerRow, Ties


class Recommender(abc.ABC):
    """A model that scores all items for each user that it was fitted to.

    Attributes
    ----------
    user_items_ : scipy.sparse.csr_array of float32, (n_users, n_items)
        What it was fitted to, items rising and no pair twice; items of a user in it are "seen".
    """

    user_items_: sparse.csr_array[Any]

    def fit(self, user_items: Any) -> Self:
        """Learn from pairs of users and items.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_users, n_items)
            A pair's value > 0 is its weight, where the model reads weights. A pair of value 0 is
            none, repeated pairs add up.

        Raises
        ------
        ArgumentError
            For a parameter out of range, no pairs, or a value that is negative or not finite.
        MissingExtraError
            Where the model is another library's and that is not installed.
        """
        pairs = _read(user_items)
        self._fit(pairs)
        self.user_items_ = pairs
        return self

    @abc.abstractmethod
    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        """Learn; pairs are canonical, float32, of values > 0, and not to be changed."""

    @abc.abstractmethod
    def _score(self, users: Ints) -> Floats:
        """Return scores of all items for users that there are."""

    @property
    def n_users_(self) -> int:
        return self._fitted().shape[0]

    @property
    def n_items_(self) -> int:
        return self._fitted().shape[1]

    def scores(self, users: ArrayLike | None = None) -> Floats:
        """Score all items for some users.

        Parameters
        ----------
        users : (n,), optional
            Row numbers; all users without it, which takes 4 bytes a user and item.

        Returns
        -------
        float32, (n, n_items)
            Higher is better; to be compared within a user only. Seen items have scores too.
        """
        return self._score(_positions(users, self.n_users_, "users"))

    def recommend(
        self,
        users: ArrayLike | None = None,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        allow: ArrayLike | None = None,
        deny: ArrayLike | None = None,
    ) -> tuple[Ints, Floats]:
        """Find the best items of users, best first.

        Parameters
        ----------
        users : (n,), optional
            Row numbers; all users without it.
        k : int
        exclude_seen : bool
            Leave out the items that a user has a pair with.
        allow, deny : (n,), optional
            Column numbers of items that alone may be shown, and of items that may not.

        Returns
        -------
        items : int64, (n, k)
            Column numbers. Where fewer than k may be shown, -1 fills up.
        scores : float32, (n, k)
            -inf where there is no item.
        """
        rows = _positions(users, self.n_users_, "users")
        chosen = _candidates(allow, deny, self.n_items_)
        seen = self.user_items_[rows] if _check.flag(exclude_seen, "exclude_seen") else None
        if seen is not None and chosen is not None:
            seen = seen[:, chosen]
        found, scores = _best(scores_of(self, rows, chosen), k, seen)
        return found if chosen is None else np.where(found < 0, -1, chosen[found]), scores

    def ranks(
        self, held_out: Any, *, exclude_seen: bool = True, ties: Ties = "worst", seed: int = 0
    ) -> PerRow:
        """Find the exact rank of each held-out item among all items of its user: see `ranks_of`.

        Parameters
        ----------
        held_out : scipy.sparse matrix, (n_users, n_items)
        exclude_seen : bool
            Rank among the items that a user has no pair with.
        ties, seed
            As in `podium.catalogue.target_ranks`.
        """
        hidden = self._fitted() if _check.flag(exclude_seen, "exclude_seen") else None
        return ranks_of(self, held_out, exclude=hidden, ties=ties, seed=seed)

    def _fitted(self) -> sparse.csr_array[Any]:
        if not hasattr(self, "user_items_"):
            from sklearn.exceptions import NotFittedError  # as a factorization raises

            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit first.")
        return self.user_items_


def _best(scores: ScoreFunction | tuple[Floats, Floats], k: int, seen: Any) -> tuple[Ints, Floats]:
    if isinstance(scores, tuple):
        users, items = scores
        return top_k_factors(users, items, k, exclude=seen)
    return top_k(scores, k, exclude=seen)


def _candidates(allow: Any, deny: Any, n_items: int) -> Ints | None:
    """Return the items that may be shown, rising; None where all may."""
    if allow is None and deny is None:
        return None
    chosen = np.zeros(n_items, np.bool_)
    chosen[_positions(allow, n_items, "allow")] = True
    if deny is not None:
        chosen[_positions(deny, n_items, "deny")] = False
    if not chosen.any():
        raise ArgumentError("allow and deny leave no item to show. Allow more, or deny fewer.")
    return np.flatnonzero(chosen)


def _positions(values: ArrayLike | None, n: int, name: str) -> Ints:
    """Return row or column numbers, all of them for None."""
    if values is None:
        return np.arange(n)
    places: NDArray[Any] = np.atleast_1d(np.asarray(values))
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise ArgumentError(f"{name} must be a list of integers below {n}, got {values!r}.")
    outside = (places < 0) | (places >= n)
    if outside.any():
        raise ArgumentError(f"{name} must lie in [0, {n}), got {places[int(np.argmax(outside))]}.")
    return places.astype(np.int64)


def _read(user_items: Any) -> sparse.csr_array[Any]:
    if not hasattr(user_items, "tocsr"):
        raise ArgumentError(
            f"user_items must be a sparse matrix of users x items, got {type(user_items).__name__}."
            " Make one with scipy.sparse.csr_array((values, (user, item)))."
        )
    with np.errstate(over="ignore"):  # what float32 can't hold is refused as infinite
        pairs: Any = sparse.csr_array(user_items.tocsr(), dtype=np.float32, copy=True)
        pairs.sum_duplicates()
    bad = ~np.isfinite(pairs.data) | (pairs.data < 0)
    if bad.any():
        first = int(np.argmax(bad))
        user = int(np.searchsorted(pairs.indptr, first, side="right")) - 1
        raise ArgumentError(
            f"user_items must hold finite values >= 0, got {pairs.data[first]:g} for user {user} "
            f"and item {pairs.indices[first]} ({int(bad.sum())} such values). Drop them."
        )
    pairs.eliminate_zeros()
    if not pairs.nnz:
        raise ArgumentError(
            f"user_items must hold at least one pair, got none in {pairs.shape[0]} users x "
            f"{pairs.shape[1]} items."
        )
    return pairs
