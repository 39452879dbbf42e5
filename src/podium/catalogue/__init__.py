"""The top of a whole catalogue: user x item scores, without a full sort and in bounded memory.

Scores are a dense matrix, the product of two factors, or what a function returns; all are read a
block of users at a time, and items that a user has seen are left out. `rankings` feeds
``podium.evaluation``.
"""

from podium.catalogue.lists import ranking, rankings
from podium.catalogue.positions import ranks
from podium.catalogue.source import ScoreFunction
from podium.catalogue.top import top_k, top_k_factors

__all__ = ["ScoreFunction", "ranking", "rankings", "ranks", "top_k", "top_k_factors"]
