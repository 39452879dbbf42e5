"""Rankers by name, as `podium train --model` and the files of models find them.

Classes are registered by the module that they are in, which is imported when one is first used.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from podium import _check
from podium.errors import ArgumentError

_PLUGIN = "podium.papers.plugin"  # registers what the papers compare with


@dataclass(frozen=True)
class _Entry:
    module: str
    cls: str

    def load(self) -> Any:
        return getattr(importlib.import_module(self.module), self.cls)


_REGISTRY: dict[str, _Entry] = {}


def register(name: str, module: str, cls: str) -> None:
    """Add a ranker, for `podium train --model`, `save` and `load`.

    Parameters
    ----------
    name : str
        Its name on the command line.
    module, cls : str
        The class, which a model's file calls by its bare name.

    Raises
    ------
    ArgumentError
        If another class has the name, or a class of that name is registered.
    """
    entry = _Entry(module, cls)
    taken = [known for known, other in _REGISTRY.items() if name == known or cls == other.cls]
    if taken and _REGISTRY.get(name) != entry:
        raise ArgumentError(
            f"{name!r} of {module}.{cls} can't be registered: {taken[0]!r} is "
            f"{_REGISTRY[taken[0]].module}.{_REGISTRY[taken[0]].cls}. Give it another name."
        )
    _REGISTRY[name] = entry


def names() -> list[str]:
    """Return the names of all rankers, those of the papers too."""
    _plug_in()
    return list(_REGISTRY)


def get(name: str) -> Any:
    """Return the class of this name.

    Raises
    ------
    ArgumentError
        If no ranker has the name; with the nearest one.
    """
    if name not in _REGISTRY:
        _plug_in()
    return _REGISTRY[_check.choice(name, "model", list(_REGISTRY))].load()


def class_names() -> list[str]:
    """Return the names of all registered classes, sorted."""
    _plug_in()
    return sorted(entry.cls for entry in _REGISTRY.values())


def get_class(cls: str) -> Any:
    """Return the class that a model's file names; raise as `get` does."""
    if all(entry.cls != cls for entry in _REGISTRY.values()):
        _plug_in()
    found = {entry.cls: entry for entry in _REGISTRY.values()}
    return found[_check.choice(cls, "class", list(found))].load()


def _plug_in() -> None:
    """Let what stands above this package register its rankers; nothing below may import it."""
    importlib.import_module(_PLUGIN)


register("linear", "podium.rankers.linear", "LinearRanker")
register("neural", "podium.rankers.neural", "NeuralRanker")
register("lightgbm", "podium.rankers.boosting.lightgbm", "LightGBMRanker")
register("xgboost", "podium.rankers.boosting.xgboost", "XGBoostRanker")
register("logistic-regression", "podium.rankers.logistic", "LogisticRanker")
