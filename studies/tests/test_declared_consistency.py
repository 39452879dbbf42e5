"""What podium's losses declare about the top k is what enumeration finds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from podium import losses
from podium_studies.xia2009.consistency import Space, Truncated, minimise
from podium_studies.xia2009.consistency.minimum import Expected, OrderLoss

DECLARED = {
    name: loss.consistency[0]
    for name, loss in losses.REGISTRY.items()
    if loss.__module__.startswith("podium.") and loss.consistency is not None
}
# Proposition 10: object 0 is the most probable first object.
SPACE = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})


def spaces(k: int) -> list[Space]:
    """Draw spaces that meet the condition of theorem 6 and nothing else."""
    rng = np.random.default_rng(k)
    return [Space.random_order_preserving(3, k, rng, concentration=1.0) for _ in range(4)]


def consistent(loss: Any, k: int) -> list[bool]:
    return [minimise(space, loss, n_starts=3).is_consistent(k) for space in spaces(k)]


def named(*words: str) -> list[str]:
    return [name for name, word in DECLARED.items() if word in words]


def test_every_word_is_one_of_three() -> None:
    assert set(DECLARED.values()) == {"with k", "with grades of the top k only", "no"}


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", named("with k"))
def test_losses_with_a_cutoff_are_consistent(name: str, k: int) -> None:
    assert all(consistent(losses.get(name, k=k), k))
    assert not minimise(SPACE, name).is_consistent(1)


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", named("with grades of the top k only"))
def test_losses_of_truncated_grades_are_consistent(name: str, k: int) -> None:
    loss = losses.get(name, k=k) if name == "lambdarank" else losses.get(name)
    assert all(consistent(Truncated(loss, k), k))


@pytest.mark.parametrize("name", ["softmax", "squared", "pairwise-logistic"])
def test_all_grades_are_too_many(name: str) -> None:
    assert not minimise(SPACE, name).is_consistent(1)


@pytest.mark.parametrize("name", [name for name in named("no") if name.startswith("pap-")])
def test_surrogates_with_hinges_need_a_majority(name: str) -> None:
    """tewari2007: with no probability above 1/2, equal scores have the least expectation."""
    expected = Expected(SPACE, OrderLoss(Truncated(losses.get(name, k=1), 1), 3))
    found = [np.array(scores) for scores in product((0.0, 0.5, 1.0, 2.0), repeat=3)]
    found = [scores for scores in found if scores[0] > scores[1:].max()]
    assert min(expected(scores)[0] for scores in found) > expected(np.zeros(3))[0]


def test_the_hinge_is_not_consistent() -> None:
    assert not all(consistent(Truncated(losses.get("pairwise-hinge"), 2), 2))
