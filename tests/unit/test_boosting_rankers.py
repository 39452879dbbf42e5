"""LightGBMRanker and XGBoostRanker: what holds of both and of one, and what they refuse."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.raised import raises

from podium import data, losses
from podium.errors import ArgumentError, ConvergenceWarning, DataError
from podium.groups import Groups
from podium.metrics import parse
from podium.rankers import LightGBMRanker, XGBoostRanker, load, save
from podium.rankers._threads import idle_threads_sleep
from podium.ranking import Ranking

pytestmark = pytest.mark.filterwarnings("ignore:.*no tree has a split")

RANKERS = [LightGBMRanker, XGBoostRanker]
OWN = {
    LightGBMRanker: ["binary", "lambdarank", "rank_xendcg"],
    XGBoostRanker: ["binary:logistic", "rank:ndcg", "rank:map", "rank:pairwise"],
}
both = pytest.mark.parametrize("make", RANKERS)


def problem(n: int = 600, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows in no order, in 30 groups, that trees can learn and a linear score cannot."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    utility = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, (utility > 0.7).astype(float), rng.integers(0, 30, n)


X, Y, QID = problem()


def ranker(make: Any, loss: Any = "pap-ramp@3", **params: Any) -> Any:
    return make(loss, **{"n_trees": 15, "n_threads": 1, "eval_metric": "pap@3", **params})


@pytest.mark.long
@parametrize_with_checks(
    [make("logistic", n_threads=1, one_group=True) for make in (LightGBMRanker, XGBoostRanker)]
)
def test_boosted_rankers_follow_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("given", [None, "active"])
def test_threads_of_the_libraries_sleep_while_they_wait(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenMP reads this once; what a user has set there stays, and nothing is left behind."""
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    with idle_threads_sleep():
        assert os.environ["OMP_WAIT_POLICY"] == (given or "passive")
    assert os.environ.get("OMP_WAIT_POLICY") == given


@both
def test_objective_is_the_losss_mean_at_the_predictions(make: Any) -> None:
    loss = losses.get("pap-avg@3")
    target = loss.prepare(Y, Groups.from_qid(QID))
    model = ranker(make, loss).fit(X, Y, QID)
    values, _ = loss.value_and_grad(model.predict(X), target)
    assert model.objective_ == pytest.approx(np.nanmean(values), rel=1e-5)
    history = model.history_["objective"]
    assert history.shape == (15,)
    assert history[-1] == model.objective_ < history[0] < 1.0  # of all scores 0
    assert model.score(X, Y, QID) > 0.7
    assert (model.stop_reason_, model.n_iter_, model.best_iteration_) == ("max_iter", 15, 14)


@both
def test_librarys_own_objectives_read_rows_in_any_order_and_weights(make: Any) -> None:
    by_group, weights = np.argsort(QID, kind="stable"), np.where(QID < 15, 1.0, 0.0)
    for loss in OWN[make]:  # XGBoost's ranking objectives weigh groups, LightGBM's weigh rows
        one = ranker(make, loss).fit(X, Y, QID).predict(X)
        if loss == OWN[make][1]:
            other = ranker(make, loss).fit(X[by_group], Y[by_group], QID[by_group]).predict(X)
            np.testing.assert_array_equal(other, one)
        weighted = ranker(make, loss).fit(X, Y, QID, sample_weight=weights).predict(X)
        assert not np.array_equal(weighted, one)


