from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.errors import CostWarning
from podium.groups import Groups
from podium.losses.pairwise import PairwiseHinge, PairwiseLogistic
from podium.losses.pointwise import Squared

HINGE, LOGISTIC = PAIRWISE = (PairwiseHinge(), PairwiseLogistic())

every = pytest.mark.parametrize("loss", PAIRWISE, ids=lambda loss: loss.name)


def run(loss: Any, scores: Any, relevance: Any, qid: Any = None, **kw: Any) -> Any:
    groups = Groups.single(len(scores)) if qid is None else Groups.from_qid(qid)
    target = loss.prepare(np.asarray(relevance, float), groups, **kw)
    return loss.value_and_grad(np.asarray(scores, float), target)


def test_one_pair_costs_what_its_difference_costs() -> None:
    d = 0.25
    for loss, cost, slope in (
        (HINGE, 1 - d, -1.0),
        (LOGISTIC, math.log(1 + math.exp(-d)), -1 / (1 + math.exp(d))),
    ):
        value, grad = run(loss, [3.0 + d, 3.0], [1, 0])
        assert value[0] == pytest.approx(cost, rel=1e-14)
        np.testing.assert_allclose(grad, [slope, -slope], rtol=1e-14)


def test_value_is_the_mean_over_pairs_of_any_different_relevance() -> None:
    # Scores 0, 1, 2 against relevances 2, 1, 0: two pairs wrong by 1, one by 2.
    scores, relevance = [0.0, 1.0, 2.0], [2, 1, 0]
    value, grad = run(HINGE, scores, relevance)
    assert value[0] == pytest.approx((2 + 2 + 3) / 3)
    np.testing.assert_allclose(grad * 3, [-2, 0, 2], atol=1e-15)
    softplus = [math.log(1 + math.exp(d)) for d in (1, 1, 2)]
    assert run(LOGISTIC, scores, relevance)[0][0] == pytest.approx(sum(softplus) / 3)


@every
def test_only_the_order_of_relevances_counts(loss: Any) -> None:
    rng = np.random.default_rng(0)
    scores, grades = rng.standard_normal(20), rng.integers(0, 4, 20)
    one, other = (
        run(loss, scores, relevance) for relevance in (grades, np.array([0, 0.1, 3, 50])[grades])
    )
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


def test_perfectly_ordered_pair_keeps_the_digits_of_a_small_loss() -> None:
    for gap in (40.0, 299.0, 301.0, 700.0):
        for loss in (LOGISTIC,):
            value, grad = run(loss, [gap, 0.0], [1, 0])
            assert value[0] == pytest.approx(math.exp(-gap), rel=1e-13)
            assert grad[1] == -grad[0] == pytest.approx(math.exp(-gap), rel=1e-13)
        value, grad = run(HINGE, [gap, 0.0], [1, 0])
        assert value[0] == 0.0
        assert not grad.any()


def test_product_of_many_large_odds_does_not_overflow() -> None:
    """2,500 pairs wrong by 100 multiply to exp(250,000)."""
    value, grad = run(LOGISTIC, np.repeat([0.0, 100.0], 50), np.repeat([1, 0], 50))
    assert value[0] == pytest.approx(100.0, rel=1e-13)
    np.testing.assert_allclose(grad, np.repeat([-1, 1], 50) / 50, rtol=1e-12)


def test_pair_on_the_margin_counts() -> None:
    value, grad = run(HINGE, [1.0, 0.0], [1, 0])
    assert value[0] == 0.0
    np.testing.assert_array_equal(grad, [-1.0, 1.0])


def test_hinge_keeps_its_digits_far_from_zero_and_beside_far_rows() -> None:
    scores, relevance = np.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0]), [1, 0, 2, 0, 1, 0]
    here, there = run(HINGE, scores, relevance), run(HINGE, scores + 2.0**40, relevance)
    assert here[0][0] == there[0][0]
    np.testing.assert_array_equal(here[1], there[1])
    # A relevant row a billion above everything adds pairs that cost nothing.
    far = run(HINGE, [0.3, 0.0, 1e9], [1, 0, 1])
    assert far[0][0] == (1 - 0.3) / 2


def test_hinge_curvature_counts_the_pairs_of_a_row() -> None:
    target = HINGE.prepare(np.array([2.0, 1.0, 1.0, 0.0]), Groups.single(4))
    bound = HINGE.curvature(np.array([9.0, -9.0, 0.0, 0.0]), target)
    np.testing.assert_allclose(bound, 2 * np.array([3, 2, 2, 3]) / 5)


@every
def test_hinge_and_exponential_bound_the_share_of_wrong_pairs(loss: Any) -> None:
    rng = np.random.default_rng(6)
    below = 0
    for i in range(50):  # the first with all scores equal
        scores, relevance = i * rng.integers(-2, 3, 9) / 50, rng.integers(0, 3, 9)
        upper, lower = np.nonzero(np.greater.outer(relevance, relevance))
        if upper.size:
            wrong = float(np.mean(scores[upper] <= scores[lower]))
            below += run(loss, scores, relevance)[0][0] < wrong - 1e-12
    assert (below > 0) == (loss is LOGISTIC)


def test_squared_is_the_mean_squared_error_by_row_or_by_group() -> None:
    per: Any
    scores, relevance, qid = [1.0, 0.0, 4.0], [3, 0, 1], [0, 0, 1]
    for per, expected in (("row", (4 + 0 + 9) / 3), ("group", ((4 + 0) / 2 + 9 / 1) / 2)):
        values, grad = run(Squared(per), scores, relevance, qid)
        assert values.mean() == pytest.approx(expected)
        share = np.full(3, 1 / 3) if per == "row" else np.array([1 / 4, 1 / 4, 1 / 2])
        np.testing.assert_allclose(grad, 2 * share * np.array([-2.0, 0.0, 3.0]))


def test_squared_curvature_is_its_second_derivative() -> None:
    loss = Squared()
    target = loss.prepare(np.array([2.0, 0.0]), Groups.single(2), weights=np.array([3.0, 1.0]))
    values, grad, bound = loss.value_grad_and_curvature(np.array([1.0, 1.0]), target)
    assert values[0] == (3 * 1 + 1 * 1) / 4
    np.testing.assert_allclose(grad, 2 * np.array([-3.0, 1.0]) / 4)
    np.testing.assert_allclose(bound, 2 * np.array([3.0, 1.0]) / 4)
    np.testing.assert_array_equal(loss.curvature(np.zeros(2), target), bound)


def test_a_billion_pairs_are_told_before_they_are_visited() -> None:
    grades = np.arange(80_000) % 2.0
    one, halves = Groups.single(grades.size), Groups.from_sizes([40_000, 40_000])
    for loss in (
        PairwiseLogistic(),
        losses.RoBiRank(),
        losses.PApLogistic(),
    ):
        with pytest.warns(CostWarning, match=r"[13]\.[26]e\+09 pairs of rows in each evaluation"):
            loss.prepare(grades, one)
    PairwiseLogistic().prepare(grades, halves)
    losses.PApLogistic(300).prepare(grades, one)
    PairwiseHinge().prepare(grades, one)
