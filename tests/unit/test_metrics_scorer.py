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
def test_scorer_is_the_mean_over_the_groups_that_are_defined(data: Any) -> None:
    X, y = data
    y[QID == 0] = 0
    model = Ridge().fit(X, y)
    values = parse("pap@2")(Ranking.from_scores(model.predict(X), y, QID))
    assert np.isnan(values[0])
    assert make_scorer("pap@2")(model, X, y, qid=QID) == np.nanmean(values)


def test_scorer_without_qid_takes_all_rows_as_one_list(data: Any) -> None:
    X, y = data
    model = Ridge().fit(X, y)
    (expected,) = parse("ndcg@9")(Ranking.from_scores(model.predict(X), y))
    assert make_scorer("ndcg@9", one_group=True)(model, X, y) == expected
    with raises(ArgumentError, "one_group"):
        make_scorer("ndcg@9")(model, X, y)


@pytest.mark.usefixtures("routing")
def test_scorer_reads_probabilities_where_there_is_no_decision_function(data: Any) -> None:
    X, y = data
    model = GaussianNB().fit(X, y)
    ranking = Ranking.from_scores(model.predict_proba(X)[:, 1], y, QID)
    assert make_scorer("auc")(model, X, y, qid=QID) == np.nanmean(parse("auc")(ranking))


@pytest.mark.usefixtures("routing")
def test_scorer_flips_the_sign_of_a_loss(data: Any) -> None:
    X, y = data
    model = Ridge().fit(X, y)
    loss = parse("topk_loss@2")(Ranking.from_scores(model.predict(X), y, QID))
    assert make_scorer("topk_loss@2")(model, X, y, qid=QID) == -np.nanmean(loss)


def test_scorer_keeps_ties_and_min_relevance() -> None:
    y, X = np.array([2.0, 1.0]), np.zeros((2, 1))
    model = Ridge().fit(X, y)
    assert make_scorer("rr", min_relevance=2, one_group=True)(model, X, y) == 1 / 2
    assert make_scorer("rr", min_relevance=2, ties="best", one_group=True)(model, X, y) == 1


def test_scorer_is_nan_where_no_group_is_defined() -> None:
    X = np.zeros((2, 1))
    model = Ridge().fit(X, [0.0, 0.0])
    assert np.isnan(make_scorer("rr", one_group=True)(model, X, np.zeros(2)))


def test_scorer_refuses_an_unknown_measure_at_once() -> None:
    with pytest.raises(ArgumentError, match="measure 'ndgc' is not known"):
        make_scorer("ndgc@10")
    with pytest.raises(ArgumentError, match=r"ties must be one of .*, got 'id'"):
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
