from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from podium.errors import ConvergenceWarning, DataError
from podium.groups import Groups
from podium.rankers import load, save
from podium.rankers.inputs import Rows
from podium_studies.xia2009.rankboost import RankBoost, pairs_of

LEARNED = ("feature_", "threshold_", "alpha_")


def problem(seed: int = 0, n: int = 400) -> tuple[Any, Any, Any]:
    """Return rows whose relevance bends in one feature and falls in another."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = np.maximum(X[:, 0], 0.0) - 0.7 * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, np.digitize(utility, [0.0, 0.8, 1.6]).astype(float), rng.integers(0, 16, n)


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in LEARNED)


def expected_failures(estimator: Any) -> dict[str, str]:
    by_group = "weights must be constant within a group"
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": by_group for kind in ("dense", "sparse")
    } | {"check_sample_weights_not_overwritten": by_group}


@pytest.mark.long
@parametrize_with_checks(
    [
        RankBoost(one_group=True),
        RankBoost(20, n_thresholds=5, per="group", one_group=True),
    ],
    expected_failed_checks=expected_failures,
)
def test_rankboost_follows_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_scores_are_a_sum_of_alphas_above_thresholds() -> None:
    ranker = RankBoost(25).fit(*problem())
    X = problem(seed=2)[0]
    above = X[:, ranker.feature_] > ranker.threshold_
    np.testing.assert_allclose(ranker.predict(X), above @ ranker.alpha_, atol=1e-12)
    assert (ranker.alpha_ < 0).any(), "the second feature ranks downwards"
    assert set(ranker.feature_[:4]) == {0, 1}


def test_row_order_and_names_of_groups_do_not_matter() -> None:
    X, y, qid = problem()
    X = np.column_stack([X, -X[:, 0], X[:, 0]])  # as good as the first, up to rounding
    order = np.random.default_rng(1).permutation(y.size)
    one = RankBoost(60).fit(X, y, qid)
    other = RankBoost(60).fit(X[order], y[order], [f"user {99 - q}" for q in qid[order]])
    np.testing.assert_array_equal(other.feature_, one.feature_)
    np.testing.assert_array_equal(other.threshold_, one.threshold_)
    np.testing.assert_allclose(other.alpha_, one.alpha_, rtol=1e-9)
    assert set(one.feature_) <= {0, 1, 2, 3}


@pytest.mark.parametrize("per", ["pair", "group"])
def test_weights_are_of_groups_and_repeat_them(per: str) -> None:
    X, y, qid = problem(n=120)
    weights = np.arange(16.0) % 4
    model = RankBoost(20, per=per)
    by_group = clone(model).fit(X, y, qid, sample_weight=weights)
    assert same(clone(model).fit(X, y, qid, sample_weight=weights[qid]), by_group)
    rows = np.repeat(np.arange(120), weights[qid].astype(int))
    copies = np.concatenate([np.arange(n) for n in weights[qid].astype(int)])
    copied = clone(model).fit(X[rows], y[rows], qid[rows] + 100 * copies)
    np.testing.assert_array_equal(copied.feature_, by_group.feature_)
    np.testing.assert_array_equal(copied.threshold_, by_group.threshold_)
    np.testing.assert_allclose(copied.alpha_, by_group.alpha_, rtol=1e-9)
    assert not same(clone(model).fit(X, y, qid), by_group)


def test_groups_without_pairs_are_as_good_as_absent() -> None:
    X, y, qid = problem()
    y[qid == 5] = 2.0
    kept = qid != 5
    with_them = RankBoost(20, n_thresholds=15).fit(X, y, qid)
    assert same(RankBoost(20, n_thresholds=15).fit(X[kept], y[kept], qid[kept]), with_them)


def test_eval_set_keeps_its_best_round() -> None:
    train, valid = problem(n=80), problem(seed=1)
    ranker = RankBoost(120).fit(*train, eval_set=valid)
    validation = ranker.history_["validation"]
    assert ranker.best_iteration_ == int(np.argmax(validation)) < 119
    assert ranker.alpha_.size == ranker.best_iteration_ + 1
    assert ranker.n_iter_ == validation.size == 120
    assert ranker.score(*valid) == validation.max()
    assert ranker.objective_ == ranker.history_["objective"][ranker.best_iteration_]
    assert same(RankBoost(ranker.best_iteration_ + 1).fit(*train), ranker)
    in_csr = RankBoost(120).fit(*train, eval_set=(sparse.csr_array(valid[0]), *valid[1:]))
    assert same(in_csr, ranker)


def test_one_threshold_that_orders_all_pairs_ends_the_rounds() -> None:
    ranker = RankBoost(50, one_group=True).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert ranker.stop_reason_ == "separated"
    assert ranker.threshold_.tolist() == [1.5]
    assert ranker.alpha_[0] == pytest.approx(np.log(2e9) / 2, rel=1e-6)
    assert ranker.history_["correlation"][0] == pytest.approx(1.0, abs=1e-15)


def test_pairs_keep_their_weights_where_the_loss_underflows() -> None:
    y = np.array([2.0, 1.0, 0.0])
    pairs = pairs_of(Rows(np.zeros((3, 1)), y, Groups.single(3), None), None, "pair")
    loss, potential = pairs.potentials(np.array([2001.0, 1000.0, -1.0]))
    assert loss == 0.0  # exp(-1001) and less
    np.testing.assert_allclose(potential, [1 / 2, 0.0, -1 / 2])


def test_minimum_of_the_loss_ends_the_rounds() -> None:
    # Of four pairs one is wrong above the only threshold: a loss with a minimum.
    X, y, qid = [[1.0], [0.0]] * 4, [1, 0, 1, 0, 1, 0, 0, 1], np.repeat(np.arange(4), 2)
    ranker = RankBoost(100).fit(X, y, qid)
    assert ranker.stop_reason_ == "converged"
    assert ranker.alpha_.sum() == pytest.approx(np.log(3 / 1) / 2)
    assert ranker.objective_ == pytest.approx((3 / np.sqrt(3) + np.sqrt(3)) / 4)


def test_features_without_any_order_warn_and_score_zero() -> None:
    X, y = np.ones((6, 2)), [0, 1, 0, 1, 2, 0]
    with pytest.warns(ConvergenceWarning, match="no threshold of any feature"):
        ranker = RankBoost(one_group=True).fit(X, y, eval_set=(X, y))
    assert ranker.predict(X).tolist() == [0.0] * 6
    assert ranker.best_iteration_ == -1
    assert ranker.n_iter_ == ranker.feature_.size == 0
    assert ranker.stop_reason_ == "converged"
    assert ranker.objective_ == 1.0


def test_saved_ranker_comes_back(tmp_path: Path) -> None:
    X, y, qid = problem()
    ranker = RankBoost(30, n_thresholds=20, per="group", eval_metric="ap").fit(
        X, y, qid, eval_set=(X, y, qid)
    )
    save(ranker, tmp_path / "model.safetensors")
    for other in (load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(ranker))):
        assert same(other, ranker)
        assert other.get_params() == ranker.get_params()
        assert other.score(X, y, qid) == ranker.score(X, y, qid)
        np.testing.assert_array_equal(other.history_["validation"], ranker.history_["validation"])
        assert other.stop_reason_ == ranker.stop_reason_


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_": np.array([4])},
        {"alpha_": np.array([np.inf])},
    ],
)
def test_file_with_a_wrong_model_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    ranker: Any = RankBoost(1).fit(*problem())
    ranker.__dict__.update(changes)
    save(ranker, tmp_path / "model")
    with pytest.raises(DataError):
        load(tmp_path / "model")
