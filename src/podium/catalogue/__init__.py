"""The top of a whole catalogue: user x item scores, without a full sort and in bounded memory.

Scores are a dense matrix or the product of two factors; both are read a block of users at a
time, and items that a user has seen are left out. `rankings` feeds ``podium.evaluate``.
"""

from podium.catalogue.lists import ranking, rankings
from podium.catalogue.positions import ranks
from podium.catalogue.top import top_k, top_k_factors

__all__ = ["ranking", "rankings", "ranks", "top_k", "top_k_factors"]
