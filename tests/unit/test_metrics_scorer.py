"""A measure as a scikit-learn scorer: with routing, in a search, and alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from tests.raised import raises

from podium.errors import ArgumentError
from podium.metrics import make_scorer, parse
from podium.ranking import Ranking

QID = np.repeat(np.arange(12), 8)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data() -> tuple[Any, Any]:
    """Lists in which the first feature tells relevance and the second only looks as if it did."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(QID.size, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=QID.size) > 0.8).astype(float)
    return X, y


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("text", "model", "sign"),
    [("pap@2", Ridge(), 1), ("topk_loss@2", Ridge(), -1), ("auc", GaussianNB(), 1)],
)
def test_scorer_is_the_mean_over_the_groups_that_are_defined(
    data: Any, text: str, model: Any, sign: int
) -> None:
    X, y = data
    y[QID == 0] = 0
    model.fit(X, y)
    scores = model.predict(X) if isinstance(model, Ridge) else model.predict_proba(X)[:, 1]
    values = parse(text)(Ranking.from_scores(scores, y, QID))
    assert np.isnan(values[0])
    assert make_scorer(text)(model, X, y, qid=QID) == sign * np.nanmean(values)


def test_scorer_without_qid_takes_all_rows_as_one_list(data: Any) -> None:
    X, y = data
    model = Ridge().fit(X, y)
    (expected,) = parse("ndcg@9")(Ranking.from_scores(model.predict(X), y))
    assert make_scorer("ndcg@9", one_group=True)(model, X, y) == expected
    with raises(ArgumentError, "one_group"):
        make_scorer("ndcg@9")(model, X, y)


def test_scorer_keeps_ties_and_min_relevance() -> None:
    y, X = np.array([2.0, 1.0]), np.zeros((2, 1))
    model = Ridge().fit(X, y)
    assert make_scorer("rr", min_relevance=2, one_group=True)(model, X, y) == 1 / 2
    assert make_scorer("rr", min_relevance=2, ties="best", one_group=True)(model, X, y) == 1


def test_scorer_refuses_an_unknown_measure_at_once() -> None:
    with pytest.raises(ArgumentError):
        make_scorer("ndgc@10")
    with raises(ArgumentError, "ties"):
        make_scorer("ndcg@10", ties="id")


@pytest.mark.usefixtures("routing")
def test_grid_search_passes_qid_to_the_scorer_and_groups_to_the_split(data: Any) -> None:
    X, y = data
    splitter = GroupKFold(n_splits=3)
    search = GridSearchCV(
        Ridge(), {"alpha": [1.0, 1e9]}, scoring=make_scorer("pap@2"), cv=splitter
    ).fit(X, y, qid=QID, groups=QID)
    expected = []
    for train, test in splitter.split(X, y, groups=QID):
        predicted = Ridge(alpha=1.0).fit(X[train], y[train]).predict(X[test])
        expected.append(
            np.nanmean(parse("pap@2")(Ranking.from_scores(predicted, y[test], QID[test])))
        )
    first = [search.cv_results_[f"split{i}_test_score"][0] for i in range(3)]
    np.testing.assert_allclose(first, expected, rtol=1e-12)
