"""Recommenders to compare with: one interface over podium's own and other libraries' models.

Popularity, ItemKNN and EASE are podium's own; ALS and BPR are implicit's, MultiVAE and NeuMF are
cornac's (extra ``baselines``), WARP is LightFM's (extra ``warp``). All are fitted to a sparse
matrix of users x items, and recommend as ``podium.factorization`` does. `scores_of` turns any of
them, RoBiRank too, into what ``podium.catalogue`` ranks; `ranks_of` has the exact ranks of
held-out items.
"""

from podium.recommenders._base import Recommender
from podium.recommenders._cornac import MultiVAE, NeuMF
from podium.recommenders._factors import FactorRecommender, Popularity
from podium.recommenders._implicit import ALS, BPR
from podium.recommenders._lightfm import WARP
from podium.recommenders._scored import Factored, Scored, ranks_of, scores_of
from podium.recommenders._similar import EASE, ItemKNN

__all__ = [
    "ALS",
    "BPR",
    "EASE",
    "WARP",
    "FactorRecommender",
    "Factored",
    "ItemKNN",
    "MultiVAE",
    "NeuMF",
    "Popularity",
    "Recommender",
    "Scored",
    "ranks_of",
    "scores_of",
]
