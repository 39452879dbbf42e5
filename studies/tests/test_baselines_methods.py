"""Each baseline is the method it is named after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info

from podium import losses
from podium._one_thread import one_blas_thread
from podium.errors import ConvergenceWarning
from podium.groups import Groups
from podium.metrics import parse
from podium.rankers import LinearRanker, LogisticRanker
from podium.rankers.validation import validator
from podium.ranking import Ranking
from podium.testing.contracts import LossContract, loss_cases
from podium_studies.hiranandani2020.baselines import (
    GreedyPAp,
    PrecisionAverage,
    SelectPAp,
    SGDAtK,
    SVMpAUC,
)
from podium_studies.hiranandani2020.surrogates import PAUCHinge

quiet = pytest.mark.filterwarnings("ignore::podium.errors.ConvergenceWarning")


def problem(seed: int = 0, n: int = 300, noise: float = 1.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + noise * rng.standard_normal(n)
    return X, (utility > 0.8).astype(float), np.arange(n) % 12


X, Y, QID = problem()
EVAL = problem(seed=1)


def pap(scores: Any, data: tuple[Any, Any, Any] = (X, Y, QID), k: int = 3) -> float:
    return validator(f"pap@{k}", data[1], Groups.from_qid(data[2]), min_relevance=1.0)(scores)


class TestPrecisionAverage(LossContract):
    def make(self) -> Any:
        return PrecisionAverage(2)


class TestPrecisionAverageClipped(LossContract):
    def make(self) -> Any:
        return PrecisionAverage(3, clip=True, min_relevance=2)


def test_precision_average_by_hand() -> None:
    """k = 2: s = (2, 0, -1), t = (1, 0); k' = 1 is the worst list."""
    loss = PrecisionAverage(2)
    target = loss.prepare(np.array([1.0, 1.0, 1.0, 0.0, 0.0]), Groups.single(5))
    value, grad = loss.value_and_grad(np.array([2.0, 0.0, -1.0, 1.0, 0.0]), target)
    by_hits = [2 - 2 / 3 * (2 + 0 - 1) + (1 + 0), 1 - 1 / 2 * (0 - 1) + 1, 0]
    assert value[0] == max(by_hits) / 2 == by_hits[1] / 2
    np.testing.assert_array_equal(grad, np.array([0, -1 / 2, -1 / 2, 1, 0]) / 2)


def test_precision_average_chooses_hits_by_group() -> None:
    """Two groups with other best numbers of true positives keep the values they have alone."""
    loss, relevance = PrecisionAverage(1), np.array([1.0, 1.0, 0.0] * 2)
    scores = np.array([3.0, 3.0, 0.0, -3.0, -3.0, 0.0])
    values, _ = loss.value_and_grad(
        scores, loss.prepare(relevance, Groups.from_qid([0, 0, 0, 1, 1, 1]))
    )
    np.testing.assert_array_equal(values, [0.0, 1 - 1 / 2 * (-3 - 3) + 0])


def test_precision_average_shares_the_gradient_of_ties_whatever_the_row_order() -> None:
    for case in loss_cases(40, seed=3):
        scores = np.round(case.scores)
        order = np.random.default_rng(0).permutation(scores.size)
        loss, moved = PrecisionAverage(2), case.qid[order]
        value, grad = loss.value_and_grad(scores, loss.prepare(case.relevance, case.groups))
        target = loss.prepare(case.relevance[order], Groups.from_qid(moved))
        other, other_grad = loss.value_and_grad(scores[order], target)
        np.testing.assert_allclose(other, value, atol=1e-12)
        np.testing.assert_allclose(other_grad, grad[order], atol=1e-12)


def test_precision_average_gradient_supports_it() -> None:
    """f(z) >= f(x) + g.(z - x), at ties and kinks too."""
    loss = PrecisionAverage(2)
    for case in loss_cases(60, seed=4):
        target = loss.prepare(case.relevance, case.groups)
        here, there = np.round(case.scores), np.random.default_rng(1).normal(0, 2, case.scores.size)
        value, grad = loss.value_and_grad(here, target)
        if np.isfinite(value).any():
            other = np.nanmean(loss.value_and_grad(there, target)[0])
            assert other >= np.nanmean(value) + grad @ (there - here) - 1e-9


@quiet
def test_first_step_of_sgd_at_k_is_between_class_means() -> None:
    """At zero the worst list has no positive: D = K / n_pos, and ties share K negatives."""
    k, steps = 5, []
    for g in range(12):
        pos, neg = X[(g == QID) & (Y > 0)], X[(g == QID) & (Y == 0)]
        steps.append(min(k, len(pos)) / k * (pos.mean(axis=0) - neg.mean(axis=0)))
    ranker = SGDAtK(k, l2=0.0, learning_rate=0.1, max_iter=2, keep="last").fit(X, Y, QID)
    np.testing.assert_allclose(ranker.coef_, 0.1 * np.mean(steps, axis=0), rtol=1e-9)


