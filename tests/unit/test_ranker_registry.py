"""The registry of rankers: names from above the package, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import ArgumentError
from podium.rankers import LinearRanker, get, load, parse, register, save
from podium.rankers.registry import REGISTRY, register_at


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
    with pytest.raises(
        ArgumentError, match=r"linear has no parameter 'soler'\. Did you mean 'solver'"
    ):
        get("linear", soler="lbfgs")


@pytest.mark.usefixtures("_mine")
def test_taken_name_is_refused() -> None:
    taken = r"ranker 'linear' is taken by podium\.rankers\.linear\.LinearRanker"
    with pytest.raises(ArgumentError, match=taken):
        register_at("linear", "other", "Another")
    called = r"ranker 'other' has the class name LinearRanker, .* podium\.rankers\.linear\."
    with pytest.raises(ArgumentError, match=called):
        register_at("other", "other", "LinearRanker")
    register_at("linear", "podium.rankers.linear", "LinearRanker")  # the same again
    register("mine")(Mine)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ArgumentError, match="Did you mean 'lightgbm'"):
        get("light-gbm")


def test_ranker_outside_the_registry_is_not_saved(tmp_path: Path) -> None:
    fitted = Mine(one_group=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ArgumentError, match=r"model must be a .*'LightGBMRanker', .*, got Mine\."):
        save(fitted, tmp_path / "model")
