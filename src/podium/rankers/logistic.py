"""Logistic regression on the rows of all groups together, with scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from podium import _check
from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, ConvergenceWarning, arg, warn
from podium.metrics import Measure
from podium.rankers.estimator import FitData, LinearScores
from podium.rankers.objective import Parameters, times
from podium.types import Mask, PerRow, Progress

_DENSE_HESSIAN = 1000  # number of features up to which a dense Hessian is cheap


def fitted(
    features: Any,
    positive: Mask,
    weights: PerRow | None = None,
    *,
    C: float = 1.0,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> tuple[Parameters, float, int]:
    """Return the coefficients, intercept and iterations of scikit-learn's LogisticRegression.

    The solver is Newton's method, which converges in a few steps, if the features are dense and
    few enough for a dense Hessian; else it is L-BFGS. BLAS runs in one thread, because the order
    of additions depends on the number of threads, and the bits are then the same everywhere.
    """
    newton = features.shape[1] <= _DENSE_HESSIAN and not sparse.issparse(features)
    from sklearn.linear_model import LogisticRegression  # slow to import

    solver = "newton-cholesky" if newton else "lbfgs"
    model: Any = LogisticRegression(
        C=_check.positive(C, "C"),
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        solver=solver,
    )
    with one_blas_thread, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with np.errstate(over="ignore", invalid="ignore"):  # reported as no convergence
            model.fit(features, positive, sample_weight=weights)
    if any(issubclass(warning.category, SklearnConvergenceWarning) for warning in caught):
        warn(
            f"Logistic regression stopped before it converged ({arg.max_iter(max_iter)}, "
            f"{arg.tol(tol)}). Scale the features, lower C, or raise {arg.max_iter} or {arg.tol}.",
            ConvergenceWarning,
        )
    return model.coef_[0].copy(), float(np.ravel(model.intercept_)[0]), int(model.n_iter_[0])


def require_both_classes(positive: Mask, weights: PerRow | None, min_relevance: float) -> None:
    """Raise unless both classes have rows of weight > 0; one class alone cannot be fitted."""
    used = positive if weights is None else positive[weights > 0]
    if positive.size and not used.size:
        raise ArgumentError("weights are all zero. Give at least one row a weight > 0.")
    if used.any() and not used.all():
        return
    kind = "positive" if used.any() else "negative"
    raise ArgumentError(
        f"y has only one class: all {used.size} rows of weight > 0 (n_samples={positive.size}) are "
        f"{kind} with {arg.min_relevance(float(min_relevance))}. Logistic regression needs both "
        f"classes. Check {arg.min_relevance} and y."
    )


@dataclass(eq=False, repr=False)
class LogisticRanker(LinearScores):
    """Logistic regression on all rows, without groups: a strong baseline.

    Scores are the decision function of scikit-learn's LogisticRegression.

    Parameters
    ----------
    C : float
        The inverse of the penalty, > 0: minimises ``||coef||^2 / 2 + C * sum of losses``.
    fit_intercept : bool
    tol : float
        The largest entry of the gradient at convergence.
    max_iter : int
    eval_metric : str or Measure, optional
        The measure that `score` returns; by default "pap@10", or "ndcg@10" if labels are grades.
    min_relevance : float
        The smallest relevance of a positive.
    one_group : bool
        Whether to treat all rows as one group if there is no qid; otherwise that is an error.

    Attributes
    ----------
    coef_ : float64, (n_features,)
    intercept_ : float
    n_iter_ : int
        The number of iterations run.
    history_ : dict of float64, (1,)
        With an eval_set, the value "validation": its mean measure, signed so that higher is
        better. Otherwise empty.
    n_features_in_, feature_names_in_
        The number and names of features, as in scikit-learn.

    Notes
    -----
    Only `score` and weights by group read groups. An eval_set is measured and does not change the
    fit. Cost: seconds for a million feature values. The bits are the same for any number of
    threads.

    Examples
    --------
    >>> from podium.rankers import LogisticRanker
    >>> ranker = LogisticRanker().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> ranker.predict([[9.0], [-9.0]]).argmax()
    np.int64(0)
    """

    constraints: ClassVar[_check.Constraints] = {
        "C": _check.positive,
        "fit_intercept": _check.flag,
        "tol": _check.positive,
        "max_iter": _check.cutoff,
    }

    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 1000
    eval_metric: str | Measure | None = None
    min_relevance: float = 1.0
    one_group: bool = False

    def _learn(self, data: FitData, progress: Progress) -> None:
        low = data.parameters["min_relevance"]
        positive = data.rows.relevance >= low
        require_both_classes(positive, data.rows.weights, low)
        options = {name: data.parameters[name] for name in self.constraints}
        learned = fitted(data.rows.features, positive, data.rows.weights, **options)
        self.coef_, self.intercept_, self.n_iter_ = learned
        self.history_: dict[str, PerRow] = {}
        if data.valid is not None:
            scores = times(data.valid.features, self.coef_)
            self.history_["validation"] = np.array([self._validator(data.valid)(scores)])
        progress(1, 1, "converged")

    def min_relevance_in_use(self) -> float:
        """Return the smallest relevance of a positive: the parameter `min_relevance`."""
        return _check.positive(self.min_relevance, "min_relevance")
