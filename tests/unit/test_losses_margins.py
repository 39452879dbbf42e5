"""Margins: values by hand, bad input, groups without a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium import losses
from podium.errors import ArgumentError
from podium.groups import Groups
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


def test_moderate_has_no_delta_where_a_positive_lies_below_a_negative() -> None:
    assert one([5.0, 3.0, -0.1], [0.0, 0.0], 2).moderate.tolist() == [-np.inf]
    # On the best negative is not below it.
    assert one([5.0, 3.0, 0.0], [0.0, 0.0], 2).moderate.tolist() == [3.0]


def test_the_papers_own_margin_with_a_risk_of_two_thirds() -> None:
    m = one([100.0, -1.0, -1.0], [0.0, 0.0, 0.0], 3)
    assert m.plain[0] == (100 - 1 - 1) / 3
    assert m.holds("plain").tolist() == [True]
    sure = m.guarantees("plain")
    assert [name for name in sure if sure[name][0]] == ["pap-avg"]
    assert theory.margins([100.0, -1.0, -1.0, 0.0, 0.0, 0.0], [1, 1, 1, 0, 0, 0], k=3).n_neg[0] == 3


def test_plain_margin_reaches_the_risk_with_enough_positives() -> None:
    # beta = 2: 3 = 2 beta - 1 positives are enough, 2 are not.
    enough = one([5.0, 5.0, -3.0], [0.0, 0.0], 2)
    few = one([9.0, -3.0], [0.0, 0.0], 2)
    assert enough.holds("plain")[0]
    assert few.holds("plain")[0]
    assert [m.guarantees("plain")["risk"][0] for m in (enough, few)] == [True, False]
    assert [m.guarantees("plain")["pap-ramp"][0] for m in (enough, few)] == [True, False]


@pytest.mark.parametrize(
    ("delta", "sure"), [(0.0, set()), (0.25, {"risk"}), (1.0, {"risk", *theory.SURROGATES})]
)
def test_surrogates_need_a_margin_of_one_and_the_risk_any(delta: float, sure: set[str]) -> None:
    actual = one([3.0, 2.0], [0.0], 1, delta=delta).guarantees()
    assert {name for name in actual if actual[name][0]} == sure


def test_wide_moderate_margin_reaches_the_average() -> None:
    # One of three positives at 3, the others at 0: their mean is 1 above the negative.
    s, t = [3.0, 0.0, 0.0], [0.0]
    assert one(s, t, 1, delta=3.0).guarantees("moderate")["pap-avg"][0]
    assert not one(s, t, 1, delta=2.5).guarantees("moderate")["pap-avg"][0]


def test_strong_margin_of_a_half_makes_the_exact_tight_struct_zero() -> None:
    # Two positives pay for one hinge: .5 + .5 >= 1.
    actual = one([0.5, 0.5], [0.0], 1, delta=0.5).guarantees()
    assert {name for name in actual if actual[name][0]} == {"risk", "pap-tight-struct-exact"}
    loss = losses.get("pap-tight-struct-exact@1")
    target = loss.prepare(np.array([1.0, 1.0, 0.0]), Groups.single(3))
    assert loss.value_and_grad(np.array([0.5, 0.5, 0.0]), target)[0][0] == 0.0


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


def test_a_common_shift_changes_nothing() -> None:
    m = one([3.0, 2.0, 1.5], [0.0, -1.0], 2)
    moved = one([1027.0, 1026.0, 1025.5], [1024.0, 1023.0], 2)
    for name in theory.MARGINS:
        assert getattr(m, name).tolist() == getattr(moved, name).tolist()


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
