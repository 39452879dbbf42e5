"""podium's losses and measures inside LightGBM and XGBoost, as their users call them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import podium
from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.rankers.boosting import (
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*order of equal scores")

# XGBoost's DMatrix warns of nothing here; LightGBM says through warnings what -1 silences.
QUIET: dict[str, Any] = {"verbosity": -1, "num_threads": 1, "deterministic": True}


LOSSES = [
    f"{name}@3" if "k" in {field.name for field in dataclasses.fields(cls)} else name
    for name, cls in losses.REGISTRY.items()
]


def problem(n_groups: int = 30, size: int = 20, seed: int = 0) -> tuple[Any, Any, Any]:
    """Grouped rows, graded 0 and 1, that trees can learn."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_groups * size, 5))
    utility = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(len(X))
    return X, (utility > 0.8).astype(float), np.repeat(np.arange(n_groups), size)


X, Y, QID = problem()


def sizes(qid: Any) -> Any:
    return np.unique(qid, return_counts=True)[1]


def trained(objective: Any, data: lgb.Dataset, n_trees: int = 20, **params: Any) -> lgb.Booster:
    return lgb.train({"objective": objective, **QUIET, **params}, data, n_trees)


def mean(text: str, y: Any, scores: Any, qid: Any) -> float:
    """Mean of a measure, by the path that knows nothing of boosting."""
    rows = {"user": qid, "item": np.arange(y.size)}
    return podium.measure(rows | {"relevance": y}, rows | {"score": scores}, text).means[text]


