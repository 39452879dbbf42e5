"""Recipes of sampled evaluations for made data, with methods that need no other package."""

from __future__ import annotations

import dataclasses
from typing import Any

from podium_studies.recipe import load
from podium_studies.study import Recipe

METHODS: dict[str, Any] = {"RoBiRank": {"n_factors": 4, "n_epochs": 3}, "itemKNN": {"k": 5}}


def small(name: str, repeats: int, **changes: Any) -> Recipe:
    """Return the recipe for the lists that `two_tastes` writes, with nothing printed or claimed."""
    recipe = load(name)
    protocol = {"format": "lists", "users": 0, "least": 2, "shape": []}
    parameters = {**recipe.parameters, "protocol": protocol, "methods": METHODS, **changes}
    parameters.pop("paper", None)
    data = tuple(dataclasses.replace(each, folder="set", files=()) for each in recipe.data)
    empty: Any = {"printed": {}, "tolerances": {}, "claims": ()}
    return dataclasses.replace(recipe, parameters=parameters, repeats=repeats, data=data, **empty)
