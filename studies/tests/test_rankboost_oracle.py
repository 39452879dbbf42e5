"""RankBoost against its definition: every pair stored, every feature and threshold tried."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from podium_studies.xia2009.rankboost import RankBoost

Problem = tuple[Any, Any, Any]  # X, y, qid


def problems(n: int = 12) -> Iterator[Problem]:
    """Yield rows with tied values, constant features, several levels and groups without pairs."""
    for seed in range(n):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, (24, 4)) / 2 if seed % 2 else rng.standard_normal((24, 4))
        X[:, 2] = 1.0
        utility = X @ [1.0, -0.5, 0.0, 0.2] + 0.8 * rng.standard_normal(24)
        y = np.digitize(utility, [-0.5, 0.7]).astype(float)
        qid = rng.integers(0, 4, 24)
        y[qid == 3] = 1.0
        yield X, y, qid


def pairs_of(y: Any, qid: Any) -> list[tuple[int, int]]:
    rows = range(len(y))
    return [(i, j) for i in rows for j in rows if qid[i] == qid[j] and y[i] > y[j]]


def first_weights(pairs: list[tuple[int, int]], qid: Any, per: str) -> Any:
    sizes = {g: sum(qid[i] == g for i, _ in pairs) for g in set(qid)}
    weights = np.array([1.0 if per == "pair" else 1.0 / sizes[qid[i]] for i, _ in pairs])
    return weights / weights.sum()


def correlation(pairs: list[tuple[int, int]], weights: Any, h: Any) -> float:
    return math.fsum(
        w * (float(h[i]) - float(h[j])) for (i, j), w in zip(pairs, weights, strict=True)
    )


def thresholds(X: Any) -> Iterator[tuple[int, float]]:
    for f in range(X.shape[1]):
        values = sorted(set(X[:, f].tolist()))
        yield from ((f, (a + b) / 2) for a, b in itertools.pairwise(values))


def test_problems_have_levels_ties_and_groups_without_pairs() -> None:
    drawn = list(problems())
    assert all(np.unique(y).size == 3 for _, y, _ in drawn)
    assert any(np.unique(X[:, 0]).size < 10 for X, _, _ in drawn)
    assert all(np.unique(y[qid == 3]).size == 1 for _, y, qid in drawn)


@pytest.mark.parametrize("per", ["pair", "group"])
def test_every_round_is_the_best_of_all_thresholds(per: str) -> None:
    n_rounds = 0
    for X, y, qid in problems():
        ranker = RankBoost(8, per=per).fit(X, y, qid)
        pairs = pairs_of(y, qid)
        first = first_weights(pairs, qid, per)
        used = X[np.isin(qid, [qid[i] for i, _ in pairs])]
        scores = np.zeros(len(y))
        for t in range(ranker.n_iter_):
            costs = np.array([math.exp(scores[j] - scores[i]) for i, j in pairs])
            weights = first * costs / (first * costs).sum()
            every = {(f, c): correlation(pairs, weights, X[:, f] > c) for f, c in thresholds(used)}
            h = X[:, ranker.feature_[t]] > ranker.threshold_[t]
            r = correlation(pairs, weights, h)
            assert abs(r) == pytest.approx(max(map(abs, every.values())), abs=1e-12)
            assert (int(ranker.feature_[t]), float(ranker.threshold_[t])) in every
            assert ranker.history_["correlation"][t] == pytest.approx(r, abs=1e-12)
            assert ranker.alpha_[t] == pytest.approx(math.log((1 + r) / (1 - r)) / 2, rel=1e-9)
            scores += ranker.alpha_[t] * h
            loss = math.fsum(
                w * math.exp(scores[j] - scores[i]) for (i, j), w in zip(pairs, first, strict=True)
            )
            assert ranker.history_["objective"][t] == pytest.approx(loss, rel=1e-11)
            n_rounds += 1
        np.testing.assert_allclose(ranker.predict(X), scores, atol=1e-12)
    assert n_rounds > 80


def test_first_of_equal_thresholds_is_the_first_features_highest() -> None:
    # Each feature has two thresholds with r = 1/2 * (1 - 0) each; the second copies the first.
    column = np.array([0.0, 1.0, 2.0])
    X, y = np.column_stack([np.ones(3), column, column]), np.array([0.0, 1.0, 2.0])
    every = {
        c: correlation(pairs_of(y, [0] * 3), np.full(3, 1 / 3), column > c) for c in (0.5, 1.5)
    }
    assert every[0.5] == every[1.5]
    ranker = RankBoost(1, one_group=True).fit(X, y)
    assert (int(ranker.feature_[0]), float(ranker.threshold_[0])) == (1, 1.5)


@pytest.mark.parametrize("n_thresholds", [1, 2, 5, 9])
def test_few_thresholds_lie_at_equal_counts_of_rows(n_thresholds: int) -> None:
    """Twenty distinct values: with m thresholds, the i-th has 20 i / (m + 1) of them below."""
    X = np.random.default_rng(0).permutation(20.0 + np.arange(20))[:, None]
    for row in range(20):  # one relevant row above one threshold at most: each is learned sometimes
        y = (np.arange(20) == row).astype(float)
        ranker = RankBoost(30, n_thresholds=n_thresholds, one_group=True).fit(X, y)
        below = {math.ceil(20 * i / (n_thresholds + 1)) for i in range(1, n_thresholds + 1)}
        assert {int((X[:, 0] < c).sum()) for c in ranker.threshold_} <= below
