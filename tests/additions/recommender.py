"""A recommender as another package would add it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.recommenders import Recommender


class Selective(Recommender):
    """Scores items by their users, of which those with few items count more."""

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        activity = np.maximum(np.diff(pairs.indptr), 1)
        self.popularity_ = (pairs.T @ (1.0 / activity)).astype(np.float32)

    def _score(self, users: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.tile(self.popularity_, (users.size, 1))
