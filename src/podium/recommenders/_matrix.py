"""The base class of recommenders that learn from a sparse matrix."""

from __future__ import annotations

import abc
from typing import Any, Self

from scipy import sparse

from podium.recommenders import _pairs
from podium.recommenders._base import Recommender


class MatrixRecommender(Recommender):
    """A recommender that learns from a sparse matrix; subclasses define `_fit` and `_score`."""

    def fit(self, user_items: Any, *, seen: Any = None) -> Self:
        """Learn from pairs of users and items; see `Recommender.fit`."""
        pairs = _pairs.with_others(_pairs.read(user_items, self._gain, unit_scale=True), seen)
        self._fit(pairs.learned().matrix())
        self._hold_pairs(pairs)
        return self

    @abc.abstractmethod
    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        """Learn from pairs in canonical form: float32, values > 0.

        The matrix must not be changed.
        """
