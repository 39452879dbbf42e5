"""ALS and BPR of the package implicit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium import _check
from podium.recommenders._base import MatrixRecommender
from podium.recommenders._factors import FactorRecommender


@dataclass(eq=False)
class ALS(FactorRecommender, MatrixRecommender):
    """Weighted least squares on all cells, by alternating between users and items (implicit's).

    A pair of weight w has target 1 and confidence ``alpha * w``, all other cells target 0 and
    confidence 1.

    Parameters
    ----------
    n_factors : int
    l2 : float
        Penalty on factors, >= 0.
    alpha : float
        Confidence of a pair of weight 1, > 0.
    n_epochs : int
        Alternations.
    random_state : int
    n_threads : int
        Factors do not depend on it.

    Notes
    -----
    implicit's ``factors``, ``regularization``, ``alpha``, ``iterations``, on the processor, with
    three conjugate gradient steps a row. BLAS has one thread meanwhile, as implicit asks.

    References
    ----------
    hu2008.
    """

    n_factors: int = 64
    l2: float = 0.01
    alpha: float = 1.0
    n_epochs: int = 15
    random_state: int = 0
    n_threads: int = 1

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = _check.extra("implicit.cpu.als", "baselines", "ALS")
        given: dict[str, Any] = {
            "alpha": _check.number(self.alpha, "alpha", low=0.0, strict=True),
            **_given(self.n_factors, self.l2, self.n_epochs, self.random_state, self.n_threads),
        }
        model = _fitted(package.AlternatingLeastSquares, given, pairs)
        self._keep(model.user_factors, model.item_factors)


@dataclass(eq=False)
class BPR(FactorRecommender, MatrixRecommender):
    """Pairwise logistic loss against items that other pairs have, by descent (implicit's).

    Weights are not read.

    Parameters
    ----------
    n_factors : int
    learning_rate : float
        Step, > 0, the same all the time.
    l2 : float
        Penalty on factors, >= 0.
    n_epochs : int
        Passes of as many steps as there are pairs.
    random_state : int
    n_threads : int
        With more than one, two fits differ: threads write over each other.

    Notes
    -----
    implicit's ``factors``, ``learning_rate``, ``regularization``, ``iterations``, with its check
    that a negative is not a pair of the user; a step whose item is one is lost. Negatives are drawn
    from pairs, so that popular items are drawn more often.

    References
    ----------
    rendle2009.
    """

    n_factors: int = 64
    learning_rate: float = 0.01
    l2: float = 0.01
    n_epochs: int = 100
    random_state: int = 0
    n_threads: int = 1

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = _check.extra("implicit.cpu.bpr", "baselines", "BPR")
        rate = _check.number(self.learning_rate, "learning_rate", low=0.0, strict=True)
        given = {
            "learning_rate": rate,
            **_given(self.n_factors, self.l2, self.n_epochs, self.random_state, self.n_threads),
        }
        model = _fitted(package.BayesianPersonalizedRanking, given, pairs)
        # its last factor is the bias, and 1 for every user
        self._keep(
            model.user_factors[:, :-1], model.item_factors[:, :-1], model.item_factors[:, -1]
        )


def _given(n_factors: int, l2: float, n_epochs: int, seed: int, n_threads: int) -> dict[str, Any]:
    """Check what both have, under implicit's names."""
    return {
        "factors": _check.cutoff(n_factors, name="n_factors"),
        "regularization": _check.number(l2, "l2", low=0.0),
        "iterations": _check.cutoff(n_epochs, name="n_epochs"),
        "random_state": _check.seed(seed, "random_state"),
        "num_threads": _check.cutoff(n_threads, name="n_threads"),
    }


def _fitted(make: Any, given: dict[str, Any], pairs: sparse.csr_array[Any]) -> Any:
    with threadpool_limits(1, "blas"):  # else it warns, and its threads fight BLAS's for the cores
        model = make(dtype=np.float32, **given)
        model.fit(sparse.csr_matrix(pairs), show_progress=False)
    return model
