"""Margins as their definitions read, over all subsets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from podium.losses import _margins as theory

Case = tuple[list[float], list[float], int]


def cases(seed: int, n_cases: int = 150) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n_pos, n_neg = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        s = rng.integers(-4, 17, n_pos) / 4
        yield s.tolist(), (rng.integers(-8, 3, n_neg) / 4).tolist(), int(rng.integers(1, n_neg + 1))


def largest(margin: str, s: list[float], t: list[float], k: int) -> float:
    """Return the largest delta, by every set of beta positives; -inf where there is none."""
    subsets = list(combinations(s, min(k, len(s))))
    if margin == "plain":
        return float(min(Fraction(sum(z)) / len(z) for z in subsets) - Fraction(max(t)))
    if margin == "strong":
        return min(s) - max(t)
    if margin == "moderate" and min(s) - max(t) < 0:
        return -math.inf
    return max(min(z) - max(t) for z in subsets)


def test_cases_have_each_kind_of_margin() -> None:
    drawn = list(cases(0))
    moderate = [largest("moderate", *case) for case in drawn]
    assert any(math.isinf(m) for m in moderate)
    assert any(m > 0 for m in moderate)
    assert any(len(s) > k for s, _, k in drawn)
    assert any(len(s) < k for s, _, k in drawn)


@pytest.mark.parametrize("margin", theory.MARGINS)
def test_largest_delta_is_the_definitions(margin: str) -> None:
    for s, t, k in cases(1):
        actual = theory.margins([*s, *t], [1] * len(s) + [0] * len(t), k=k)
        assert getattr(actual, margin)[0] == pytest.approx(largest(margin, s, t, k), abs=1e-12)
