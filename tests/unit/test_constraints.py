"""Each parameter of all rankers, recommenders and losses refuses what it does not allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.raised import raises

from podium import _check, losses, rankers, recommenders
from podium.errors import ArgumentError
from podium.recommenders.factorization import LOSSES

REGISTRIES: list[Any] = [rankers.REGISTRY, recommenders.REGISTRY, losses.REGISTRY, LOSSES]
CLASSES: set[Any] = {cls for registry in REGISTRIES for cls in registry.values()}
OWN = [cls for cls in sorted(CLASSES, key=str) if cls.__module__.startswith("podium.")]
PARSED = {"loss", "solver", "start", "eval_metric", "gain"}  # by functions of their own
WRONG: dict[Any, list[Any]] = {
    _check.positive: [0, -1.0, np.nan, np.inf, "small"],
    _check.number: [np.nan, np.inf, "small"],
    _check.cutoff: [0, -1, 1.5, True, 2**63, "many"],
    _check.count: [0.5, -1, True],
    _check.seed: [0.5, -1, True],
    _check.flag: [1, "no"],
    _check.choice: [3, "neither"],
}


def make(cls: Any, **parameters: Any) -> None:
    """Make a loss, or fit a model."""
    needed = {"k": 3} if issubclass(cls, losses.Loss) and cls.parameters()[:1] == ("k",) else {}
    made: Any = cls(**needed | parameters)
    if cls in recommenders.REGISTRY.values():
        made.fit(sparse.csr_array(np.eye(3)))
    elif cls in rankers.REGISTRY.values():
        made.fit(np.eye(6), np.arange(6) % 2, [1, 1, 1, 2, 2, 2])


def wrong_values(check: Any, *, optional: bool) -> Iterator[Any]:
    """Return values of other types, and values beyond each bound of the check."""
    bounds = getattr(check, "keywords", {})
    yield from WRONG.get(getattr(check, "func", check), [object()])
    yield from [] if optional or not bounds.get("required", True) else [None]
    yield from [bounds["low"] - 1] if "low" in bounds else []
    yield from [bounds["low"]] if bounds.get("strict") else []
    yield from [bounds["high"] + 0.5] if "high" in bounds else []


@pytest.mark.parametrize("cls", OWN)
def test_wrong_parameters_are_named(cls: Any) -> None:
    bases: list[Any] = [*reversed(cls.__mro__)]
    checks = {n: c for base in bases for n, c in base.__dict__.get("constraints", {}).items()}
    for field in dataclasses.fields(cls):
        if field.name in checks:
            for value in wrong_values(checks[field.name], optional=field.default is None):
                with raises(ArgumentError, field.name):
                    make(cls, **{field.name: value})
        elif field.init:
            assert field.name in PARSED, field.name
            with pytest.raises(ArgumentError):
                make(cls, **{field.name: "neither"})
