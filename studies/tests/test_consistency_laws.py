"""The propositions and theorems of top-k consistency, on drawn spaces and all orders."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium import losses
from podium_studies.xia2009.consistency import (
    Space,
    Truncated,
    meets_theorem_6,
    minimise,
    preserved_pairs,
    sensitivity,
)
from podium_studies.xia2009.consistency.minimum import OrderLoss, Surrogate
from podium_studies.xia2009.enumeration import Gentle, make_loss

LISTWISE = ("listmle", "listnet", "rankcosine")
GRADED = ("squared", "softmax", "pairwise-logistic", "pairwise-exponential", "logistic")
SIZES = [(3, 1), (3, 2), (4, 2), (4, 3)]


def at_top(k: int) -> dict[str, Surrogate]:
    """Return every smooth loss in its top-k form."""
    names = (*LISTWISE, *GRADED, "permutation-cross-entropy")
    return {name: make_loss(name, "top-k", k) for name in names}


def original() -> dict[str, Surrogate]:
    names = (*LISTWISE, *GRADED, "permutation-cross-entropy")
    return {name: make_loss(name, "original", 1) for name in names if name != "logistic"}


def proposition_10(p1: float) -> Space:
    p2 = (1 - p1) / 2
    return Space.from_orders({(0, 1, 2): p1, (1, 0, 2): p2, (2, 1, 0): p2})


@pytest.mark.long
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_losses_at_the_top_have_no_counter_example(n: int, k: int) -> None:
    for name, loss in at_top(k).items():
        assert not sensitivity(loss, n, k, n_random=30).violated, name


@pytest.mark.long
@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 2)])
def test_original_losses_tell_orders_of_one_subgroup_apart(n: int, k: int) -> None:
    for name, loss in original().items():
        assert sensitivity(loss, n, k, n_random=10).violated == ("constant",), name
        assert not sensitivity(loss, n, n, n_random=10).violated, name
        assert not sensitivity(loss, n, n - 1, n_random=10).violated, name


@pytest.mark.parametrize(("n", "k", "refuted"), [(3, 1, True), (4, 2, True), (4, 3, False)])
def test_footnote_4_holds_below_the_last_place_but_one(n: int, k: int, refuted: bool) -> None:
    loss = losses.get("listnet-luce", k=k)
    assert bool(sensitivity(loss, n, k, n_random=10).violated) == refuted
    assert not sensitivity(loss, n, n, n_random=10).violated


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_proposition_4_and_5(n: int, k: int) -> None:
    scores = np.array([0.5, -1.0, 0.5, 2.0])[:n]
    for name, loss in at_top(k).items():
        values, slopes = OrderLoss(loss, n)(scores)
        orders = list(itertools.permutations(range(n)))
        for a, y in enumerate(orders):
            b = next(b for b, other in enumerate(orders) if other[:k] == y[:k])
            assert values[a] == pytest.approx(values[b], abs=1e-12), name  # 4
            if y.index(0) < y.index(2):  # 5: objects 0 and 2 have equal scores
                c = orders.index(tuple({0: 2, 2: 0}.get(o, o) for o in y))
                assert slopes[c, 0] >= slopes[a, 0] - 1e-12, name
                if y.index(0) >= k:
                    assert slopes[c, 0] == pytest.approx(slopes[a, 0], abs=1e-12), name


@given(st.integers(0, 2**32 - 1), st.integers(3, 5), st.data())
def test_proposition_8(seed: int, n: int, data: Any) -> None:
    k = data.draw(st.integers(2, n))
    rng = np.random.default_rng(seed)
    space = Space.random_order_preserving(n, k, rng)
    pairs = preserved_pairs(space, k)
    assert len(pairs) >= n - 1
    assert set(pairs) <= set(preserved_pairs(space, k - 1))
    assert meets_theorem_6(space, k - 1)
    if k == n:  # here the opposite does hold
        assert set(pairs) == set(preserved_pairs(space, k - 1))


def test_proposition_8_has_no_converse() -> None:
    space = proposition_10(0.4)
    assert (0, 1) in preserved_pairs(space, 1)
    assert (0, 1) not in preserved_pairs(space, 2)


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
def test_proposition_9_and_that_it_has_no_converse(n: int) -> None:
    for loss in (losses.get("listmle", k=1), Truncated(losses.get("squared"), 1)):
        for k in range(1, n + 1):
            assert not sensitivity(loss, n, k, n_random=10).violated
    for loss in (losses.get("listmle", k=n - 1), Truncated(losses.get("squared"), n - 1)):
        refuted = [bool(sensitivity(loss, n, k, n_random=10).violated) for k in range(1, n + 1)]
        assert refuted == [True] * (n - 2) + [False, False]


@pytest.mark.long
@settings(max_examples=settings().max_examples // 4)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.sampled_from([0.5, 1.0, 4.0]))
def test_theorem_6_and_7(seed: int, size: tuple[int, int], concentration: float) -> None:
    n, k = size
    rng = np.random.default_rng(seed)
    space = Space.random_order_preserving(n, k, rng, concentration=concentration)
    for name, loss in at_top(k).items():
        actual = minimise(space, loss, n_starts=2)
        if not actual.finite:
            continue  # scores run to infinity: the theorems speak of a minimiser
        assert actual.is_consistent(k) or _gap(space, k) < 1e-6, name
        for i, j in preserved_pairs(space, k):
            assert actual.gaps[i, j] > -1e-6, name


def _gap(space: Space, k: int) -> float:
    """Return the least difference that theorem 6 leans on, which may be beyond resolution."""
    actual = space.subgroups(k)
    return float(np.diff(np.sort(actual)).min())


def test_theorem_7_fails_for_a_loss_with_kinks() -> None:
    weights = {(0, 1, 2): 3, (0, 2, 1): 4, (1, 0, 2): 1, (1, 2, 0): 2, (2, 0, 1): 7, (2, 1, 0): 6}
    space = Space.from_orders({order: w / 23 for order, w in weights.items()})
    assert (0, 1) in preserved_pairs(space, 3)
    assert meets_theorem_6(space, 3)
    actual = minimise(space, losses.get("pairwise-hinge"))
    # every minimiser has objects 0 and 1 tied, one unit below object 2
    expected = np.array([[0, 0, -1], [0, 0, -1], [1, 1, 0]])
    assert actual.gaps == pytest.approx(expected, abs=1e-4)
    assert actual.heads(3) == ((2, 0, 1), (2, 1, 0))
    assert (actual.is_consistent(3), space.bayes(3)) == (False, ((2, 0, 1),))
    assert minimise(space, losses.get("pairwise-logistic")).is_consistent(3)


@pytest.mark.long
def test_original_losses_miss_the_top_on_spaces_of_theorem_6() -> None:
    rng = np.random.default_rng(0)
    drawn = [Space.random_order_preserving(4, 1, rng) for _ in range(8)]
    for name, loss in original().items():
        missed = [not minimise(s, loss).is_consistent(1) for s in [*drawn, proposition_10(0.34)]]
        assert 0 < sum(missed) < 9, name


@pytest.mark.parametrize("p1", [0.34, 0.4, 0.45, 0.5, 0.52])
def test_proposition_10_below_its_threshold(p1: float) -> None:
    space = proposition_10(p1)
    assert space.bayes(1) == ((0,),)
    assert minimise(space, losses.get("listmle")).heads(1) == ((1,),)
    for name, loss in at_top(1).items():
        assert minimise(space, loss).is_consistent(1), name


@pytest.mark.parametrize("p1", [0.53, 0.6, 0.8])
def test_proposition_10_is_too_strong_above_its_threshold(p1: float) -> None:
    for name in ("listmle", "listnet", "rankcosine", "squared"):
        assert minimise(proposition_10(p1), losses.get(name)).is_consistent(1), name


def test_threshold_of_proposition_10_is_the_root_of_a_cubic() -> None:
    # Equal scores of objects 1 and 2 and both slopes 0, with p = p2 = (1 - p1) / 2.
    roots = np.roots([14.0, -31.0, 15.0, -2.0])
    p = float(min(r.real for r in roots if abs(r.imag) < 1e-12 and 0.2 < r.real < 1 / 3))
    threshold = 1 - 2 * p
    assert threshold == pytest.approx(0.5261, abs=5e-5)
    for step, first in ((-1e-5, 1), (1e-5, 0)):
        minimum = minimise(proposition_10(threshold + step), "listmle")
        assert int(np.argmax(minimum.scores)) == first
    at = minimise(proposition_10(threshold), "listmle").scores
    assert at[0] == pytest.approx(at[1], abs=1e-8)


def test_proposition_10_does_not_follow_from_what_it_asks_of_the_loss() -> None:
    loss = Gentle()
    assert not sensitivity(loss, 3, 3).violated
    values = OrderLoss(loss, 3)(np.array([1.0, 0.5, 0.0]))[0]
    orders = list(itertools.permutations(range(3)))
    assert values[orders.index((2, 0, 1))] < values[orders.index((2, 1, 0))]  # g1 > g2
    for p1 in (0.3334, 0.34, 0.4, 0.5, 0.7, 0.95):
        assert minimise(proposition_10(p1), loss).is_consistent(1)
