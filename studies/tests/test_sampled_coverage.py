"""The study of coverage: its populations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podium_studies.jin2021 import coverage as study
from podium_studies.recipe import load

POPULATIONS = load("sampled-coverage").parameters["populations"]


@pytest.mark.parametrize("name", list(POPULATIONS))
def test_populations_are_distributions(name: str) -> None:
    law = study.cumulative(POPULATIONS[name], 500)
    assert law[-1] == 1
    assert law[0] >= 0
    assert (np.diff(law) >= 0).all()


def test_drawn_ranks_follow_the_mixture() -> None:
    parts: Any = [[0.5, "power", 0.9, 0.0], [0.5, "beta", 0.5, 2.0]]
    ranks = study.draw(parts, 50, 20_000, np.random.default_rng(0))
    assert ranks.min() == 1
    shares = np.cumsum(np.bincount(ranks, minlength=51)[1:]) / ranks.size
    np.testing.assert_allclose(shares, study.cumulative(parts, 50), atol=0.02)
