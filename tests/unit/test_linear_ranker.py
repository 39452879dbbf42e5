from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError, ConvergenceWarning, PodiumWarning
from podium.groups import Groups
from podium.metrics import parse
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


@quiet
def test_evaluation_set_chooses_the_iterate_and_patience_stops() -> None:
    X, y, qid = problem()
    V, v, w = problem(seed=1)
    ranker = LinearRanker("pap-max@5", eval_metric="ap@5", max_iter=40, patience=3, tol=0.0)
    ranker.fit(X, y, qid, eval_set=(V, v, w))
    assert ranker.stop_reason_ == "patience"
    assert ranker.n_iter_ == ranker.best_iteration_ + 1 + 3
    seen = ranker.history_["validation"]
    assert ranker.best_iteration_ == int(np.argmax(seen))
    assert ranker.score(V, v, w) == seen.max()
    assert seen[0] < seen.max()
    assert ranker.objective_ == ranker.history_["objective"][ranker.best_iteration_]


@quiet
def test_score_is_the_mean_measure() -> None:
    X, y, qid = problem()
    ranker = LinearRanker("logistic", eval_metric="ndcg@10", max_iter=20).fit(X, y, qid)
    values = parse("ndcg@10")(Ranking.from_scores(ranker.predict(X), y, qid))
    assert ranker.score(X, y, qid) == pytest.approx(np.nanmean(values))
    assert ranker.set_params(eval_metric=parse("ndcg@10")).score(X, y, qid) == np.nanmean(values)
    values = parse("topk_loss@1")(Ranking.from_scores(ranker.predict(X), y, qid))
    assert ranker.set_params(eval_metric="topk_loss@1").score(X, y, qid) == -np.nanmean(values)


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
            with pytest.raises(ArgumentError, match="'x' in column 'color'"):
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
    with pytest.warns(PodiumWarning):
        assert np.isnan(ranker.score(X, y, qid))


@quiet
@pytest.mark.parametrize("loss", ["pap-ramp@2", "pap-avg@2", "pap-max@2", "pap-tight-struct@2"])
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
    with pytest.warns(ConvergenceWarning):
        ranker = LinearRanker("softmax").fit(X, [1, 0, 0, 1], [0, 0, 1, 1])
    assert ranker.coef_ == 0.0


def test_progress_counts_to_the_end() -> None:
    X, y, qid = problem()
    calls: list[tuple[int, int, str]] = []
    LinearRanker("pap-ramp@5", tol=1e-3).fit(X, y, qid, progress=lambda *a: calls.append(a))
    assert [done for done, _, _ in calls[:-1]] == list(range(1, len(calls)))
    assert calls[-1][:2] == (500, 500)
    assert calls[0][2] == "objective 1"


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


def test_score_weighs_groups_by_row_or_by_group() -> None:
    X, y, qid = np.array([[2.0], [1.0], [1.0], [2.0]]), [1, 0, 1, 0], ["b", "b", "a", "a"]
    ranker = LinearRanker("logistic", eval_metric="rr").fit(X, [1, 0, 0, 1], qid=qid)
    # Right for b, wrong for a, whose reciprocal rank is 1/2.
    assert ranker.score(X, y, qid) == (1 + 1 / 2) / 2
    assert ranker.score(X, y, qid, sample_weight=[3, 3, 1, 1]) == (3 * 1 + 1 * 1 / 2) / 4
    assert ranker.score(X, y, qid, sample_weight=[1, 3]) == (3 * 1 + 1 * 1 / 2) / 4