@quiet
def test_sgd_at_k_is_the_linear_ranker_on_its_loss() -> None:
    params: dict[str, Any] = {"l2": 0.01, "learning_rate": 2.0, "max_iter": 40}
    for solver in ("subgradient", "stochastic"):
        one = SGDAtK(3, solver=solver, **params).fit(X, Y, QID, eval_set=EVAL)
        other = LinearRanker(PrecisionAverage(3), solver=solver, eval_metric="pap@3", **params)
        other.fit(X, Y, QID, eval_set=EVAL)
        assert one.coef_.tobytes() == other.coef_.tobytes()
        assert one.history_["validation"].max() == one.score(*EVAL)


def test_logistic_ranker_is_logistic_regression() -> None:
    for C in (0.1, 10.0):
        peer = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, Y)
        ranker = LogisticRanker(C).fit(X, Y, QID)
        np.testing.assert_allclose(ranker.predict(X), peer.decision_function(X), atol=1e-5)
    free = LogisticRanker(fit_intercept=False).fit(X, Y)
    assert free.intercept_ == 0.0 != ranker.intercept_


def test_logistic_ranker_weighs_rows() -> None:
    weights = np.arange(300.0)
    peer = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, Y, sample_weight=weights)
    ranker = LogisticRanker().fit(X, Y, QID, sample_weight=weights)
    np.testing.assert_allclose(ranker.coef_, peer.coef_[0], atol=1e-6)


def test_logistic_ranker_measures_an_evaluation_set_and_learns_nothing_of_it() -> None:
    alone = LogisticRanker(eval_metric="pap@3").fit(X, Y, QID)
    ranker = LogisticRanker(eval_metric="pap@3").fit(X, Y, QID, eval_set=EVAL)
    assert ranker.coef_.tobytes() == alone.coef_.tobytes()
    assert ranker.history_["validation"].tolist() == [ranker.score(*EVAL)]


def test_logistic_ranker_converges_on_many_features() -> None:
    """Beyond the size where Newton's matrix is cheap, another solver finds the same minimum."""
    rng = np.random.default_rng(0)
    wide = np.hstack([X, rng.standard_normal((300, 1100))])
    ranker = LogisticRanker(0.01).fit(wide, Y)
    loss = losses.Logistic()
    target = loss.prepare(Y, Groups.single(300))
    slope = loss.value_and_grad(ranker.predict(wide), target)[1] @ wide * 300
    np.testing.assert_allclose(ranker.coef_ + 0.01 * slope, 0.0, atol=1e-5)


@pytest.mark.parametrize("make", [LogisticRanker, GreedyPAp, SelectPAp])
def test_huge_features_warn_of_nothing_but_convergence(make: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="Scale the features"):
        ranker = make().set_params(eval_metric="pap@3").fit(1e200 * X, Y, QID)
    assert np.isfinite(ranker.coef_).all()


def test_logistic_ranker_says_that_it_did_not_converge() -> None:
    with pytest.warns(ConvergenceWarning, match=r"before it converged \(max_iter=1, "):
        LogisticRanker(max_iter=1).fit(X, Y)


def test_logistic_ranker_takes_features_that_repeat_each_other() -> None:
    """Newton's matrix is singular but for the penalty: silent, and the same scores."""
    twice = LogisticRanker(1e12).fit(np.hstack([X, X, 0 * X]), Y).predict(np.hstack([X, X, X]))
    np.testing.assert_allclose(twice, LogisticRanker(1e12).fit(X, Y).predict(X), rtol=1e-4)


def test_overlapping_fits_keep_one_blas_thread_until_the_last_is_done() -> None:
    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = threads()
    with one_blas_thread:
        with one_blas_thread:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before


def greedy_bases(model: GreedyPAp, y: Any = Y) -> Iterator[Any]:
    """Yield the base classifiers' coefficients, drawn again as the docstring says."""
    rng = np.random.default_rng(model.random_state)
    for i in range(model.n_base):
        weights = np.ones(12) if i == 0 else np.bincount(rng.integers(0, 12, 12), minlength=12)
        peer = LogisticRegression(C=model.C, tol=1e-10, max_iter=10_000)
        yield peer.fit(X, y, sample_weight=weights[QID].astype(float)).coef_[0]


def test_greedy_with_one_base_is_logistic_regression() -> None:
    ranker = GreedyPAp(3, n_base=1).fit(X, Y, QID)
    assert ranker.coef_.tobytes() == LogisticRanker().fit(X, Y, QID).coef_.tobytes()
    assert ranker.weights_.tolist() == [1.0]


