from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError, ConvergenceWarning, CostWarning
from podium.groups import Groups
from podium.rankers import LinearRanker

HINGE, LOGISTIC, EXPONENTIAL = PAIRWISE = (
    losses.PairwiseHinge(),
    losses.PairwiseLogistic(),
    losses.PairwiseExponential(),
)

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
        (EXPONENTIAL, math.exp(-d), -math.exp(-d)),
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
    assert run(EXPONENTIAL, scores, relevance)[0][0] == pytest.approx((2 * math.e + math.e**2) / 3)
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


@every
def test_groups_without_a_pair_are_left_out(loss: Any) -> None:
    relevance, qid = [1, 0, 2, 2, 2, 3, 1, 0], [0, 0, 1, 1, 2, 3, 3, 3]
    scores = np.arange(8.0)
    values, grad = run(loss, scores, relevance, qid)
    assert np.isnan(values).tolist() == [False, True, True, False]
    np.testing.assert_array_equal(grad[2:5], 0.0)
    kept = np.array([0, 1, 5, 6, 7])
    alone = run(loss, scores[kept], np.array(relevance)[kept], np.array(qid)[kept])
    np.testing.assert_array_equal(values[[0, 3]], alone[0])
    np.testing.assert_array_equal(grad[kept], alone[1])


@every
def test_why_undefined_counts_groups_without_a_pair(loss: Any) -> None:
    target = loss.prepare(np.ones(3), Groups.from_qid([0, 0, 1]))
    assert not target.defined.any()
    assert np.isnan(loss.value_and_grad(np.zeros(3), target)[0]).all()
    assert (loss.curvature(np.zeros(3), target) > 0).all()
    text = loss.why_undefined(target)
    assert text.startswith(f"{loss.name} needs two rows of different relevance")
    assert "2 of 2 groups have only one row or one relevance" in text
    with pytest.raises(ArgumentError, match="None of the 2 groups can be trained on: pairwise-"):
        LinearRanker(loss).fit(np.eye(3), np.ones(3), [0, 0, 1])


@every
def test_no_rows_and_empty_groups_are_no_error(loss: Any) -> None:
    target = loss.prepare(np.empty(0), Groups.from_sizes([0, 0]))
    values, grad = loss.value_and_grad(np.empty(0), target)
    assert np.isnan(values).all()
    assert grad.size == 0
    target = loss.prepare(np.array([0.0, 1.0, 1.0]), Groups.from_sizes([0, 2, 0, 1]))
    assert target.defined.tolist() == [False, True, False, False]


@every
def test_weights_are_of_groups(loss: Any) -> None:
    scores, relevance, qid = [0.0, 1.0, 0.5, 0.0], [1, 0, 1, 0], [0, 0, 1, 1]
    plain = run(loss, scores, relevance, qid)[0]
    values, grad = run(loss, scores, relevance, qid, weights=np.array([3.0, 3.0, 1.0, 1.0]))
    assert values.mean() == pytest.approx((3 * plain[0] + plain[1]) / 4)
    zero, without = run(loss, scores, relevance, qid, weights=np.array([0.0, 0.0, 1.0, 1.0]))
    assert zero[0] == 0.0
    assert zero.mean() == pytest.approx(plain[1])
    np.testing.assert_array_equal(without[:2], 0.0)
    assert grad.any()
    with pytest.raises(ArgumentError, match="weights must be constant within a group"):
        run(loss, scores, relevance, qid, weights=np.arange(4.0))


def test_perfectly_ordered_pair_keeps_the_digits_of_a_small_loss() -> None:
    for gap in (40.0, 299.0, 301.0, 700.0):
        for loss in (LOGISTIC, EXPONENTIAL):
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


@every
def test_thousands_of_ties_share_the_gradient(loss: Any) -> None:
    relevance = np.repeat([2.0, 1.0, 0.0], [100, 900, 2000])
    scores = np.zeros(3000)
    value, grad = run(loss, scores, relevance)
    cost, slope = {
        "pairwise-hinge": (1.0, 1.0),
        "pairwise-logistic": (math.log(2), 0.5),
        "pairwise-exponential": (1.0, 1.0),
    }[loss.name]
    n_pairs = 100 * 900 + 1000 * 2000
    assert value[0] == pytest.approx(cost, rel=1e-12)
    np.testing.assert_allclose(grad[:100], -slope * 2900 / n_pairs, rtol=1e-12)
    np.testing.assert_allclose(grad[100:1000], slope * (100 - 2000) / n_pairs, rtol=1e-12)
    np.testing.assert_allclose(grad[1000:], slope * 1000 / n_pairs, rtol=1e-12)


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


