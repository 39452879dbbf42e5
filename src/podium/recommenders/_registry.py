"""The registry of recommenders by name; a model is imported only when it is looked up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from podium.registry import Models

if TYPE_CHECKING:
    from podium.recommenders._base import Recommender

REGISTRY: Models[Recommender] = Models(
    "recommender", "name or name(param=value), such as ease(l2=500)"
)
"""All recommenders by name. The tests in tests/laws run on each of them."""

register, register_at = REGISTRY.register, REGISTRY.register_at
get, parse = REGISTRY.make, REGISTRY.parse

register_at("factorization", "podium.recommenders.factorization._model", "Factorization")
register_at("popularity", "podium.recommenders._factors", "Popularity")
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
