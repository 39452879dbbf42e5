"""WARP of the package LightFM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from podium import _check
from podium.recommenders._base import MatrixRecommender
from podium.recommenders._factors import FactorRecommender

SCHEDULES = ("adagrad", "adadelta")


@dataclass(eq=False)
class WARP(FactorRecommender, MatrixRecommender):
    """Hinge against the first violating item drawn, weighed by the rank so guessed (LightFM's).

    Weights are not read. LightFM's bias of a user is left out: it is the same for all items.

    Parameters
    ----------
    n_factors : int
    learning_rate : float
        First step, > 0.
    schedule : {"adagrad", "adadelta"}
        How steps shrink.
    l2 : float
        Penalty on factors, >= 0.
    max_sampled : int
        Items drawn at most in search of one that violates.
    n_epochs : int
        Passes over all pairs.
    random_state : int
    n_threads : int
        With more than one, two fits differ: threads write over each other.

    Notes
    -----
    LightFM's ``no_components``, ``user_alpha`` and ``item_alpha``, ``max_sampled``, ``epochs``,
    without features. The package is released as C code alone: installing it takes a compiler.

    References
    ----------
    weston2011.
    """

    n_factors: int = 64
    learning_rate: float = 0.05
    schedule: str = "adagrad"
    l2: float = 0.0
    max_sampled: int = 10
    n_epochs: int = 30
    random_state: int = 0
    n_threads: int = 1

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = _check.extra("lightfm", "warp", "WARP")
        l2 = _check.number(self.l2, "l2", low=0.0)
        model = package.LightFM(
            no_components=_check.cutoff(self.n_factors, name="n_factors"),
            loss="warp",
            learning_schedule=_check.choice(self.schedule, "schedule", SCHEDULES),
            learning_rate=_check.number(self.learning_rate, "learning_rate", low=0.0, strict=True),
            user_alpha=l2,
            item_alpha=l2,
            max_sampled=_check.cutoff(self.max_sampled, name="max_sampled"),
            random_state=np.random.RandomState(_check.seed(self.random_state, "random_state")),
        )
        ones: Any = sparse.coo_matrix(pairs).astype(np.float32)
        ones.data[:] = 1.0
        model.fit(
            ones,
            epochs=_check.cutoff(self.n_epochs, name="n_epochs"),
            num_threads=_check.cutoff(self.n_threads, name="n_threads"),
        )
        self._keep(model.user_embeddings, model.item_embeddings, model.item_biases)
