"""Margins: values by hand, bad input, groups without a value, and the guarantees of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium.losses import _margins as theory


def test_margins_by_hand() -> None:
    scores = [5.0, 3.0, 2.5, 1.0, 0.5, 0.0, -1.0]
    m = theory.margins(scores, [1] * 4 + [0] * 3, k=2)
    assert m.weak.tolist() == m.moderate.tolist() == [3.0 - 0.5]
    assert m.plain.tolist() == [(2.5 + 1.0) / 2 - 0.5]
    assert m.strong.tolist() == [1.0 - 0.5]
    assert m.beta.tolist() == [2]
    enormous = theory.margins([1.5e308, -1.5e308], [1, 0], k=1)
    assert enormous.strong.tolist() == [np.inf]


def test_rows_in_any_order_and_groups_without_a_value() -> None:
    qid = np.array(["b", "a", "b", "c", "a", "b", "d", "a"])
    relevance = [1, 0, 0, 1, 1, 0, 0, 2]
    scores = [2.0, 0.0, 0.5, 1.0, 4.0, 1.0, 1.0, 3.0]
    m = theory.margins(scores, relevance, qid, k=2, clip=True)
    assert m.groups.labels.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(m.weak, [3.0 - 0.0, 2.0 - 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(m.plain, [(4.0 + 3.0) / 2 - 0.0, 1.0, np.nan, np.nan])
    assert m.defined.tolist() == m.holds("strong").tolist() == [True, True, False, False]
    assert not any(sure[2:].any() for sure in m.guarantees().values())
    strict = theory.margins(scores, relevance, qid, k=2)
    np.testing.assert_array_equal(strict.weak, [np.nan, 2.0 - 1.0, np.nan, np.nan])
    graded = theory.margins(scores, relevance, qid, k=1, min_relevance=2)
    np.testing.assert_array_equal(graded.strong, [3.0 - 4.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    "change",
    [
        *({"k": 0}, {"delta": -1.0}, {"delta": np.inf}, {"clip": "no"}, {"min_relevance": 0}),
        *({"scores": [1.0, np.nan]}, {"scores": [1.0]}, {"qid": [7]}, {"relevance": [1, -1]}),
    ],
)
def test_bad_argument_is_named(change: dict[str, Any]) -> None:
    arguments = {"scores": [1.0, 0.0], "relevance": [1, 0], "qid": [7, 7], "k": 1, **change}
    with pytest.raises(ArgumentError, match=next(iter(change))):
        theory.margins(**arguments)