@pytest.mark.long
@both
@pytest.mark.parametrize("loss", ["logistic", "pap-ramp@3"])
def test_number_of_threads_changes_no_bit(make: Any, loss: str) -> None:
    X, y, qid = problem(6000)
    models = [ranker(make, loss, n_threads=n, row_share=0.7).fit(X, y, qid) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


@both
def test_refit_and_clone_give_the_same_bits_and_another_seed_does_not(make: Any) -> None:
    model = ranker(make, row_share=0.5, feature_share=0.6)
    scores = model.fit(X, Y, QID).predict(X)
    assert np.array_equal(model.fit(X, Y, QID).predict(X), scores)
    assert np.array_equal(clone(model).fit(X, Y, QID).predict(X), scores)
    other = clone(model).set_params(random_state=1).fit(X, Y, QID).predict(X)
    assert not np.array_equal(other, scores)


@both
def test_eval_set_keeps_the_best_number_of_trees(make: Any) -> None:
    V, v, w = problem(seed=1)
    model = ranker(make, n_trees=40, patience=6).fit(X, Y, QID, eval_set=(V, v, w))
    history = model.history_["validation"]
    assert model.best_iteration_ == np.argmax(history)
    assert model.stop_reason_ == "patience"
    assert model.n_iter_ == history.size == model.best_iteration_ + 7 < 40
    assert model.score(V, v, w) == pytest.approx(history.max(), abs=1e-12)
    n_kept = model.best_iteration_ + 1
    fixed = ranker(make, n_trees=n_kept).fit(X, Y, QID)
    np.testing.assert_array_equal(fixed.predict(V), model.predict(V))
    restless = ranker(make, n_trees=40, patience=None).fit(X, Y, QID, eval_set=(V, v, w))
    assert restless.n_iter_ == 40
    assert restless.best_iteration_ == np.argmax(restless.history_["validation"])


@both
def test_measure_that_falls_when_better_is_turned(make: Any) -> None:
    model = ranker(make, eval_metric="topk_loss@3").fit(X, Y, QID, eval_set=(X, Y, QID))
    expected = parse("topk_loss@3")(Ranking.from_scores(model.predict(X), Y, QID))
    assert model.history_["validation"].max() == pytest.approx(-np.nanmean(expected))


@both
def test_starts(make: Any) -> None:
    linear = ranker(make, start="logistic", n_trees=1, learning_rate=1e-12).fit(X, Y, QID)
    peer = LogisticRegression(C=1e9, tol=1e-10).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(linear.predict(X), peer, atol=0.01)


@both
def test_missing_values_are_the_trees_business(make: Any) -> None:
    X, y, qid = problem()
    X[::3, 2] = np.nan
    assert ranker(make).fit(X, y, qid).score(X, y, qid) > 0.7
    with pytest.raises(ArgumentError, match="start"):
        ranker(make, start="logistic").fit(X, y, qid)


def test_sparse_features_are_zeros_to_lightgbm_and_refused_for_xgboost() -> None:
    X, y, qid = problem()
    X[np.abs(X) < 0.5] = 0.0
    dense = ranker(LightGBMRanker).fit(X, y, qid).predict(X)
    thin = sparse.csr_array(X)
    np.testing.assert_allclose(ranker(LightGBMRanker).fit(thin, y, qid).predict(thin), dense)
    with pytest.raises(ArgumentError):
        ranker(XGBoostRanker).fit(thin, y, qid)


@both
def test_options_win_over_parameters(make: Any) -> None:
    name = "num_leaves" if make is LightGBMRanker else "max_leaves"
    one = ranker(make, options={name: 4}).fit(X, Y, QID).predict(X)
    np.testing.assert_array_equal(ranker(make, n_leaves=4).fit(X, Y, QID).predict(X), one)
    assert not np.array_equal(ranker(make).fit(X, Y, QID).predict(X), one)


@both
def test_pickle_and_file_bring_the_same_model(make: Any, tmp_path: Path) -> None:
    name = "max_bin" if make is LightGBMRanker else "max_leaves"
    model = ranker(make, start="logistic", options={name: np.int64(15)})
    scores = model.fit(X, Y, QID, eval_set=(X, Y, QID)).predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), scores)
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), scores)
    assert loaded.get_params() == model.get_params()
    assert loaded.objective_ == model.objective_
    assert loaded.history_.keys() == model.history_.keys()


