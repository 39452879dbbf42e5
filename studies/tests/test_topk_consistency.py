"""The study of top-k consistency: small runs of its cells, and what the page is made of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from podium.groups import Groups
from podium_studies.recipe import load
from podium_studies.xia2009.enumeration import Gentle, curve, make_loss


@pytest.mark.parametrize(
    ("loss", "form", "first"),
    [
        ("listmle", "original", 0.526097),
        ("squared", "original", 0.5),
        # softmax of (2, 1, 0) in expectation: p1 (e^2 - e) = p2 (e^2 - 1)
        ("listnet", "original", (math.e + 1) / (3 * math.e + 1)),
        ("listmle", "top-k", 1 / 3),
        ("gentle", "original", 1 / 3),
    ],
)
def test_thresholds_of_proposition_10(loss: str, form: str, first: float) -> None:
    recipe = load("topk-consistency")
    recipe = replace(recipe, parameters={**recipe.parameters, "p1": [0.335, 0.995, 5]})
    actual = curve(recipe, make_loss(loss, form, 1))
    assert actual["first from"] == pytest.approx(first, abs=1e-6)
    assert [lead > 0 for lead in actual["lead"]] == [p1 > first for p1 in actual["p1"]]


def test_gradient_of_the_counter_example() -> None:
    rng = np.random.default_rng(0)
    loss = Gentle()
    target = loss.prepare(np.array([3.0, 2.0, 1.0, 1.0, 3.0, 2.0]), Groups.from_sizes([3, 3]))
    s = rng.standard_normal(6)
    grad = loss.value_and_grad(s, target)[1]
    for row in range(6):
        h = 1e-6 * np.eye(6)[row]
        up, down = (loss.value_and_grad(s + d, target)[0].mean() for d in (h, -h))
        assert grad[row] == pytest.approx((up - down) / 2e-6, abs=1e-8)
