from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from podium.errors import ArgumentError, ConvergenceWarning, DataError
from podium.groups import Groups
from podium.rankers import load, save
from podium.rankers.inputs import Rows
from podium.rankers.validation import validator
from podium.tuning import search
from podium.tuning.defaults import default_grid
from podium_studies.xia2009.exponential import PairwiseExponential
from podium_studies.xia2009.rankboost import RankBoost
from podium_studies.xia2009.rankboost.rounds import pairs_of

LEARNED = ("feature_", "threshold_", "alpha_")


def mean_of(measure: str, y: Any, qid: Any) -> Any:
    """Return a function of scores, as rankers measure them."""
    return validator(measure, y, Groups.from_qid(qid), min_relevance=1.0)


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


def test_ranks_new_groups() -> None:
    ranker = RankBoost(100).fit(*problem())
    X, y, qid = problem(seed=1)
    random = np.random.default_rng(0).standard_normal(y.size)
    assert ranker.score(X, y, qid) > 0.9 > 0.7 > mean_of("ndcg@10", y, qid)(random)
    assert ranker.score(X, y, qid) == mean_of("ndcg@10", y, qid)(ranker.predict(X))


def test_scores_are_a_sum_of_alphas_above_thresholds() -> None:
    ranker = RankBoost(25).fit(*problem())
    X = problem(seed=2)[0]
    above = X[:, ranker.feature_] > ranker.threshold_
    np.testing.assert_allclose(ranker.predict(X), above @ ranker.alpha_, atol=1e-12)
    assert (ranker.alpha_ < 0).any(), "the second feature ranks downwards"
    assert set(ranker.feature_[:4]) == {0, 1}


@pytest.mark.parametrize("per", ["pair", "group"])
def test_loss_never_rises_and_is_the_pairwise_exponential(per: str) -> None:
    X, y, qid = problem()
    ranker = RankBoost(150, per=per).fit(X, y, qid)
    objective, r = ranker.history_["objective"], ranker.history_["correlation"]
    before = np.append(1.0, objective[:-1])
    assert (objective <= before * np.sqrt(1 - r**2) + 1e-12).all()
    loss, groups = PairwiseExponential(), Groups.from_qid(qid)
    n_pairs = loss.prepare(y, groups).n_pairs
    weights = n_pairs[groups.index] if per == "pair" else None
    values, grad = loss.value_and_grad(ranker.predict(X), loss.prepare(y, groups, weights=weights))
    assert ranker.objective_ == objective[-1] == pytest.approx(np.nanmean(values), rel=1e-12)
    # The next round's correlation is the slope of the loss along its threshold.
    longer = clone(ranker).set_params(n_rounds=151).fit(X, y, qid)
    h = X[:, longer.feature_[-1]] > longer.threshold_[-1]
    slope = -(grad @ h) / ranker.objective_
    assert longer.history_["correlation"][-1] == pytest.approx(slope, abs=1e-10)


def test_only_the_order_of_features_and_grades_counts() -> None:
    X, y, qid = problem()
    ranker = RankBoost(40).fit(X, y, qid)
    stretched = RankBoost(40).fit(np.exp(X), np.array([0.0, 1.0, 1.5, 9.0])[y.astype(int)], qid)
    np.testing.assert_array_equal(stretched.feature_, ranker.feature_)
    np.testing.assert_array_equal(stretched.alpha_, ranker.alpha_)
    np.testing.assert_array_equal(stretched.predict(np.exp(X)), ranker.predict(X))


def test_refit_gives_the_same_bits_for_any_number_of_threads() -> None:
    X, y, qid = problem()
    ranker = RankBoost(40)
    first = clone(ranker.fit(X, y, qid)).fit(X, y, qid)
    for limit in (1, 2):
        with threadpool_limits(limit):
            assert same(ranker.fit(X, y, qid), first)


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


def test_group_sizes_are_qid_of_grouped_rows() -> None:
    X, y, qid = problem()
    order = np.argsort(qid, kind="stable")
    by_qid = RankBoost(20).fit(X[order], y[order], qid[order])
    assert same(RankBoost(20).fit(X[order], y[order], group=np.bincount(qid)), by_qid)


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


