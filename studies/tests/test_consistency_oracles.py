"""The theory's definitions word by word in plain Python, against the consistency package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from podium import losses
from podium.losses import Loss
from podium_studies.xia2009.consistency import (
    Space,
    meets_theorem_6,
    minimise,
    preserved_pairs,
    sensitivity,
)

Order = tuple[int, ...]
Plain = Callable[[list[float], Order], float]


def by_order(space: Space) -> dict[Order, float]:
    return dict(zip(itertools.permutations(range(space.n)), space.probabilities, strict=True))


def subgroup(p: dict[Order, float], head: Order) -> float:
    return sum(value for order, value in p.items() if order[: len(head)] == head)


def exchanged(order: Order, i: int, j: int) -> Order:
    return tuple({i: j, j: i}.get(o, o) for o in order)


def preserves(p: dict[Order, float], i: int, j: int, k: int) -> bool:
    """Definition 2."""
    for y in p:
        if y.index(i) < y.index(j):
            head, other = y[:k], exchanged(y, i, j)[:k]
            if head != other and not subgroup(p, head) > subgroup(p, other) + 1e-15:
                return False
    return True


def theorem_6(p: dict[Order, float], n: int, k: int) -> bool:
    """Try every order (j1, …, jn) and, for each later object, every earlier one from jk on."""
    for order in itertools.permutations(range(n)):
        chain = [(order[i], order[i + 1]) for i in range(min(k, n - 1))]
        if all(preserves(p, *pair, k) for pair in chain) and all(
            any(preserves(p, order[s], order[t], k) for s in range(k - 1, t))
            for t in range(k + 1, n)
        ):
            return True
    return False


def spaces(n: int, k: int) -> list[Space]:
    rng = np.random.default_rng([n, k])
    drawn = [Space.random(n, rng, concentration=c) for c in (0.2, 1.0, 5.0)]
    drawn += [Space.random_order_preserving(n, k, rng) for _ in range(3)]
    coarse = rng.integers(0, 3, math.factorial(n)) + 1e-9
    return [*drawn, Space(coarse / coarse.sum()), Space(np.full(len(coarse), 1 / len(coarse)))]


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (4, 3)])
def test_conditions_on_spaces_are_the_definitions(n: int, k: int) -> None:
    outcomes: set[tuple[bool, bool]] = set()
    for space in spaces(n, k):
        p = by_order(space)
        expected = {h: subgroup(p, h) for h in itertools.permutations(range(n), k)}
        assert space.subgroups(k) == pytest.approx(list(expected.values()))
        best = max(expected.values())
        assert set(space.bayes(k)) == {h for h, v in expected.items() if v > best - 1e-12}
        for i, j in itertools.permutations(range(n), 2):
            assert ((i, j) in preserved_pairs(space, k)) == preserves(p, i, j, k)
            outcomes.add((True, preserves(p, i, j, k)))
        assert meets_theorem_6(space, k) == theorem_6(p, n, k)
        outcomes.add((False, theorem_6(p, n, k)))
    assert outcomes == set(itertools.product([True, False], repeat=2))


def likelihood(k: int) -> Plain:
    def value(scores: list[float], order: Order) -> float:
        s = [scores[o] for o in order]
        return sum(math.log(sum(map(math.exp, s[i:]))) - s[i] for i in range(min(k, len(s))))

    return value


def logistic_pairs(scores: list[float], order: Order) -> float:
    pairs = itertools.combinations(order, 2)
    return sum(math.log1p(math.exp(scores[b] - scores[a])) for a, b in pairs)


def cosine(k: int) -> Plain:
    def value(scores: list[float], order: Order) -> float:
        n = len(order)
        below = sum(range(1, n - k + 1)) / (n - k) if k < n else 0.0
        psi = {o: float(n - i) if i < k else below for i, o in enumerate(order)}
        dot = sum(psi[o] * scores[o] for o in order)
        length = math.sqrt(sum(v * v for v in psi.values()) * sum(s * s for s in scores))
        return (1 - dot / length) / 2

    return value


PLAIN: list[tuple[str, Loss, Plain]] = [
    ("listmle", losses.get("listmle"), likelihood(9)),
    ("listmle@1", losses.get("listmle@1"), likelihood(1)),
    ("listmle@2", losses.get("listmle@2"), likelihood(2)),
    ("pairwise-logistic", losses.get("pairwise-logistic"), logistic_pairs),
    ("rankcosine@1", losses.get("rankcosine@1"), cosine(1)),
    ("rankcosine", losses.get("rankcosine"), cosine(9)),
]


def violations(phi: Plain, n: int, k: int, scores: list[float]) -> set[str]:
    """Conditions (1) and (2) of definition 3 at one score vector."""
    violated: set[str] = set()
    orders = list(itertools.permutations(range(n)))
    for i, j in itertools.permutations(range(n), 2):
        moved = list(scores)
        moved[i], moved[j] = moved[j], moved[i]
        if any(abs(phi(scores, y) - phi(moved, exchanged(y, i, j))) > 1e-9 for y in orders):
            violated.add("symmetric")
        if scores[i] < scores[j]:
            strict = False
            for y in (y for y in orders if y.index(i) < y.index(j)):
                other = exchanged(y, i, j)
                gain = phi(scores, y) - phi(scores, other)
                if y[:k] == other[:k]:
                    violated |= {"constant"} if abs(gain) > 1e-9 else set()
                else:
                    violated |= {"ordered"} if gain < -1e-9 else set()
                    strict |= gain > 1e-9
            violated |= set() if strict else {"strict"}
    return violated


@pytest.mark.parametrize(("name", "loss", "phi"), PLAIN, ids=[name for name, *_ in PLAIN])
@pytest.mark.parametrize(
    ("n", "k"),
    [
        (3, 1),
        (3, 2),
        pytest.param(4, 1, marks=pytest.mark.long),
        pytest.param(4, 2, marks=pytest.mark.long),
    ],
)
def test_search_agrees_with_the_definition(
    name: str, loss: Loss, phi: Plain, n: int, k: int
) -> None:
    expected: set[str] = set()
    for scores in itertools.product([0.0, 1.0, 2.0], repeat=n):
        if any(scores):
            expected |= violations(phi, n, k, list(scores))
    actual = set(sensitivity(loss, n, k, n_random=20).violated)
    assert actual - {"differentiable", "steeper"} == expected, name
    assert actual & {"differentiable", "steeper"} == ({"steeper"} & actual if expected else set())


@pytest.mark.long
@pytest.mark.parametrize(("name", "loss", "phi"), PLAIN, ids=[name for name, *_ in PLAIN])
def test_minimum_is_no_higher_than_another_methods(name: str, loss: Loss, phi: Plain) -> None:
    rng = np.random.default_rng(3)
    for n in (3, 4):
        space = Space.random(n, rng)
        p = by_order(space)

        def expected(scores: np.ndarray, p: dict[Order, float] = p) -> float:
            return sum(value * phi(scores.tolist(), y) for y, value in p.items())

        minimum = minimise(space, loss)
        scale = (
            expected(minimum.scores) / minimum.value
        )  # podium divides by pairs where it has them
        options: Any = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 5000}
        other: Any = minimize(
            expected, rng.standard_normal(n), method="Nelder-Mead", options=options
        )
        assert scale == pytest.approx(n * (n - 1) / 2 if name == "pairwise-logistic" else 1.0)
        assert expected(minimum.scores) <= other.fun + 1e-9


def test_flat_minimum_of_the_hinge_by_a_grid() -> None:
    rng = np.random.default_rng(5)
    loss = losses.get("pairwise-hinge")
    tied = Space.from_orders({(0, 1, 2): 0.5, (1, 0, 2): 0.25, (2, 1, 0): 0.25})
    for space in [tied, Space(np.full(6, 1 / 6)), *(Space.random(3, rng) for _ in range(4))]:
        minimum = minimise(space, loss)
        grid = [np.array([0.0, a / 4, b / 4]) for a in range(-12, 13) for b in range(-12, 13)]
        values = [
            sum(
                p * sum(max(0.0, 1 - g[a] + g[b]) for a, b in itertools.combinations(y, 2)) / 3
                for y, p in by_order(space).items()
            )
            for g in grid
        ]
        assert minimum.value == pytest.approx(min(values), abs=1e-9)
        best = [g for g, v in zip(grid, values, strict=True) if v < min(values) + 1e-9]
        for i, j in itertools.permutations(range(3), 2):
            # the ends of a flat piece are whole numbers apart, so the grid has them
            assert minimum.gaps[i, j] == pytest.approx(min(g[i] - g[j] for g in best), abs=1e-4)
