"""Rankings of a whole catalogue: user x item scores, without a full sort and in bounded memory.

Scores are a dense matrix, the product of two factors, or the result of a function. They are read
one block of users at a time. Items that a user has already seen can be excluded. `rank_blocks`
returns input for ``podium.evaluation``.
"""

from podium.catalogue.lists import rank_blocks, target_ranks, top_k
from podium.catalogue.source import ScoreFunction

__all__ = ["ScoreFunction", "rank_blocks", "target_ranks", "top_k"]
