"""The registry of rankers: names from above the package, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from podium.errors import ArgumentError
from podium.rankers import LinearRanker, load, registry, save


class Mine(LinearRanker):
    """A user's own ranker."""


@pytest.fixture
def _mine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", {**registry._REGISTRY})
    monkeypatch.setitem(sys.modules, "mine", sys.modules[__name__])
    registry.register("mine", "mine", "Mine")


@pytest.mark.usefixtures("_mine")
def test_registered_ranker_is_found_saved_and_loaded(tmp_path: Path) -> None:
    assert registry.get("mine") is Mine
    assert "mine" in registry.names()
    fitted = Mine(one_group=True).fit([[0.0], [1.0]], [0, 1])
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is Mine
    assert again.coef_ == fitted.coef_


def test_new_process_finds_the_papers_rankers_without_importing_them_first() -> None:
    code = (
        "import sys; from podium.rankers import registry\n"
        "assert not any(name.startswith('podium.papers') for name in sys.modules)\n"
        "registry.get('linear'), registry.get_class('LinearRanker')\n"
        "assert not any(name.startswith('podium.papers') for name in sys.modules)\n"
        "assert registry.get('rankboost') is registry.get_class('RankBoost')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "module", "cls"),
    [("linear", "mine", "Mine"), ("mine", "mine", "LinearRanker")],
)
def test_taken_name_is_refused(name: str, module: str, cls: str) -> None:
    with pytest.raises(ArgumentError, match=r"'linear' is podium.rankers.linear.LinearRanker"):
        registry.register(name, module, cls)
    registry.register("linear", "podium.rankers.linear", "LinearRanker")  # the same again


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ArgumentError, match="Did you mean 'rankboost'"):
        registry.get("rank-boost")


def test_ranker_outside_the_registry_is_not_saved(tmp_path: Path) -> None:
    fitted = Mine(one_group=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ArgumentError, match=r"model must be a GreedyPAp, .*, got Mine\."):
        save(fitted, tmp_path / "model")
