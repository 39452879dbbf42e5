"""A recommender, as another package would add it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.recommenders import MatrixRecommender, register


@register("selective-1")
class Selective(MatrixRecommender):
    """A recommender that scores items by their numbers of users, weighted by 1 / activity."""

    _learned: ClassVar[dict[str, Any]] = {"popularity_": (np.float32, "items")}
    popularity_: NDArray[np.float32]

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        activity = np.maximum(np.diff(pairs.indptr), 1)
        self.popularity_ = (pairs.T @ (1.0 / activity)).astype(np.float32)

    def _score(self, users: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.tile(self.popularity_, (users.size, 1))
