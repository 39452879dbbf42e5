"""Names and texts of metrics, losses, rankers and estimators, and what other packages add."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from podium import losses, metrics, plugins, rankers, sampled
from podium.errors import ArgumentError, PodiumWarning
from podium.registry import Registry, Values


@pytest.fixture
def things() -> Values[Any]:
    return Values("thing", "name, as a")


@dataclass(frozen=True)
class Thing:
    size: float = 1.0
    k: int | None = 3
    name = "thing-2"


def test_what_is_registered_is_made_from_its_text_and_gives_it_back(things: Values[Any]) -> None:
    things.register(Thing)
    for value in (Thing(), Thing(2.5), Thing(k=7), Thing(k=None)):
        assert things.parse(str(value)) == value
    assert [str(v) for v in (Thing(), Thing(2.0, 9))] == ["thing-2", "thing-2(size=2)@9"]
    assert things.make("thing-2@9", size=2.0) == Thing(2.0, 9)


@pytest.mark.parametrize("name", ["f 1", "1f", "f(1)", "f@k", "", "f=1", "é"])
def test_name_that_no_text_can_hold_is_refused_where_it_is_registered(name: str) -> None:
    with pytest.raises(ArgumentError):
        Registry[Any]("thing", "name").enter(name, Thing)
    with pytest.raises(ArgumentError):
        Registry[Any]("thing", "name").enter("good", Thing, aliases=[name])


def test_name_that_is_taken_is_refused_but_for_the_same_code_made_again() -> None:
    table = Registry[Any]("thing", "name")
    again = type("Thing", (), {"__module__": Thing.__module__, "__qualname__": Thing.__qualname__})
    table.enter("a", Thing, ["b"])
    table.enter("a", again, ["b"])
    assert table["a"] is again
    for name in ("a", "b"):
        with pytest.raises(ArgumentError, match=rf"thing '{name}' is taken by .*\.Thing\. Choose"):
            table.enter(name, ModuleType)
    with pytest.raises(ArgumentError, match="thing 'a' is taken by"):
        table.enter("c", ModuleType, aliases=["a"])
    assert "c" not in table


# --- Rankers ------------------------------------------------------------------------------------


class Mine(rankers.LinearRanker):
    """A user's own ranker."""


def test_ranker_is_made_from_its_text_and_saved_if_it_is_registered(tmp_path: Path) -> None:
    made = rankers.parse("linear(l2=0.1,solver=lbfgs)")
    assert made.get_params() == rankers.get("linear", l2=0.1, solver="lbfgs").get_params()
    with pytest.raises(ArgumentError):
        rankers.get("linear", soler="lbfgs")
    fitted = Mine(one_group=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ArgumentError, match="got Mine"):
        rankers.save(fitted, tmp_path / "model")


# --- Plugins ------------------------------------------------------------------------------------

PLUGIN = """
from podium import losses
losses.is_registered("not-there-either")  # a plugin may look names up
import no_such_module
"""


def test_plugin_is_read_at_the_first_unknown_name_and_left_out_if_it_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lost_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    point = importlib.metadata.EntryPoint("lost", "lost_plugin", plugins.GROUP)
    usual = importlib.metadata.entry_points  # others read theirs
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda **by: [point] if by.get("group") == plugins.GROUP else usual(**by),
    )
    monkeypatch.setattr(plugins._Plugins, "loaded", False)
    losses.get("logistic"), losses.get("pap-ramp@3"), sampled.get("auto")
    assert [metrics.parse(f"{name}@5") for name in ("auc", "map", "ndcg")]
    assert "ap" in metrics.REGISTRY
    assert not plugins._Plugins.loaded
    with (
        pytest.warns(PodiumWarning, match=r"The plugin lost \(lost_plugin\) could not be imported"),
        pytest.raises(ArgumentError, match="loss must be one of"),
    ):
        losses.get("late-2")
    with pytest.raises(ArgumentError, match="measure 'late' is not known"):  # said once
        metrics.parse("late@3")
    assert not losses.is_registered("late-2")
