"""Losses: values, gradients and curvatures by hand, margins, names, and bad parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.oracles import loss_oracles

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.pairwise import PairwiseHinge, PairwiseLogistic
from podium.losses.pointwise import Squared

PAP = [losses.PApRamp, losses.PApAverage, losses.PApMax, losses.PApTightStruct]


def run(loss: Any, scores: Any, relevance: Any, qid: Any = None, **kw: Any) -> Any:
    groups = Groups.single(len(scores)) if qid is None else Groups.from_qid(qid)
    target = loss.prepare(np.asarray(relevance, float), groups, **kw)
    return loss.value_and_grad(np.asarray(scores, float), target)


@pytest.mark.parametrize("cls", PAP)
def test_clip_uses_the_negatives_there_are(cls: Any) -> None:
    scores, relevance = np.array([0.5, 0.0, -0.5]), np.array([1.0, 0.0, 0.0])
    clipped = run(cls(10, clip=True), scores, relevance)
    exact = run(cls(2), scores, relevance)
    assert clipped[0][0] == exact[0][0] == pytest.approx((0.5 + 0.0) / 2)
    np.testing.assert_array_equal(clipped[1], exact[1])


def test_min_relevance_decides_what_is_positive() -> None:
    graded = run(losses.PApRamp(1, min_relevance=2), [0.5, 0.0, -9.0], [2.0, 1.0, 0.0])
    assert graded[0][0] == pytest.approx(1 - 0.5 + 0.0)


@pytest.mark.parametrize("name", ["pap-tight-struct@4", "pap-tight-struct-exact@4"])
def test_rows_outside_the_top_have_a_gradient_of_zero(name: str) -> None:
    """Exactly 0, so that a solver may pass over them."""
    rng = np.random.default_rng(3)
    scores = rng.standard_normal(60)
    grad = run(losses.get(name), scores, np.repeat([1.0, 0.0], 30))[1][30:]
    assert np.flatnonzero(grad).tolist() == sorted(np.argsort(scores[30:])[-4:])


def test_curvature_of_pairs_is_twice_their_weight() -> None:
    loss, scores = losses.PApRamp(2), np.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    target = loss.prepare(np.array([1.0, 0, 1, 0, 1, 0]), Groups.single(6))
    bound = loss.curvature(scores, target)
    # Two pairs of weight 1/4 for each selected row; the rest gets a floor below that.
    np.testing.assert_allclose(bound[[0, 1, 2, 3]], 2 * 2 / 4)
    assert (bound[[4, 5]] < 1e-3).all()


def test_logistic_is_exact_at_extreme_scores() -> None:
    values, grad = run(losses.Logistic(), [1e4, 1e4, -1e4, -1e4], [1.0, 0.0, 1.0, 0.0])
    assert values[0] == (0 + 1e4 + 1e4 + 0) / 4
    np.testing.assert_array_equal(grad, np.array([0, 1, -1, 0]) / 4)
    loss = losses.Logistic()
    target = loss.prepare(np.array([1.0, 0.0, 0.0]), Groups.single(3))
    bound = loss.curvature(np.array([0.0, np.log(3.0), 800.0]), target)
    np.testing.assert_allclose(bound[:2], np.array([1 / 2 * 1 / 2, 3 / 4 * 1 / 4]) / 3)
    assert 0 < bound[2] < 1e-15


def test_rows_count_alike_or_groups_do() -> None:
    """A group of one positive and one negative, and a group with one negative more."""
    scores, relevance = np.array([1.0, 0.5, 2.0, 3.0, 0.0]), np.array([1.0, 0, 1, 0, 0])
    parts = [(scores[rows].tolist(), relevance[rows].tolist()) for rows in ([0, 1], [2, 3, 4])]
    squares = (scores - relevance) ** 2
    logistic = np.log1p(np.exp(np.where(relevance > 0, -scores, scores)))
    for cls, sums in (
        (losses.Logistic, [logistic[:2].sum(), logistic[2:].sum()]),
        (Squared, [squares[:2].sum(), squares[2:].sum()]),
        (losses.GroupLogistic, [loss_oracles.group_logistic(*part) for part in parts]),
    ):
        values, _ = run(cls(), scores, relevance, [0, 0, 1, 1, 1])
        assert values.mean() == pytest.approx(sum(sums) / 5)


def test_product_of_many_large_odds_does_not_overflow() -> None:
    """2,500 pairs wrong by 100 multiply to exp(250,000)."""
    value, grad = run(PairwiseLogistic(), np.repeat([0.0, 100.0], 50), np.repeat([1, 0], 50))
    assert value[0] == pytest.approx(100.0, rel=1e-13)
    np.testing.assert_allclose(grad, np.repeat([-1, 1], 50) / 50, rtol=1e-12)


def test_hinge_of_a_row_a_billion_above_the_rest_is_zero() -> None:
    assert run(PairwiseHinge(), [0.3, 0.0, 1e9], [1, 0, 1])[0][0] == (1 - 0.3) / 2


# The loss of groups with an intercept of their own


def test_weight_of_a_row_is_repetition() -> None:
    scores, relevance = np.random.default_rng(1).standard_normal(6), np.array([1.0, 0, 0, 1, 0, 0])
    weights, loss = np.array([1, 3, 0, 2, 1, 1]), losses.GroupLogistic()
    weighted = run(loss, scores, relevance, weights=weights.astype(float))
    rows = np.repeat(np.arange(6), weights)
    copied = run(loss, scores[rows], relevance[rows])
    assert weighted[0][0] == pytest.approx(copied[0][0])
    np.testing.assert_allclose(weighted[1], np.bincount(rows, copied[1], 6), atol=1e-15)
    one_class = run(loss, [1.0, 2.0], [1, 0], weights=np.array([1.0, 0.0]))
    assert np.isnan(one_class[0][0])
    np.testing.assert_array_equal(one_class[1], 0.0)


def test_one_far_row_does_not_disturb_the_rest() -> None:
    """A negative 5000 below adds nothing to value or gradient, whatever the path taken."""
    scores, relevance = np.array([0.3, -0.2, 1.1, 0.4]), np.array([1.0, 0, 0, 1])
    near = run(losses.GroupLogistic(), scores, relevance)
    far = run(losses.GroupLogistic(), np.append(scores, -5000.0), np.append(relevance, 0.0))
    assert 5 * far[0][0] == pytest.approx(4 * near[0][0], rel=1e-13)
    np.testing.assert_allclose(5 * far[1][:4], 4 * near[1], rtol=1e-12)
    assert far[1][4] < 1e-290


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


@pytest.mark.parametrize("far", [701.0, 1e12, 1e155, 1e280])
def test_best_intercept_is_found_among_scores_that_lie_far_apart(far: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(8):
        scores = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 9) * far
        scores += rng.standard_normal(9)
        positive = rng.integers(0, 2, 9)
        positive[:2] = 0, 1
        values, grad = run(losses.GroupLogistic(), scores, positive)
        expected = far_value(scores.tolist(), positive.tolist()) / 9.0
        np.testing.assert_allclose(values[0], expected, rtol=1e-9, atol=1e-290)
        assert abs(grad.sum()) < 1e-12


ALL: tuple[Any, ...] = tuple(
    map(
        losses.get,
        [
            "group-logistic",
            *("lambdarank", "lambdarank@2", "listmle", "listmle@2"),
            *("listmle(n_orders=3)@2", "listmle(head=relevant)@3", "listnet"),
            *("listnet@2", "pap-avg(clip=true)@2", "pap-logistic@2"),
            *("pap-logistic(temperature=0.7)@3", "pap-logistic(temperature=0.5)@1"),
            *("pap-max(clip=true)@2", "pap-ramp(clip=true)@2", "pap-tight-struct(clip=true)@2"),
            *("pap-tight-struct-exact(clip=true)@2", "pairwise-hinge", "pairwise-logistic"),
            *("rankcosine", "rankcosine@1", "robirank", "softmax"),
            "robirank(type=identity)",
        ],
    )
)
OF_ROWS: tuple[Any, ...] = (losses.Logistic(), Squared())

each = pytest.mark.parametrize("loss", ALL, ids=repr)
of_all = pytest.mark.parametrize("loss", [*ALL, *OF_ROWS], ids=repr)


@pytest.mark.parametrize("loss", [a for a in ALL if a.smooth or a.reweights], ids=repr)
def test_curvature_bounds_the_hessian_as_a_matrix(loss: Any) -> None:
    """The bound less the Hessian has no negative eigenvalue, also where a pair is far apart."""
    rng = np.random.default_rng(3)
    relevance = np.repeat([2.0, 1.0, 0.0], [2, 2, 5])
    target = loss.prepare(relevance, Groups.single(9))
    for size in (0.1, 1.0, 1.0, 4.0):
        scores = size * rng.standard_normal(9)
        held = loss.hold(scores, target) if loss.reweights else target
        step = 1e-5 * max(1.0, size)
        ends = [
            [loss.value_and_grad(scores + sign * step * e, held)[1] for sign in (1, -1)]
            for e in np.eye(9)
        ]
        hessian = np.array([one - other for one, other in ends]) / (2 * step)
        room = np.diag(loss.curvature(scores, target)) - (hessian + hessian.T) / 2
        assert np.linalg.eigvalsh(room).min() >= -1e-6 * max(1.0, np.abs(hessian).max())


@of_all
def test_no_group_that_is_defined_gives_no_gradient(loss: Any) -> None:
    for relevance, sizes in (([], []), ([], [0, 0]), ([1.0, 1.0, 0.0], [2, 1])):
        if loss in OF_ROWS and relevance:
            continue
        target = loss.prepare(np.array(relevance), Groups.from_sizes(np.array(sizes, np.int64)))
        values, grad, curvature = loss.value_grad_and_curvature(np.zeros(len(relevance)), target)
        assert np.isnan(values).all()
        assert not target.defined.any()
        np.testing.assert_array_equal(grad, 0.0)
        assert (curvature > 0).all()
        assert loss.name in loss.why_undefined(target)
    if loss not in OF_ROWS:
        assert "2 of 2" in loss.why_undefined(target) or "too few negatives: 1" in (
            loss.why_undefined(target)
        )


@pytest.mark.parametrize(
    "loss",
    [a for a in ALL if a.name.startswith(("pap", "group")) or a.name == "pairwise-hinge"],
    ids=repr,
)
def test_values_keep_their_digits_far_from_zero(loss: Any) -> None:
    scores = np.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    target = loss.prepare(np.array([1.0, 0, 1, 0, 1, 0]), Groups.single(6))
    here, there = (loss.value_and_grad(s, target) for s in (scores, scores + 2.0**40))
    assert here[0][0] == there[0][0]
    np.testing.assert_array_equal(here[1], there[1])


@of_all
def test_bad_rows_are_refused(loss: Any) -> None:
    groups, relevance = Groups.from_qid(["u", "v", "v"]), np.array([1.0, 1.0, 0.0])
    for wrong in ([1.0, -1.0, 0.0], [1.0, np.nan, 0.0], [1.0, 0.0]):
        with pytest.raises(ArgumentError):
            loss.prepare(np.array(wrong), groups)
    target = loss.prepare(relevance, groups)
    with pytest.raises(ArgumentError, match=r"first at row 1.*'v'"):
        loss.value_and_grad(np.array([0.0, np.inf, 0.0]), target)
    with pytest.raises(ArgumentError):
        loss.value_and_grad(np.zeros(2), target)
    for weights in ([1.0, -1.0, -1.0], [1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]):
        with pytest.raises(ArgumentError):
            loss.prepare(relevance, groups, weights=np.array(weights))
    if loss not in OF_ROWS and loss.name != "group-logistic":
        with pytest.raises(ArgumentError, match=r"in qid 'v'"):
            loss.prepare(relevance, groups, weights=np.array([1.0, 2.0, 3.0]))
        if loss.name != "pap-logistic":
            with pytest.raises(ArgumentError, match="zero for all groups on which"):
                loss.prepare(relevance, groups, weights=np.array([1.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("group-logistic", {"soft": True, "min_relevance": 2.0}),
        *(("robirank", {"type": kind}) for kind in (3, True, "two")),
    ],
)
def test_bad_parameters_are_named(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="|".join(wrong)):
        losses.get(name, **wrong)


@pytest.mark.parametrize(
    ("loss", "relevance"),
    [
        (losses.GroupLogistic(soft=True), [0.5, 2.0]),  # a probability is at most 1
        (losses.RoBiRank(), [2000.0, 0.0]),  # 2^2000 is beyond all sums
        (SoftmaxCrossEntropy(), [1.7e300, 1.0]),
    ],
)
def test_relevance_beyond_a_loss_is_refused_with_its_group(loss: Any, relevance: Any) -> None:
    with pytest.raises(ArgumentError, match="qid 7"):
        loss.prepare(np.array([*relevance, 0.0]), Groups.from_qid([7, 7, 7]))


def test_gains_of_0_and_large_linear_gains_are_numbers() -> None:
    groups = Groups.single(2)
    for gain, relevance, is_defined in (
        ("exp2", [1e-20, 0.0], False),  # 2^1e-20 - 1 is 0 in floats
        ("linear", [1e-20, 0.0], True),
        ("linear", [2000.0, 0.0], True),
    ):
        loss = losses.get("robirank", gain=gain)
        values, grad = loss.value_and_grad(
            np.array([0.0, 1.0]), loss.prepare(np.array(relevance), groups)
        )
        assert np.isfinite(values).tolist() == [is_defined]
        assert np.isfinite(grad).all()


@pytest.mark.parametrize(("score", "weight"), [(1e290, 1.0), (0.0, 1e290)])
def test_numbers_whose_sums_overflow_are_refused_with_their_group(
    score: float, weight: float
) -> None:
    with pytest.raises(ArgumentError, match=r"below 1e\+290 .* row 0 \(qid 3\)"):
        run(losses.PApRamp(1), [score, 0.0], [1, 0], [3, 3], weights=np.array([weight] * 2))
