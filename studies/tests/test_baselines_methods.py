"""Each baseline is the method it is named after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from podium.groups import Groups
from podium.metrics import parse
from podium.rankers.validation import validator
from podium.ranking import Ranking
from podium.testing.contracts import LossContract, loss_cases
from podium_studies.hiranandani2020.baselines import (
    GreedyPAp,
    PrecisionAverage,
    SelectPAp,
    SVMpAUC,
)
from podium_studies.hiranandani2020.surrogates import PAUCHinge


def problem(seed: int = 0, n: int = 300, noise: float = 1.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    utility = X @ np.array([1.0, -0.5, 0.0, 0.3]) + noise * rng.standard_normal(n)
    return X, (utility > 0.8).astype(float), np.arange(n) % 12


X, Y, QID = problem()


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


def greedy_bases(model: GreedyPAp, y: Any = Y) -> Iterator[Any]:
    """Yield the base classifiers' coefficients, drawn again as the docstring says."""
    rng = np.random.default_rng(model.random_state)
    for i in range(model.n_base):
        weights = np.ones(12) if i == 0 else np.bincount(rng.integers(0, 12, 12), minlength=12)
        peer = LogisticRegression(C=model.C, tol=1e-10, max_iter=10_000)
        yield peer.fit(X, y, sample_weight=weights[QID].astype(float)).coef_[0]


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
