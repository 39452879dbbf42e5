"""What a run's lists look like, where that is not what it is taken for."""

from __future__ import annotations

import warnings

import numpy as np

from podium.errors import PodiumWarning
from podium.ranking import Ranking, count_between

_LEAST_USERS = 20  # fewer may all have their item in a short list by chance
_OF_ONE_LENGTH = 0.9  # a few lists lose items that were drawn twice, or were the target
_SHORT = 0.5  # of all items that a run names: longer lists may be a catalogue without seen items


def warn_of_samples(ranking: Ranking, n_items: int, name: str) -> None:
    """Warn where lists look like a target among sampled items, as in 1 + 99.

    That is: nine in ten lists are of one length, none is longer than half of the n_items that the
    run names, and each holds the user's one positive.
    """
    sizes = ranking.groups.sizes
    if sizes.size < _LEAST_USERS or not 1 < sizes.max() <= _SHORT * n_items:
        return
    counts = np.bincount(sizes)
    if counts.max() < _OF_ONE_LENGTH * sizes.size or not (ranking.n_pos == 1).all():
        return
    positive = ranking.relevance >= ranking.min_relevance
    if (count_between(positive, ranking.groups.offsets) == 1).all():
        warnings.warn(
            f"{name} lists {counts.argmax()} of {n_items} items for each user, and always the one "
            "that is relevant. Such lists look like sampled candidates, and their measures are not "
            "those of ranking all items: podium estimate (podium.sampled) estimates these.",
            PodiumWarning,
            stacklevel=3,
        )
