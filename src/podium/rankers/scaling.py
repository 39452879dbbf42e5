"""Linear models on standardised features, with coefficients in the features' own units."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from podium import _check
from podium.rankers.estimator import LinearScores
from podium.rankers.objective import times


def scaled(ranker: Any, X: Any) -> Any:
    """Put a scaler before a ranker if its scores are linear; others need none, or have their own.

    Means stay where features are sparse, or the ranker learns no intercept that could hold them.
    """
    if not isinstance(ranker, LinearScores):
        return ranker
    has_intercept = ranker.get_params(deep=False).get("fit_intercept", True)
    return standardized(ranker, center=has_intercept and not _check.is_sparse(X))


def standardized(ranker: Any, *, center: bool = True) -> Pipeline:
    """Put a scaler before a linear ranker: features with variance 1 and mean 0.

    Parameters
    ----------
    ranker : LinearRanker or another with coef_ and intercept_
    center : bool
        Without it means stay, and so do the zeros of sparse features.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> X = np.array([[0.0, 5000.0], [1.0, 1000.0]])
    >>> model = standardized(LinearRanker("logistic")).fit(X, [0, 1])
    >>> np.allclose(folded(model).predict(X), model.predict(X))
    True
    """
    return make_pipeline(StandardScaler(with_mean=center), ranker)


def folded(model: Any) -> Any:
    """Return the ranker of a fitted `standardized`, made to score features as they are.

    A ranker without a scaler is returned itself.

    ``coef . (x - mean) / scale + intercept`` is linear in x: the copy that comes back has
    ``coef / scale``, and the rest in its intercept. What it learned otherwise (history, reasons)
    stays; its l2 is that of standardised features.
    """
    if not isinstance(model, Pipeline):
        return model
    scaler, ranker = (step for _, step in model.steps)
    copy = clone(ranker)
    copy.__dict__.update(ranker.__dict__)
    copy.coef_ = ranker.coef_ / scaler.scale_
    if scaler.with_mean:
        shift = times(scaler.mean_[np.newaxis, :], copy.coef_)[0]
        copy.intercept_ = float(ranker.intercept_ - shift)
    return copy