@pytest.mark.parametrize("n_thresholds", [None, 12])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sparse_features_give_the_dense_ranker(n_thresholds: int | None, sign: float) -> None:
    X, y, qid = problem()
    X[np.abs(X) < 0.8] = 0.0
    X[:, 3] = sign * np.abs(X[:, 3])  # zeros at one end
    X[:, 2] += 10.0  # and a column without any
    model = RankBoost(30, n_thresholds=n_thresholds)
    dense, other = (clone(model).fit(form, y, qid) for form in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(other.feature_, dense.feature_)
    np.testing.assert_array_equal(other.threshold_, dense.threshold_)
    np.testing.assert_allclose(other.alpha_, dense.alpha_, rtol=1e-9)
    new = problem(seed=3)[0].round()
    np.testing.assert_array_equal(dense.predict(sparse.csr_array(new)), dense.predict(new))
    assert clone(model).fit(sparse.csc_matrix(X), y, qid).score(X, y, qid) > 0.7


def test_sparse_column_without_zeros_has_the_dense_thresholds() -> None:
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 1, 1, 1]
    model = RankBoost(
        5, n_thresholds=2, one_group=True
    )  # at a third and two thirds of the rows: not below 2
    dense, other = (clone(model).fit(form, y) for form in (X, sparse.csr_array(X)))
    assert same(other, dense)
    assert set(dense.threshold_) == {2.5}


def test_many_rows_are_scored_as_few_are() -> None:
    ranker = RankBoost(10).fit(*problem())
    X = problem(seed=4, n=9000)[0]
    parts = [ranker.predict(part) for part in np.array_split(X, 7)]
    np.testing.assert_array_equal(ranker.predict(X), np.concatenate(parts))


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


def test_patience_ends_the_rounds() -> None:
    train, valid = problem(n=80), problem(seed=1)
    calls: list[tuple[int, int, str]] = []
    ranker: Any = RankBoost(500, patience=7)
    ranker.fit(*train, eval_set=valid, progress=lambda *call: calls.append(call))
    assert ranker.stop_reason_ == "patience"
    assert ranker.n_iter_ == ranker.best_iteration_ + 1 + 7
    assert calls[-1][:2] == (500, 500)
    assert all(0 < done <= total for done, total, _ in calls)
    assert "validation" in calls[0][2]


def test_search_refits_for_as_many_rounds_as_were_best() -> None:
    X, y, qid = problem()
    actual = search(RankBoost(60), X, y, qid, measure="ndcg@10", n_folds=3)
    assert actual.estimator.n_rounds == sorted(actual.best.iterations)[1] < 60
    with pytest.warns(ConvergenceWarning, match="no threshold of any feature"):
        constant = search(RankBoost(9), np.ones((400, 1)), y, qid, measure="ndcg@10")
    assert constant.best.iterations == (0,)
    assert constant.estimator.n_rounds == 9


def test_grid_holds_values_that_fit() -> None:
    for params in ParameterGrid(default_grid(RankBoost())):
        assert RankBoost(3, **params).fit(*problem()).n_iter_ == 3


def test_one_threshold_that_orders_all_pairs_ends_the_rounds() -> None:
    ranker = RankBoost(50).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], group=[4])
    assert ranker.stop_reason_ == "separated"
    assert ranker.threshold_.tolist() == [1.5]
    assert ranker.alpha_[0] == pytest.approx(np.log(2e9) / 2, rel=1e-6)
    assert ranker.history_["correlation"][0] == pytest.approx(1.0, abs=1e-15)


def test_separable_grades_take_hundreds_of_rounds_and_stay_finite() -> None:
    X = np.arange(12.0)[:, None]
    ranker = RankBoost(2000).fit(X, X[:, 0], group=[12])
    assert np.isfinite(ranker.predict(X)).all()
    assert (np.diff(ranker.predict(X)) > 0).all()
    assert (np.diff(ranker.history_["objective"]) <= 0).all()
    assert ranker.objective_ < 1e-7


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


