"""Recommenders whose scores are products of factors, and the simplest of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from podium.recommenders._base import Recommender
from podium.recommenders._scored import Floats, Ints


class FactorRecommender(Recommender):
    """A recommender of factors: ``score = user_factors_ @ item_factors_ + item_bias_``.

    Attributes
    ----------
    user_factors_ : float32, (n_users, n_factors)
    item_factors_ : float32, (n_items, n_factors)
    item_bias_ : float32, (n_items,)
    """

    user_factors_: Floats
    item_factors_: Floats
    item_bias_: Floats

    def _score(self, users: Ints) -> Floats:
        return self.user_factors_[users] @ self.item_factors_.T + self.item_bias_

    def _keep(self, users: Any, items: Any, bias: Any = None) -> None:
        self.user_factors_ = np.ascontiguousarray(users, dtype=np.float32)
        self.item_factors_ = np.ascontiguousarray(items, dtype=np.float32)
        none = np.zeros(self.item_factors_.shape[0], np.float32)
        self.item_bias_ = none if bias is None else np.ascontiguousarray(bias, dtype=np.float32)


@dataclass(eq=False)
class Popularity(FactorRecommender):
    """The same for everybody: an item's score is how many users have a pair with it.

    Weights are not read. It has no factors, only a bias.

    Examples
    --------
    >>> likes = sparse.csr_array([[1, 0, 1], [0, 0, 1]])
    >>> Popularity().fit(likes).recommend([1], k=2)[0]
    array([[0, 1]])
    """

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        n_users, n_items = pairs.shape
        counts = np.bincount(pairs.indices, minlength=n_items)
        self._keep(np.empty((n_users, 0)), np.empty((n_items, 0)), counts)