def test_greedy_merge_is_the_best_of_the_grid_by_the_mean_over_users() -> None:
    """And not by raw counts of pairs, which would let users with many positives decide."""
    users = X, noisy_labels(), QID
    grid, improved, differed = np.linspace(0, 1, 11), 0, 0
    for seed in range(4):
        ranker = GreedyPAp(8, n_base=2, n_grid=11, random_state=seed).fit(*users)
        w, v = sorted(greedy_bases(ranker, users[1]), key=lambda coef: -pap(X @ coef, users, 8))
        merged = [a * w + v for a in grid] + [w + a * v for a in grid]
        values = [pap(X @ coef, users, 8) for coef in merged]
        before = pap(X @ w, users, 8)
        expected = [before, max(before, *values)]
        assert ranker.history_["measure"].tolist() == pytest.approx(expected)
        improved += expected[1] > before
        by_pairs = np.argmax([correct_pairs(X @ coef, users[1], 8) for coef in merged])
        differed += values[int(by_pairs)] < max(values)
    assert improved > 0
    assert differed > 0


def correct_pairs(scores: Any, y: Any, k: int) -> float:
    measure, ranking = parse(f"pap@{k}"), Ranking.from_scores(scores, y, QID)
    pairs = measure.weights(ranking)
    assert pairs is not None
    assert len(set(pairs)) > 1
    return float(np.nansum(measure(ranking) * pairs))


def noisy_labels() -> Any:
    """Return labels with many positives of some users and few of others."""
    noise = 3.0 * np.random.default_rng(7).standard_normal(300)
    return (X[:, 0] + noise > np.linspace(0.0, 5.0, 12)[QID]).astype(float)


def test_greedy_never_loses_and_says_what_it_mixed() -> None:
    y, most = noisy_labels(), 0
    for seed in range(4):
        ranker = GreedyPAp(8, n_base=6, random_state=seed).fit(X, y, QID)
        gains = np.diff(ranker.history_["measure"])
        assert (gains >= 0).all()
        most = max(most, int(np.count_nonzero(gains)))
        assert ranker.score(X, y, QID) == pytest.approx(ranker.history_["measure"][-1])
        mixed = sum(a * w for a, w in zip(ranker.weights_, greedy_bases(ranker, y), strict=True))
        np.testing.assert_allclose(ranker.coef_, mixed, rtol=1e-4, atol=1e-5)
    assert most > 1


def test_greedy_begins_with_the_best_base_which_need_not_be_that_of_all_rows() -> None:
    outcomes: set[bool] = set()
    for seed in range(4):
        ranker = GreedyPAp(3, random_state=seed).fit(X, Y, QID, eval_set=EVAL)
        alone = [pap(EVAL[0] @ coef, EVAL) for coef in greedy_bases(ranker)]
        assert ranker.history_["measure"][0] == pytest.approx(max(alone))
        outcomes.add(alone[0] < max(alone))
    assert True in outcomes


def test_greedy_maximises_on_the_evaluation_set_if_there_is_one() -> None:
    ranker = GreedyPAp(3).fit(X, Y, QID, eval_set=EVAL)
    assert ranker.score(*EVAL) == ranker.history_["measure"][-1]
    assert ranker.score(*EVAL) >= GreedyPAp(3).fit(X, Y, QID).score(*EVAL)


def pool(scores: Any, k: int) -> Any:
    """Return the rows of each group's top positives and top negatives."""
    rows: list[Any] = []
    for g in range(12):
        for label in (1.0, 0.0):
            inside = np.flatnonzero((g == QID) & (label == Y))
            rows += sorted(inside, key=lambda row: -scores[row])[:k]
    return np.sort(rows)


def test_select_fits_the_pool_of_the_round_before() -> None:
    ranker = SelectPAp(3, C=10.0, max_rounds=4).fit(X, Y, QID)
    coef = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000).fit(X, Y).coef_[0]
    values: list[float] = []
    for _ in range(ranker.n_iter_):
        rows = pool(X @ coef, 3)
        peer = LogisticRegression(C=10.0, tol=1e-10, max_iter=10_000)
        coef = peer.fit(X[rows], Y[rows]).coef_[0]
        values.append(pap(X @ coef))
    assert ranker.history_["measure"].tolist() == pytest.approx(values)
    assert ranker.score(X, Y, QID) == max(ranker.history_["measure"])
    assert ranker.best_iteration_ == int(np.argmax(values))


def test_select_stops_at_a_pool_it_has_seen() -> None:
    ranker = SelectPAp(3, max_rounds=1000).fit(X, Y, QID)
    assert ranker.stop_reason_ == "repeated"
    assert ranker.n_iter_ < 1000
    short = SelectPAp(3, max_rounds=1).fit(X, Y, QID)
    assert (short.stop_reason_, short.n_iter_) == ("max_rounds", 1)


