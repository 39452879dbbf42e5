"""Listwise losses by hand, and where other libraries' values and gradients go wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses.listnet import SoftmaxCrossEntropy
from podium.losses.listwise_kernels import falling_exp

LIKELIHOODS: tuple[Any, ...] = (losses.ListMLE(), losses.ListMLE(1), SoftmaxCrossEntropy())
ALL: tuple[Any, ...] = (
    losses.ListMLE(),
    losses.ListMLE(2),
    losses.ListMLE(2, n_orders=3),
    losses.ListMLE(3, head="relevant"),
    losses.ListNet(),
    losses.ListNet(2),
    losses.RankCosine(),
    losses.RankCosine(1),
    SoftmaxCrossEntropy(),
)
DRAWING: tuple[Any, ...] = tuple(loss for loss in ALL if loss.draws)
WITH_K = ("listmle", "listnet", "rankcosine")

each = pytest.mark.parametrize("loss", ALL, ids=repr)
each_drawing = pytest.mark.parametrize("loss", DRAWING, ids=repr)


def run(loss: Any, scores: Any, relevance: Any, qid: Any = None, **kw: Any) -> Any:
    groups = Groups.single(len(scores)) if qid is None else Groups.from_qid(qid)
    target = loss.prepare(np.asarray(relevance, float), groups, **kw)
    return loss.value_and_grad(np.asarray(scores, float), target)


# --- scores far apart, ties by the thousand ---


@pytest.mark.parametrize("loss", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("gap", [40.0, 200.0, 2000.0])
def test_pairs_far_apart_keep_their_digits(loss: Any, gap: float) -> None:
    # An epsilon inside the logarithm makes the ordered pair 16.97, and turns the gradient around.
    values, grad = run(loss, [40.0, 0.0], [1, 0])
    wrong = math.exp(-40) / (1 + math.exp(-40))
    np.testing.assert_allclose(values, [math.log1p(math.exp(-40))], rtol=1e-14)
    np.testing.assert_allclose(grad, [-wrong, wrong], rtol=1e-14)
    values, grad = run(loss, [-gap / 2, gap / 2], [1, 0])
    np.testing.assert_allclose(values, [gap], rtol=1e-15)
    np.testing.assert_allclose(grad, [-1.0, 1.0], rtol=1e-15)


def test_thousands_of_ties_are_a_factorial() -> None:
    n = 5000
    values, grad = run(losses.ListMLE(), np.full(n, 7.0), np.arange(n)[::-1])
    np.testing.assert_allclose(values, [math.lgamma(n + 1)], rtol=1e-13)
    chances = np.cumsum(1.0 / np.arange(n, 1, -1))  # of a row at place p, over places up to p
    np.testing.assert_allclose(grad[:-1], chances - 1.0, atol=1e-12)
    np.testing.assert_allclose(grad[-1], chances[-1], rtol=1e-12)
    values, _ = run(losses.ListMLE(10), np.zeros(n), np.arange(n)[::-1])
    np.testing.assert_allclose(values, [np.log(np.arange(n, n - 10, -1.0)).sum()], rtol=1e-13)


def test_ordered_list_keeps_the_digits_of_small_terms() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        gaps = rng.uniform(20, 90, 6)
        scores = np.append(0.0, -np.cumsum(gaps))
        values, grad = run(losses.ListMLE(), scores, np.arange(7)[::-1])
        rest = [math.fsum(np.exp(scores[i + 1 :] - scores[i])) for i in range(6)]
        np.testing.assert_allclose(values, [math.fsum(np.log1p(rest))], rtol=1e-12)
        np.testing.assert_allclose(grad[0], -rest[0] / (1 + rest[0]), rtol=1e-12)


# --- ties of grades ---


@each_drawing
def test_keys_of_other_rows_or_orders_are_refused(loss: Any) -> None:
    relevance, groups = np.array([1.0, 0.0, 0.0]), Groups.single(3)
    n_orders = loss.draw(groups, np.random.default_rng(0)).shape[1]
    for shape in ((2, n_orders), (3, n_orders + 1), (3,)):
        with pytest.raises(ArgumentError, match="keys"):
            loss.prepare(relevance, groups, keys=np.zeros(shape))
    with pytest.raises(ArgumentError, match="keys"):
        loss.prepare(relevance, groups, keys=np.full((3, n_orders), np.nan))


# --- the head ---


def test_relevant_head_stops_at_the_last_relevant_row() -> None:
    relevance = np.array([1.0, 1, 0, 0, 0, 0, 0.5, 0.5, 0, 2, 1])
    groups, scores = Groups.from_sizes([6, 3, 2]), np.linspace(-1, 1, 11)
    loss = losses.ListMLE(5, head="relevant")
    target = loss.prepare(relevance, groups)
    assert target.n_head.tolist() == [2, 0, 2]
    values, grad = loss.value_and_grad(scores, target)
    assert np.isnan(values).tolist() == [False, True, False]
    np.testing.assert_array_equal(grad[6:9], 0.0)
    keys = loss.draw(groups, np.random.default_rng(11))
    two, relevant = (
        one.value_and_grad(scores, one.prepare(relevance, groups, keys=keys))[0]
        for one in (losses.ListMLE(2), loss)
    )
    assert relevant[[0, 2]].tolist() == two[[0, 2]].tolist()


@pytest.mark.parametrize("k", [1, 10, 64, 65, 100, 299])
def test_heads_of_any_length_are_ordered_as_a_sort_orders_them(k: int) -> None:
    rng = np.random.default_rng(k)
    sizes = np.array([300, 1, 0, 70, 64, 65])
    relevance = rng.integers(0, 6, sizes.sum()).astype(float)
    relevance[:5] = [0, 1, 2, 3, 4]
    groups = Groups.from_qid(rng.permutation(np.repeat(np.arange(6), sizes)))
    keys = rng.choice([0.0, 0.25, 0.5, 0.75], (groups.n_rows, 1))  # equal keys: row order
    target = losses.ListMLE(k).prepare(relevance, groups, keys=keys)
    expected = np.lexsort((-keys[:, 0], -relevance, groups.index))
    for g in range(groups.n_groups):
        lo, hi, h = groups.offsets[g], groups.offsets[g + 1], target.n_head[g]
        assert target.rows[0, lo : lo + h].tolist() == expected[lo : lo + h].tolist()
        assert set(target.rows[0, lo:hi]) == set(expected[lo:hi])
    assert target.n_head[0] == k


# --- the cosine ---


def test_cosine_of_scores_that_are_all_zero_is_a_half_with_a_way_down() -> None:
    values, grad = run(losses.RankCosine(), [0.0, 0.0, 0.0], [2, 1, 0])
    assert values[0] == 0.5
    np.testing.assert_allclose(grad, -np.array([2, 1, 0]) / math.sqrt(5) / 2)
    assert run(losses.RankCosine(), -0.01 * grad, [2, 1, 0])[0] == pytest.approx(0.0, abs=1e-16)


def test_cosine_knows_no_scale() -> None:
    scores, relevance = np.array([0.3, -1.0, 2.0, 0.5]), [1, 0, 2, 0]
    values, grad = run(losses.RankCosine(), scores, relevance)
    for factor in (1e-250, 1e-3, 1e7, 1e289):
        scaled, scaled_grad = run(losses.RankCosine(), factor * scores, relevance)
        np.testing.assert_allclose(scaled, values, rtol=1e-14)
        if factor > 1e-100:
            np.testing.assert_allclose(scaled_grad * factor, grad, rtol=1e-12)
    opposite, _ = run(losses.RankCosine(), [-2.0, -1.0, 0.0], [2, 1, 0])
    assert opposite[0] == pytest.approx(1.0, abs=1e-15)
    assert opposite[0] <= 1.0


def test_cosine_near_its_best_keeps_its_digits() -> None:
    # At a right angle to (1, 0), off by e: 1 - cos = e^2 / 2 to first order, far below rounding.
    for e in (1e-3, 1e-6, 1e-9):
        values, grad = run(losses.RankCosine(), [1.0, e], [1, 0])
        expected = (1 - 1 / math.sqrt(1 + e * e)) / 2 if e > 1e-4 else e * e / 4
        np.testing.assert_allclose(values, [expected], rtol=1e-6)
        np.testing.assert_allclose(grad[1], e / 2, rtol=1e-5)


# --- what all share ---


@each
def test_huge_and_close_grades_give_finite_gradients(loss: Any) -> None:
    for grades in ([1e280, 1e280, 0.0, 1.0], [1.0, 1.0 + 1e-12, 1.0, 0.0], [1e-300, 0.0, 0, 0]):
        values, grad = run(loss, [0.5, 0.0, -1.0, 1.0], grades)
        assert np.isfinite(grad).all()
        assert not (values < 0).any()


def test_exponentials_of_differences_are_within_one_last_place() -> None:
    even = np.random.default_rng(0).uniform(-700.0, 0.0, 100_000)
    grid = np.concatenate([even, -np.geomspace(1e-300, 700.0, 10_001), [-700.0, -0.5, 0.0]])
    part, power = grid.copy(), np.empty(grid.size)
    falling_exp(part, power, power.view(np.int64))
    exact = np.exp(grid.astype(np.longdouble))
    if np.finfo(np.longdouble).nmant > 52:  # where it is exact enough to tell
        assert (np.abs(part - exact) <= np.spacing(exact.astype(np.float64))).all()
    assert part[-1] == 1.0


@pytest.mark.parametrize("scale", [1.0, 1e280, 1e289])
def test_listnet_at_any_scale_has_a_truth(scale: float) -> None:
    target = losses.ListNet(scale=scale).prepare(np.array([2.0, 2.0, 0.0]), Groups.single(3))
    assert np.isfinite(target.truth).all()
    assert np.isclose(target.truth.sum(), 1.0)


@pytest.mark.parametrize("name", [*WITH_K, "softmax", "pairwise-hinge", "pairwise-logistic"])
def test_a_group_without_weight_has_value_0_whatever_its_scores(name: str) -> None:
    loss = losses.get(name)
    groups = Groups.from_sizes([2, 2])
    target = loss.prepare(np.array([1.0, 0, 1, 0]), groups, weights=np.array([0.0, 0, 1, 1]))
    values, grad = loss.value_and_grad(np.array([-1e289, 1e289, 0.0, 0.0]), target)
    assert values[0] == 0.0
    assert np.isfinite(values[1])
    assert (grad[:2] == 0.0).all()


def test_grades_a_last_place_apart_are_two_grades_to_all() -> None:
    grades, groups = np.array([np.nextafter(3.0, 4.0), 3.0, 3.0]), Groups.single(3)
    for name in ("listmle", "listnet", "rankcosine", "softmax"):
        assert losses.get(name).prepare(grades, groups).defined.tolist() == [True]
