"""Letters of systems that do not differ: by hand, by their laws, and refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import ArgumentError
from podium.evaluation.stats import letters


def table(n: int, *pairs: tuple[int, int]) -> np.ndarray:
    """Return the table in which these pairs of systems differ."""
    differs = np.zeros((n, n), np.bool_)
    for i, j in pairs:
        differs[i, j] = differs[j, i] = True
    return differs


def columns(texts: list[str]) -> list[set[int]]:
    """Return the systems of each letter."""
    groups: dict[str, set[int]] = {}
    for i, text in enumerate(texts):
        for name in re.finditer(r"[a-z]\d*", text):
            groups.setdefault(name.group(), set()).add(i)
    return list(groups.values())


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[float], np.ndarray]:
    n = draw(st.integers(0, 9))
    means = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=n, max_size=n))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    return means, table(n, *draw(st.sets(st.sampled_from(pairs)) if pairs else st.just(set())))


@given(systems())
def test_two_systems_share_a_letter_if_and_only_if_they_do_not_differ(
    case: tuple[list[float], np.ndarray],
) -> None:
    groups = columns(letters(*case))
    for i in range(len(case[0])):
        for j in range(len(case[0])):
            assert any({i, j} <= group for group in groups) == (not case[1][i, j])


@given(systems())
def test_no_letter_is_superfluous(case: tuple[list[float], np.ndarray]) -> None:
    """Each letter has a pair (or a system) of its own; none is part of another one."""
    groups = columns(letters(*case))
    for group in groups:
        others = [other for other in groups if other is not group]
        assert not any(group <= other for other in others)
        assert any(not any({i, j} <= other for other in others) for i in group for j in group)


@given(systems(), st.randoms(use_true_random=False))
def test_the_best_system_has_a_and_the_order_of_systems_does_not_matter(
    case: tuple[list[float], np.ndarray], random: Any
) -> None:
    means, differs = case
    means = [mean + i / 1e3 for i, mean in enumerate(means)]  # no two are equal
    texts = letters(means, differs)
    order = list(range(len(means)))
    random.shuffle(order)
    assert letters([means[i] for i in order], differs[np.ix_(order, order)]) == [
        texts[i] for i in order
    ]
    if means:
        assert texts[int(np.argmax(means))].startswith("a")


def test_after_z_comes_a2() -> None:
    n = 30
    texts = letters(-np.arange(n), ~np.eye(n, dtype=np.bool_))
    assert texts[25:] == ["z", "a2", "b2", "c2", "d2"]


@pytest.mark.parametrize(
    "differs", [table(3), [[0.2, 0.01], [0.01, 0.2]], [[False, True], [False, False]]]
)
def test_a_table_that_is_not_one_is_refused(differs: Any) -> None:
    with pytest.raises(ArgumentError, match="differs"):
        letters([0.1, 0.2], differs)
