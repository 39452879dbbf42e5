from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError, ConvergenceWarning, PodiumWarning
from podium.groups import Groups
from podium.metrics import make_scorer, parse
from podium.rankers import LinearRanker, LogisticRanker
from podium.rankers.fitting import NothingLearnedError
from podium.ranking import Ranking

quiet = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")


def problem(n: int = 240, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + 0.3 * rng.standard_normal(n)
    return X, (utility > 0.8).astype(float), np.arange(n) // 20


def test_objective_is_what_the_loss_says_plus_the_penalty() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("pap-avg@5", l2=0.01, tol=1e-3).fit(X, y, qid)
    loss = losses.PApAverage(5)
    values, _ = loss.value_and_grad(ranker.predict(X), loss.prepare(y, Groups.from_qid(qid)))
    penalty = 0.01 / 2 * ranker.coef_ @ ranker.coef_
    assert ranker.objective_ == pytest.approx(np.nanmean(values) + penalty)
    assert ranker.objective_ == ranker.history_["objective"].min()
    assert ranker.history_["objective"][ranker.best_iteration_] == ranker.objective_
    assert ranker.history_["objective"].size == ranker.n_iter_


@quiet
def test_first_step_goes_against_the_gradient_at_zero() -> None:
    X, y, qid = problem()
    loss = losses.PApRamp(3)
    target = loss.prepare(y, Groups.from_qid(qid))
    grad = loss.value_and_grad(np.zeros(y.size), target)[1] @ X
    ranker = LinearRanker(loss, learning_rate=0.1, max_iter=2, l2=0.0).fit(X, y, qid)
    np.testing.assert_allclose(ranker.coef_, -0.1 * grad)


def test_logistic_reaches_logistic_regression() -> None:
    """Pooled rows with l2 = 1 / (C n) is scikit-learn's objective, divided by C n."""
    X, y, qid = problem()
    ranker = LinearRanker("logistic", l2=0.01, learning_rate=4.0, max_iter=20_000, tol=1e-12).fit(
        X, y, qid
    )
    peer = LogisticRegression(C=1 / (0.01 * y.size), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-4)
    assert ranker.intercept_ == pytest.approx(peer.intercept_[0], abs=1e-4)


@quiet
def test_ranker_without_intercept() -> None:
    X, y, qid = problem()
    assert (
        LinearRanker("logistic", fit_intercept=False, max_iter=20).fit(X, y, qid).intercept_ == 0.0
    )
    assert LinearRanker("logistic", max_iter=20).fit(X, y, qid).intercept_ != 0.0


@quiet
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_features_give_the_dense_ranker(kind: Any) -> None:
    X, y, qid = problem()
    X[np.abs(X) < 0.5] = 0.0
    dense = LinearRanker("pap-ramp@5", max_iter=50).fit(X, y, qid)
    other = LinearRanker("pap-ramp@5", max_iter=50).fit(kind(X), y, qid)
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.predict(kind(X)), dense.predict(X), rtol=1e-9, atol=1e-12)


@quiet
def test_radius_bounds_the_coefficients() -> None:
    X, y, qid = problem()
    free = LinearRanker("pap-ramp@5", max_iter=50).fit(X, y, qid)
    bound = LinearRanker("pap-ramp@5", max_iter=50, radius=0.2).fit(X, y, qid)
    assert np.linalg.norm(free.coef_) > 0.3
    assert np.linalg.norm(bound.coef_) == pytest.approx(0.2)


def test_training_on_the_loss_raises_the_measure() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("pap-ramp@5", eval_metric="pap@5", tol=1e-3).fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.95
    assert ranker.stop_reason_ == "converged"


@quiet
def test_evaluation_set_chooses_the_iterate() -> None:
    X, y, qid = problem()
    V, v, w = problem(seed=1)
    ranker = LinearRanker("pap-max@5", eval_metric="ap@5", max_iter=40, patience=None)
    ranker.fit(X, y, qid, eval_set=(V, v, w))
    seen = ranker.history_["validation"]
    assert ranker.best_iteration_ == int(np.argmax(seen))
    assert ranker.score(V, v, w) == seen.max()
    assert seen[0] < seen.max()
    assert ranker.objective_ == ranker.history_["objective"][ranker.best_iteration_]


