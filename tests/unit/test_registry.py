"""Names and texts of metrics, losses and estimators, and what other packages add to them."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from podium import losses, metrics, plugins
from podium._grammar import Text, read, word
from podium.errors import ArgumentError, PodiumWarning
from podium.registry import Registry, Values


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("f1@10", Text("f1", {}, 10)),
        (" ap ( norm = min ) @ 5 ", Text("ap", {"norm": "min"}, 5)),
        ("mn(a=b(c=1,d=e(f=2)),g=3)", Text("mn", {"a": "b(c=1,d=e(f=2))", "g": "3"}, None)),
        ("rank:ndcg", Text("rank:ndcg", {}, None)),
        ("a()", Text("a", {}, None)),
    ],
)  # fmt: skip
def test_text_is_read_in_its_parts(text: str, parts: Text) -> None:
    assert read(text, "thing", "name") == parts


@pytest.mark.parametrize("text", ["", "1f", "a b", "a(b=c", "a)b(", "a(b=c))", "a@1@2", 7])
def test_other_form_is_refused(text: Any) -> None:
    with pytest.raises(ArgumentError):
        read(text, "thing", "name, as")


@pytest.mark.parametrize("value", [None, True, False, 3, 0.1, 2.0, 1e-9, 1 / 3, "min"])
def test_word_of_a_value_reads_back(value: Any) -> None:
    from podium import _check

    assert _check.plain_value(word(value)) == value


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


# --- Plugins ------------------------------------------------------------------------------------

PLUGIN = '''
from dataclasses import dataclass
import numpy as np
from podium import losses, metrics

losses.is_registered("not-there-either")  # a plugin may look names up


@losses.register
@dataclass(frozen=True)
class Late(losses.Logistic):
    """A loss of another package."""

    name = "late-2"


@metrics.register("late", cutoff="required", aliases=("l8",))
def late(ranking, *, k):
    """Half of every list."""
    return np.full(ranking.n_groups, 0.5)
'''


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plugins as in a new process, and registries as they were, afterwards."""
    monkeypatch.setattr(plugins._Plugins, "loaded", False)
    kept = [(r._entries, dict(r._entries)) for r in (losses.REGISTRY, metrics.REGISTRY)]
    aliases = dict(metrics.REGISTRY.aliases)
    yield
    metrics.REGISTRY.aliases.clear()
    metrics.REGISTRY.aliases.update(aliases)
    for entries, before in kept:
        entries.clear()
        entries.update(before)


def points(**modules: str) -> Any:
    found = [
        importlib.metadata.EntryPoint(name, module, plugins.GROUP)
        for name, module in modules.items()
    ]
    usual = importlib.metadata.entry_points  # others read theirs
    return lambda **by: found if by.get("group") == plugins.GROUP else usual(**by)


@pytest.mark.usefixtures("unread")
def test_entry_point_is_read_at_the_first_unknown_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "late_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importlib.metadata, "entry_points", points(late="late_plugin"))
    losses.get("logistic"), metrics.parse("map@5")
    assert "late_plugin" not in sys.modules
    loss = losses.from_spec({"name": "late-2", "per": "group"})  # as a model file has it
    assert (str(loss), losses.parse(str(loss))) == ("late-2(per=group)", loss)
    assert metrics.parse("l8@3") == metrics.parse("late@3")
    assert {"late-2"} <= set(losses.REGISTRY)
    assert {"late@k", "late"} & set(metrics.REGISTRY) == {"late"}


@pytest.mark.usefixtures("unread")
def test_plugin_that_cannot_be_imported_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", points(lost="no_such.module"))
    with (
        pytest.warns(PodiumWarning, match=r"The plugin lost \(no_such\.module\) could not be imp"),
        pytest.raises(ArgumentError, match="loss must be one of"),
    ):
        losses.get("late-2")
    with pytest.raises(ArgumentError, match="measure 'late' is not known"):  # said once
        metrics.parse("late@3")


def test_known_names_read_no_plugin() -> None:
    code = (
        "from podium import losses, metrics, plugins, sampled\n"
        "losses.get('pap-ramp@3'), metrics.parse('auc@5'), metrics.parse('map@5'), "
        "metrics.parse('ndcg@5'), sampled.get('auto'), 'ap' in metrics.REGISTRY\n"
        "assert not plugins._Plugins.loaded\n"
        "losses.is_registered('x')\n"
        "assert plugins._Plugins.loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
