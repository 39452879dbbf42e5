"""The losses that only studies use: values by hand, by loops, and at scores of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import robust_oracles as oracle

from podium.groups import Groups
from podium_studies.xia2009.exponential import PairwiseExponential
from podium_studies.yun2014.robust_binary import RobustBinary

EXPONENTIAL = PairwiseExponential()
TYPES: Any = (1, 2, "identity")
every = pytest.mark.parametrize("kind", TYPES)


def run(loss: Any, scores: Any, relevance: Any, qid: Any = None, **kw: Any) -> Any:
    groups = Groups.single(len(scores)) if qid is None else Groups.from_qid(qid)
    target = loss.prepare(np.asarray(relevance, float), groups, **kw)
    return loss.value_and_grad(np.asarray(scores, float), target)


def rows_with_grades() -> Iterator[tuple[Any, Any, Any]]:
    """Yield groups of up to 15 rows with several grades; scores on a grid or real."""
    for i in range(40):
        rng = np.random.default_rng([1, i])
        n = int(rng.integers(1, 30))
        grades = np.array([0.0, 0.5, 1.0, 2.0, 7.0])[: int(rng.integers(2, 6))]
        scores = rng.integers(-6, 7, n) / 4 if i % 2 else 3.0 * rng.standard_normal(n)
        yield scores, rng.choice(grades, n), rng.integers(0, 3, n)


def test_exponential_is_its_loop_over_pairs() -> None:
    for scores, relevance, qid in rows_with_grades():
        target = EXPONENTIAL.prepare(relevance, Groups.from_qid(qid))
        values, grad = EXPONENTIAL.value_and_grad(scores, target)
        expected, slopes = [], np.zeros(scores.size)
        for label in np.unique(qid):
            rows = np.flatnonzero(qid == label)
            pairs = [(i, j) for i in rows for j in rows if relevance[i] > relevance[j]]
            costs = [math.exp(scores[j] - scores[i]) for i, j in pairs]
            expected.append(math.fsum(costs) / len(pairs) if pairs else math.nan)
            for (i, j), cost in zip(pairs, costs, strict=True):
                slopes[i] -= cost / len(pairs)
                slopes[j] += cost / len(pairs)
        n_defined = max(1, np.count_nonzero(~np.isnan(expected)))
        np.testing.assert_allclose(values, expected, rtol=1e-12)
        np.testing.assert_allclose(grad, slopes / n_defined, rtol=1e-10, atol=1e-300)


def test_exponential_beyond_the_float_range_is_infinite_and_never_nan() -> None:
    scores, relevance = [0.0, 800.0, 1600.0], [2, 1, 0]
    target = EXPONENTIAL.prepare(np.array(relevance, float), Groups.single(3))
    values, grad, bound = EXPONENTIAL.value_grad_and_curvature(np.array(scores), target)
    assert values[0] == np.inf
    np.testing.assert_allclose(grad, np.array([-1e300, 0.0, 1e300]) / 3)
    assert np.isfinite(bound).all()
    # A group of weight zero stays out of it.
    values, grad = run(
        EXPONENTIAL, [0, 800, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1], weights=np.array([0.0, 0, 1, 1])
    )
    np.testing.assert_allclose(values, [0.0, 2 * math.exp(-1)])
    assert np.isfinite(grad).all()


@every
@pytest.mark.parametrize("size", [1e3, 1e280, 9e289])
def test_robust_binary_of_any_finite_scores_is_finite(kind: Any, size: float) -> None:
    loss = RobustBinary(kind)
    values, grad = run(loss, [-size, size, 0.0], [1, 0, 1])
    assert np.isfinite(values).all()
    assert np.isfinite(grad).all()
    value, grad = run(loss, [size, -size], [1, 0])
    assert 0.0 <= value[0] < 1e-300
    assert np.abs(grad).max() < 1e-300


@every
def test_robust_binary_is_its_loop(kind: Any) -> None:
    loss = RobustBinary(kind, min_relevance=0.75)
    for scores, relevance, qid in rows_with_grades():
        groups = Groups.from_qid(qid)
        target = loss.prepare(relevance, groups)
        values, grad, bound = loss.value_grad_and_curvature(scores, target)
        n_groups, weight = groups.n_groups, groups.n_groups / scores.size
        for g, label in enumerate(groups.labels):
            rows = np.flatnonzero(qid == label)
            total = 0.0
            for row in rows:
                y = 1.0 if relevance[row] >= 0.75 else -1.0
                d = y * float(scores[row])
                cost, share = oracle.sigma(d), weight / n_groups
                total += weight * oracle.RHO[kind](cost)
                slope = oracle.RHO_SLOPE[kind](cost)
                wanted = share * y * slope * oracle.sigma_slope(d)
                assert grad[row] == pytest.approx(wanted, rel=1e-13, abs=1e-300)
                bend = max(share * slope * oracle.sigma_curvature(d), 1e-16 / n_groups)
                assert bound[row] == pytest.approx(bend, rel=1e-13)
            assert values[g] == pytest.approx(total, rel=1e-12)


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(st.integers(-8, 8).map(lambda i: i / 2), min_size=1, max_size=9))
def test_robust_binary_bounds_the_share_of_errors(margins: list[float]) -> None:
    """Type 1 and identity bound it, with ties as errors; type 2 bounds it times a tie's cost."""
    errors = float(np.mean([margin <= 0.0 for margin in margins]))
    values = {
        kind: run(RobustBinary(kind), margins, [1] * len(margins))[0][0]
        for kind in (1, 2, "identity")
    }
    assert errors <= min(values[1], values["identity"]) + 1e-12
    assert errors * (1 - 1 / math.log2(3)) <= values[2] + 1e-12
    assert values[2] <= values[1] + 1e-12
