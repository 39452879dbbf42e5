from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from tests.raised import raises

from podium import losses
from podium.errors import ArgumentError, ConvergenceWarning
from podium.groups import Groups
from podium.rankers import LinearRanker

TYPES: Any = (1, 2, "identity")
SIGMAS: Any = ("logistic", "hinge")
FORMS = list(itertools.product(TYPES, SIGMAS))

every = pytest.mark.parametrize(("kind", "sigma"), FORMS)


def run(loss: Any, scores: Any, relevance: Any, qid: Any = None, **kw: Any) -> Any:
    groups = Groups.single(len(scores)) if qid is None else Groups.from_qid(qid)
    target = loss.prepare(np.asarray(relevance, float), groups, **kw)
    return loss.value_and_grad(np.asarray(scores, float), target)


# RoBiRank


def test_one_pair_costs_what_its_difference_costs() -> None:
    d = 0.25
    cost = math.log2(1 + 2**-d)
    kind: Any
    for kind, value, bent in (
        ("identity", cost, 1.0),
        (1, math.log2(1 + cost), 1 / ((cost + 1) * math.log(2))),
        (
            2,
            1 - 1 / math.log2(cost + 2),
            1 / ((cost + 2) * math.log(2) * math.log2(cost + 2) ** 2),
        ),
    ):
        values, grad = run(losses.RoBiRank(kind), [3.0 + d, 3.0], [1, 0])
        assert values[0] == pytest.approx(value, rel=1e-14)  # gain 1 over an ideal DCG of 1
        np.testing.assert_allclose(grad, np.array([-1, 1]) * bent / (1 + 2**d), rtol=1e-14)


def test_rows_with_a_gain_meet_all_others_and_each_other() -> None:
    # Hinges of falling scores 3, 2, 0: the second row is 1 below the first, the third 3 and 2.
    scores, relevance = [0.0, 3.0, 2.0], [1, 2, 0]
    loss = losses.RoBiRank(sigma="hinge", normalize=False)
    assert run(loss, scores, relevance)[0][0] == pytest.approx(
        (2**1 - 1) * math.log2(1 + 4 + 3) + (2**2 - 1) * math.log2(1 + 0 + 0)
    )
    plain = losses.RoBiRank("identity", "hinge", "linear", normalize=False)
    assert run(plain, scores, relevance)[0][0] == 1 * (4 + 3) + 2 * (0 + 0)


def test_normalised_values_are_over_the_ideal_dcg_of_the_same_gain() -> None:
    scores, relevance = [0.3, -1.0, 2.0, 0.0], [1, 2, 0, 2]
    for gain, ideal in (
        ("exp2", 3 + 3 / math.log2(3) + 1 / 2),
        ("linear", 2 + 2 / math.log2(3) + 1 / 2),
    ):
        plain, normal = (
            run(losses.RoBiRank(gain=gain, normalize=flag), scores, relevance)  # type: ignore[arg-type]
            for flag in (False, True)
        )
        assert normal[0][0] == pytest.approx(plain[0][0] / ideal, rel=1e-14)
        np.testing.assert_allclose(normal[1], plain[1] / ideal, rtol=1e-13)


def test_weights_of_rows_are_a_relevance_with_linear_gain() -> None:
    scores, relevance = [0.3, -1.0, 2.0, 0.0], np.array([1, 2, 0, 2])
    by_grade = run(losses.RoBiRank(), scores, relevance)
    by_weight = run(losses.RoBiRank(gain="linear"), scores, 2.0**relevance - 1)
    np.testing.assert_array_equal(by_grade[0], by_weight[0])
    np.testing.assert_array_equal(by_grade[1], by_weight[1])


