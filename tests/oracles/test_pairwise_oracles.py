"""The losses of pairs against double loops over rows, as their definitions read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups

Case = tuple[Any, Any, Any]  # scores, relevance, qid

# The cost of a difference, its slope (a pair on the margin counts), and what bounds its bend.
COSTS: dict[str, tuple[Callable[[float], float], ...]] = {
    "pairwise-hinge": (
        lambda d: max(0.0, 1.0 - d),
        lambda d: -1.0 if 1.0 - d >= 0 else 0.0,
        lambda d: 1.0,
    ),
    "pairwise-logistic": (
        lambda d: max(-d, 0.0) + math.log1p(math.exp(-abs(d))),
        lambda d: -math.exp(-(max(d, 0.0) + math.log1p(math.exp(-abs(d))))),
        lambda d: math.exp(-abs(d) - 2 * math.log1p(math.exp(-abs(d)))),
    ),
}
NAMES = list(COSTS)


def cases(seed: int, n_cases: int = 60) -> Iterator[Case]:
    """Yield groups of up to 12 rows with two to five levels; scores on a grid or real."""
    for i in range(n_cases):
        rng = np.random.default_rng([seed, i])
        n = int(rng.integers(1, 25))
        grades = np.array([0.0, 0.5, 1.0, 2.0, 7.0])[: int(rng.integers(2, 6))]
        scores = rng.integers(-6, 7, n) / 4 if i % 2 else 3.0 * rng.standard_normal(n)
        yield scores, rng.choice(grades, n), rng.integers(0, 3, n)


def expected(name: str, scores: Any, relevance: Any, qid: Any) -> tuple[Any, Any, Any]:
    """Return values by group, and gradient and bound of their mean, by loops over pairs."""
    cost, slope, bend = COSTS[name]
    labels = np.unique(qid)
    values = np.full(labels.size, np.nan)
    grad, bound = np.zeros(scores.size), np.zeros(scores.size)
    for g, label in enumerate(labels):
        rows = np.flatnonzero(qid == label)
        pairs = [(i, j) for i in rows for j in rows if relevance[i] > relevance[j]]
        if not pairs:
            continue
        differences = [float(scores[i] - scores[j]) for i, j in pairs]
        values[g] = math.fsum(map(cost, differences)) / len(pairs)
        for (i, j), d in zip(pairs, differences, strict=True):
            grad[i] += slope(d) / len(pairs)
            grad[j] -= slope(d) / len(pairs)
            bound[[i, j]] += 2 * bend(d) / len(pairs)
    n_defined = max(1, int(np.count_nonzero(~np.isnan(values))))
    return values, grad / n_defined, bound / n_defined


def test_cases_have_ties_kinks_levels_and_groups_without_pairs() -> None:
    drawn = list(cases(0))
    scores = [s for s, _, _ in drawn]
    assert any(np.unique(s).size < s.size for s in scores)
    assert any((np.subtract.outer(s, s) == 1).any() for s in scores)
    assert {np.unique(y).size for _, y, _ in drawn} >= {1, 2, 3, 4, 5}
    undefined = [np.isnan(expected("pairwise-hinge", *case)[0]) for case in drawn]
    assert any(u.any() for u in undefined)
    assert any(not u.any() for u in undefined)


@pytest.mark.parametrize("name", NAMES)
def test_loss_is_its_double_loop(name: str) -> None:
    loss: Any = losses.get(name)
    for scores, relevance, qid in cases(0):
        target = loss.prepare(relevance, Groups.from_qid(qid))
        values, grad, bound = loss.value_grad_and_curvature(scores, target)
        wanted, wanted_grad, wanted_bound = expected(name, scores, relevance, qid)
        np.testing.assert_allclose(values, wanted, rtol=1e-12)
        np.testing.assert_allclose(grad, wanted_grad, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(bound, np.maximum(wanted_bound, bound.min()), rtol=1e-11)
        np.testing.assert_array_equal(loss.value_and_grad(scores, target)[1], grad)
        np.testing.assert_array_equal(loss.curvature(scores, target), bound)


@pytest.mark.parametrize("name", NAMES)
def test_long_lists_of_many_levels_are_their_double_loops(name: str) -> None:
    """Long enough for the sort to merge, and for more levels than a few."""
    rng = np.random.default_rng(3)
    relevance, qid = rng.integers(0, 40, 150) / 3, np.zeros(150, np.int64)
    for scores in (rng.standard_normal(150), rng.integers(0, 9, 150) / 2):
        loss: Any = losses.get(name)
        values, grad = loss.value_and_grad(scores, loss.prepare(relevance, Groups.from_qid(qid)))
        wanted, wanted_grad, _ = expected(name, scores, relevance, qid)
        np.testing.assert_allclose(values, wanted, rtol=1e-12)
        np.testing.assert_allclose(grad, wanted_grad, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", ["pairwise-hinge", "pairwise-logistic"])
@pytest.mark.parametrize("spread", [1e-3, 40.0, 290.0, 310.0, 1000.0])
def test_scores_however_far_apart(name: str, spread: float) -> None:
    loss: Any = losses.get(name)
    rng = np.random.default_rng(4)
    relevance, qid = np.array([2.0, 2, 1, 1, 0, 0, 0]), np.zeros(7, np.int64)
    target = loss.prepare(relevance, Groups.from_qid(qid))
    for scores in (
        spread * (relevance - 1),
        -spread * (relevance - 1),
        spread * rng.uniform(-1, 1, 7),
    ):
        values, grad = loss.value_and_grad(scores, target)
        wanted, wanted_grad, _ = expected(name, scores, relevance, qid)
        np.testing.assert_allclose(values, wanted, rtol=2e-13, atol=1e-300)
        np.testing.assert_allclose(grad, wanted_grad, rtol=1e-12, atol=1e-300)