def test_neighbouring_floats_are_told_apart() -> None:
    x = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1e308, -1e308, 1.7e308])
    y = np.array([2.0, 3.0, 1.0, 4.0, 0.0, 5.0])
    ranker = RankBoost(400).fit(x[:, None], y, group=[6])
    np.testing.assert_array_equal(np.argsort(ranker.predict(x[:, None])), np.argsort(y))


def test_names_of_features_are_of_the_last_fit() -> None:
    X, y, qid = problem()
    ranker: Any = RankBoost(5).fit(X, y, qid)
    ranker.stale_ = 1
    ranker.fit(X[:, :3], y, qid)
    assert ranker.n_features_in_ == 3
    assert not hasattr(ranker, "stale_")


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
    ("changes", "message"),
    [
        ({"feature_": np.array([4])}, "feature_ has a feature that is not one of the 4"),
        ({"feature_": np.array([-1])}, "feature_ has a feature that is not one of the 4"),
        ({"feature_": np.array([0, 1])}, "threshold_ has shape"),
        ({"feature_": np.array([0.5])}, "feature_ has shape .* float64"),
        ({"alpha_": np.array([np.inf])}, "alpha_ is not finite"),
        ({"threshold_": np.array([[0.5]])}, "threshold_ has shape"),
        ({"n_features_in_": None}, "n_features_in_ is nan"),
    ],
)
def test_file_with_a_wrong_model_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    ranker: Any = RankBoost(1).fit(*problem())
    ranker.__dict__.update(changes)
    save(ranker, tmp_path / "model")
    with pytest.raises(DataError, match=message):
        load(tmp_path / "model")


X0, Y0, Q0 = problem()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.where(np.arange(400) == 30, np.nan, Y0)}, "y has 1 non-finite .* row 30"),
        ({"y": -Y0}, "y must be >= 0"),
        ({"y": Y0[:-1]}, "X and y must have equal length, got 400 and 399"),
        ({"y": 0 * Y0}, "None of the 16 groups can be trained on: RankBoost needs two rows"),
        ({"y": 0 * Y0, "qid": None, "group": [400]}, "The one group cannot be trained on"),
        ({"qid": None}, "qid is missing, but RankBoost needs groups"),
        ({"eval_set": (X0, Y0)}, "eval_set qid is missing, but ndcg@10 needs groups"),
        ({"qid": Q0[:-1]}, "X and qid must have equal length, got 400 and 399"),
        ({"group": [400]}, "qid and group were both given"),
        ({"sample_weight": -np.ones(16)}, "sample_weight must be >= 0, got -1 at row 0"),
        ({"sample_weight": np.zeros(16)}, "weights are zero for all groups"),
        ({"sample_weight": np.arange(400.0)}, "weights must be constant within a group for Rank"),
        ({"eval_set": (X0,)}, r"eval_set must be \(X, y\) or \(X, y, qid\)"),
        ({"eval_set": (X0, 0 * Y0, Q0)}, "ndcg@10 is defined on none of"),
        (
            {"X": np.where(np.arange(4) == 2, np.nan, X0)},
            "X has 400 NaN or inf .* column 2. Impute",
        ),
        ({"X": sparse.csr_array(np.full((400, 1), np.inf))}, "X has 400 NaN or inf values"),
    ],
)
def test_bad_data_is_refused(arguments: dict[str, Any], message: str) -> None:
    data: dict[str, Any] = {"X": X0, "y": Y0, "qid": Q0, **arguments}
    with pytest.raises(ArgumentError, match=message):
        RankBoost(3).fit(**data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_rounds": 0}, "n_rounds must be an integer >= 1, got 0"),
        ({"n_thresholds": 0}, "n_thresholds must be an integer >= 1, got 0"),
        ({"per": "row"}, "per must be one of 'pair' or 'group', got 'row'"),
        ({"eval_metric": "nope@3"}, "nope"),
        ({"patience": 0}, "patience must be an integer >= 1"),
        ({"min_relevance": 0.0}, "min_relevance must be a number > 0"),
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        RankBoost(**params).fit(X0, Y0, Q0)


def test_predict_refuses_missing_features() -> None:
    with pytest.raises(ArgumentError, match="X has 1 NaN or inf values, first at row 0"):
        RankBoost(2).fit(X0, Y0, Q0).predict([[np.nan, 0.0, 0.0, 0.0]])
