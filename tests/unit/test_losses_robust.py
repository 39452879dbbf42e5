from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups

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


# Training