def test_select_pools_all_of_groups_with_few_rows() -> None:
    """Where k takes all rows of every group, the pool is all rows: logistic regression."""
    rows = np.concatenate([np.flatnonzero(g == QID)[:8] for g in range(12)])
    data = X[rows], Y[rows], QID[rows]
    ranker = SelectPAp(8, clip=True).fit(*data)
    kept = np.isin(data[2], data[2][data[1] > 0])  # a group without positives has no pool
    peer = LogisticRanker().fit(data[0][kept], data[1][kept])
    np.testing.assert_allclose(ranker.coef_, peer.coef_, atol=1e-9)
    assert (ranker.stop_reason_, ranker.n_iter_) == ("repeated", 1)


def test_select_starts_at_random_where_asked() -> None:
    first, same, other = (
        SelectPAp(3, start="normal", max_rounds=1, random_state=seed).fit(X, Y, QID).coef_
        for seed in (0, 0, 1)
    )
    assert first.tobytes() == same.tobytes()
    assert not np.allclose(first, other)


def test_select_keeps_the_round_that_is_best_on_the_evaluation_set() -> None:
    ranker = SelectPAp(3, start="normal").fit(X, Y, QID, eval_set=EVAL)
    assert ranker.score(*EVAL) == max(ranker.history_["measure"])
    assert ranker.history_["measure"][-1] < max(ranker.history_["measure"])


def test_svm_pauc_minimises_the_mean_hinge() -> None:
    ranker = SVMpAUC(3, C=10.0, tol=1e-6).fit(X, Y, QID)
    loss = PAUCHinge(3)
    values, _ = loss.value_and_grad(ranker.predict(X), loss.prepare(Y, Groups.from_qid(QID)))
    penalty = ranker.coef_ @ ranker.coef_ / (2 * 10.0)
    assert ranker.objective_ == pytest.approx(np.nanmean(values) + penalty)
    assert ranker.stop_reason_ == "converged"
    assert 0 <= ranker.gap_ <= 1e-6
    for step in np.random.default_rng(0).standard_normal((50, 4)):
        moved = ranker.coef_ + 0.1 * step
        values, _ = loss.value_and_grad(X @ moved, loss.prepare(Y, Groups.from_qid(QID)))
        assert np.nanmean(values) + moved @ moved / 20 >= ranker.objective_ - ranker.gap_


def test_svm_pauc_stops_once_no_ordering_exceeds_the_slack_by_more() -> None:
    fine, coarse = (SVMpAUC(3, C=10.0, tol=tol).fit(X, Y, QID) for tol in (1e-6, 1e-2))
    assert coarse.n_iter_ < fine.n_iter_
    assert coarse.gap_ <= 1e-2


def test_svm_pauc_says_that_it_ran_out_of_planes() -> None:
    with pytest.warns(ConvergenceWarning, match=r"SVMpAUC stopped at max_iter=3.*> tol=0\.0001"):
        ranker = SVMpAUC(3, C=100.0, max_iter=3).fit(X, Y, QID)
    assert (ranker.stop_reason_, ranker.n_iter_) == ("max_iter", 3)


def test_svm_pauc_with_an_evaluation_set_keeps_its_best_iterate() -> None:
    ranker = SVMpAUC(3, C=100.0).fit(X, Y, QID, eval_set=EVAL)
    seen = ranker.history_["validation"]
    assert ranker.best_iteration_ == int(np.argmax(seen))
    assert ranker.score(*EVAL) == seen.max()
    patient = SVMpAUC(3, C=100.0, patience=2).fit(X, Y, QID, eval_set=EVAL)
    assert patient.stop_reason_ == "patience"
    assert patient.n_iter_ == patient.best_iteration_ + 1 + 2


def test_svm_pauc_has_no_negative_slack() -> None:
    """At zero the plane is 1 - 2 w, between mean scores 2.5 and 0.5; its slack ends at w = 1/2."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning):
        ranker = SVMpAUC(1, C=100.0, max_iter=2).fit(X, y, group=[4])
    assert ranker.coef_ == pytest.approx([1 / 2], abs=1e-4)


def test_svm_pauc_ranks_even_where_zero_is_the_minimum() -> None:
    """Labels that features do not explain: short coefficients rather than all ties."""
    noise = np.random.default_rng(5).integers(0, 2, 300).astype(float)
    ranker = SVMpAUC(3, C=10.0).fit(X, noise, QID)
    assert 0 < np.linalg.norm(ranker.coef_) < 0.1
    assert ranker.objective_ == pytest.approx(1.0, abs=2e-4)
