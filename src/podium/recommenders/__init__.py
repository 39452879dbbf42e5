"""Recommenders: models that score all items for each user, with one interface.

The models are `Factorization`, `EASE`, `ItemKNN`, `Popularity`, `Recent` and `OwnHistory`, their
`Blend`, and those that plugins register. Each model is fitted to a sparse matrix or a table of
users and items. It recommends items, ranks held-out items and scores single pairs. `get` creates a
model from its name, and `load` reads a saved one.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.registry import Models

if TYPE_CHECKING:
    from podium.recommenders._base import MatrixRecommender, Recommender
    from podium.recommenders._factors import FactorRecommender, Popularity
    from podium.recommenders._recent import OwnHistory, Recent
    from podium.recommenders._similar import EASE, ItemKNN
    from podium.recommenders.blend import Blend
    from podium.recommenders.factorization._model import Factorization

_HOME = {
    "FactorRecommender": "_factors",
    "MatrixRecommender": "_base",
    "Recommender": "_base",
}

__all__ = [
    "EASE",
    "REGISTRY",
    "Blend",
    "FactorRecommender",
    "Factorization",
    "ItemKNN",
    "MatrixRecommender",
    "OwnHistory",
    "Popularity",
    "Recent",
    "Recommender",
    "get",
    "load",
    "parse",
    "register",
]

REGISTRY: Models[Recommender] = Models(
    "recommender", "name or name(param=value), such as ease(l2=500)"
)
"""All recommenders by name. The tests in tests/laws run on each of them."""

register, register_at = REGISTRY.register, REGISTRY.register_at
get, parse = REGISTRY.make, REGISTRY.parse

register_at("factorization", "podium.recommenders.factorization._model", "Factorization")
register_at("popularity", "podium.recommenders._factors", "Popularity")
register_at("recent", "podium.recommenders._recent", "Recent")
register_at("own-history", "podium.recommenders._recent", "OwnHistory")
register_at("blend", "podium.recommenders.blend", "Blend")
register_at("ease", "podium.recommenders._similar", "EASE")
register_at("item-knn", "podium.recommenders._similar", "ItemKNN")


def load(path: str | os.PathLike[str]) -> Recommender:
    """Read a saved recommender of any registered class; no code from the file is executed.

    Raises
    ------
    DataError
        If the file is missing, truncated or damaged, holds no recommender, has another format, or
        is of a class that is not registered.
    """
    from podium.recommenders._files import read_model

    return read_model(path, REGISTRY.get_class)


def __getattr__(name: str) -> Any:
    """Import a model when it is first used: a worker of a fit imports only what it needs."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in __all__:
        return REGISTRY.get_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
