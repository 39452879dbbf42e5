"""The losses' closed forms against the paper's maxima over subsets and orderings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles import loss_oracles

from podium import losses
from podium.groups import Groups

# A plugin registers some of the surrogates.
ORACLES = {name: f for name, f in loss_oracles.ORACLES.items() if name in losses.REGISTRY}
Case = tuple[list[float], list[float], int]

_GRID = [i / 4 for i in range(-8, 9)]  # exact in binary: kinks and ties are met exactly


def cases(seed: int, n_cases: int = 40) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n_pos, n_neg = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        k = int(rng.integers(1, n_neg + 1))
        yield rng.choice(_GRID, n_pos).tolist(), rng.choice(_GRID, n_neg).tolist(), k


def value(name: str, positives: list[float], negatives: list[float], k: int) -> float:
    scores = np.array([*positives, *negatives])
    relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
    loss = losses.get(name, k=k)
    target = loss.prepare(relevance, Groups.single(scores.size))
    return float(loss.value_and_grad(scores, target)[0][0])


def test_cases_have_ties_kinks_and_more_positives_than_k() -> None:
    drawn = list(cases(0))
    assert any(len(set(s + t)) < len(s + t) for s, t, _ in drawn)
    assert any(1 - a + b == 0 for s, t, _ in drawn for a in s for b in t)
    assert any(len(s) > k for s, _, k in drawn)
    assert any(len(s) < k for s, _, k in drawn)
    assert any(len(t) > k for _, t, k in drawn)


def test_every_surrogate_has_an_oracle() -> None:
    # A surrogate that the paper states as a maximum over orderings has its maximum here.
    stated = {name for name in losses.REGISTRY if name.startswith(("pap-", "pauc-"))}
    assert set(ORACLES) == stated - {"pap-logistic"}


@pytest.mark.parametrize("name", list(ORACLES))
def test_value_is_the_maximum_over_subsets_and_orderings(name: str) -> None:
    for positives, negatives, k in cases(1):
        expected = ORACLES[name](positives, negatives, k)
        assert value(name, positives, negatives, k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", list(ORACLES))
def test_oracles_agree_in_fractions(name: str) -> None:
    for positives, negatives, k in cases(2, 10):
        exact = ORACLES[name]([Fraction(s) for s in positives], [Fraction(t) for t in negatives], k)
        assert isinstance(exact, Fraction)
        assert ORACLES[name](positives, negatives, k) == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("name", list(ORACLES))
def test_gradient_is_one_of_the_maximum(name: str) -> None:
    """Towards any neighbour on the grid, the oracle rises as the gradient says where it is linear.

    Exact in binary: two steps of the same size to both sides, one row at a time.
    """
    linear = 0
    for positives, negatives, k in cases(5, 12):
        scores = np.array([*positives, *negatives])
        relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
        loss = losses.get(name, k=k)
        grad = loss.value_and_grad(scores, loss.prepare(relevance, Groups.single(scores.size)))[1]
        here = ORACLES[name](positives, negatives, k)
        for row in range(scores.size):
            ends: list[float] = []
            for step in (-(2.0**-9), 2.0**-9):
                moved = scores.copy()
                moved[row] += step
                s, t = moved[: len(positives)].tolist(), moved[len(positives) :].tolist()
                ends.append((ORACLES[name](s, t, k) - here) / step)
            if abs(ends[0] - ends[1]) < 1e-9:
                linear += 1
                assert grad[row] == pytest.approx(ends[0], abs=1e-9)
            elif loss.convex:
                assert ends[0] - 1e-9 <= grad[row] <= ends[1] + 1e-9
    assert linear > 10


def many(seed: int) -> Iterator[Case]:
    """More positives than orderings can be enumerated of, many of them equal."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n_pos, n_neg = int(rng.integers(1, 20)), int(rng.integers(1, 12))
        k = int(rng.integers(1, n_neg + 1))
        yield rng.choice(_GRID, n_pos).tolist(), rng.choice(_GRID, n_neg).tolist(), k
    for k in (63, 64, 65, 99):  # up to 64 the top is kept sorted, above that in a heap
        yield rng.choice(_GRID, 120).tolist(), rng.choice(_GRID, 100).tolist(), k
        yield rng.standard_normal(80).tolist(), rng.standard_normal(100).tolist(), k


