"""The listwise losses against permutations one by one, and every order of their ties."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.oracles import listwise_oracles as oracles
from tests.oracles.listwise_oracles import ORACLES

from podium import losses
from podium.groups import Groups


class Case(NamedTuple):
    scores: list[float]
    grades: list[float]
    k: int


def cases(seed: int = 0, n_cases: int = 40) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n = int(rng.integers(2, 6))
        grades = rng.choice([0.0, 0.5, 1.0, 3.0], n)
        grades[0] = 2.0  # never one grade only
        scores = np.round(2 * rng.standard_normal(n), 1)
        yield Case(scores.tolist(), rng.permutation(grades).tolist(), int(rng.integers(1, 7)))


def run(loss: Any, scores: Any, grades: Any, **kw: Any) -> tuple[float, list[float]]:
    target = loss.prepare(np.asarray(grades, float), Groups.single(len(scores)), **kw)
    values, grad = loss.value_and_grad(np.asarray(scores, float), target)
    return float(values[0]), grad.tolist()


def keys_of(order: tuple[int, ...]) -> Any:
    """Return keys that put ties in this order."""
    keys = np.empty((len(order), 1))
    keys[list(order), 0] = np.arange(len(order))[::-1]
    return keys


def test_cases_have_ties_and_cutoffs_inside_at_and_beyond_the_list() -> None:
    drawn = list(cases())
    assert sum(len(set(c.grades)) < len(c.grades) for c in drawn) > 10
    assert any(c.k < len(c.grades) - 1 for c in drawn)
    assert any(c.k == len(c.grades) for c in drawn)
    assert any(c.k > len(c.grades) for c in drawn)
    assert max(len(list(oracles.orders(c.grades))) for c in drawn) > 5


def test_luce_probabilities_of_subgroups_are_products_of_their_head() -> None:
    strengths = [Fraction(n) for n in (5, 1, 2, 3)]
    assert sum(oracles.luce(o, strengths) for o in permutations(range(4))) == 1
    for k in range(1, 5):
        for head in permutations(range(4), k):
            assert oracles.subgroup(head, strengths) == oracles.luce(head, strengths)


def test_likelihood_with_drawn_ties_is_the_definition() -> None:
    for case in cases():
        loss = losses.ListMLE(case.k)
        for order in list(oracles.orders(case.grades))[:6]:
            expected = oracles.likelihood(case.scores, case.grades, order, case.k)
            value, _ = run(loss, case.scores, case.grades, keys=keys_of(order))
            assert value == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("name", ["listnet", "rankcosine"])
def test_averaged_ties_are_the_mean_over_all_their_orders(name: str) -> None:
    for case in cases():
        expected = oracles.averaged(ORACLES[name], case.scores, case.grades, case.k)
        value, _ = run(losses.get(name, k=case.k), case.scores, case.grades)
        assert value == pytest.approx(expected, abs=1e-13)


def test_averaged_likelihood_is_the_mean_over_the_orders_of_its_keys() -> None:
    for case in cases():
        orders = list(oracles.orders(case.grades))[:4]
        loss = losses.ListMLE(case.k, n_orders=len(orders))
        keys = np.hstack([keys_of(o) for o in orders])
        value, grad = run(loss, case.scores, case.grades, keys=keys)
        expected = [oracles.likelihood(case.scores, case.grades, o, case.k) for o in orders]
        assert value == pytest.approx(np.mean(expected), abs=1e-13)
        one = losses.ListMLE(case.k)
        grads = [run(one, case.scores, case.grades, keys=keys_of(o))[1] for o in orders]
        np.testing.assert_allclose(grad, np.mean(grads, axis=0), atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 0.3, 4.0])
def test_scaled_listnet_is_the_definition(scale: float) -> None:
    for case in cases(1, 15):
        orders = oracles.orders(case.grades)
        each = [oracles.listnet(case.scores, case.grades, o, case.k, scale) for o in orders]
        value, _ = run(losses.ListNet(case.k, scale), case.scores, case.grades)
        assert value == pytest.approx(np.mean(each), abs=1e-13)


@pytest.mark.parametrize("name", ["listnet", "rankcosine"])
def test_ground_truth_scores_keep_the_head_in_order_and_the_tail_below(name: str) -> None:
    tails = 0
    for case in cases(4):
        grades = np.random.default_rng(case.k).permutation(len(case.grades)) / 1.0  # without ties
        target: Any = losses.get(name, k=case.k).prepare(grades, Groups.single(grades.size))
        truth = np.empty(grades.size)
        truth[target.rows] = target.truth
        falling = truth[np.argsort(-grades)]
        assert (np.diff(falling[: case.k + 1]) < 0).all()
        assert (falling[case.k :] == falling[-1]).all()
        tails += falling[case.k :].size > 1
    assert tails > 5


def test_ground_truth_scores_lie_within_half_a_gap_and_average_to_the_grades() -> None:
    for case in cases(5):
        n, gap = len(case.grades), oracles.least_gap(case.grades)
        orders = list(oracles.orders(case.grades))
        each = np.array([oracles.truth_scores(case.grades, o, n) for o in orders])
        assert np.abs(each - case.grades).max() < gap / 2
        np.testing.assert_allclose(each.mean(axis=0), case.grades, atol=1e-14)
        chances = np.array([oracles.truth_chances(case.grades, o, n) for o in orders])
        softmax = np.exp(case.grades) / np.exp(case.grades).sum()
        assert np.abs(np.log(chances / softmax)).max() < gap / 2
        np.testing.assert_allclose(chances.mean(axis=0), softmax, atol=1e-15)


def test_list_of_one_grade_is_undefined_for_all() -> None:
    for name in (*ORACLES, "softmax"):
        value, grad = run(losses.get(name), [1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
        assert np.isnan(value)
        assert grad == [0.0, 0.0, 0.0]
