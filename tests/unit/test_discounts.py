"""Gains and discounts, as arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from tests.raised import raises

from podium.discounts import discounts, gains, persistence
from podium.errors import ArgumentError


def test_gains_and_discounts_are_their_formulas() -> None:
    assert gains(np.array([0.0, 0.5, 3.0])).tolist() == [0.0, 0.5, 3.0]
    assert gains(np.array([0.0, 1.0, 2.0, 3.0]), "exp2").tolist() == [0, 2 - 1, 4 - 1, 8 - 1]
    log2 = [1 / np.log2(1 + 1), 1 / np.log2(2 + 1), 1 / np.log2(3 + 1)]
    np.testing.assert_array_equal(discounts(3), log2)
    letor = [1, 1, 1 / np.log2(3), 1 / np.log2(4)]
    np.testing.assert_array_equal(discounts(4, "letor"), letor)
    assert discounts(0).size == discounts(0, "letor").size == persistence(0, 0.5).size == 0
    assert persistence(3, 0.5).tolist() == [0.5, 0.5 * 0.5, 0.5 * 0.5**2]
    assert persistence(200, 0.8).sum() == pytest.approx(1 - 0.8**200)
    with raises(ArgumentError, "gain"):
        gains(np.ones(1), "lineal")  # type: ignore[arg-type]
    with raises(ArgumentError, "discount"):
        discounts(1, "letter")  # type: ignore[arg-type]