@every
def test_groups_of_one_grade_or_row_are_left_out(kind: Any, sigma: Any) -> None:
    loss = losses.RoBiRank(kind, sigma)
    relevance, qid = [1, 0, 2, 2, 2, 3, 1, 0, 0, 0], [0, 0, 1, 1, 2, 3, 3, 3, 4, 4]
    scores = np.arange(10.0)
    values, grad = run(loss, scores, relevance, qid)
    assert np.isnan(values).tolist() == [False, True, True, False, True]
    np.testing.assert_array_equal(grad[[2, 3, 4, 8, 9]], 0.0)
    kept = np.array([0, 1, 5, 6, 7])
    alone = run(loss, scores[kept], np.array(relevance)[kept], np.array(qid)[kept])
    np.testing.assert_array_equal(values[[0, 3]], alone[0])
    np.testing.assert_array_equal(grad[kept], alone[1])


def test_why_undefined_counts_groups() -> None:
    loss = losses.RoBiRank()
    target = loss.prepare(np.ones(3), Groups.from_qid([0, 0, 1]))
    assert not target.defined.any()
    assert np.isnan(loss.value_and_grad(np.zeros(3), target)[0]).all()
    assert (loss.curvature(np.zeros(3), target) > 0).all()
    text = loss.why_undefined(target)
    assert "robirank needs rows of two grades in a group" in text
    assert "2 of 2 groups have only one row or one grade" in text
    with pytest.raises(ArgumentError, match="None of the 2 groups can be trained on: robirank"):
        LinearRanker(loss).fit(np.eye(3), np.ones(3), [0, 0, 1])
    # 2^relevance - 1 of so small a relevance is 0 in floats: the group has no gain
    assert np.isnan(run(loss, [0, 1], [1e-20, 0])[0]).all()
    assert np.isfinite(run(losses.RoBiRank(gain="linear"), [0, 1], [1e-20, 0])[0]).all()


def test_no_rows_and_empty_groups_are_no_error() -> None:
    loss = losses.RoBiRank()
    target = loss.prepare(np.empty(0), Groups.from_sizes([0, 0]))
    values, grad = loss.value_and_grad(np.empty(0), target)
    assert np.isnan(values).all()
    assert grad.size == 0
    target = loss.prepare(np.array([0.0, 1.0, 1.0]), Groups.from_sizes([0, 2, 0, 1]))
    assert target.defined.tolist() == [False, True, False, False]


def test_weights_are_of_groups() -> None:
    loss = losses.RoBiRank()
    scores, relevance, qid = [0.0, 1.0, 0.5, 0.0], [1, 0, 1, 0], [0, 0, 1, 1]
    plain = run(loss, scores, relevance, qid)[0]
    values = run(loss, scores, relevance, qid, weights=np.array([3.0, 3.0, 1.0, 1.0]))[0]
    assert values.mean() == pytest.approx((3 * plain[0] + plain[1]) / 4)
    with pytest.raises(ArgumentError, match="weights must be constant within a group"):
        run(loss, scores, relevance, qid, weights=np.arange(4.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": 3}, "type must be 1, 2 or 'identity', got 3"),
        ({"type": True}, "type must be 1, 2 or 'identity', got True"),
        ({"type": "two"}, "type must be 1, 2 or 'identity', got 'two'"),
        ({"type": None}, "type must be 1, 2 or 'identity', got None"),
        ({"sigma": "logistik"}, "sigma must be .*Did you mean 'logistic'"),
        ({"gain": "exp"}, "gain must be .*Did you mean 'exp2'"),
        ({"normalize": 1}, "normalize must be True or False"),
    ],
)
def test_parameters_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        losses.get("robirank", **given)


def test_names_say_the_form() -> None:
    assert losses.get("robirank(type=2, sigma=hinge)") == losses.RoBiRank(2, "hinge")
    plain = losses.get("robirank(type=identity, gain=linear, normalize=false)")
    assert plain == losses.RoBiRank("identity", gain="linear", normalize=False)
    assert losses.from_spec(losses.spec(plain)) == plain
    binary = losses.get("robust-binary(type=2, per=group)")
    assert binary == losses.RobustBinary(2, per="group")
    assert losses.from_spec(losses.spec(binary)) == binary


