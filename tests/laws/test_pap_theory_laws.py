"""The statements of the pAp@k paper, checked on a small grid: those that hold and those that fail.

The grid has one to three positives with scores -1, 0, 1/4, 1/2 or 3, two negatives with scores 0 or
1/2, and k of 1 or 2. Losses come from the registry; oracle tests compare them with the paper's
maxima. Each failure is repeated in exact fractions with the paper's formula.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import loss_oracles as oracles

from podium import losses
from podium.groups import Groups
from podium.testing.contracts import RISKS
from podium.testing.oracles import brute_force, listing

Case = tuple[tuple[float, ...], tuple[float, ...], int]

POSITIVE = (3.0, 0.5, 0.25, 0.0, -1.0)
NEGATIVE = (0.5, 0.0)
SLACK = 1e-9  # far below the differences on this grid

GRID: list[Case] = [
    (positives, negatives, k)
    for n_pos in (1, 2, 3)
    for positives in itertools.combinations_with_replacement(POSITIVE, n_pos)
    for negatives in itertools.combinations_with_replacement(NEGATIVE, 2)
    for k in (1, 2)
]


@cache
def value(name: str, positives: tuple[float, ...], negatives: tuple[float, ...], k: int) -> float:
    loss = losses.get(name, k=k)
    relevance = np.repeat([1.0, 0.0], [len(positives), len(negatives)])
    scores = np.array([*positives, *negatives])
    target = loss.prepare(relevance, Groups.single(scores.size))
    return float(loss.value_and_grad(scores, target)[0][0])


@cache
def risk(name: str, positives: tuple[float, ...], negatives: tuple[float, ...], k: int) -> float:
    scores = (*positives, *negatives)
    relevance = [1.0] * len(positives) + [0.0] * len(negatives)
    one = listing(scores, relevance, n_items=len(scores))
    return 1.0 - brute_force(RISKS[name].format(k=k), one)


def below(lower: str, upper: str) -> list[Case]:
    """Return the cases of the grid with `lower` < `upper`, each of them a loss or a risk."""

    def at(name: str, case: Case) -> float:
        return risk(name, *case) if name in RISKS else value(name, *case)

    return [case for case in GRID if at(lower, case) < at(upper, case) - SLACK]


def few(case: Case) -> bool:
    """Return whether there are at most k positives."""
    return len(case[0]) <= case[2]


def has_beta_margin(case: Case) -> bool:
    """Return whether the mean of any beta positives is 1 above all negatives: definition 3."""
    positives, negatives, k = case
    beta = min(k, len(positives))
    return sum(positives[-beta:]) / beta - max(negatives) >= 1


def fractions(*scores: float) -> list[Fraction]:
    return [Fraction(score).limit_denominator(100) for score in scores]


def pap_risk_by_subsets(positives: Any, negatives: Any, k: int) -> float:
    """Return the same risk in the form of theorem 1: a maximum of minima over subsets."""
    beta = min(k, len(positives))
    errors = max(
        min(oracles.n_errors(pos, neg) for pos in itertools.combinations(positives, beta))
        for neg in itertools.combinations(negatives, k)
    )
    return errors / (beta * k)


def pap_risk_exchanged(positives: Any, negatives: Any, k: int) -> float:
    """Return the expression of theorem 1 in exchanged order: a minimum of maxima."""
    beta = min(k, len(positives))
    errors = min(
        max(oracles.n_errors(pos, neg) for neg in itertools.combinations(negatives, k))
        for pos in itertools.combinations(positives, beta)
    )
    return errors / (beta * k)


def ramp_exchanged_by_rank(positives: Any, negatives: Any, k: int) -> Any:
    """Return eq. (9) with the positives of each set sorted by falling score, which is eq. (6)."""
    return _pushed_inside(itertools.combinations, sorted(positives, reverse=True), negatives, k)


def ramp_exchanged(positives: Any, negatives: Any, k: int) -> Any:
    """Return eq. (9): the minimum over positives moved inside the maximum over orderings.

    The positives are ordered sets, as required by the averaging step after it. According to the
    paper this equals eq. (6), but it may be smaller.
    """
    return _pushed_inside(itertools.permutations, positives, negatives, k)


def algorithm_2(surrogate: str, positives: Any, negatives: Any, k: int) -> Any:
    """Return the ordering that algorithm 2 computes for "avg", "max" or "tight-struct".

    Rows are the positives that the algorithm pairs, by falling score. Columns are the top
    negatives.
    """
    ranked, worst = sorted(positives, reverse=True), sorted(negatives, reverse=True)[:k]
    beta = min(k, len(ranked))
    leads: dict[str, list[Any]] = {
        "avg": [sum(ranked) / len(ranked) - 1] * beta,
        "max": [s - 1 for s in ranked[-beta:]],
        "tight-struct": [s - (i < beta) for i, s in enumerate(ranked)],
    }
    return tuple(tuple(int(lead <= t) for t in worst) for lead in leads[surrogate])


def _pushed_inside(
    choose: Callable[[Any, int], Iterator[Any]], positives: Any, negatives: Any, k: int
) -> Any:
    beta = min(k, len(positives))
    return max(
        min(
            sum(map(sum, pi)) - oracles.lost_margins(pi, pos, neg)
            for pos in choose(positives, beta)
        )
        for neg in itertools.combinations(negatives, k)
        for pi in oracles.orderings(beta, k)
    ) / (beta * k)


def test_grid_has_ties_few_and_many_positives() -> None:
    assert len(GRID) == (5 + 15 + 35) * 3 * 2
    assert {few(case) for case in GRID} == {True, False}
    assert any(set(s) & set(t) for s, t, _ in GRID)


# --- Statements that hold -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in oracles.ORACLES if name in losses.REGISTRY])
def test_declared_bounds_hold_on_the_grid(name: str) -> None:
    bound = losses.get(name, k=1).upper_bounds
    assert bound is None or below(name, bound) == []


def test_partial_auc_bounds_pap() -> None:
    assert below("pauc", "pap") == []


def test_average_never_exceeds_max() -> None:
    assert below("pap-max", "pap-avg") == []


def test_with_few_positives_the_average_is_below_and_the_others_are_one() -> None:
    """By Jensen, avg <= ramp = max if n_pos <= k, the converse of proposition 5."""
    cases = [case for case in GRID if few(case)]
    for case in cases:
        ramp = value("pap-ramp", *case)
        assert value("pap-avg", *case) <= ramp + SLACK
        assert value("pap-max", *case) == pytest.approx(ramp)
    assert any(value("pap-avg", *case) < value("pap-ramp", *case) - SLACK for case in cases)


grid_scores = st.lists(st.integers(-2, 2), min_size=1, max_size=5)


@settings(max_examples=2 * settings().max_examples)
@given(grid_scores, grid_scores, st.integers(1, 5))
def test_theorem_1_subsets_may_be_chosen_in_either_order(
    positives: list[int], negatives: list[int], k: int
) -> None:
    k = min(k, len(negatives))
    risk = oracles.pap_risk(positives, negatives, k)
    assert pap_risk_by_subsets(positives, negatives, k) == risk
    assert pap_risk_exchanged(positives, negatives, k) == risk


@pytest.mark.parametrize("surrogate", ["avg", "max", "tight-struct"])
def test_algorithm_2_thresholds_out_valid_orderings_that_attain_its_loss(surrogate: str) -> None:
    for s, t, k in GRID:
        ranked, worst, beta = s, sorted(t, reverse=True)[:k], min(k, len(s))
        pi = algorithm_2(surrogate, s, t, k)
        assert pi in oracles.orderings(len(pi), k)
        if surrogate == "avg":
            ranked = (sum(s) / len(s),) * beta
        elif surrogate == "max":
            ranked = s[-beta:]
        errors = sum(map(sum, pi[:beta]))
        margins = sum(
            is_wrong * (a - b)
            for a, row in zip(ranked, pi, strict=True)
            for b, is_wrong in zip(worst, row, strict=True)
        )
        expected = value(f"pap-{surrogate}", s, t, k)
        assert (errors - margins) / (beta * k) == pytest.approx(expected)


# --- Statements that fail -----------------------------------------------------------------------


def test_proposition_3_fails_average_below_the_risk() -> None:
    failures = below("pap-avg", "pap")
    assert {few(case) for case in failures} == {True, False}
    assert ((3.0, -1.0), (0.0, 0.0), 2) in failures
    s, t = fractions(3, -1), fractions(0, 0)
    assert (oracles.average(s, t, 2), oracles.pap_risk(s, t, 2)) == (0, 1 / 2)


def test_proposition_3_fails_within_its_own_margin_unless_positives_are_many() -> None:
    margin = [case for case in GRID if has_beta_margin(case)]
    assert all(value("pap-avg", *case) == 0 for case in margin)
    assert any(oracles.pap_risk(*case) > 0 for case in margin)
    with_many_positives = [(s, t, k) for s, t, k in margin if len(s) >= 2 * min(k, len(s)) - 1]
    assert any(k > 1 for _, _, k in with_many_positives)
    assert all(oracles.pap_risk(*case) == 0 for case in with_many_positives)


def test_proposition_5_fails_average_below_the_ramp() -> None:
    failures = below("pap-avg", "pap-ramp")
    assert {few(case) for case in failures} == {True, False}
    s, t = fractions(100, -1, -1), fractions(0, 0, 0)
    assert (oracles.average(s, t, 3), oracles.ramp(s, t, 3)) == (0, Fraction(4, 3))


def test_proposition_5_fails_tight_struct_below_the_ramp() -> None:
    failures = below("pap-tight-struct-exact", "pap-ramp")
    assert failures
    assert not any(few(case) for case in failures)
    assert below("pap-tight-struct", "pap-ramp") == []
    s, t = fractions(0.5, 0.4, 0.3), fractions(0, 0)
    assert oracles.ramp(s, t, 2) == oracles.tight_struct(s, t, 2) == Fraction(11, 20)
    assert oracles.tight_struct_exact(s, t, 2) == Fraction(2, 5)


def test_algorithm_2_does_not_maximise_equation_14() -> None:
    """Its ordering has no errors for positives below the top, but then ranks these first."""
    s, t, k = (0.5, 0.4, 0.3), (0.0, 0.0), 2
    pi = algorithm_2("tight-struct", s, t, k)
    assert pi == ((1, 1), (1, 1), (0, 0))
    assert oracles.top_errors(pi, k) == 0 + 2
    margin_sum = 2 * (0.5 - 0) + 2 * (0.4 - 0)
    value_at_ordering = (2 - margin_sum) / (2 * 2)
    assert value_at_ordering < value("pap-tight-struct-exact", s, t, k) - SLACK


@pytest.mark.parametrize(
    ("name", "expected"), [("pap-tight-struct", True), ("pap-tight-struct-exact", False)]
)
def test_tight_struct_is_convex_as_the_equation_only(name: str, expected: bool) -> None:
    """A loss is not convex if a midpoint of two score vectors lies above the mean of the ends."""
    vectors = list(itertools.product(POSITIVE, repeat=2))
    violations = [
        (a, b)
        for a, b in itertools.combinations(vectors, 2)
        if 2 * value(name, ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), (0.0,), 1)
        > value(name, a, (0.0,), 1) + value(name, b, (0.0,), 1) + SLACK
    ]
    assert bool(violations) == expected
    assert (((0.5, 0.0), (0.0, 0.5)) in violations) == expected


def test_minimum_may_not_be_pushed_inside_the_maximum() -> None:
    """Eq. (9) should equal eq. (8), the ramp, but is below it, and even below the risk."""
    pushed = {case: ramp_exchanged(*case) for case in GRID}
    ramp = {case: value("pap-ramp", *case) for case in GRID}
    assert all(pushed[case] <= ramp[case] + SLACK for case in GRID)
    assert any(pushed[case] < ramp[case] - SLACK for case in GRID)
    assert any(pushed[case] < oracles.pap_risk(*case) - SLACK for case in GRID)
    # The next step is correct: averaging over the positives can only increase the value.
    assert all(pushed[case] <= value("pap-avg", *case) + SLACK for case in GRID)
    s, t = fractions(3, -1), fractions(0, 0)
    assert (ramp_exchanged(s, t, 2), oracles.ramp(s, t, 2)) == (0, 1)


def test_minimum_may_be_pushed_inside_for_positives_by_rank() -> None:
    for case in GRID:
        by_rank = ramp_exchanged_by_rank(*case)
        assert by_rank == pytest.approx(value("pap-ramp", *case))
