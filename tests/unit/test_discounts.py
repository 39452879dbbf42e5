"""Gains and discounts, as arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from podium.discounts import discounts, gains, persistence
from podium.errors import ArgumentError


def test_linear_gain_is_the_relevance_itself() -> None:
    assert gains(np.array([0.0, 0.5, 3.0])).tolist() == [0.0, 0.5, 3.0]


def test_exp2_gain_is_two_to_the_relevance_less_one() -> None:
    assert gains(np.array([0.0, 1.0, 2.0, 3.0]), "exp2").tolist() == [0, 2 - 1, 4 - 1, 8 - 1]


def test_log2_discount_falls_from_the_first_rank() -> None:
    expected = [1 / np.log2(1 + 1), 1 / np.log2(2 + 1), 1 / np.log2(3 + 1)]
    np.testing.assert_array_equal(discounts(3), expected)


def test_letor_discount_weighs_the_first_two_ranks_the_same() -> None:
    expected = [1, 1, 1 / np.log2(3), 1 / np.log2(4)]
    np.testing.assert_array_equal(discounts(4, "letor"), expected)


def test_no_ranks_have_no_discounts() -> None:
    assert discounts(0).size == discounts(0, "letor").size == persistence(0, 0.5).size == 0


def test_persistence_is_a_distribution_over_ranks() -> None:
    assert persistence(3, 0.5).tolist() == [0.5, 0.5 * 0.5, 0.5 * 0.5**2]
    assert persistence(200, 0.8).sum() == pytest.approx(1 - 0.8**200)


def test_unknown_gain_and_discount_suggest_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r"gain must be one of .*'lineal'.*mean 'linear'\?"):
        gains(np.ones(1), "lineal")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"discount must be one of .*mean 'letor'\?"):
        discounts(1, "letter")  # type: ignore[arg-type]
