"""Margins: values by hand, bad input, groups without a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium.losses import _margins as theory


def one(s: list[float], t: list[float], k: int, **options: Any) -> theory.Margins:
    return theory.margins([*s, *t], [1] * len(s) + [0] * len(t), k=k, **options)


def test_margins_by_hand() -> None:
    m = one([5.0, 3.0, 2.5, 1.0], [0.5, 0.0, -1.0], 2)
    assert m.weak.tolist() == [3.0 - 0.5]
    assert m.plain.tolist() == [(2.5 + 1.0) / 2 - 0.5]
    assert m.moderate.tolist() == [3.0 - 0.5]
    assert m.strong.tolist() == [1.0 - 0.5]
    assert m.beta.tolist() == [2]


def test_rows_in_any_order_and_groups_without_a_value() -> None:
    qid = np.array(["b", "a", "b", "c", "a", "b", "d", "a"])
    relevance = [1, 0, 0, 1, 1, 0, 0, 2]
    scores = [2.0, 0.0, 0.5, 1.0, 4.0, 1.0, 1.0, 3.0]
    m = theory.margins(scores, relevance, qid, k=2, clip=True)
    assert m.groups.labels.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(m.weak, [3.0 - 0.0, 2.0 - 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(m.plain, [(4.0 + 3.0) / 2 - 0.0, 1.0, np.nan, np.nan])
    assert m.defined.tolist() == [True, True, False, False]
    assert m.holds("strong").tolist() == [True, True, False, False]
    assert not any(sure[2:].any() for sure in m.guarantees().values())
    strict = theory.margins(scores, relevance, qid, k=2)
    np.testing.assert_array_equal(strict.weak, [np.nan, 2.0 - 1.0, np.nan, np.nan])
    assert strict.defined.tolist() == [False, True, False, False]
    graded = theory.margins(scores, relevance, qid, k=1, min_relevance=2)
    np.testing.assert_array_equal(graded.strong, [3.0 - 4.0, np.nan, np.nan, np.nan])


def test_enormous_scores_overflow_to_an_infinite_margin() -> None:
    assert one([1.5e308], [-1.5e308], 1).strong.tolist() == [np.inf]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"k": 0}, "k must be an integer >= 1"),
        ({"delta": -1.0}, "delta must be a number >= 0"),
        ({"delta": np.inf}, "delta must be a number >= 0"),
        ({"clip": "no"}, "clip must be True or False"),
        ({"min_relevance": 0}, "min_relevance must be a number > 0"),
        ({"scores": [1.0, np.nan]}, "first at row 1 .qid 7"),
        ({"scores": [1.0]}, "scores and relevance must have equal length, got 1 and 2"),
        ({"qid": [7]}, "scores and qid must have equal length, got 2 and 1"),
        ({"relevance": [1, -1]}, "relevance must be >= 0"),
    ],
)
def test_bad_argument_is_named(change: dict[str, Any], text: str) -> None:
    arguments = {"scores": [1.0, 0.0], "relevance": [1, 0], "qid": [7, 7], "k": 1, **change}
    with pytest.raises(ArgumentError, match=text):
        theory.margins(**arguments)
