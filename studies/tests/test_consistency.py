"""Spaces, what they preserve, minimisers and agreement, against values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium_studies.xia2009.consistency import (
    Space,
    Truncated,
    meets_theorem_6,
    minimise,
    preserved_pairs,
    sensitivity,
)
from podium_studies.xia2009.consistency.minimum import OrderLoss
from podium_studies.xia2009.consistency.sensitivity import CONDITIONS

P1 = 0.4
PAPER = {(0, 1, 2): P1, (1, 0, 2): (1 - P1) / 2, (2, 1, 0): (1 - P1) / 2}
UNIFORM = Space(np.full(6, 1 / 6))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Space(np.ones(5) / 5),
        lambda: Space(np.ones(6) / 5),
        lambda: Space(np.array([1.5, -0.5])),
        lambda: Space(np.array([np.nan, 1.0])),
        lambda: minimise(UNIFORM, "pap-max@1"),
        lambda: minimise(UNIFORM, Truncated("pap-ramp@1", 1)),
    ],
)
def test_what_cannot_be_is_an_argument_error(make: Any) -> None:
    with pytest.raises(ArgumentError):
        make()


def test_theorem_6_needs_each_tail_object_below_one_earlier() -> None:
    space = Space.from_orders(PAPER)
    assert preserved_pairs(space, 1) == ((0, 1), (0, 2))
    assert meets_theorem_6(space, 1)
    assert not meets_theorem_6(space, 2)
    assert not meets_theorem_6(UNIFORM, 1)  # no single most probable subgroup
    missing = Space.from_orders({(0, 1, 2): 0.5, (1, 0, 2): 0.2, (2, 0, 1): 0.3})
    assert meets_theorem_6(missing, 1)
    # top 2: (0, 1) is best, but 2 is not below 1 in every subgroup
    assert not meets_theorem_6(missing, 2)


def test_minimiser_of_the_top_1_likelihood_is_the_log_probability_to_come_first() -> None:
    minimum = minimise(Space.from_orders(PAPER), losses.get("listmle@1"))
    expected = np.log([0.4, 0.3, 0.3])
    assert minimum.scores == pytest.approx(expected - expected.mean())
    assert minimum.value == pytest.approx(-(0.4 * math.log(0.4) + 2 * 0.3 * math.log(0.3)))
    assert minimum.heads(1) == ((0,),)
    assert minimum.heads(2) == ((0, 1), (0, 2))  # objects 1 and 2 tie


def test_minimiser_of_the_cosine_is_the_direction_of_the_mean_truth() -> None:
    minimum = minimise(Space.from_orders(PAPER), losses.get("rankcosine"))
    mean = np.array([2.1, 2.3, 1.6])
    assert minimum.scores == pytest.approx(mean / np.linalg.norm(mean), abs=1e-8)


def test_wrong_heads_differ_from_tied_ones() -> None:
    space = Space.from_orders(PAPER)
    wrong = minimise(space, losses.get("listmle"))
    assert (wrong.is_consistent(1), wrong.is_tied(1), wrong.heads(1)) == (False, False, ((1,),))
    assert wrong.regret(1) == pytest.approx(0.4 - 0.3)
    tied = minimise(space, losses.get("pairwise-hinge"))
    assert (tied.is_consistent(1), tied.is_tied(1), tied.heads(1)) == (False, True, ((0,), (1,)))
    assert tied.regret(1) == pytest.approx(0.4 - 0.3)
    assert minimise(space, "listmle@1").is_consistent(1)
    assert minimise(UNIFORM, "squared").is_consistent(2)  # every head is Bayes


def test_hinge_of_one_order_is_minimised_by_that_order() -> None:
    minimum = minimise(Space.from_orders({(2, 0, 1): 1.0}), "pairwise-hinge")
    assert (minimum.value, minimum.heads(3)) == (0.0, ((2, 0, 1),))


def test_truncated_grades() -> None:
    values, grads = OrderLoss(Truncated(losses.get("squared"), 2), 4)(np.zeros(4))
    # The object at place 1 has grade 2, that at place 2 has grade 1, and the others have 0.
    assert values == pytest.approx((2**2 + 1**2) / 4)
    assert grads[0] == pytest.approx([-2 * 2 / 4, -2 * 1 / 4, 0, 0])
    assert grads[-1] == pytest.approx([0, 0, -2 * 1 / 4, -2 * 2 / 4])


def test_counterexample_shows_what_it_says() -> None:
    actual = sensitivity(losses.get("listmle"), n=3, k=1)
    (example,) = actual.counterexamples
    assert example.condition == "constant"
    i, j = example.pair
    assert example.order.index(i) < example.order.index(j)
    other = tuple({i: j, j: i}.get(o, o) for o in example.order)
    values = [
        sum(_log_sum(v[p:]) - v[p] for p in range(3))
        for v in ([example.scores[o] for o in order] for order in (example.order, other))
    ]
    assert values[0] != pytest.approx(values[1])
    assert example.order[0] == other[0]
    assert max(map(abs, example.scores)) == 1.0  # small whole numbers come first


@pytest.mark.parametrize(
    ("loss", "n", "k", "violated"),
    [
        (losses.get("listmle@2"), 4, 2, ()),
        (losses.get("listmle"), 4, 2, ("constant",)),
        (losses.get("listmle"), 4, 3, ()),
        (losses.get("pairwise-hinge"), 3, 2, ("differentiable",)),
        (losses.get("logistic"), 3, 2, ("strict", "steeper")),
    ],
)
def test_conditions_that_losses_violate(
    loss: Any, n: int, k: int, violated: tuple[str, ...]
) -> None:
    actual = sensitivity(loss, n, k, n_random=20)
    assert actual.violated == violated
    assert ("no proof" in str(actual)) == (not violated)


class Faulty(losses.Loss):
    """A loss with one fault at a time, by the name of the condition that it breaks."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def prepare(self, relevance: Any, groups: Groups, **_: Any) -> Any:
        return relevance.reshape(-1, 3), groups

    def value_and_grad(self, scores: Any, target: Any) -> Any:
        grades, _ = target
        s = scores.reshape(-1, 3)
        sign = -1.0 if self.fault == "ordered" else 1.0
        values = ((s - sign * grades) ** 2).sum(axis=1)
        grad = 2 * (s - sign * grades)
        if self.fault == "non-negative":
            values = values - 10.0
        if self.fault == "symmetric":
            values, grad = values + s[:, 0], grad + np.array([1.0, 0.0, 0.0])
        if self.fault == "differentiable":
            values = values + np.abs(s).sum(axis=1)
        return values, grad.ravel() / len(s)

    def curvature(self, scores: Any, target: Any) -> Any:
        return np.full(scores.size, 2.0 / len(target[0]))


@pytest.mark.parametrize("fault", ["non-negative", "differentiable", "symmetric", "ordered"])
def test_search_finds_each_fault(fault: str) -> None:
    violated = sensitivity(Faulty(fault), n=3, k=3, n_random=10).violated
    assert fault in violated
    assert set(violated) <= set(CONDITIONS)


def _log_sum(values: list[float]) -> float:
    return math.log(sum(math.exp(v) for v in values))


@pytest.mark.parametrize("name", ["lambdarank", "lambdarank(gain=linear)@2", "lambdarank@1"])
def test_reweighting_ends_where_the_gradient_with_held_weights_is_zero(name: str) -> None:
    space, loss = (
        Space.from_orders({(0, 2, 1): 0.6, (0, 1, 2): 0.3, (1, 2, 0): 0.1}),
        losses.get(name),
    )
    minimum = minimise(space, loss)
    assert minimum.finite
    _, gradients = OrderLoss(loss, 3)(minimum.scores)
    np.testing.assert_allclose(space.probabilities @ gradients, 0.0, atol=1e-6)
    assert minimum.heads(1) == ((0,),)
