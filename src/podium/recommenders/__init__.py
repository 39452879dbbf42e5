"""Recommenders: models that score all items for each user, with one interface.

The models are `Factorization`, `Popularity`, `ItemKNN` and `EASE`, and those that plugins register.
Each model is fitted to a sparse matrix or a table of users and items. It recommends items, ranks
held-out items and scores single pairs. `get` creates a model from its name, and `load` reads a
saved one. `CandidateScores` holds the scores of any other model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.recommenders._registry import REGISTRY, get, load, parse, register

if TYPE_CHECKING:
    from podium.recommenders._base import MatrixRecommender, Recommender
    from podium.recommenders._candidates import CandidateScores, score_candidates
    from podium.recommenders._factors import FactorRecommender, Popularity
    from podium.recommenders._similar import EASE, ItemKNN
    from podium.recommenders.factorization._model import Factorization

_HOME = {
    "CandidateScores": "_candidates",
    "FactorRecommender": "_factors",
    "MatrixRecommender": "_base",
    "Recommender": "_base",
    "score_candidates": "_candidates",
}

__all__ = [
    "EASE",
    "REGISTRY",
    "CandidateScores",
    "FactorRecommender",
    "Factorization",
    "ItemKNN",
    "MatrixRecommender",
    "Popularity",
    "Recommender",
    "get",
    "load",
    "parse",
    "register",
    "score_candidates",
]


def __getattr__(name: str) -> Any:
    """Import a model when it is first used: a worker of a fit imports only what it needs."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in __all__:
        return REGISTRY.get_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
