from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups
from podium.testing import loss_oracles


def run(loss: Any, scores: Any, relevance: Any, qid: Any = None, **kw: Any) -> Any:
    groups = Groups.single(len(scores)) if qid is None else Groups.from_qid(qid)
    target = loss.prepare(np.asarray(relevance, float), groups, **kw)
    return loss.value_and_grad(np.asarray(scores, float), target)


def test_soft_labels_that_fit_have_no_gradient() -> None:
    scores = np.array([-2.0, 0.0, 0.5, 3.0])
    chances = 1 / (1 + np.exp(-(scores - 0.7)))
    values, grad = run(losses.GroupLogistic(soft=True), scores, chances)
    entropy = -chances * np.log(chances) - (1 - chances) * np.log(1 - chances)
    assert values[0] == pytest.approx(entropy.mean())
    np.testing.assert_allclose(grad, 0.0, atol=1e-16)


def test_mean_over_groups_is_per_row_or_per_group() -> None:
    rng = np.random.default_rng(0)
    qid = np.repeat([0, 1], [2, 6])
    scores, relevance = rng.standard_normal(8), np.array([1.0, 0, 1, 0, 0, 1, 0, 0])
    sums = [
        loss_oracles.group_logistic(scores[qid == g].tolist(), relevance[qid == g].tolist())
        for g in (0, 1)
    ]
    per_row, per_group = (
        run(losses.GroupLogistic(per=per), scores, relevance, qid)[0].mean()
        for per in ("row", "group")
    )
    assert per_row == pytest.approx(sum(sums) / 8)
    assert per_group == pytest.approx((sums[0] / 2 + sums[1] / 6) / 2)


@pytest.mark.parametrize("per", ["row", "group"])
def test_weight_of_a_row_is_repetition(per: Any) -> None:
    rng = np.random.default_rng(1)
    scores, relevance, weights = (
        rng.standard_normal(6),
        np.array([1.0, 0, 0, 1, 0, 0]),
        [1, 3, 0, 2, 1, 1],
    )
    loss = losses.GroupLogistic(per=per)
    weighted = run(loss, scores, relevance, weights=np.array(weights, float))
    rows = np.repeat(np.arange(6), weights)
    copied = run(loss, scores[rows], relevance[rows])
    assert weighted[0][0] == pytest.approx(copied[0][0])
    np.testing.assert_allclose(weighted[1], np.bincount(rows, copied[1], 6), atol=1e-15)


def test_weight_on_one_class_only_leaves_a_group_out() -> None:
    values, grad = run(losses.GroupLogistic(), [1.0, 2.0], [1, 0], weights=np.array([1.0, 0.0]))
    assert np.isnan(values[0])
    np.testing.assert_array_equal(grad, 0.0)


def test_one_far_row_does_not_disturb_the_rest() -> None:
    """A negative 5000 below adds nothing to value or gradient, whatever the path taken."""
    scores, relevance = np.array([0.3, -0.2, 1.1, 0.4]), np.array([1.0, 0, 0, 1])
    near = run(losses.GroupLogistic(), scores, relevance)
    far = run(losses.GroupLogistic(), np.append(scores, -5000.0), np.append(relevance, 0.0))
    assert 5 * far[0][0] == pytest.approx(4 * near[0][0], rel=1e-13)
    np.testing.assert_allclose(5 * far[1][:4], 4 * near[1], rtol=1e-12)
    assert far[1][4] < 1e-290


def test_weight_of_zero_is_group_logistic_to_the_bit() -> None:
    rng = np.random.default_rng(4)
    qid = np.sort(rng.integers(0, 9, 200))
    relevance = np.where(np.arange(200) % 3 == 0, 1.0, 0.0)
    order = np.lexsort((-relevance, qid))  # both then add up rows in one order
    scores, relevance = rng.standard_normal(200), relevance[order]
    weights = 1.0 + qid
    without, plain = (
        run(loss, scores, relevance, qid, weights=weights)
        for loss in (losses.PApLogistic(5, weight=0.0), losses.GroupLogistic())
    )
    np.testing.assert_array_equal(without[0], plain[0])
    np.testing.assert_array_equal(without[1], plain[1])
    assert losses.PApLogistic(5, weight=0.0).convex


def far_value(scores: list[float], positive: list[int]) -> float:
    """Minimise over b by bisection from the scores themselves, between which it must lie."""

    def cost(anchor: float, b: float) -> float:
        total = 0.0
        for score, yes in zip(scores, positive, strict=True):
            x = (score - anchor) + b
            wrong = -x if yes else x
            total += max(wrong, 0.0) + math.log1p(math.exp(-abs(wrong)))
        return total

    best = math.inf
    for anchor in set(scores):
        low, high = -60.0, 60.0
        for _ in range(200):
            third = (high - low) / 3.0
            if cost(anchor, low + third) < cost(anchor, high - third):
                high -= third
            else:
                low += third
        best = min(best, cost(anchor, low))
    return best


@pytest.mark.parametrize("far", [701.0, 1e4, 1e12, 1e77, 1e155, 1e300, 1e307])
def test_best_intercept_is_found_among_scores_that_lie_far_apart(far: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        scores = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 9) * far
        scores += rng.standard_normal(9)
        positive = rng.integers(0, 2, 9)
        positive[:2] = 0, 1
        loss = losses.GroupLogistic()
        target = loss.prepare(positive.astype(float), Groups.single(9))
        values, grad = loss.value_and_grad(scores, target)
        expected = far_value(scores.tolist(), positive.tolist()) / 9.0
        np.testing.assert_allclose(values[0], expected, rtol=1e-9, atol=1e-290)
        assert abs(grad.sum()) < 1e-12
