"""The robust losses against double loops over rows, as their definitions read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.oracles import robust_oracles as oracle

from podium import losses
from podium.groups import Groups

TYPES = (1, 2, "identity")
Case = tuple[Any, Any, Any]  # scores, relevance, qid


def cases(seed: int, n_cases: int = 40) -> Iterator[Case]:
    """Yield groups of up to 15 rows with several grades; scores on a grid or real."""
    for i in range(n_cases):
        rng = np.random.default_rng([seed, i])
        n = int(rng.integers(1, 30))
        grades = np.array([0.0, 0.5, 1.0, 2.0, 7.0])[: int(rng.integers(2, 6))]
        scores = rng.integers(-6, 7, n) / 4 if i % 2 else 3.0 * rng.standard_normal(n)
        yield scores, rng.choice(grades, n), rng.integers(0, 3, n)


def expected(loss: Any, scores: Any, relevance: Any, qid: Any) -> tuple[Any, Any, Any]:
    """Return values by group, and gradient and bound of their mean, by loops over pairs."""
    labels = np.unique(qid)
    values = np.full(labels.size, np.nan)
    grad, bound = np.zeros(scores.size), np.zeros(scores.size)
    for g, label in enumerate(labels):
        rows = np.flatnonzero(qid == label)
        grades = relevance[rows].tolist()
        if len(set(grades)) < 2:
            continue
        gains = [2.0**y - 1.0 if loss.gain == "exp2" else y for y in grades]
        scale = 1.0 / oracle.ideal(gains) if loss.normalize else 1.0
        form = (scores[rows].tolist(), gains, loss.type)
        values[g] = scale * oracle.robust_loss(*form)
        slope, bend = oracle.robust_derivatives(*form)
        grad[rows], bound[rows] = scale * np.array(slope), scale * np.array(bend)
    n_defined = max(1, int(np.count_nonzero(~np.isnan(values))))
    return values, grad / n_defined, bound / n_defined


def assert_same(loss: Any, case: Case, rtol: float = 1e-12) -> None:
    scores, relevance, qid = case
    target = loss.prepare(relevance, Groups.from_qid(qid))
    values, grad, bound = loss.value_grad_and_curvature(scores, target)
    wanted, wanted_grad, wanted_bound = expected(loss, *case)
    np.testing.assert_allclose(values, wanted, rtol=rtol, atol=1e-300)
    # Slopes of a row's own pairs and of others' cancel.
    size = float(np.abs(wanted_grad).max(initial=0.0))
    np.testing.assert_allclose(grad, wanted_grad, rtol=10 * rtol, atol=10 * rtol * size)
    np.testing.assert_allclose(bound, np.maximum(wanted_bound, bound.min()), rtol=10 * rtol)
    np.testing.assert_array_equal(loss.value_and_grad(scores, target)[1], grad)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_robirank_is_its_double_loop(kind: Any, normalize: bool, gain: Any) -> None:
    loss = losses.RoBiRank(kind, gain, normalize)
    undefined = 0
    for case in cases(0):
        assert_same(loss, case)
        undefined += int(np.isnan(expected(loss, *case)[0]).sum())
    assert undefined > 0


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("spread", [1e-3, 40.0, 149.0, 151.0, 1000.0])
def test_scores_however_far_apart(kind: Any, spread: float) -> None:
    """On both sides of 300, where powers of 2 of rows give way to those of pairs."""
    relevance, qid = np.array([2.0, 2, 1, 1, 0, 0, 0]), np.zeros(7, np.int64)
    rng = np.random.default_rng(4)
    for scores in (
        spread * (relevance - 1),
        -spread * (relevance - 1),
        spread * rng.uniform(-1, 1, 7),
    ):
        assert_same(losses.RoBiRank(kind), (scores, relevance, qid), rtol=1e-13)


@pytest.mark.long
@pytest.mark.parametrize("kind", TYPES)
def test_long_lists_take_several_logarithms(kind: Any) -> None:
    """Above 512 rows the product of 1 + 2^-|d| is taken in parts; beyond 1024 it would overflow."""
    rng = np.random.default_rng(5)
    for n in (513, 1025):
        scores, relevance = rng.standard_normal(n), np.zeros(n)
        relevance[[3, 8]] = 1.0, 2.0
        assert_same(losses.RoBiRank(kind), (scores, relevance, np.zeros(n, int)))


@pytest.mark.parametrize("kind", TYPES)
def test_hessian_is_below_the_curvature_as_a_matrix(kind: Any) -> None:
    step, least = 1e-5, np.inf
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scores, relevance = rng.standard_normal(8), rng.integers(0, 3, 8).astype(float)
        relevance[:2] = 0.0, 2.0
        loss = losses.RoBiRank(kind)
        target = loss.prepare(relevance, Groups.single(8))
        hessian = np.array(
            [
                loss.value_and_grad(scores + step * e, target)[1]
                - loss.value_and_grad(scores - step * e, target)[1]
                for e in np.eye(8)
            ]
        ) / (2 * step)
        room = np.diag(loss.curvature(scores, target)) - (hessian + hessian.T) / 2
        least = min(least, float(np.linalg.eigvalsh(room).min()))
    assert least > -1e-7