@quiet
def test_patience_stops_after_that_many_iterations_without_gain() -> None:
    X, y, qid = problem()
    V, v, w = problem(seed=1)
    ranker = LinearRanker("pap-avg@5", eval_metric="pap@5", patience=3, tol=0.0)
    ranker.fit(X, y, qid, eval_set=(V, v, w))
    assert ranker.stop_reason_ == "patience"
    assert ranker.n_iter_ == ranker.best_iteration_ + 1 + 3


@quiet
def test_score_is_the_mean_measure() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("logistic", eval_metric="ndcg@10", max_iter=20).fit(X, y, qid)
    values = parse("ndcg@10")(Ranking.from_scores(ranker.predict(X), y, qid))
    assert ranker.score(X, y, qid) == pytest.approx(np.nanmean(values))
    assert ranker.set_params(eval_metric=parse("ndcg@10")).score(X, y, qid) == np.nanmean(values)


@quiet
def test_score_is_greater_for_a_better_ranking() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("logistic", eval_metric="topk_loss@1", max_iter=20).fit(X, y, qid)
    values = parse("topk_loss@1")(Ranking.from_scores(ranker.predict(X), y, qid))
    assert ranker.score(X, y, qid) == -np.nanmean(values)


@quiet
def test_score_is_nan_where_nothing_is_defined() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("logistic", max_iter=20).fit(X, y, qid)
    with pytest.warns(PodiumWarning, match=r"score is nan: 12 have no row of relevance >= 1"):
        assert np.isnan(ranker.score(X, 0 * y, qid))


@quiet
@pytest.mark.parametrize("loss", [None, "softmax", "logistic"])
def test_grades_are_scored_by_ndcg(loss: str | None) -> None:
    """Lists of two rows are too short for pap@10, the measure of labels 0 and 1."""
    X, qid = np.array([[0.0], [1.0], [0.0], [2.0]]), np.array([0, 0, 1, 1])
    ranker = LinearRanker(loss, max_iter=20).fit(X, [0, 1, 0, 2], qid)
    assert ranker.score(X, [0, 1, 0, 2], qid) == 1.0
    assert ranker.score(-X, [0, 1, 0, 2], qid) == pytest.approx(1 / np.log2(3))
    assert ranker.suited_measure() == "ndcg@10"
    if loss != "softmax":  # a threshold makes positives of grades
        binary = LinearRanker(losses.Logistic(min_relevance=2), max_iter=20)
        assert binary.fit(X, [0, 1, 0, 2], qid).suited_measure() == "pap@10"


@quiet
def test_columns_without_numbers_are_named() -> None:
    pandas = pytest.importorskip("pandas")
    y, qid, number = [0, 1, 0, 1], [0, 0, 1, 1], [0.0, 1.0, 2.0, 3.0]
    for values in (pandas.Categorical(["x", "y", "x", "y"]), ["x", "y", "x", "y"]):
        frame = pandas.DataFrame({"size": number, "color": values})
        for make in (LinearRanker, LogisticRanker):
            with pytest.raises(
                ArgumentError, match=r"X must hold numbers, got 'x' in column 'color'"
            ):
                make().fit(frame, y, qid)
    ranker = LinearRanker("logistic", max_iter=20).fit(frame[["size"]], y, qid)
    with pytest.raises(ArgumentError, match=r"column 'size' at row 1"):
        ranker.predict(pandas.DataFrame({"size": [1.0, "big"]}))


@quiet
def test_score_reads_the_losss_threshold() -> None:
    X, y, qid = problem()
    ranker = LinearRanker(losses.PApRamp(5, min_relevance=2), eval_metric="pap@5", max_iter=30)
    ranker.fit(X, 2 * y, qid)
    assert ranker.score(X, 2 * y, qid) > 0.9
    with pytest.warns(PodiumWarning, match=r"no row of relevance >= 2"):
        assert np.isnan(ranker.score(X, y, qid))


