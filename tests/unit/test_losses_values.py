from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups


def exact_tight_struct(k: int, **kw: Any) -> losses.PApTightStruct:
    return losses.PApTightStruct(k, exact=True, **kw)


PAP = [
    losses.PApRamp,
    losses.PApAverage,
    losses.PApMax,
    losses.PApTightStruct,
    exact_tight_struct,
]

# Three positives at 2, 0.5 and -1; three negatives at 1, 0 and -3; k = 2, so beta = 2.
SCORES = np.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
RELEVANCE = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
HINGES = {  # (1 - s + t)+ for t = 1 and t = 0
    2.0: (1 - 2 + 1, 0.0),
    0.5: (1 - 0.5 + 1, 1 - 0.5 + 0),
    -1.0: (1 + 1 + 1, 1 + 1 + 0),
}


def run(loss: Any, scores: Any = SCORES, relevance: Any = RELEVANCE, **kw: Any) -> Any:
    target = loss.prepare(np.asarray(relevance), Groups.single(len(relevance)), **kw)
    return loss.value_and_grad(np.asarray(scores), target)


def test_ramp_value_and_gradient() -> None:
    values, grad = run(losses.PApRamp(2))
    assert values[0] == pytest.approx((sum(HINGES[2.0]) + sum(HINGES[0.5])) / (2 * 2))
    # (2, 1) lies on the margin and counts; (0.5, 1) and (0.5, 0) err.
    np.testing.assert_allclose(grad, np.array([-1, 2, -2, 1, 0, 0]) / 4)


def test_exact_tight_struct_pools_around_the_top() -> None:
    """Positives at .5, .4 and .3 against two at 0, k = 2: less the margin, -.5, -.6 and .3."""
    scores, relevance = np.array([0.5, 0.4, 0.3, 0.0, 0.0]), np.array([1.0, 1, 1, 0, 0])
    values, grad = run(exact_tight_struct(2), scores, relevance)
    # -.6 < .3 meet at their mean -.15, which is above -.5: all three are pooled, mean -.8 / 3.
    assert values[0] == pytest.approx(2 * (0.5 + 0.6 - 0.3) / (2 * 2))
    np.testing.assert_allclose(grad, np.array([-2, -2, -2, 3, 3]) / 4)
    # Algorithm 2 lets the third positive off on its own.
    values, grad = run(losses.PApTightStruct(2), scores, relevance)
    assert values[0] == pytest.approx(2 * (0.5 + 0.6) / (2 * 2))
    np.testing.assert_allclose(grad, np.array([-2, -2, 0, 2, 2]) / 4)


@pytest.mark.parametrize("cls", PAP)
def test_rows_outside_the_top_have_a_gradient_of_zero(cls: Any) -> None:
    """Exactly 0, so that a solver may pass over them; only the loose surrogate reaches further."""
    rng = np.random.default_rng(3)
    scores, relevance = rng.standard_normal(60), np.repeat([1.0, 0.0], 30)
    grad = run(cls(4), scores, relevance)[1]
    negatives = scores[30:]
    below = negatives < np.sort(negatives)[-4]
    assert np.count_nonzero(grad[30:][below]) == 0
    assert np.count_nonzero(grad[30:][~below]) == 4


@pytest.mark.parametrize("cls", PAP)
def test_all_are_one_at_equal_scores(cls: Any) -> None:
    assert run(cls(2), np.zeros(6))[0][0] == 1.0


@pytest.mark.parametrize("cls", PAP)
def test_equal_scores_share_the_gradient(cls: Any) -> None:
    """All rows tie: every negative is as good a candidate for the top as any other."""
    grad = run(cls(1), np.zeros(6))[1]
    # Tight-struct counts the two lower positives as well: a tie is on their margin of 0. Pooled,
    # all three are in error. The loose one counts all nine pairs, by a ninth each.
    pairs = 3 if cls in (losses.PApTightStruct, exact_tight_struct) else 1
    np.testing.assert_allclose(grad, np.where(RELEVANCE > 0, -1, 1) * pairs / 3)


@pytest.mark.parametrize("cls", PAP)
def test_clip_uses_the_negatives_there_are(cls: Any) -> None:
    scores, relevance = np.array([0.5, 0.0, -0.5]), np.array([1.0, 0.0, 0.0])
    clipped = run(cls(10, clip=True), scores, relevance)
    exact = run(cls(2), scores, relevance)
    assert clipped[0][0] == exact[0][0] == pytest.approx((0.5 + 0.0) / 2)
    np.testing.assert_array_equal(clipped[1], exact[1])


def test_min_relevance_decides_what_is_positive() -> None:
    grades = np.array([2.0, 1.0, 0.0])
    graded = run(losses.PApRamp(1, min_relevance=2), [0.5, 0.0, -9.0], grades)
    assert graded[0][0] == pytest.approx(1 - 0.5 + 0.0)


def test_why_undefined_counts_what_is_missing() -> None:
    loss = losses.PApRamp(2)
    target = loss.prepare(np.array([1.0, 0, 0, 0]), Groups.from_qid([0, 0, 1, 1]))
    text = loss.why_undefined(target)
    assert "2 negatives in a group. Groups without a positive: 1, with too few negatives: 1" in text


def test_logistic_is_exact_at_extreme_scores() -> None:
    values, grad = run(losses.Logistic(), [1e4, 1e4, -1e4, -1e4], [1.0, 0.0, 1.0, 0.0])
    assert values[0] == (0 + 1e4 + 1e4 + 0) / 4
    np.testing.assert_array_equal(grad, np.array([0, 1, -1, 0]) / 4)


def test_logistic_per_row_and_per_group() -> None:
    relevance, qid = np.array([1.0, 0.0, 0.0]), np.array([0, 1, 1])
    scores = np.array([1.0, 2.0, 3.0])
    rows = np.log1p(np.exp([-1.0, 2.0, 3.0]))
    for per, expected in (("row", rows.mean()), ("group", (rows[0] + rows[1:].mean()) / 2)):
        loss = losses.Logistic(per=per)
        values = loss.value_and_grad(scores, loss.prepare(relevance, Groups.from_qid(qid)))[0]
        assert values.mean() == pytest.approx(expected)


def test_curvature_of_pairs_is_twice_their_weight() -> None:
    loss = losses.PApRamp(2)
    target = loss.prepare(RELEVANCE, Groups.single(6))
    bound = loss.curvature(SCORES, target)
    # Two pairs of weight 1/4 for each selected row; the rest gets a floor below that.
    np.testing.assert_allclose(bound[[0, 1, 2, 3]], 2 * 2 / 4)
    assert (bound[[4, 5]] < 1e-3).all()


@pytest.mark.parametrize("cls", PAP)
def test_a_pair_on_the_margin_counts(cls: Any) -> None:
    values, grad = run(cls(1), [1.0, 0.0], [1.0, 0.0])
    assert values[0] == 0.0
    np.testing.assert_array_equal(grad, [-1.0, 1.0])


def test_logistic_curvature_is_the_second_derivative() -> None:
    loss = losses.Logistic()
    target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    bound = loss.curvature(np.array([0.0, np.log(3.0), 800.0]), target)
    np.testing.assert_allclose(bound[:2], np.array([1 / 2 * 1 / 2, 3 / 4 * 1 / 4]) / 3)
    assert 0 < bound[2] < 1e-15