def test_rows_of_the_tight_struct_equation_agree_with_its_orderings() -> None:
    for s, t, k in cases(6):
        expected = loss_oracles.tight_struct_exact(s, t, k)
        assert loss_oracles.tight_struct_by_rows(s, t, k) == pytest.approx(expected, abs=1e-12)


def test_sums_over_pairs_are_what_their_formulas_say() -> None:
    for s, t, k in many(11):
        scores, relevance = np.array([*s, *t]), np.repeat([1.0, 0.0], [len(s), len(t)])
        ranked, worst = np.sort(s)[::-1], np.sort(t)[::-1][:k]
        hinges = np.maximum(1 - ranked[:, None] + worst, 0)
        expected = {
            "pap-ramp": hinges[:k].mean(),
            "pap-max": hinges[-k:].mean(),
            "pap-avg": np.maximum(1 - ranked.mean() + worst, 0).mean(),
        }
        for name, number in expected.items():
            loss = losses.get(name, k=k)
            target = loss.prepare(relevance, Groups.single(scores.size))
            found, grad = loss.value_and_grad(scores, target)
            assert found[0] == pytest.approx(number)
            # By Euler: each pair in error adds 1 - s + t, and its weight to both gradients.
            assert grad @ scores == pytest.approx(found[0] + grad[relevance > 0].sum(), abs=1e-9)


def test_exact_tight_struct_is_the_dynamic_programme() -> None:
    for s, t, k in many(7):
        expected = loss_oracles.tight_struct_by_rows(s, t, k)
        assert value("pap-tight-struct-exact", s, t, k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
def test_group_logistic_is_the_minimum_over_intercepts() -> None:
    rng = np.random.default_rng(12)
    loss = losses.GroupLogistic(soft=True)
    for positives, negatives, _ in [*cases(12), *many(12)]:
        scores = np.array([*positives, *negatives])
        hard = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
        for chances in (hard, rng.random(scores.size)):
            found = loss.value_and_grad(scores, loss.prepare(chances, Groups.single(scores.size)))
            expected = loss_oracles.group_logistic(scores.tolist(), chances.tolist())
            assert found[0][0] == pytest.approx(expected / scores.size, rel=1e-12)


@pytest.mark.parametrize("draw", [cases, pytest.param(many, marks=pytest.mark.long)])
def test_pap_logistic_is_its_formula(draw: Callable[[int], Iterator[Case]]) -> None:
    for positives, negatives, k in draw(13):
        scores = np.array([*positives, *negatives])
        relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
        for top, weight, temperature in ((k, 10.0, 1.0), (k, 0.5, 0.1), (None, 20.0, 1.0)):
            loss = losses.PApLogistic(top, weight, temperature)
            target = loss.prepare(relevance, Groups.single(scores.size))
            expected = loss_oracles.pap_logistic(
                positives, negatives, top, weight=weight, temperature=temperature
            )
            assert loss.value_and_grad(scores, target)[0][0] == pytest.approx(expected, rel=1e-12)


def test_orderings_are_the_nested_matrices() -> None:
    # Positive rows of a ranking are nested, so for 2 x 2 only the two crossed matrices are out.
    nested = [
        pi
        for pi in itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
        if pi not in (((0, 1), (1, 0)), ((1, 0), (0, 1)))
    ]
    assert loss_oracles.orderings(2, 2) == tuple(sorted(nested))


def test_surrogates_are_ordered() -> None:
    """The relations that hold: averages over more and more errors, and the orderings."""
    slack = 1e-12
    for s, t, k in [*cases(4), *many(9)]:
        v = {name: value(name, s, t, k) for name in ORACLES}
        for chain in (
            ("pap-ramp", "pap-max"),
            ("pap-ramp", "pap-tight-struct"),
            ("pap-tight-struct-exact", "pap-tight-struct"),
        ):
            assert all(v[a] <= v[b] + slack for a, b in itertools.pairwise(chain)), chain
        if len(s) <= k:
            for same in ("pap-max", "pap-tight-struct", "pap-tight-struct-exact"):
                assert v[same] == pytest.approx(v["pap-ramp"], abs=slack)
