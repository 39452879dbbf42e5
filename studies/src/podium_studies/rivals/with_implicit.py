"""The models ALS and BPR of the package implicit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from podium.errors import ArgumentError, arg
from podium.recommenders import FactorRecommender, MatrixRecommender
from podium_studies import checks

_SHARED = {
    "factors": "n_factors",
    "regularization": "l2",
    "iterations": "n_epochs",
    "random_state": "random_state",
    "num_threads": "n_threads",
}
"""The parameters that both models have, by implicit's names."""


@dataclass(eq=False)
class ALS(FactorRecommender, MatrixRecommender):
    """Weighted least squares on all cells by alternating least squares, fitted by implicit.

    A pair of weight w has the target 1 and the confidence ``alpha * w``. All other cells have the
    target 0 and the confidence 1.

    Parameters
    ----------
    n_factors : int
        The length of the vectors of users and items.
    l2 : float
        The penalty on factors, >= 0.
    alpha : float
        The confidence of a pair of weight 1, > 0.
    n_epochs : int
        The number of alternations.
    random_state : int
        The seed of the initial factors.
    n_threads : int
        The number of threads, which does not change the factors.
    l2_power : float
        The power of ``alpha * n + m`` with which the penalty of a user or item grows, >= 0, where n
        is its number of pairs, and m the number of items or users. With 1, l2 is the penalty
        relative to the weight of all cells of the user or item (rendle2022).
    gain : {"value", "log", "one"}
        The weight of a pair: its value, ``2 ** value - 1``, or 1.

    Notes
    -----
    The parameters correspond to implicit's ``factors``, ``regularization``, ``alpha`` and
    ``iterations``. The model is fitted on the CPU with three conjugate gradient steps per row.
    During the fit BLAS uses one thread, as implicit recommends.

    implicit has the same penalty for all rows. With an l2_power, podium calls its solver once for
    all rows whose penalties differ by at most 2 %.

    References
    ----------
    hu2008, rendle2022.
    """

    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "n_factors": [32, 64, 128, 256],
            "alpha": "log(1,100)",
            "l2": "log(0.0001,0.1)",
            "l2_power": [1.0],
            "gain": ["value", "one"],
        },
        {
            "n_factors": [32, 64, 128, 256],
            "alpha": "log(1,100)",
            "l2": "log(0.01,100)",
            "l2_power": [0.0],
            "gain": ["value", "one"],
        },
    )
    reads_gain: ClassVar[bool] = True

    n_factors: int = 64
    l2: float = 0.01
    alpha: float = 1.0
    n_epochs: int = 15
    random_state: int = 0
    n_threads: int = 1
    l2_power: float = 0.0
    gain: str = "value"

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = checks.extra("implicit.cpu.als", "rivals", "ALS")
        l2_power = checks.number(self.l2_power, "l2_power", low=0.0)
        parameters = checks.renamed(self, alpha="alpha", **_SHARED)
        if l2_power > 0.0:
            factors = _scaled_als(package, parameters, l2_power, pairs)
        else:
            factors = _fitted(package.AlternatingLeastSquares, parameters, pairs)
        advice = f"Try {arg.alpha(1)} and {arg.l2(0.01)}, or smaller weights."
        _refuse_divergence(*factors, advice=advice)
        self._set_factors(*factors)


