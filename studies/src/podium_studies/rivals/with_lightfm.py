"""The model WARP of the package LightFM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from podium.recommenders import FactorRecommender, MatrixRecommender
from podium_studies import checks


@dataclass(eq=False)
class WARP(FactorRecommender, MatrixRecommender):
    """Weighted approximate-rank pairwise loss, fitted by LightFM.

    A step draws items until one violates the margin of the hinge loss. The step is weighted by the
    rank that is estimated from the number of draws. The weights of pairs are ignored. LightFM's
    bias of users is left out, because it is the same for all items.

    Parameters
    ----------
    n_factors : int
        The length of the vectors of users and items.
    learning_rate : float
        The first step, > 0.
    l2 : float
        The penalty on factors, >= 0.
    max_sampled : int
        The maximum number of items that are drawn in search of one that violates the margin.
    n_epochs : int
        The number of passes over all pairs.
    random_state : int
        The seed of the initial factors and of the drawn items.
    n_threads : int
        The number of threads. With more than one, two fits differ, because threads overwrite each
        other's updates.

    Notes
    -----
    The parameters correspond to LightFM's ``no_components``, ``user_alpha`` and ``item_alpha``,
    ``max_sampled`` and ``epochs``, without features. The package is released only as C source code,
    so that installing it requires a compiler.

    References
    ----------
    weston2011.
    """

    reads_weights: ClassVar[bool] = False
    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "n_factors": [32, 64, 128],
            "learning_rate": "log(0.01,0.3)",
            "l2": "log(1e-7,1e-3)",
            "max_sampled": [10, 30, 100],
        },
    )

    n_factors: int = 64
    learning_rate: float = 0.05
    l2: float = 0.0
    max_sampled: int = 10
    n_epochs: int = 30
    random_state: int = 0
    n_threads: int = 1

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = checks.extra("lightfm", "warp", "WARP")
        same = {name: name for name in ("learning_rate", "max_sampled", "random_state")}
        l2 = dict.fromkeys(("user_alpha", "item_alpha"), "l2")
        options = checks.renamed(self, no_components="n_factors", **l2, **same)
        options["random_state"] = np.random.RandomState(options["random_state"])
        model = package.LightFM(loss="warp", **options)  # its steps decrease by adagrad
        ones: Any = sparse.coo_matrix(pairs).astype(np.float32)
        ones.data[:] = 1.0
        model.fit(ones, **checks.renamed(self, epochs="n_epochs", num_threads="n_threads"))
        self._set_factors(model.user_embeddings, model.item_embeddings, model.item_biases)