def test_logistic_grows_the_trees_of_xgboosts_logistic() -> None:
    X, y, _ = problem()
    params = {"max_depth": 4, "nthread": 1, "verbosity": 0}
    own = xgb.train({"objective": "binary:logistic", "base_score": 0.5, **params},
                    xgb.DMatrix(X, y), 20)  # fmt: skip
    ours = xgb.train({"base_score": 0.0, **params}, xgb.DMatrix(X, y), 20,
                     obj=xgboost_objective("logistic"))  # fmt: skip
    expected = own.predict(xgb.DMatrix(X), output_margin=True)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(ours.predict(xgb.DMatrix(X)), expected, atol=1e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_hessian_are_the_losss_by_the_number_of_rows(name: str) -> None:
    _, y, qid = problem()
    scores = np.random.default_rng(2).standard_normal(y.size)
    grad, hess = lightgbm_objective(name)(y, scores, None, sizes(qid))
    loss = losses.get(name)
    target = loss.prepare(y, Groups.from_qid(qid))
    expected = loss.value_and_grad(scores, target)[1] * y.size
    np.testing.assert_allclose(grad, expected, atol=1e-6 * np.abs(expected).max())
    bound = loss.curvature(scores, target) * y.size
    np.testing.assert_allclose(hess, bound, atol=1e-6 * bound.max())
    assert hess.min() > 0
    assert np.abs(grad).max() > 0


@pytest.mark.parametrize("name", ["logistic", "pap-ramp@3", "lambdarank@3"])
def test_sums_of_gradients_are_exact_in_any_order(name: str) -> None:
    _, y, qid = problem()
    rng = np.random.default_rng(2)
    scores = 10 * rng.standard_normal(y.size)  # whose gradients are of very different sizes
    for values in lightgbm_objective(name)(y, scores, None, sizes(qid)):
        total = values.astype(np.float32).astype(np.float64).sum()
        for _ in range(5):
            assert (
                values.astype(np.float32)[rng.permutation(y.size)].cumsum(dtype=np.float64)[-1]
                == total
            )


def test_group_weights_are_the_losss() -> None:
    by_group = np.arange(1.0, 31.0)
    weight, scores = by_group[QID], np.zeros(Y.size)
    grad, _ = lightgbm_objective("pap-avg@3")(Y, scores, weight, sizes(QID))
    loss = losses.get("pap-avg@3")
    target = loss.prepare(Y, Groups.from_qid(QID), weights=weight)
    expected = loss.value_and_grad(scores, target)[1] * weight.sum()
    np.testing.assert_allclose(grad, expected, atol=1e-6 * np.abs(expected).max())
    in_xgboost = xgb.DMatrix(X, Y, qid=QID, weight=by_group)  # which weighs groups, not rows
    np.testing.assert_array_equal(xgboost_objective("pap-avg@3")(scores, in_xgboost)[0], grad)


def test_every_way_to_pass_groups_gives_the_same_gradient() -> None:
    scores = np.random.default_rng(2).standard_normal(Y.size)
    expected = lightgbm_objective("pap-ramp@3")(Y, scores, None, sizes(QID))
    data = lgb.Dataset(X, Y, group=sizes(QID), params=QUIET).construct()
    order = np.random.default_rng(3).permutation(Y.size)
    named = np.array([f"user {q:02d}" for q in QID])
    found = [
        lightgbm_objective("pap-ramp@3")(scores, data),
        lightgbm_objective("pap-ramp@3", qid=named)(Y, scores),
        xgboost_objective("pap-ramp@3")(scores, xgb.DMatrix(X, Y, qid=QID)),
        xgboost_objective("pap-ramp@3", qid=QID)(Y, scores),
    ]
    for grad, hess in found:
        np.testing.assert_array_equal(grad, expected[0])
        np.testing.assert_array_equal(hess, expected[1])
    matrix, objective = xgb.DMatrix(X, Y, qid=QID), xgboost_objective("pap-ramp@3")
    objective(scores, matrix)
    matrix.set_label(1 - Y)  # the target of the old labels is not used again
    fresh = xgboost_objective("pap-ramp@3", qid=QID)(1 - Y, scores)
    np.testing.assert_array_equal(objective(scores, matrix), fresh)
    shuffled = lightgbm_objective("pap-ramp@3", qid=QID[order])(Y[order], scores[order])
    np.testing.assert_array_equal(shuffled[0], expected[0][order])


def test_estimators_take_the_objective_as_their_one_new_argument() -> None:
    native = trained(lightgbm_objective("pap-ramp@3"), lgb.Dataset(X, Y, group=sizes(QID)), 10)
    options: dict[str, Any] = {"n_estimators": 10, "n_jobs": 1, **QUIET}
    ranker = lgb.LGBMRanker(objective=lightgbm_objective("pap-ramp@3"), **options)
    scores = ranker.fit(X, Y, group=sizes(QID)).predict(X)
    np.testing.assert_array_equal(scores, native.predict(X))
    objective = lightgbm_objective("pap-ramp@3", qid=QID)
    other = lgb.LGBMRegressor(objective=objective, **options).fit(X, Y)
    np.testing.assert_array_equal(other.predict(X), scores)


@pytest.mark.parametrize(
    "made",
    [
        lightgbm_objective("pap-ramp@3"),
        xgboost_objective("pap-ramp@3"),
        lightgbm_metric("pap@3"),
        xgboost_metric("pap@3"),
    ],
)
def test_callbacks_travel_without_what_they_remember(made: Any) -> None:
    _, y, qid = problem()
    made.qid = qid
    before = made(y, np.arange(y.size))
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        np.testing.assert_array_equal(other(y, np.arange(y.size)), before)
    assert len(pickle.dumps(made)) < y.nbytes + 2000  # the ids alone


def test_metrics_are_podiums_measures() -> None:
    X, y, qid = problem()
    y[qid == 4] = 0.0  # undefined there
    scores = np.random.default_rng(5).standard_normal(y.size).round(1)
    data = lgb.Dataset(X, y, group=sizes(qid), params=QUIET).construct()
    matrix = xgb.DMatrix(X, y, qid=qid)
    for text in ("pap@3", "ndcg@5", "topk_loss@3", "ap"):
        expected = mean(text, y, scores, qid)
        higher = text != "topk_loss@3"
        assert lightgbm_metric(text)(scores, data) == (text, pytest.approx(expected), higher)
        assert lightgbm_metric(text)(y, scores, None, sizes(qid))[1] == pytest.approx(expected)
        assert xgboost_metric(text)(scores, matrix) == (text, pytest.approx(expected))
        order = np.random.default_rng(6).permutation(y.size)
        shuffled = xgboost_metric(text, qid=qid[order])(y[order], scores[order])
        assert shuffled == pytest.approx(expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: trained(lightgbm_objective("pap-ramp@3"), lgb.Dataset(X, Y), 1),
        lambda: lightgbm_objective("group-logistic")(Y, 0 * Y),
        lambda: lightgbm_metric("pap@3")(Y, Y),
        lambda: lightgbm_objective("pap-ramp@3", qid=[1, 1, 2])(Y, Y),
        lambda: lightgbm_objective("pap-ramp@90", qid=QID)(Y, 0 * Y),
    ],
)
def test_rows_without_groups_or_value_are_refused(call: Any) -> None:
    with pytest.raises(ArgumentError):
        call()
    assert lightgbm_objective("logistic")(Y, 0 * Y)[1] == pytest.approx(np.full(Y.size, 0.25))


def test_metric_weighs_groups_by_the_mean_of_their_rows() -> None:
    _, y, qid = problem(n_groups=2)
    scores = np.where(qid == 0, y, -y)  # the first group is perfect, the second as bad as can be
    name, value, _ = lightgbm_metric("pap@3", qid=qid)(y, scores, np.where(qid == 0, 3.0, 1.0))
    assert (name, value) == ("pap@3", 3 / 4)
    y, scores = np.array([1.0, 0, 1, 0, 1, 0, 0, 1]), np.arange(8.0)
    metric, weights = lightgbm_metric("ndcg@3"), np.linspace(1, 2, 8)
    with_empty = metric(y, scores, weights, np.array([3, 0, 5]))
    assert with_empty == metric(y, scores, weights, np.array([3, 5]))
    graded, scores = np.array([2.0, 1.0, 0.0]), np.array([2.0, 3.0, 1.0])
    for min_relevance, expected in ((1, 1.0), (2, 0.0)):
        metric = lightgbm_metric("pap@1", qid=np.zeros(3, int), min_relevance=min_relevance)
        assert metric(graded, scores)[1] == expected
