"""A linear ranker behind a kernel map: what no linear score of the features can rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline

from podium.errors import ArgumentError
from podium.evaluation import make_scorer
from podium.rankers import LinearRanker

pytestmark = [
    pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning"),
    # Of candidates that learn nothing; their scores are 0.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
]

K = 5
L2 = {"linearranker__l2": [1e-4, 1e-2]}
GAMMA = {"nystroem__gamma": [1e-3, 0.5], **L2}


def rings(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return 12 users' points in the plane; positives lie between two rings of negatives."""
    rng = np.random.default_rng(seed)
    y = np.tile([1.0, 0.0, 0.0], 120)
    radius = np.where(y > 0, 2.0, np.tile([0.0, 0.7, 3.3], 120)) + 0.1 * rng.standard_normal(360)
    angle = rng.uniform(0.0, 2.0 * np.pi, 360)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X, y, rng.permutation(np.repeat(np.arange(12), 30))


def ranker() -> LinearRanker:
    return LinearRanker(f"pap-ramp@{K}", learning_rate=5.0, eval_metric=f"pap@{K}")


def curved() -> Pipeline:
    return make_pipeline(Nystroem(n_components=40, random_state=0), ranker())


def searched(model: Pipeline, grid: dict[str, Any], *, scoring: Any = None) -> GridSearchCV:
    X, y, qid = rings()
    with sklearn.config_context(enable_metadata_routing=True):
        model[-1].set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(model, grid, cv=GroupKFold(3), scoring=scoring, error_score=0.0)
        return search.fit(X, y, groups=qid, qid=qid)


def test_kernel_map_ranks_new_users_as_no_linear_score_can() -> None:
    with pytest.raises(ValueError, match="zero coefficients"):  # all candidates learn nothing
        searched(make_pipeline(ranker()), L2, scoring=make_scorer(f"pap@{K}"))
    search = searched(curved(), GAMMA, scoring=make_scorer(f"pap@{K}"))
    assert search.best_params_["nystroem__gamma"] == 0.5
    X, y, qid = rings(seed=1)
    with sklearn.config_context(enable_metadata_routing=True):
        assert search.score(X, y, qid=qid) > 0.97
        assert make_scorer(f"pap@{K}")(search.best_estimator_, X, y, qid=qid) > 0.97
    by_score, by_scorer = searched(curved(), GAMMA), search
    for key in ("mean_test_score", "split0_test_score"):
        np.testing.assert_array_equal(by_score.cv_results_[key], by_scorer.cv_results_[key])


def test_groups_of_the_fit_are_those_of_qid() -> None:
    """Routed qid reaches the loss: one group of all rows gives other coefficients."""
    X, y, qid = rings()
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(Nystroem(n_components=20, random_state=0), ranker())
        model[-1].set_fit_request(qid=True)
        grouped = model.fit(X, y, qid=qid)[-1].coef_.copy()
        with pytest.raises(ArgumentError, match="qid is missing"):
            model.fit(X, y)
        model.set_params(**{f"{model.steps[-1][0]}__one_group": True})
        assert not np.allclose(grouped, model.fit(X, y)[-1].coef_)
    alone = ranker().fit(model[0].transform(X), y, qid)
    np.testing.assert_allclose(grouped, alone.coef_, rtol=1e-6, atol=1e-9)
