"""Coefficients of standardised features, brought back to the features' own units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from podium import tuning
from podium.rankers import LinearRanker
from podium.rankers.scaling import folded, standardized


def problem(seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 4)) * [1.0, 1e3, 1e-3, 0.0] + [0.0, 1e4, 5.0, 7.0]
    utility = X[:, 0] - 1e-3 * X[:, 1] + 0.5 * rng.standard_normal(200)
    return X, (utility > utility.mean() + 1).astype(float), np.arange(200) // 20


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "pap-ramp@3"])
def test_folded_ranker_scores_raw_rows_as_the_pipeline_does(loss: str, center: bool) -> None:
    X, y, qid = problem()
    model = standardized(LinearRanker(loss, tol=1e-3), center=center)
    tuning.fit(model, X, y, qid)
    ranker = folded(model)
    assert type(ranker) is LinearRanker
    np.testing.assert_allclose(ranker.predict(X), model.predict(X), rtol=1e-9, atol=1e-9)
    assert not np.allclose(ranker.coef_, model[-1].coef_)
    assert ranker.history_["objective"].size == ranker.n_iter_
    before = model.predict(X)
    ranker.coef_[:] = 0.0
    assert np.array_equal(model.predict(X), before)


def test_sparse_features_keep_their_zeros() -> None:
    X, y, qid = problem()
    thin = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    model = standardized(LinearRanker("logistic"), center=False)
    tuning.fit(model, thin, y, qid)
    np.testing.assert_allclose(folded(model).predict(thin), model.predict(thin), rtol=1e-9)
