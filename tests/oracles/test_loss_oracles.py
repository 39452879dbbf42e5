"""The losses' closed forms against the paper's maxima over subsets and orderings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from podium import losses
from podium.groups import Groups
from podium.testing import loss_oracles
from podium.testing.loss_oracles import ORACLES

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
    assert set(ORACLES) == {name for name in losses.REGISTRY if name.startswith("pap-")}


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


def test_risk_is_the_maximum_of_minima_over_subsets() -> None:
    for positives, negatives, k in cases(3):
        assert loss_oracles.pap_risk(positives, negatives, k) == (
            loss_oracles.pap_risk_by_subsets(positives, negatives, k)
        )


def test_orderings_are_the_nested_matrices() -> None:
    # Positive rows of a ranking are nested, so for 2 x 2 only the two crossed matrices are out.
    nested = [
        pi
        for pi in itertools.product(itertools.product((0, 1), repeat=2), repeat=2)
        if pi not in (((0, 1), (1, 0)), ((1, 0), (0, 1)))
    ]
    assert loss_oracles.orderings(2, 2) == tuple(sorted(nested))


def test_surrogates_are_ordered() -> None:
    """Risk <= ramp <= max, ramp <= ts, avg <= max: the relations that hold."""
    for s, t, k in cases(4):
        v = {name: value(name, s, t, k) for name in ORACLES}
        assert loss_oracles.pap_risk(s, t, k) <= v["pap-ramp"] + 1e-12
        assert v["pap-ramp"] <= v["pap-max"] + 1e-12
        assert v["pap-ramp"] <= v["pap-ts"] + 1e-12
        assert v["pap-avg"] <= v["pap-max"] + 1e-12
        if len(s) <= k:
            assert v["pap-ramp"] == pytest.approx(v["pap-max"], abs=1e-12)
            assert v["pap-avg"] <= v["pap-ramp"] + 1e-12
