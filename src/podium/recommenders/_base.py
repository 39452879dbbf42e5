"""The contract of a recommender: take in pairs, score items, show and rank them, be a file."""

from __future__ import annotations

import abc
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from podium import _check
from podium.catalogue import ScoreFunction, target_ranks, top_k
from podium.errors import ArgumentError
from podium.recommenders import _pairs
from podium.recommenders._files import Saved
from podium.recommenders._pairs import Labels, Pairs
from podium.types import PerRow, Ties

Floats: TypeAlias = "NDArray[np.float32]"
Ints: TypeAlias = "NDArray[np.int64]"
Items: TypeAlias = "NDArray[Any]"

_BLOCK = 2**22  # scores in memory at a time where single pairs are scored


class Recommender(Saved, BaseEstimator):
    """A model that scores all items for each user that it was fitted to.

    A model of your own is a `MatrixRecommender`, or has a `fit` of its own and `_score`. It can be
    saved if `_learned` names its arrays and `_layout` returns their shapes.

    Attributes
    ----------
    user_labels_, item_labels_ : (n_users,), (n_items,), or None
        Ids, rising, where the pairs came from a table; a matrix has row and column numbers.
    user_items_ : scipy.sparse.csr_array of float32, (n_users, n_items)
        The pairs that are not shown, and their weights.
    seen_offsets_, seen_items_, seen_weights_
        The same pairs as they are saved: user u has the items ``seen_items_[lo:hi]`` from
        ``lo, hi = seen_offsets_[u : u + 2]``. The model has learned from those of weight > 0.
    """

    user_labels_: Labels | None
    item_labels_: Labels | None
    user_items_: sparse.csr_array[Any]
    seen_offsets_: Ints
    seen_items_: NDArray[np.int32]
    seen_weights_: Floats
    weight_scale_: float
    n_items_: int

    @abc.abstractmethod
    def fit(self, user_items: Any) -> Self:
        """Learn from pairs of users and items.

        Parameters
        ----------
        user_items : scipy.sparse matrix, (n_users, n_items), or table
            A pair's value > 0 is its weight, where the model reads weights. A pair of value 0 is
            none, repeated pairs add up. A table is anything that `podium.data.read_interactions`
            reads.

        Raises
        ------
        ArgumentError
            For a parameter out of range, no pairs, or a value that is negative or not finite.
        MissingExtraError
            Where the model is another library's and that is not installed.
        """

    @abc.abstractmethod
    def _score(self, users: Ints) -> Floats:
        """Return scores of all items for row numbers of users."""

    @property
    def n_users_(self) -> int:
        check_is_fitted(self)
        return self.seen_offsets_.size - 1

    @property
    def is_fitted(self) -> bool:
        """Whether there are users and items to recommend."""
        return "seen_offsets_" in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def scores(self, users: ArrayLike | None = None) -> Floats:
        """Score all items for some users.

        Parameters
        ----------
        users : (n,), optional
            Ids, or row numbers of a matrix; all users without it, which takes 4 bytes a user and
            item.

        Returns
        -------
        float32, (n, n_items)
            Higher is better; to be compared within a user only. Seen items have scores too.
        """
        check_is_fitted(self)
        return self._score(self._rows(users))

    def score_pairs(self, user: ArrayLike, item: ArrayLike) -> PerRow:
        """Score single pairs.

        Parameters
        ----------
        user, item : (n,)
            Ids, or row and column numbers of a matrix.

        Returns
        -------
        float64, (n,)
            nan for a pair whose user or item the model does not have.
        """
        rows, columns = self.places(user, item)
        scores = np.full(rows.size, np.nan)
        there = np.flatnonzero((rows >= 0) & (columns >= 0))
        scores[there] = self._score_pairs(rows[there], columns[there])
        return scores

    def places(self, user: ArrayLike, item: ArrayLike) -> tuple[Ints, Ints]:
        """Find the row of each pair's user and the column of its item, -1 for unknown ones."""
        check_is_fitted(self)
        users, items = (np.atleast_1d(np.asarray(ids)) for ids in (user, item))
        if users.ndim != 1 or users.shape != items.shape:
            raise ArgumentError(
                f"user and item must have equal length, got shapes {users.shape} and {items.shape}."
            )
        return (
            _pairs.places(users, self.user_labels_, self.n_users_, "user"),
            _pairs.places(items, self.item_labels_, self.n_items_, "item"),
        )

    def _score_pairs(self, rows: Ints, columns: Ints) -> PerRow:
        """Score pairs that are there: all items of some users at a time."""
        scores = np.empty(rows.size)
        order, step = np.argsort(rows, kind="stable"), max(1, _BLOCK // self.n_items_)
        users, starts = np.unique(rows[order], return_index=True)
        ends = [*starts[1:].tolist(), rows.size]
        for first in range(0, users.size, step):
            part = order[starts[first] : ends[min(first + step, users.size) - 1]]
            block = users[first : first + step]
            scores[part] = self._score(block)[np.searchsorted(block, rows[part]), columns[part]]
        return scores

    def recommend(
        self,
        users: ArrayLike | None = None,
        k: int = 10,
        *,
        exclude_seen: bool = True,
        allow: ArrayLike | None = None,
        deny: ArrayLike | None = None,
    ) -> tuple[Items, Floats]:
        """Find the best items of users, best first.

        Parameters
        ----------
        users : (n,), optional
            Ids, or row numbers of a matrix; all users without it.
        k : int
            Items of each user, at most as many as the model has.
        exclude_seen : bool
            Leave out the items that a user has a pair with.
        allow, deny : (n,), optional
            Items that alone may be shown, and items that may not.

        Returns
        -------
        items : (n, k)
            Ids, or column numbers. Where fewer than k may be shown, -1 (or "") fills up.
        scores : float32, (n, k)
            -inf where there is no item.
        """
        check_is_fitted(self)
        rows = self._rows(users)
        seen = self.user_items_[rows] if _check.flag(exclude_seen, "exclude_seen") else None
        found, scores = self._top(rows, self._width(k), seen, self._candidates(allow, deny))
        return self._named(found), scores

    def _top(self, rows: Ints, k: int, seen: Any, candidates: Ints | None) -> tuple[Ints, Floats]:
        """Return columns of the best items that are no `seen` ones, of all or the candidates."""
        if seen is not None and candidates is not None:
            seen = seen[:, candidates]
        found, scores = top_k(cast("Any", self.as_scores(rows, candidates)), k, exclude=seen)
        return found if candidates is None else np.where(found < 0, -1, candidates[found]), scores

    def ranks(
        self, held_out: Any, *, exclude_seen: bool = True, ties: Ties = "worst", seed: int = 0
    ) -> PerRow:
        """Find the exact rank of each held-out item among all items of its user.

        Parameters
        ----------
        held_out : scipy.sparse matrix, (n_users, n_items), or table
            The pairs are ranked, one or several for a user; users without any have none.
        exclude_seen : bool
            Rank among the items that a user has no pair with; a held-out pair that the model was
            fitted to is then an error.
        ties, seed
            As in `podium.catalogue.target_ranks`.

        Returns
        -------
        float64, (n_held_out,)
            From 1, in the order of ``held_out.tocsr().data``; those of a table by user and item.

        Notes
        -----
        Cost: users without a held-out item are not scored.

        Examples
        --------
        >>> from podium.recommenders import Popularity
        >>> likes = sparse.csr_array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 0]])
        >>> held_out = sparse.csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
        >>> Popularity().fit(likes).ranks(held_out)
        array([1., 1.])
        """
        check_is_fitted(self)
        hidden: Any = self.user_items_ if _check.flag(exclude_seen, "exclude_seen") else None
        if not _pairs.is_matrix(held_out):
            held_out = _pairs.read_same(held_out, "held_out", self._seen_pairs()).matrix()
        shape = (self.n_users_, self.n_items_)
        if held_out.shape != shape:
            raise ArgumentError(
                f"held_out must have the model's users and items, {shape}, got {held_out.shape}."
            )
        targets: Any = held_out.tocsr()
        users = np.flatnonzero(np.diff(targets.indptr))
        ranks = target_ranks(
            self.as_scores(users),
            targets[users],
            exclude=None if hidden is None else hidden[users],
            overlap="drop",
            ties=ties,
            seed=seed,
        )
        n_fitted = int(np.count_nonzero(np.isnan(ranks)))
        if n_fitted:
            raise ArgumentError(
                f"held_out has {n_fitted} of {ranks.size} pairs that the model was fitted to. "
                "Take them out, or pass exclude_seen=False to rank them among all items."
            )
        return ranks

    def as_scores(
        self, rows: Ints | None = None, columns: Ints | None = None
    ) -> ScoreFunction | tuple[Floats, Floats]:
        """Return scores as `podium.catalogue` reads them, a block of users at a time.

        Parameters
        ----------
        rows, columns : int64, (n,), optional
            Users and items that alone are meant; all without them.

        Returns
        -------
        pair of float32, or ScoreFunction
            Factors, with the bias as one more, where the model has them: products of factors are
            the fastest. Else a function.

        Examples
        --------
        >>> from podium.catalogue import top_k_factors
        >>> from podium.recommenders import Popularity
        >>> likes = sparse.csr_array([[1, 0, 1], [0, 0, 1]])
        >>> top_k_factors(*Popularity().fit(likes).as_scores(), 1, exclude=likes)[0]
        array([[1],
               [0]])
        """
        numbers = np.arange(self.n_users_) if rows is None else rows
        n_items = self.n_items_ if columns is None else columns.size
        chosen: Any = slice(None) if columns is None else columns

        def block(places: Ints) -> Floats:
            return self._score(numbers[places])[:, chosen]

        return ScoreFunction(block, numbers.size, n_items, np.float32)

    def _hold_pairs(self, pairs: Pairs) -> None:
        self.user_labels_, self.item_labels_ = pairs.user_labels, pairs.item_labels
        self.seen_offsets_, self.seen_items_ = pairs.offsets, pairs.items
        self.seen_weights_, self.weight_scale_ = pairs.weights, pairs.scale
        self.n_items_, self.user_items_ = pairs.n_items, pairs.matrix()

    def _seen_pairs(self) -> Pairs:
        """Return all pairs that are not shown; those of weight 0 nothing was learned from."""
        return Pairs(
            self.seen_offsets_,
            self.seen_items_,
            self.seen_weights_,
            self.n_items_,
            self.weight_scale_,
            self.user_labels_,
            self.item_labels_,
        )

    def _learned_pairs(self) -> Pairs:
        """Return the pairs that the model has learned from."""
        seen = self._seen_pairs()
        return seen.chosen(seen.weights > 0)

    def _width(self, k: Any) -> int:
        width = _check.cutoff(k)
        if width > self.n_items_:
            raise ArgumentError(
                f"k must be at most the model's {self.n_items_} items, got {width}."
            )
        return width

    def _rows(self, users: ArrayLike | None) -> Ints:
        if users is None:
            return np.arange(self.n_users_, dtype=np.int64)
        return _positions(users, self.user_labels_, self.n_users_, "users")

    def _columns(self, items: ArrayLike, name: str) -> Ints:
        return _positions(items, self.item_labels_, self.n_items_, name)

    def _candidates(self, allow: ArrayLike | None, deny: ArrayLike | None) -> Ints | None:
        """Return the items that may be shown, rising; None where all may."""
        if allow is None and deny is None:
            return None
        chosen = np.zeros(self.n_items_, np.bool_)
        chosen[slice(None) if allow is None else self._columns(allow, "allow")] = True
        if deny is not None:
            chosen[self._columns(deny, "deny")] = False
        if not chosen.any():
            raise ArgumentError("allow and deny leave no item to show. Allow more, or deny fewer.")
        return np.flatnonzero(chosen)

    def _named(self, found: Ints) -> Items:
        labels: Labels | None = self.item_labels_
        if labels is None:
            return found
        named: Items = labels[found]
        named[found < 0] = "" if labels.dtype.kind == "U" else -1
        return named


class MatrixRecommender(Recommender):
    """A recommender that learns from a sparse matrix; one of your own has `_fit` and `_score`."""

    def fit(self, user_items: Any) -> Self:
        """Learn from pairs of users and items; see `Recommender.fit`."""
        pairs = _pairs.read(user_items, "value", as_they_are=True)
        self._fit(pairs.matrix())
        self._hold_pairs(pairs)
        return self

    @abc.abstractmethod
    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        """Learn; pairs are canonical, float32, of values > 0, and not to be changed."""


def _positions(ids: Any, labels: Any, n: int, name: str) -> Ints:
    """Return row numbers of ids, or of row numbers themselves where there are no ids."""
    if labels is not None:
        return _pairs.known_codes(ids, labels, name)
    rows = np.atleast_1d(np.asarray(ids))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ArgumentError(
            f"{name} must be a list of integers below {n}, got {rows.dtype} of shape {rows.shape}."
        )
    outside = (rows < 0) | (rows >= n)
    if outside.any():
        first = rows[int(np.argmax(outside))]
        raise ArgumentError(f"{name} must lie in [0, {n}), got {first}.")
    return rows.astype(np.int64)
