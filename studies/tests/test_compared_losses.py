"""The losses that the papers compare with: their values, by hand and by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.oracles import listwise_oracles, loss_oracles

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
from podium_studies.hiranandani2020.surrogates import PApStruct
from podium_studies.xia2009.luce import ListNetLuce

_GRID = [i / 4 for i in range(-8, 9)]  # exact in binary: kinks and ties are met exactly


def run(loss: Any, scores: Any, relevance: Any) -> Any:
    target = loss.prepare(np.asarray(relevance, float), Groups.single(len(scores)))
    return loss.value_and_grad(np.asarray(scores, float), target)


# --- the loose structural surrogate ---


def sides(seed: int, most: int, n_cases: int = 100) -> Iterator[tuple[list[float], list[float]]]:
    """Draw positives and negatives, many of them equal."""
    rng = np.random.default_rng(seed)
    for _ in range(n_cases):
        n_pos, n_neg = rng.integers(1, most, 2)
        yield rng.choice(_GRID, n_pos).tolist(), rng.choice(_GRID, n_neg).tolist()


def loose_struct(s: list[float], t: list[float], k: int) -> Any:
    return run(PApStruct(k, clip=True), [*s, *t], np.repeat([1.0, 0.0], [len(s), len(t)]))


@pytest.mark.long
def test_loose_struct_is_the_maximum_over_orderings() -> None:
    for s, t in sides(1, 5, 40):
        for k in range(1, len(t) + 1):
            expected = loss_oracles.loose_struct(s, t, k)
            assert loose_struct(s, t, k)[0][0] == pytest.approx(expected, abs=1e-12)


def test_loose_struct_is_a_programme_over_rising_rows() -> None:
    """As many errors at least as the positive above has: the best of all rising sequences."""
    wide = ((s * 8, t * 10) for s, t in sides(9, 20, 4))  # a top of 99 is kept in a heap
    for s, t in itertools.chain(sides(8, 20), wide):
        k = min(99, len(t))
        ranked, worst = sorted(s, reverse=True), sorted(t, reverse=True)
        n_pairs, n_top = len(s) * len(t), min(k, len(s)) * k
        best = [0.0] * (len(t) + 1)
        for i, score in enumerate(ranked):
            margin = list(itertools.accumulate((b - score for b in worst), initial=0.0))
            ends = [
                best[r] + margin[r] / n_pairs + (min(r, k) / n_top if i < k else 0.0)
                for r in range(len(t) + 1)
            ]
            best = list(itertools.accumulate(ends, max))
        assert loose_struct(s, t, k)[0][0] == pytest.approx(best[-1], abs=1e-12)


def test_loose_struct_with_few_items_is_the_ramp() -> None:
    """With n_pos and n_neg at most k all pairs are top pairs, and nothing is loose."""
    for s, t in sides(10, 5, 40):
        ours = loose_struct(s, t, 4)
        relevance = np.repeat([1.0, 0.0], [len(s), len(t)])
        theirs = run(losses.PApRamp(4, clip=True), [*s, *t], relevance)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-12)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12)


# --- the cross entropy of Luce models ---


def lists(seed: int) -> Iterator[tuple[list[float], list[float]]]:
    """Draw scores and grades, with ties and never one grade only."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        grades = rng.choice([0.0, 0.5, 1.0, 3.0], int(rng.integers(2, 6)))
        grades[0] = 2.0
        scores = np.round(2 * rng.standard_normal(grades.size), 1)
        yield scores.tolist(), rng.permutation(grades).tolist()


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_luce_cross_entropy_is_the_sum_over_all_first_places(scale: float) -> None:
    for i, (scores, grades) in enumerate(lists(2)):
        k = i % 6 + 1
        expected = listwise_oracles.luce_cross_entropy(scores, grades, k, scale)
        values, _ = run(ListNetLuce(k, scale), scores, grades)
        assert values[0] == pytest.approx(expected, abs=1e-12)


def test_luce_of_one_place_is_listnet_of_the_whole_list() -> None:
    for scores, grades in lists(3):
        luce, complete = run(ListNetLuce(1), scores, grades), run(losses.ListNet(), scores, grades)
        assert luce[0] == pytest.approx(complete[0], abs=1e-14)
        np.testing.assert_allclose(luce[1], complete[1], atol=1e-15)


def test_luce_refuses_lists_that_are_too_long_for_k() -> None:
    relevance, groups = np.tile([1.0, 0.0], 250), Groups.from_qid(["a"] * 100 + ["b"] * 400)
    ListNetLuce(2).prepare(relevance, groups)
    with pytest.raises(ArgumentError):
        ListNetLuce(3).prepare(relevance, groups)
    # One grade costs nothing, and places beyond the list are not places.
    ListNetLuce(3).prepare(np.ones(500), groups)
    ListNetLuce(99).prepare(relevance[:6], Groups.single(6))
