"""The registry of rankers: names from above the package, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import ArgumentError
from podium.rankers import LinearRanker, get, parse, save


class Mine(LinearRanker):
    """A user's own ranker."""


def test_ranker_is_made_from_its_text() -> None:
    made = parse("linear(l2=0.1,solver=lbfgs)")
    assert made.get_params() == get("linear", l2=0.1, solver="lbfgs").get_params()
    with pytest.raises(ArgumentError):
        get("linear", soler="lbfgs")


def test_ranker_outside_the_registry_is_not_saved(tmp_path: Path) -> None:
    fitted = Mine(one_group=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ArgumentError, match="got Mine"):
        save(fitted, tmp_path / "model")