LEAST_AT_ZERO = [
    *("pap-ramp@2", "pap-avg@2", "pap-max@2", "pap-tight-struct@2"),
    "pauc-hinge@2",
]


def test_zero_is_refused_where_nothing_beats_it() -> None:
    """The surrogates with hinges are least at zero on labels that features do not explain."""
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    with pytest.raises(ArgumentError, match=r"pap-avg found nothing better than zero.*eval_set"):
        LinearRanker("pap-avg@1").fit(X, [1, 0, 0, 1], [0, 0, 1, 1])


@quiet
@pytest.mark.parametrize("loss", LEAST_AT_ZERO)
def test_a_loss_that_is_least_at_zero_starts_from_logistic_regression(loss: str) -> None:
    """With validation, the fit is never worse than logistic regression, its start."""
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((480, 2)), np.repeat(np.arange(40), 12)
    y = (rng.random(480) < 1 / (1 + np.exp(2.2 - X[:, 0]))).astype(float)
    ranker = LinearRanker(loss, eval_metric="pap@2", max_iter=30)
    with raises(NothingLearnedError, "eval_set"):
        ranker.fit(X, y, qid)
    ranker.fit(X, y, qid, eval_set=(X, y, qid))
    first = clone(ranker).set_params(start="logistic", max_iter=1).fit(X, y, qid)
    assert ranker.history_["validation"][0] == first.score(X, y, qid)
    assert ranker.score(X, y, qid) >= first.score(X, y, qid)
    from_zero = clone(ranker).set_params(start="zero").fit(X, y, qid, eval_set=(X, y, qid))
    assert from_zero.history_["validation"][0] == 0.0


def test_smooth_loss_at_zero_is_reported() -> None:
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    with pytest.warns(ConvergenceWarning, match="nothing better than zero"):
        ranker = LinearRanker("softmax").fit(X, [1, 0, 0, 1], [0, 0, 1, 1])
    assert ranker.coef_ == 0.0


def test_max_iter_is_reported_with_what_to_change() -> None:
    X, y, qid = problem()
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=5.*range .* > tol=0.0001"):
        ranker = LinearRanker("logistic", solver="subgradient", max_iter=5).fit(X, y, qid)
    assert ranker.stop_reason_ == "max_iter"
    assert ranker.n_iter_ == 5


def test_overflow_is_reported_and_the_best_iterate_kept() -> None:
    X, y, qid = problem()
    X = X * 1e200
    with pytest.warns(ConvergenceWarning, match="scores overflowed at iteration"):
        ranker = LinearRanker("pap-ramp@5", l2=0.0).fit(X, y, qid)
    assert ranker.stop_reason_ == "diverged"
    assert np.isfinite(ranker.objective_)


def test_progress_counts_to_the_end() -> None:
    X, y, qid = problem()
    calls: list[tuple[int, int, str]] = []
    LinearRanker("pap-ramp@5", tol=1e-3).fit(X, y, qid, progress=lambda *a: calls.append(a))
    assert [done for done, _, _ in calls[:-1]] == list(range(1, len(calls)))
    assert calls[-1][:2] == (500, 500)
    assert calls[0][2] == "objective 1"


@quiet
def test_loss_by_name_is_the_loss() -> None:
    X, y, qid = problem()
    by_name = LinearRanker("pap-tight-struct@5", max_iter=30).fit(X, y, qid)
    by_value = LinearRanker(losses.PApTightStruct(5), max_iter=30).fit(X, y, qid)
    assert by_name.coef_.tobytes() == by_value.coef_.tobytes()
    assert clone(by_value).loss == losses.PApTightStruct(5)


