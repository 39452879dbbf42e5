"""Recommenders: models that score all items for each user, under one contract.

`Factorization`, `Popularity`, `ItemKNN` and `EASE` are podium's own; `ALS` and `BPR` are
implicit's, `MultiVAE` and `NeuMF` are cornac's (extra ``baselines``), `WARP` is LightFM's (extra
``warp``). Each is fitted to a sparse matrix or a table of users and items, recommends, ranks
held-out items, and scores single pairs; `get` makes one from its name, and `load` reads one that
was saved.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.recommenders._registry import REGISTRY, get, load, parse, register

if TYPE_CHECKING:
    from podium.recommenders._base import MatrixRecommender, Recommender
    from podium.recommenders._candidates import CandidateScores, score_candidates
    from podium.recommenders._cornac import MultiVAE, NeuMF
    from podium.recommenders._factors import FactorRecommender, Popularity
    from podium.recommenders._implicit import ALS, BPR
    from podium.recommenders._lightfm import WARP
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
    "ALS",
    "BPR",
    "EASE",
    "REGISTRY",
    "WARP",
    "CandidateScores",
    "FactorRecommender",
    "Factorization",
    "ItemKNN",
    "MatrixRecommender",
    "MultiVAE",
    "NeuMF",
    "Popularity",
    "Recommender",
    "get",
    "load",
    "parse",
    "register",
    "score_candidates",
]


def __getattr__(name: str) -> Any:
    """Load a model when it is asked for: a worker of a fit needs only what its part needs."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in __all__:
        return REGISTRY.get_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
