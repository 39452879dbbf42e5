"""The registry of rankers: names from above the package, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import ArgumentError
from podium.rankers import LinearRanker, get, load, parse, register, save
from podium.rankers.registry import REGISTRY


class Mine(LinearRanker):
    """A user's own ranker."""


@pytest.fixture
def _mine(monkeypatch: pytest.MonkeyPatch) -> None:
    list(REGISTRY)  # imports the plugins, which register once in a process
    monkeypatch.setattr(REGISTRY, "_entries", {**REGISTRY._entries})
    assert register("mine")(Mine) is Mine


@pytest.mark.usefixtures("_mine")
def test_registered_ranker_is_found_saved_and_loaded(tmp_path: Path) -> None:
    assert REGISTRY["mine"] is Mine
    fitted = get("mine", one_group=True).fit([[0.0], [1.0]], [0, 1])
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is Mine
    assert again.coef_ == fitted.coef_


def test_ranker_is_made_from_its_text() -> None:
    made = parse("linear(l2=0.1,solver=lbfgs)")
    assert made.get_params() == get("linear", l2=0.1, solver="lbfgs").get_params()
    with pytest.raises(ArgumentError):
        get("linear", soler="lbfgs")


def test_ranker_outside_the_registry_is_not_saved(tmp_path: Path) -> None:
    fitted = Mine(one_group=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ArgumentError, match="got Mine"):
        save(fitted, tmp_path / "model")