def test_gains_beyond_all_sums_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"gain above 1e\+100 .* got 2000 in qid 7"):
        run(losses.RoBiRank(), [0.0, 1.0], [2000.0, 0.0], [7, 7])
    values, grad = run(losses.RoBiRank(gain="linear"), [0.0, 1.0], [2000.0, 0.0])
    assert np.isfinite(values).all()
    assert np.isfinite(grad).all()


def test_perfect_order_keeps_the_digits_of_a_small_loss() -> None:
    for gap in (40.0, 299.0, 301.0, 1000.0):
        cost = 2**-gap / math.log(2)  # log2(1 + x) for small x
        kind: Any
        for kind, value in (
            ("identity", cost),
            (1, cost / math.log(2)),
            (2, cost / 2 / math.log(2)),
        ):
            values, grad = run(losses.RoBiRank(kind), [gap, 0.0], [1, 0])
            assert values[0] == pytest.approx(value, rel=1e-11 if gap == 40 else 1e-13)
            assert grad[1] == -grad[0] > 0.0
            assert grad[1] == pytest.approx(value * math.log(2), rel=1e-11 if gap == 40 else 1e-13)


@every
@pytest.mark.parametrize("size", [1e3, 1e9, 1e200, 1e290, 1.7e308])
def test_any_finite_scores_are_never_nan(kind: Any, sigma: Any, size: float) -> None:
    loss = losses.RoBiRank(kind, sigma)
    relevance, qid = np.array([2.0, 1.0, 0.0, 0.0, 1.0, 0.0]), np.array([0, 0, 0, 1, 1, 1])
    for scores in (
        size * np.array([-1.0, 1.0, 0.0, 0.0, 1.0, -1.0]),
        size * np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0]),
    ):
        target = loss.prepare(relevance, Groups.from_qid(qid))
        values, grad, bound = loss.value_grad_and_curvature(scores, target)
        assert not np.isnan(values).any()
        assert np.isfinite(values).all() or kind == "identity"
        assert np.isfinite(grad).all()
        assert (bound > 0).all()
        assert np.isfinite(bound).all()


@every
def test_thousands_of_ties_share_the_gradient(kind: Any, sigma: Any) -> None:
    relevance = np.repeat([2.0, 0.0], [100, 2900])
    loss = losses.RoBiRank(kind, sigma, normalize=False)
    values, grad = run(loss, np.full(3000, 17.0), relevance)
    rho, slope = {
        "identity": (2999.0, 1.0),
        1: (math.log2(3000), 1 / (3000 * math.log(2))),
        2: (1 - 1 / math.log2(3001), 1 / (3001 * math.log(2) * math.log2(3001) ** 2)),
    }[kind]
    half = 0.5 if sigma == "logistic" else 1.0
    assert values[0] == pytest.approx(100 * 3 * rho, rel=1e-12)
    np.testing.assert_allclose(grad[:100], -3 * slope * half * 2900, rtol=1e-11)
    np.testing.assert_allclose(grad[100:], 3 * slope * half * 100, rtol=1e-11)


def test_pair_on_the_margin_counts() -> None:
    values, grad = run(losses.RoBiRank("identity", "hinge"), [1.0, 0.0], [1, 0])
    assert values[0] == 0.0
    np.testing.assert_array_equal(grad, [-1.0, 1.0])


@every
def test_gradient_of_a_hopeless_row_vanishes_as_said(kind: Any, sigma: Any) -> None:
    """A relevant row t below an irrelevant one: 1, about 1 / t, about 1 / (t log2(t)^2)."""
    for t in (1e6, 1e12):
        slope = run(losses.RoBiRank(kind, sigma), [-t, 0.0], [1, 0])[1][1]
        wanted = {"identity": 1.0, 1: 1 / t, 2: 1 / (t * math.log2(t) ** 2)}[kind]
        scale = 1.0 if kind == "identity" else math.log(2)
        assert slope * scale == pytest.approx(wanted, rel=1e-5)


# Binary classification


