"""LambdaRank against swaps of rows one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.oracles import swap_oracles as oracles

from podium import losses
from podium.groups import Groups


class Case(NamedTuple):
    scores: list[float]
    grades: list[float]
    k: int


def cases(seed: int = 0, n_cases: int = 30) -> Iterator[Case]:
    """Yield lists of 2 to 7 rows of several grades; half of them have tied scores."""
    for i in range(n_cases):
        rng = np.random.default_rng([seed, i])
        n = int(rng.integers(2, 8))
        grades = rng.choice([0.0, 0.0, 1.0, 2.0, 4.0], n)
        grades[:2] = 0.0, 1.0
        scores = rng.integers(-1, 2, n) / 2 if i % 2 else 2.0 * rng.standard_normal(n)
        yield Case(scores.tolist(), rng.permutation(grades).tolist(), int(rng.integers(1, 6)))


def run(loss: Any, scores: Any, grades: Any) -> tuple[float, Any, Any]:
    target = loss.prepare(np.asarray(grades, float), Groups.single(len(scores)))
    values, grad, bound = loss.value_grad_and_curvature(np.asarray(scores, float), target)
    return float(values[0]), grad, bound


def test_cases_have_ties_and_cutoffs_within_and_beyond_the_list() -> None:
    drawn = list(cases())
    assert sum(len(set(c.scores)) < len(c.scores) for c in drawn) > 10
    assert sum(len(set(c.scores)) == len(c.scores) for c in drawn) > 10
    assert any(c.k > len(c.scores) for c in drawn)
    assert any(1 < c.k < len(c.scores) - 1 for c in drawn)
    assert max(len(list(oracles.worst_orders(c.scores, c.grades))) for c in drawn) >= 6


@pytest.mark.parametrize("cut", [True, False])
def test_weight_is_the_change_of_ndcg_by_a_swap(*, cut: bool) -> None:
    for case in cases():
        k = case.k if cut else None
        value, grad, bound = run(losses.LambdaRank(k, 1.5), case.scores, case.grades)
        expected = oracles.lambda_loss(case.scores, case.grades, k, 1.5)
        assert value == pytest.approx(expected[0], abs=1e-12)
        np.testing.assert_allclose(grad, expected[1], atol=1e-12)
        np.testing.assert_allclose(bound, expected[2], atol=1e-12)


def test_weight_with_linear_gain_is_the_change_of_that_ndcg() -> None:
    for case in cases(1, 10):
        loss = losses.LambdaRank(case.k, gain="linear")
        expected = oracles.lambda_loss(case.scores, case.grades, case.k, gain="linear")
        assert run(loss, case.scores, case.grades)[0] == pytest.approx(expected[0], abs=1e-12)


def test_long_lists_have_the_weights_of_a_loop_over_swaps() -> None:
    """The change is compared on a list of 40 rows, with two cutoffs."""
    rng = np.random.default_rng(3)
    scores, grades = rng.standard_normal(40), (rng.random(40) < 0.3) * 1.0
    for k in (3, 25):
        loss = losses.LambdaRank(k)
        target: Any = loss.prepare(grades, Groups.single(40))
        order, mark, depth = loss.hold(scores, target).marks
        for p, q in [(0, 1), (0, 39), (2, 3), (2, 30), (5, 12), (24, 25), (30, 38)]:
            i, j = int(order[p]), int(order[q])
            worth = abs(target.worth[i] - target.worth[j])
            weight = worth * (mark[p] - mark[q]) if p < depth[0] else 0.0
            places = tuple(order.tolist())
            before, after = (
                oracles.ndcg_of(o, grades.tolist(), k, "exp2")
                for o in (places, oracles.swapped(places, i, j))
            )
            assert weight == pytest.approx(abs(after - before), abs=1e-14)


def test_lambdarank_has_the_same_value_on_both_sides_of_its_switch() -> None:
    """Scores up to 300 apart use two exponentials per row, others one per pair."""
    scores, grades = np.array([0.0, 1.0, 0.5, -299.0]), [1.0, 0.0, 2.0, 0.0]
    near = run(losses.LambdaRank(), scores, grades)
    far = run(losses.LambdaRank(), scores - [0, 0, 0, 10.0], grades)
    for near_result, far_result in zip(near, far, strict=True):
        np.testing.assert_allclose(near_result, far_result, rtol=1e-12, atol=1e-16)