@both
@pytest.mark.parametrize("n_bytes", [-1, -40, 1000])
def test_damaged_trees_never_reach_the_library(
    make: Any, n_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries end the process, or read beyond their memory, on trees that are damaged."""
    path = tmp_path / "model.safetensors"
    save(ranker(make).fit(X, Y, QID), path)
    monkeypatch.setattr(make, "_from_bytes", lambda *_: pytest.fail("the library was asked"))
    whole = bytearray(path.read_bytes())
    whole[n_bytes] ^= 4
    path.write_bytes(whole)
    with pytest.raises(DataError):
        load(path)


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start_", np.array([np.nan] * 5)),
        ("start_", np.zeros(3, np.float32)),
        ("trees_", np.zeros((2, 2), np.uint8)),
        ("trees_", np.zeros(2)),
        ("trees_", np.frombuffer(b"no trees", np.uint8)),
    ],
)
def test_files_of_other_arrays_are_refused(
    make: Any, name: str, value: Any, tmp_path: Path
) -> None:
    model = ranker(make).fit(X, Y, QID)
    setattr(model, name, value)
    save(model, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match=name):
        load(tmp_path / "model.safetensors")


def test_lambdarank_is_lightgbms() -> None:
    order = np.argsort(QID, kind="stable")
    params = {"objective": "lambdarank", "num_threads": 1, "deterministic": True, "seed": 0,
              "force_col_wise": True, "verbosity": -1, "learning_rate": 0.05}  # fmt: skip
    data = lgb.Dataset(X[order], Y[order], group=np.bincount(QID))
    native = lgb.train(params, data, 15).predict(X)
    np.testing.assert_array_equal(ranker(LightGBMRanker, "lambdarank").fit(X, Y, QID).predict(X),
                                  native)  # fmt: skip


def recurring(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Rows whose labels are noisy draws of what their item is worth; items recur in groups."""
    rng = np.random.default_rng(seed)
    item, qid = rng.integers(0, 60, 3000), rng.integers(0, 100, 3000)
    worth = np.random.default_rng(99).standard_normal((60, 1))
    chance = 1 / (1 + np.exp(1.5 - worth[item, 0]))
    features = np.hstack([worth, np.random.default_rng(98).standard_normal((60, 8))])[item]
    return features, (rng.random(3000) < chance).astype(float), qid, item


def test_lightgbm_is_not_left_with_zeros_alone() -> None:
    for zeros in (0 * X, sparse.csr_array(0 * X), np.full_like(X, -1e-36)):
        with pytest.raises(ArgumentError):
            LightGBMRanker("pap-ramp@3").fit(zeros, Y, QID)


@both
def test_items_pool_the_labels(make: Any) -> None:
    X, y, qid, item = recurring()
    with_items = ranker(make, None).fit(X, y, qid, item=item)
    targets = data.pooled_relevance(y, qid, item, share=0.9)
    by_hand = ranker(make, losses.GroupLogistic(soft=True)).fit(X, targets, qid)
    np.testing.assert_array_equal(with_items.predict(X), by_hand.predict(X))
    labels = ranker(make, "group-logistic").fit(X, y, qid)
    none_pooled = ranker(make, "group-logistic", pool_share=0.0).fit(X, y, qid, item=item)
    np.testing.assert_array_equal(none_pooled.predict(X), labels.predict(X))


@both
def test_pooled_labels_are_those_from_min_relevance_on(make: Any) -> None:
    X, y, qid, item = recurring()
    grades = np.where(y > 0, 5.0, 3.0)
    graded = ranker(make, losses.GroupLogistic(min_relevance=4)).fit(X, grades, qid, item=item)
    binary = ranker(make, "group-logistic").fit(X, y, qid, item=item)
    np.testing.assert_array_equal(graded.predict(X), binary.predict(X))


@both
def test_groups_of_weight_zero_are_not_pooled(make: Any) -> None:
    X, y, qid, item = recurring()
    weights = 1.0 * (qid % 2 == 0)
    other_labels = np.where(weights > 0, y, 1.0 - y)
    first, second = (
        ranker(make, "group-logistic").fit(X, labels, qid, item=item, sample_weight=weights)
        for labels in (y, other_labels)
    )
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@both
def test_items_need_a_loss_that_takes_soft_labels(make: Any) -> None:
    X, y, qid, item = recurring()
    for loss in ("pap-ramp@3", OWN[make][0], losses.GroupLogistic(soft=True)):
        with raises(ArgumentError, "item"):
            ranker(make, loss).fit(X, y, qid, item=item)
    with pytest.raises(ArgumentError, match="item"):
        ranker(make, None).fit(X, y, qid, item=item[:-1])


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (LightGBMRanker, {"min_data_in_leaf": -5}),
        (LightGBMRanker, {"num_leaves": 1}),
        (LightGBMRanker, {"max_bin": "many"}),
        (XGBoostRanker, {"eta": -1.0}),
        (XGBoostRanker, {"max_depth": "deep"}),
    ],
)
def test_an_option_that_the_library_refuses_is_one_line(make: Any, options: Any) -> None:
    X, y, qid = problem(60)
    with pytest.raises(ArgumentError) as caught:
        ranker(make, "logistic", options=options).fit(X, y, qid)
    assert "\n" not in str(caught.value)