def test_robust_binary_at_chosen_margins() -> None:
    # Margins 1 and -3: hinges 0 and 4; of weights 1/2.
    scores, relevance = [1.0, 3.0], [1, 0]
    for kind, cost in (("identity", 4), (1, math.log2(5)), (2, 1 - 1 / math.log2(6))):
        loss = losses.RobustBinary(kind, "hinge")  # type: ignore[arg-type]
        assert run(loss, scores, relevance)[0][0] == pytest.approx(cost / 2)


def test_plain_logistic_is_logistic_regression_in_bits() -> None:
    rng = np.random.default_rng(0)
    scores, relevance, qid = rng.standard_normal(40), rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    for per in ("row", "group"):
        ours = run(losses.RobustBinary("identity", per=per), scores, relevance, qid)
        nats = run(losses.Logistic(per=per), scores * np.log(2), relevance, qid)
        np.testing.assert_allclose(ours[0], nats[0] / np.log(2), rtol=1e-13)
        np.testing.assert_allclose(ours[1], nats[1], rtol=1e-13)  # inner derivative log 2, over it


@every
@pytest.mark.parametrize("size", [1e3, 1e290, 1.7e308])
def test_robust_binary_of_any_finite_scores_is_finite(kind: Any, sigma: Any, size: float) -> None:
    loss = losses.RobustBinary(kind, sigma)
    values, grad = run(loss, [-size, size, 0.0], [1, 0, 1])
    assert np.isfinite(values).all()
    assert np.isfinite(grad).all()
    value, grad = run(loss, [size, -size], [1, 0])
    assert 0.0 <= value[0] < 1e-300
    assert np.abs(grad).max() < 1e-300


def test_robust_binary_parameters_are_checked() -> None:
    with pytest.raises(ArgumentError, match="per must be one of 'row' or 'group'"):
        losses.get("robust-binary", per="rows")
    with raises(ArgumentError, "min_relevance"):
        losses.RobustBinary(min_relevance=0.0)
    with pytest.raises(ArgumentError, match="type must be 1, 2 or 'identity'"):
        losses.get("robust-binary(type=3)")


# Training


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 4))
    noise = rng.standard_normal(400)
    y = np.clip(np.round(X @ np.array([1.0, -0.5, 0.3, 0.0]) + 0.5 * noise), 0, 2)
    return X, y, np.repeat(np.arange(20), 20)


@every
@pytest.mark.parametrize("name", ["robirank", "robust-binary"])
def test_linear_ranker_trains_every_form(name: str, kind: Any, sigma: Any, rows: Any) -> None:
    X, y, qid = rows
    loss = losses.get(name, type=kind, sigma=sigma)
    ranker = LinearRanker(loss, l2=1e-4, max_iter=300, tol=1e-6, eval_metric="ndcg@10")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.8
    objective = ranker.history_["objective"]
    assert objective.min() < 0.9 * objective[0]
    if sigma == "logistic":
        assert ranker.stop_reason_ in ("converged", "stalled")


def test_stochastic_solver_takes_lists_one_at_a_time(rows: Any) -> None:
    X, y, qid = rows
    ranker = LinearRanker(
        "robirank", solver="stochastic", batch_size=1, max_iter=30, eval_metric="ndcg@10"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit(X, y, qid)
    assert ranker.score(X, y, qid) > 0.8


def test_outliers_turn_the_plain_scorer_and_not_the_robust_ones() -> None:
    """Of all slopes: one row of thirty lies far on the wrong side, and only the plain loss
    turns around for them.
    """
    rng = np.random.default_rng(1)
    margins = np.concatenate([rng.standard_normal(232) + 1.0, np.full(8, -100.0)])
    slopes = np.linspace(-2.0, 2.0, 401)
    best = {
        kind: slopes[
            np.argmin(
                [run(losses.RobustBinary(kind), w * margins, np.ones(240))[0] for w in slopes]
            )
        ]
        for kind in TYPES
    }
    assert best["identity"] < 0 < min(best[1], best[2])