@pytest.mark.parametrize("size", [1e9, 1e200, 1e290])
def test_hinge_of_any_finite_scores_is_finite(size: float) -> None:
    value, grad = run(HINGE, [-size, size, 0.0], [2, 1, 0])
    assert value[0] == pytest.approx((2 * size + 1 + size + 1) / 3, rel=1e-14)
    np.testing.assert_allclose(grad * 3, [-2.0, 1.0, 1.0])


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


@pytest.mark.parametrize("solver", ["lbfgs", "subgradient", "stochastic"])
def test_solvers_stop_as_diverged_where_the_exponential_overflows(solver: str) -> None:
    """A feature on two scales: what is right for most rows is wrong by far too much for one."""
    rng = np.random.default_rng(0)
    y = np.tile([1.0, 0.0], 30)
    X = (y + 0.5 * rng.standard_normal(60))[:, None]
    X[0] = -1e6
    qid = np.repeat(np.arange(6), 10)
    ranker = LinearRanker(EXPONENTIAL, solver=solver, l2=0.0, start=[1.0], max_iter=20)
    with raises(ArgumentError, "start"):
        ranker.fit(X, y, qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = ranker.set_params(start="zero", learning_rate=1.0).fit(X, y, qid)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.objective_)
    assert fitted.objective_ <= 1.0  # that of zero


def test_exponential_reports_a_step_that_overflows() -> None:
    X, y = np.array([[1.0], [0.0], [-1.0], [0.0]]), np.array([1.0, 0.0, 1.0, 0.0])
    qid = np.array([0, 0, 1, 1])
    X[2] *= 5.0  # downhill is towards -1: the first step goes far beyond
    ranker = LinearRanker(EXPONENTIAL, solver="subgradient", l2=0.0, learning_rate=1e4)
    with pytest.warns(ConvergenceWarning, match=r"overflowed at iteration 1\. The kept .* finite"):
        ranker.fit(X, y, qid)
    assert ranker.stop_reason_ == "diverged"
    np.testing.assert_array_equal(ranker.coef_, 0.0)


@every
def test_curvature_bounds_the_whole_hessian(loss: Any) -> None:
    """The bound less the Hessian has no negative eigenvalue; the hinge's, less its rounded one."""
    rng = np.random.default_rng(3)
    relevance = rng.integers(0, 4, 12).astype(float)
    scores = rng.standard_normal(12)
    target = loss.prepare(relevance, Groups.single(12))
    hessian = np.zeros((12, 12))
    for row in range(12):
        step = (0.5 if loss is HINGE else 1e-5) * np.eye(12)[row]
        ends = [loss.value_and_grad(scores + sign * step, target)[1] for sign in (1, -1)]
        hessian[row] = (ends[0] - ends[1]) / (2 * step[row])
    room = np.diag(loss.curvature(scores, target)) - (hessian + hessian.T) / 2
    assert np.linalg.eigvalsh(room).min() > -1e-9
    assert np.linalg.eigvalsh(hessian + hessian.T).max() > 1e-3


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


@every
def test_linear_ranker_learns_a_graded_order(loss: Any) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((400, 3))
    utility = X @ np.array([1.0, -1.0, 0.0]) + 0.1 * rng.standard_normal(400)
    y = np.digitize(utility, [-1.0, 0.0, 1.0, 2.0]).astype(float)
    qid = np.repeat(np.arange(20), 20)
    ranker = LinearRanker(loss.name, tol=1e-3, eval_metric="ndcg@5").fit(
        X[:300], y[:300], qid[:300]
    )
    assert ranker.score(X[300:], y[300:], qid[300:]) > 0.95
    assert ranker.intercept_ == 0.0


@every
def test_names_make_them_and_take_no_parameter(loss: Any) -> None:
    assert losses.get(loss.name) == loss
    assert losses.from_spec(losses.spec(loss)) == loss
    for name, params in ((loss.name, {"k": 3}), (f"{loss.name}@3", {})):
        with pytest.raises(ArgumentError, match=r"has no parameter .k.\. It takes none"):
            losses.get(name, **params)


