"""Recommenders whose scores are products of factors, and popularity, which has only a bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from podium.catalogue import top_k
from podium.errors import ArgumentError
from podium.recommenders import _ids
from podium.recommenders._base import Items, MatrixRecommender, Recommender
from podium.recommenders._files import Axes
from podium.recommenders._pairs import Floats, Ints
from podium.types import PerRow

_PAIRS = 2**16  # pairs whose factors are in memory at a time


def with_bias(users: Floats, items: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Return factors whose product is the score: a column of ones meets a column of biases."""
    return (
        np.column_stack([users, np.ones(users.shape[0], np.float32)]),
        np.column_stack([items, bias]),
    )


class FactorRecommender(Recommender):
    """A recommender with factors: ``score = user_factors_ @ item_factors_ + item_bias_``.

    Attributes
    ----------
    user_factors_ : float32, (n_users, n_factors)
    item_factors_ : float32, (n_items, n_factors)
    item_bias_ : float32, (n_items,)
    """

    _learned: ClassVar[Axes] = {
        "user_factors_": (np.float32, "users", "n_factors"),
        "item_factors_": (np.float32, "items", "n_factors"),
        "item_bias_": (np.float32, "items"),
    }

    user_factors_: Floats
    item_factors_: Floats
    item_bias_: Floats

    def _score(self, users: Ints) -> Floats:
        return self.user_factors_[users] @ self.item_factors_.T + self.item_bias_

    def _score_pairs(self, rows: Ints, columns: Ints) -> PerRow:
        scores = np.empty(rows.size)
        for start in range(0, rows.size, _PAIRS):
            user, item = rows[start : start + _PAIRS], columns[start : start + _PAIRS]
            factors = self.user_factors_[user].astype(np.float64)
            products = np.einsum("ij,ij->i", factors, self.item_factors_[item])
            scores[start : start + _PAIRS] = products + self.item_bias_[item]
        return scores

    def as_scores(
        self, rows: Ints | None = None, columns: Ints | None = None
    ) -> tuple[Floats, Floats]:
        """Return the factors of users and items, with the bias as one more factor."""
        check_is_fitted(self)
        users = self.user_factors_ if rows is None else self.user_factors_[rows]
        return self._as_scores(users, columns)

    def _as_scores(self, users: Floats, columns: Ints | None) -> tuple[Floats, Floats]:
        items: Any = slice(None) if columns is None else columns
        return with_bias(users, self.item_factors_[items], self.item_bias_[items])

    def similar_items(self, items: ArrayLike, k: int = 10) -> tuple[Items, Floats]:
        """Return the k items whose factors have the greatest cosine with those of each given item.

        Parameters
        ----------
        items : (n,)
            The ids or column numbers.
        k : int
            The number of items per given item, at most the number of items of the model.

        Returns
        -------
        items, cosines : (n, k)
            The nearest items, without the item itself, and their cosines. The rest of a list with
            fewer than k items is filled as in `recommend`.

        Raises
        ------
        ArgumentError
            If an item is unknown, or the model has no factors, such as `Popularity`.
        """
        check_is_fitted(self)
        if not self.item_factors_.shape[1]:
            raise ArgumentError(
                f"{type(self).__name__} has no factors, so that no items are similar. Fit a model "
                "with factors, such as Factorization."
            )
        chosen = _ids.rows_of(items, self.item_labels_, self.n_items_, "items")
        rows, size = np.arange(chosen.size), (chosen.size, self.n_items_)
        itself = sparse.csr_array((np.ones(chosen.size), (rows, chosen)), shape=size)
        lengths = np.linalg.norm(self.item_factors_, axis=1, keepdims=True)
        directions = self.item_factors_ / np.where(lengths > 0, lengths, 1.0)
        directions = directions.astype(np.float32)
        pair = directions[chosen], directions
        columns, cosines = top_k(pair, self._width(k), exclude=itself)
        return self._with_labels(columns), cosines

    def _set_factors(self, users: Any, items: Any, bias: Any = None) -> None:
        self.user_factors_ = np.ascontiguousarray(users, dtype=np.float32)
        self.item_factors_ = np.ascontiguousarray(items, dtype=np.float32)
        zeros = np.zeros(self.item_factors_.shape[0], np.float32)
        self.item_bias_ = zeros if bias is None else np.ascontiguousarray(bias, dtype=np.float32)


@dataclass(eq=False)
class Popularity(FactorRecommender, MatrixRecommender):
    """The same ranking for all users: an item's score is its number of users.

    The weights of pairs are ignored. The model has no factors, only a bias. It has the same list
    for users that are not in the fit.

    Examples
    --------
    >>> likes = sparse.csr_array([[1, 0, 1], [0, 0, 1]])
    >>> Popularity().fit(likes).recommend([1], k=2)[0]
    array([[0, 1]])
    """

    reads_weights: ClassVar[bool] = False
    serves_unknown: ClassVar[bool] = True
    default_space: ClassVar[tuple[dict[str, Any], ...]] = ({},)

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        n_users, n_items = pairs.shape
        weights = pairs.data if self.reads_times else None
        counts = np.bincount(pairs.indices, weights, n_items)
        self._set_factors(np.empty((n_users, 0)), np.empty((n_items, 0)), counts)