@dataclass(eq=False)
class BPR(FactorRecommender, MatrixRecommender):
    """Pairwise logistic loss of a user's items against items of other pairs, fitted by implicit.

    The factors are learned by stochastic gradient descent. The weights of pairs are ignored.

    Parameters
    ----------
    n_factors : int
        The length of the vectors of users and items.
    learning_rate : float
        The step, > 0, which is constant.
    l2 : float
        The penalty on factors, >= 0.
    n_epochs : int
        The number of passes; each takes as many steps as there are pairs.
    random_state : int
        The seed of the initial factors and of the draws.
    n_threads : int
        The number of threads. With more than one, two fits differ, because threads overwrite each
        other's updates.

    Notes
    -----
    The parameters correspond to implicit's ``factors``, ``learning_rate``, ``regularization`` and
    ``iterations``. implicit checks that a negative is not an item of the user; if it is, the step
    is skipped. Negatives are drawn from the pairs, so that popular items are drawn more often.

    References
    ----------
    rendle2009.
    """

    reads_weights: ClassVar[bool] = False
    default_space: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "n_factors": [32, 64, 128, 256],
            "learning_rate": "log(0.003,0.3)",
            "l2": "log(0.0001,0.1)",
        },
    )

    n_factors: int = 64
    learning_rate: float = 0.01
    l2: float = 0.01
    n_epochs: int = 100
    random_state: int = 0
    n_threads: int = 1

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        package = checks.extra("implicit.cpu.bpr", "rivals", "BPR")
        parameters = checks.renamed(self, learning_rate="learning_rate", **_SHARED)
        users, items = _fitted(package.BayesianPersonalizedRanking, parameters, pairs)
        slower = self.learning_rate / 10
        _refuse_divergence(users, items, advice=f"Try {arg.learning_rate(slower)}.")
        # implicit's last factor is the bias of an item, and 1 for every user
        self._set_factors(users[:, :-1], items[:, :-1], items[:, -1])


_PENALTY_STEP = 1.02  # the ratio of neighbouring penalties of iALS


def _scaled_als(
    package: Any, parameters: dict[str, Any], l2_power: float, pairs: sparse.csr_array[Any]
) -> tuple[Any, Any]:
    """Return the factors of users and items by implicit's solver, with a penalty per row."""
    alpha, l2 = parameters["alpha"], parameters["regularization"]
    weights = sparse.csr_matrix(pairs, dtype=np.float32)
    sides = (weights, weights.T.tocsr())
    penalties = [l2 * (alpha * np.diff(m.indptr) + m.shape[1]) ** l2_power for m in sides]
    # Rows of equal penalty become neighbours, so that the solver gets slices of the factors.
    orders = [np.argsort(penalty, kind="stable") for penalty in penalties]
    sorted_weights = alpha * weights[orders[0]][:, orders[1]]
    rng = np.random.default_rng(parameters["random_state"])
    factors = [  # as implicit draws them
        rng.random((order.size, parameters["factors"]), np.float32)[order] * np.float32(0.01)
        for order in orders
    ]
    sorted_sides = (sorted_weights, sorted_weights.T.tocsr())
    given = zip(sorted_sides, penalties, orders, strict=True)
    slices = [[*_slices(matrix, penalty[order])] for matrix, penalty, order in given]
    with threadpool_limits(1, "blas"):
        for _ in range(parameters["iterations"]):
            for side, (solved, fixed) in zip(slices, (factors, factors[::-1]), strict=True):
                for rows, matrix, penalty in side:
                    package._als.least_squares_cg(
                        matrix, solved[rows], fixed, penalty, num_threads=parameters["num_threads"]
                    )
    users, items = (f[np.argsort(order)] for f, order in zip(factors, orders, strict=True))
    return users, items


def _slices(matrix: Any, penalty: NDArray[np.float64]) -> Iterator[tuple[slice, Any, float]]:
    """Yield slices of rows with nearly equal penalties, which rise, and their mean penalty."""
    levels = np.round(np.log(np.maximum(penalty, 1e-30)) / math.log(_PENALTY_STEP))
    ends = np.flatnonzero(np.diff(levels, append=np.inf)) + 1
    for start, end in pairwise([0, *ends.tolist()]):
        yield slice(start, end), matrix[start:end], float(penalty[start:end].mean())


def _fitted(
    model_class: Any, parameters: dict[str, Any], pairs: sparse.csr_array[Any]
) -> tuple[Any, Any]:
    """Return the factors of users and items that implicit learns; they may not be finite."""
    failure = checks.extra("implicit.recommender_base", "rivals", "ALS and BPR").ModelFitError
    with threadpool_limits(1, "blas"):  # without this, implicit warns, and both use all cores
        model = model_class(dtype=np.float32, **parameters)
        with suppress(failure):  # it is raised for nan in the factors, after they are set
            model.fit(sparse.csr_matrix(pairs), show_progress=False)
    return model.user_factors, model.item_factors


def _refuse_divergence(users: Any, items: Any, *, advice: str) -> None:
    if not (np.isfinite(users).all() and np.isfinite(items).all()):
        raise ArgumentError(f"the fit diverges: factors are not finite. {advice}")