@quiet
def test_grid_search_over_losses_with_group_folds() -> None:
    X, y, qid = problem()
    grid = {"loss": ["pap-ramp@5", "logistic"], "l2": [0.0, 10.0]}
    search = GridSearchCV(
        LinearRanker("logistic", max_iter=40, eval_metric="pap@5"), grid, cv=GroupKFold(3)
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search.estimator.set_fit_request(qid=True).set_score_request(qid=True)
        search.fit(X, y, groups=qid, qid=qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["l2"] == 0.0
    assert search.best_score_ > 0.8


@quiet
def test_grid_search_without_routing_slices_qid() -> None:
    X, y, qid = problem()
    search = GridSearchCV(
        LinearRanker("pap-ramp@2", max_iter=20, eval_metric="auc"), {"l2": [0.0]}, cv=GroupKFold(3)
    )
    with pytest.raises(ArgumentError, match=r"qid is missing.*set_score_request\(qid=True\)"):
        search.set_params(error_score="raise").fit(X, y, groups=qid, qid=qid)
    search.set_params(estimator__one_group=True).fit(X, y, groups=qid, qid=qid)
    assert np.isfinite(search.best_score_)


@quiet
def test_grid_search_with_a_scorer_of_another_measure() -> None:
    X, y, qid = problem()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = LinearRanker("pap-ramp@5", max_iter=20).set_fit_request(qid=True)
        search = GridSearchCV(
            ranker, {"l2": [0.0]}, cv=GroupKFold(3), scoring=make_scorer("ndcg@5")
        )
        search.fit(X, y, groups=qid, qid=qid)
    assert search.best_score_ > 0.8


@quiet
def test_pipeline_passes_qid_on() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("pap-ramp@5", max_iter=30)
    pipeline = make_pipeline(StandardScaler(), ranker).fit(X, y, linearranker__qid=qid)
    alone = clone(ranker).fit(StandardScaler().fit_transform(X), y, qid)
    assert pipeline[-1].coef_.tobytes() == alone.coef_.tobytes()


def bad_features(value: float) -> Any:
    X = problem()[0]
    X[21, 2] = value
    return X


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_bad_features_name_row_group_and_column(value: float, kind: Any) -> None:
    _, y, qid = problem()
    message = r"X has 1 NaN or inf values, first at row 21 \(qid 1\), column 2\. Impute"
    with pytest.raises(ArgumentError, match=message):
        LinearRanker("logistic").fit(kind(bad_features(value)), y, qid)


@quiet
def test_bad_features_are_refused_in_predict_too() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("logistic", max_iter=20).fit(X, y, qid)
    with pytest.raises(ArgumentError, match="X has 1 NaN or inf values, first at row 21, column 2"):
        ranker.predict(bad_features(np.nan))


X0, Y0, Q0 = problem()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"y": np.where(np.arange(240) == 30, np.nan, Y0)},
            r"y has 1 non-finite .* row 30 \(qid 1",
        ),
        ({"y": -Y0}, "y must be >= 0"),
        ({"y": Y0[:-1]}, "X and y must have equal length, got 240 and 239"),
        ({"y": None}, "y should be a 1d array"),
        ({"qid": Q0[:-1]}, "X and qid must have equal length, got 240 and 239"),
        ({"qid": Q0 + 0.5}, "qid must hold integers or strings"),
        ({"group": [240]}, "qid and group were both given"),
        ({"qid": None, "group": [100, 100]}, "group must have sizes with a sum of 240"),
        ({"sample_weight": np.ones(7)}, r"sample_weight must have one value per row \(240\) or"),
        ({"sample_weight": -np.ones(240)}, r"sample_weight must be >= 0, got -1 at row 0 \(qid 0"),
        ({"sample_weight": np.arange(12.0) - 1}, "sample_weight must be >= 0, got -1 at row 0"),
        ({"sample_weight": np.zeros(240)}, "weights are zero"),
        ({"sample_weight": np.arange(240.0)}, "weights must be constant within a group"),
        ({"eval_set": (X0,)}, r"eval_set must be \(X, y\) or \(X, y, qid\)"),
        ({"eval_set": (X0, Y0[:-1], Q0)}, "eval_set X and eval_set y must have equal length"),
        ({"eval_set": (X0, 0 * Y0, Q0)}, "eval_set has no group on which pap@10 is defined"),
        ({"eval_set": (X0[:, :2], Y0, Q0)}, "X has 2 features, but LinearRanker is expecting 4"),
    ],
)
def test_bad_data_is_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"y": Y0, "qid": Q0, **arguments}
    with pytest.raises(ValueError, match=message):
        LinearRanker("pap-ramp@5").fit(X0, **given)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l2": -1.0}, "l2 must be a number >= 0, got -1.0"),
        ({"learning_rate": 0.0}, "learning_rate must be a number > 0, got 0.0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1, got 0"),
        ({"fit_intercept": "no"}, "fit_intercept must be True or False, got 'no'"),
        ({"tol": "small"}, "tol must be a number >= 0, got 'small'"),
        ({"radius": 0.0}, "radius must be a number > 0, got 0.0"),
        ({"patience": 0}, "patience must be an integer >= 1, got 0"),
        ({"solver": "subgradeint"}, "Did you mean 'subgradient'"),
        ({"loss": "pap-avg"}, "pap-avg needs k"),
        ({"loss": 3}, "loss must be a podium.losses.Loss or its name"),
        ({"eval_metric": "nope@3"}, "nope"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        LinearRanker(**{"loss": "logistic", **parameters}).fit(X0, Y0, Q0, eval_set=(X0, Y0, Q0))


def test_no_trainable_group_says_why() -> None:
    message = (
        r"None of the 12 groups can be trained on: pap-ramp needs .* 50 negatives in a group\. "
        r"Groups without a positive: 0, with too few negatives: 12\. Lower k"
    )
    with pytest.raises(ArgumentError, match=message):
        LinearRanker("pap-ramp@50").fit(X0, Y0, Q0)
    with pytest.raises(ArgumentError, match="without a positive: 12, with too few negatives: 0"):
        LinearRanker("pap-ramp@5").fit(X0, 0 * Y0, Q0)


class SquaredLoss(losses.Loss):
    """A user's own loss: the three methods, and no declaration."""

    def prepare(self, relevance: Any, groups: Any, *, weights: Any = None, rng: Any = None) -> Any:
        return relevance, groups

    def value_and_grad(self, scores: Any, target: Any) -> Any:
        relevance, groups = target
        error = scores - relevance
        values = np.bincount(groups.index, error**2 / 2, groups.n_groups)
        return values, error / groups.n_groups

    def curvature(self, scores: Any, target: Any) -> Any:
        return np.full(scores.size, 1 / target[1].n_groups)


def test_a_loss_from_outside_trains_the_ranker() -> None:
    X, y, qid = problem()
    ranker = LinearRanker(SquaredLoss(), l2=0.0, tol=1e-14, learning_rate=0.05, max_iter=3000)
    ranker.fit(X, y, qid)
    design = np.column_stack([X, np.ones(y.size)])
    exact = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose([*ranker.coef_, ranker.intercept_], exact, atol=1e-6)


def test_convergence_is_not_judged_before_eleven_iterations() -> None:
    ranker = LinearRanker("logistic", solver="subgradient", tol=1e9).fit(X0, Y0, Q0)
    assert (ranker.stop_reason_, ranker.n_iter_) == ("converged", 11)


def test_a_converged_fit_is_silent() -> None:
    X, y, qid = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearRanker("logistic", tol=1e-3).fit(X, y, qid)


def test_score_weighs_groups_by_row_or_by_group() -> None:
    X, y, qid = np.array([[2.0], [1.0], [1.0], [2.0]]), [1, 0, 1, 0], ["b", "b", "a", "a"]
    ranker = LinearRanker("logistic", eval_metric="rr").fit(X, [1, 0, 0, 1], qid=qid)
    # Right for b, wrong for a, whose reciprocal rank is 1/2.
    assert ranker.score(X, y, qid) == (1 + 1 / 2) / 2
    assert ranker.score(X, y, qid, sample_weight=[3, 3, 1, 1]) == (3 * 1 + 1 * 1 / 2) / 4
    assert ranker.score(X, y, qid, sample_weight=[1, 3]) == (3 * 1 + 1 * 1 / 2) / 4
