"""Linear models on standardised features, with coefficients in the units of the raw features."""

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
    """Put a scaler before a ranker with linear scores; return other rankers unchanged.

    Features then have variance 1 and mean 0. They are not centred if they are sparse, or if the
    ranker learns no intercept, which would have to hold the means.

    Examples
    --------
    >>> from podium.rankers import LinearRanker
    >>> X = np.array([[0.0, 5000.0], [1.0, 1000.0]])
    >>> model = scaled(LinearRanker("logistic"), X).fit(X, [0, 1])
    >>> np.allclose(folded(model).predict(X), model.predict(X))
    True
    """
    if not isinstance(ranker, LinearScores):
        return ranker
    has_intercept = ranker.get_params(deep=False).get("fit_intercept", True)
    center = has_intercept and not _check.is_sparse(X)
    return make_pipeline(StandardScaler(with_mean=center), ranker)


def folded(model: Any) -> Any:
    """Return the ranker of a fitted `scaled`, changed to score raw features.

    A ranker without a scaler is returned as it is.

    ``coef . (x - mean) / scale + intercept`` is linear in x: the returned copy has the
    coefficients ``coef / scale``, and the constant part is in its intercept. Its other learned
    attributes stay (such as the history), and its l2 is that of standardised features.
    """
    if not isinstance(model, Pipeline):
        return model
    scaler, ranker = (step for _, step in model.steps)
    raw_ranker = clone(ranker)
    raw_ranker.__dict__.update(ranker.__dict__)
    raw_ranker.coef_ = ranker.coef_ / scaler.scale_
    if scaler.with_mean:
        shift = times(scaler.mean_[np.newaxis, :], raw_ranker.coef_)[0]
        raw_ranker.intercept_ = float(ranker.intercept_ - shift)
    return raw_ranker