RANKING = [
    *((LightGBMRanker, name) for name in ("lambdarank", "rank_xendcg")),
    *((XGBoostRanker, name) for name in ("rank:ndcg", "rank:map", "rank:pairwise")),
]


def pairs(n: int) -> tuple[Any, Any, Any]:
    """Return n lists of two rows, of which the first feature is 0 for the relevant one."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * n)
    return X, np.array([0.0, 1.0] * n), np.repeat(np.arange(n), 2)


@pytest.mark.parametrize("loss", ["group-logistic", "softmax", "lambdarank", "binary"])
@pytest.mark.parametrize("validated", [False, True])
def test_trees_without_a_split_are_reported(loss: str, validated: bool) -> None:
    """Two leaves of 20 rows need 40 rows: 38 are too few, and 40 are enough."""
    for n in (19, 20):
        X, y, qid = pairs(n)
        ranker = LightGBMRanker(loss, n_trees=3, eval_metric="ndcg@1", n_threads=1)
        warned: Any = pytest.warns(ConvergenceWarning)
        with warned if n == 19 else warnings.catch_warnings(action="error"):
            ranker.fit(X, y, qid, eval_set=(X, y, qid) if validated else None)
        assert np.unique(ranker.predict(X)).size == (1 if n == 19 else 2)


@pytest.mark.parametrize("loss", ["softmax", "rank:ndcg", "binary:logistic"])
def test_trees_of_xgboost_without_a_split_are_reported(loss: str, tmp_path: Path) -> None:
    X, y, qid = pairs(10)
    ranker = XGBoostRanker(loss, n_trees=3, min_hessian_in_leaf=1e6, n_threads=1)
    with pytest.warns(ConvergenceWarning):
        ranker.fit(X, y, qid)
    assert np.unique(ranker.predict(X)).size == 1
    save(ranker, tmp_path / "model")
    assert load(tmp_path / "model").predict(X).tolist() == ranker.predict(X).tolist()


@pytest.mark.parametrize(("make", "loss"), RANKING)
def test_objectives_of_the_libraries_are_refused_without_an_order_to_learn(
    make: Any, loss: str
) -> None:
    X, y, qid = pairs(30)
    alone, equal = np.arange(60), np.repeat([0.0, 1.0], 30)
    for labels, groups, weights in (
        (y, alone, None),
        (equal, qid, None),
        (y, np.minimum(qid, 1), np.where(qid < 1, 0.0, y)),  # no weight on two grades
    ):
        with pytest.raises(ArgumentError, match="two rows of different relevance"):
            make(loss, n_trees=2).fit(X, labels, groups, sample_weight=weights)


@pytest.mark.parametrize(("make", "loss"), RANKING)
def test_labels_that_an_objective_cannot_read_are_refused_in_words_of_podium(
    make: Any, loss: str, capfd: pytest.CaptureFixture[str]
) -> None:
    X, y, qid = pairs(30)
    ranker = make(loss, n_trees=2, n_threads=1)
    for labels in (0.25 + y / 2, 40 * y):
        if loss == "rank:pairwise":  # only compares
            scores = ranker.fit(X, labels, qid).predict(X)
            assert scores[y == 1].min() > scores[y == 0].max()
            continue
        with pytest.raises(ArgumentError, match=r"y must have .* got (0\.25|40) at row [01]"):
            ranker.fit(X, labels, qid)
    assert capfd.readouterr() == ("", "")


def test_gains_of_the_caller_allow_higher_grades() -> None:
    X, y, qid = pairs(30)
    gains = {"label_gain": ",".join(str(i) for i in range(41))}
    scores = LightGBMRanker("lambdarank", n_trees=2, options=gains).fit(X, 40 * y, qid).predict(X)
    assert scores[y == 1].min() > scores[y == 0].max()