@every
def test_bad_input_is_refused(loss: Any) -> None:
    groups = Groups.from_qid(["a", "b"])
    with pytest.raises(ArgumentError, match=r"relevance must be >= 0, got -1 at row 1 .*b"):
        loss.prepare(np.array([0.0, -1.0]), groups)
    with pytest.raises(ArgumentError, match="relevance and qid must have equal length"):
        loss.prepare(np.zeros(3), groups)
    target = loss.prepare(np.array([0.0, 1.0]), groups)
    with pytest.raises(ArgumentError, match="scores has 1 non-finite value, first at row 0"):
        loss.value_and_grad(np.array([np.nan, 0.0]), target)


def test_squared_is_the_mean_squared_error_by_row_or_by_group() -> None:
    per: Any
    scores, relevance, qid = [1.0, 0.0, 4.0], [3, 0, 1], [0, 0, 1]
    for per, expected in (("row", (4 + 0 + 9) / 3), ("group", ((4 + 0) / 2 + 9 / 1) / 2)):
        values, grad = run(losses.Squared(per), scores, relevance, qid)
        assert values.mean() == pytest.approx(expected)
        share = np.full(3, 1 / 3) if per == "row" else np.array([1 / 4, 1 / 4, 1 / 2])
        np.testing.assert_allclose(grad, 2 * share * np.array([-2.0, 0.0, 3.0]))


def test_squared_curvature_is_its_second_derivative() -> None:
    loss = losses.Squared()
    target = loss.prepare(np.array([2.0, 0.0]), Groups.single(2), weights=np.array([3.0, 1.0]))
    values, grad, bound = loss.value_grad_and_curvature(np.array([1.0, 1.0]), target)
    assert values[0] == (3 * 1 + 1 * 1) / 4
    np.testing.assert_allclose(grad, 2 * np.array([-3.0, 1.0]) / 4)
    np.testing.assert_allclose(bound, 2 * np.array([3.0, 1.0]) / 4)
    np.testing.assert_array_equal(loss.curvature(np.zeros(2), target), bound)


def test_squared_beyond_the_float_range_is_infinite_and_its_gradient_finite() -> None:
    values, grad = run(losses.Squared(), [1e200, 0.0], [1, 0])
    assert values[0] == np.inf
    np.testing.assert_allclose(grad, [1e200, 0.0])


def test_squared_in_a_linear_ranker_is_least_squares() -> None:
    rng = np.random.default_rng(8)
    X, qid = rng.standard_normal((60, 2)), np.repeat(np.arange(6), 10)
    y = np.maximum(np.round(X @ np.array([1.0, 2.0]) + 3.0), 0.0)
    ranker = LinearRanker("squared", l2=0.0, tol=1e-10, eval_metric="ndcg@5").fit(X, y, qid)
    coef, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), y, rcond=None)
    np.testing.assert_allclose([*ranker.coef_, ranker.intercept_], coef, rtol=1e-6)


def test_squared_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ArgumentError, match="per must be one of 'row' or 'group'"):
        losses.get("squared", per="list")
    with pytest.raises(ArgumentError, match="weights are all zero"):
        run(losses.Squared(), [1.0, 2.0], [1, 0], weights=np.zeros(2))
    target = losses.Squared("group").prepare(
        np.array([1.0, 0.0]), Groups.from_qid([0, 1]), weights=np.array([1.0, 0.0])
    )
    assert target.defined.tolist() == [True, False]
    assert "row with weight > 0" in losses.Squared("group").why_undefined(target)


def test_a_billion_pairs_are_told_before_they_are_visited() -> None:
    grades = np.arange(80_000) % 2.0
    one, halves = Groups.single(grades.size), Groups.from_sizes([40_000, 40_000])
    for loss in (
        losses.PairwiseLogistic(),
        losses.RoBiRank(),
        losses.PApLogistic(),
    ):
        with pytest.warns(CostWarning, match=r"[13]\.[26]e\+09 pairs of rows in each evaluation"):
            loss.prepare(grades, one)
    losses.PairwiseLogistic().prepare(grades, halves)
    losses.PApLogistic(300).prepare(grades, one)
    losses.PairwiseHinge().prepare(grades, one)
    losses.PairwiseExponential().prepare(grades, one)
