"""What the margins imply, by random scores and by all scores on a grid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.loss_oracles import pap_risk

from podium import losses
from podium.groups import Groups
from podium.losses import _margins as theory

NAMES = tuple(theory.margins([1.0, 0.0], [1, 0], k=1).guarantees())


def one(s: list[float], t: list[float], k: int, delta: float) -> theory.Margins:
    return theory.margins([*s, *t], [1] * len(s) + [0] * len(t), k=k, delta=delta)


def value(name: str, s: list[float], t: list[float], k: int) -> float:
    if name == "risk":
        return pap_risk(s, t, k)
    loss = losses.get(name, k=k)
    target = loss.prepare(np.repeat([1.0, 0.0], [len(s), len(t)]), Groups.single(len(s) + len(t)))
    return float(loss.value_and_grad(np.array([*s, *t]), target)[0][0])


@st.composite
def cases(draw: Any) -> tuple[list[float], list[float], int, float]:
    """Scores with a good share of separated positives, k and delta."""
    grid = st.integers(-8, 24).map(lambda i: i / 4)
    s = draw(st.lists(grid, min_size=1, max_size=7))
    t = draw(st.lists(st.integers(-8, 1).map(lambda i: i / 4), min_size=1, max_size=5))
    k = draw(st.integers(1, len(t)))
    return s, t, k, draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0]))


@settings(max_examples=8 * settings().max_examples)
@given(cases())
def test_guaranteed_values_are_zero(case: tuple[list[float], list[float], int, float]) -> None:
    s, t, k, delta = case
    m = one(s, t, k, delta)
    for margin in (*theory.MARGINS, None):
        for name, sure in m.guarantees(margin).items():
            if sure[0]:
                assert value(name, s, t, k) == pytest.approx(0.0, abs=1e-12), (margin, name)


@settings(max_examples=4 * settings().max_examples)
@given(cases())
def test_hierarchy_of_margins(case: tuple[list[float], list[float], int, float]) -> None:
    s, t, k, _ = case
    m = one(s, t, k, 1.0)
    weak, plain, moderate, strong = (float(getattr(m, name)[0]) for name in theory.MARGINS)
    assert strong <= weak
    assert moderate <= weak
    assert strong <= plain + 1e-12
    if strong >= 0:
        assert strong <= moderate
    if len(s) >= 2 * min(k, len(s)) - 1:
        assert plain <= weak + 1e-12
    if len(s) <= k:
        assert weak == strong
        assert plain >= weak - 1e-12


def test_plain_is_not_above_weak_with_fewer_positives() -> None:
    # Every beta and n_pos < 2 beta - 1: a margin of any width and yet a beta-th positive below.
    for beta in range(2, 5):
        for n_pos in range(beta, 2 * beta - 1):
            s = [1e6] * (beta - 1) + [-1.0] * (n_pos - beta + 1)
            m = one(s, [0.0] * beta, beta, 1000.0)
            assert m.holds("plain")[0]
            assert m.weak[0] == -1.0
            assert pap_risk(s, [0.0] * beta, beta) > 0


def test_plain_and_moderate_imply_neither_the_other() -> None:
    moderate = one([2.0, 0.0, 0.0], [0.0], 1, 1.0)
    assert (moderate.holds("moderate")[0], moderate.holds("plain")[0]) == (True, False)
    plain = one([4.0, 4.0, -1.0], [0.0, 0.0], 2, 1.0)
    assert (plain.holds("moderate")[0], plain.holds("plain")[0]) == (False, True)


@settings(max_examples=6 * settings().max_examples)
@given(cases())
def test_hinges_are_zero_exactly_where_their_margin_holds(
    case: tuple[list[float], list[float], int, float],
) -> None:
    s, t, k, _ = case
    m = one(s, t, k, 1.0)
    assert (value("pap-ramp", s, t, k) == 0) == m.holds("weak")[0]
    assert (value("pap-tight-struct", s, t, k) == 0) == m.holds("moderate")[0]
    assert (value("pap-max", s, t, k) == 0) == m.holds("strong")[0]
    assert (value("risk", s, t, k) == 0) == (m.weak[0] > 0)


@pytest.mark.parametrize("delta", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(("n_pos", "k"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 3)])
def test_what_is_not_guaranteed_has_a_witness(n_pos: int, k: int, delta: float, more: int) -> None:
    """All scores on a grid: "not guaranteed" is said only where some value is above zero."""
    grid = (-99.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 99.0)
    lists = [list(s) for s in itertools.combinations_with_replacement(grid[::-1], n_pos)]
    t = [0.0] * (k + more)
    labels = [1.0] * n_pos + [0.0] * len(t)
    # All lists in one batch. By the contract of losses, each has its own value up to a factor > 0.
    qid = np.repeat(np.arange(len(lists)), len(labels))
    scores = np.array([[*s, *t] for s in lists]).ravel()
    relevance = np.tile(labels, len(lists))
    is_nonzero = {"risk": np.array([pap_risk(s, t, k) > 1e-12 for s in lists])}
    for name in NAMES[1:]:
        loss = losses.get(name, k=k)
        target = loss.prepare(relevance, Groups.from_qid(qid))
        is_nonzero[name] = loss.value_and_grad(scores, target)[0] > 1e-12
    m = theory.margins(scores, relevance, qid, k=k, delta=delta)
    for margin in theory.MARGINS:
        holds = m.holds(margin)
        assert holds.any()
        guarantees = m.guarantees(margin)
        for name in NAMES:
            guaranteed = set(guarantees[name][holds].tolist())
            assert guaranteed == {not (is_nonzero[name] & holds).any()}, (margin, name)
