"""The study of coverage: populations, known summaries, and the recipe on a small grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies.tests.made_samples import small

from podium_studies.cells import key
from podium_studies.jin2021 import coverage as study
from podium_studies.recipe import load

POPULATIONS = load("sampled-coverage").parameters["populations"]


def cell(exact: float, default: float, rival: float, low: float, high: float) -> dict[str, Any]:
    estimates = {study.DEFAULT: [default], "MLE": [rival]}
    return {
        "exact": [exact],
        "estimates": estimates,
        "intervals": [[low, high]],
        "open": [low == 0],
    }


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


def test_summary_is_of_known_samples() -> None:
    recipe = small("sampled-coverage", 2, members=[["power .7", 400, 100]])
    cells = {
        key(member=0, repeat=0): cell(0.2, 0.3, 0.15, 0.1, 0.4),
        key(member=0, repeat=1): cell(0.2, 0.1, 0.25, 0.0, 0.15),
    }
    found = study.summary(recipe, cells, 0)
    assert found["coverage"] == found["not determined"] == [0.5]
    assert found["width / exact"][0] == pytest.approx((0.3 + 0.15) / 2 / 0.2)
    assert found["error / exact"][0] == pytest.approx(0.1 / 0.2)
    assert found["error / best"][0] == pytest.approx(0.1 / 0.05)
    assert found["bias / exact"][0] == pytest.approx(0.0)
