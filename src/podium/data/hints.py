"""What a run's lists look like, where that is not what it is taken for."""

from __future__ import annotations

import warnings

import numpy as np

from podium.errors import PodiumWarning
from podium.ranking import Ranking, count_between

_LEAST_USERS = 20  # fewer may all have their item in a short list by chance
_SHORT = 0.5  # of all items that a run names: longer lists may be a catalogue without seen items


def warn_of_samples(ranking: Ranking, n_items: int, name: str) -> None:
    """Warn where lists look like a target among sampled items, as in 1 + 99.

    That is: all users' lists are of one length, at most half of the n_items that the run names,
    and hold the user's one positive.
    """
    sizes = ranking.groups.sizes
    if sizes.size < _LEAST_USERS or np.ptp(sizes) or not 1 < sizes[0] <= _SHORT * n_items:
        return
    if not (ranking.n_pos == 1).all():
        return
    positive = ranking.relevance >= ranking.min_relevance
    if (count_between(positive, ranking.groups.offsets) == 1).all():
        warnings.warn(
            f"{name} lists {sizes[0]} items for each user, of {n_items} that it names, and always "
            "the one that is relevant. Such lists look like sampled candidates, and their "
            "measures are not those of ranking all items: podium estimate (podium.sampled) "
            "estimates these.",
            PodiumWarning,
            stacklevel=3,
        )
