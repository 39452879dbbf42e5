"""Signs that the lists of a run are sampled candidates, not rankings of a catalogue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium.errors import warn
from podium.ranking import Ranking, count_between

_LEAST_USERS = 20  # with fewer users, short lists may contain all targets by chance
_OF_ONE_LENGTH = 0.9  # share of equally long lists; some lists lose repeated draws or the target
_USUAL_LISTS = 20  # top-5, top-10 and top-20 lists with all answers come from a good model
_SHORT = 0.5  # share of the run's items; longer lists may be a catalogue without seen items


class SampleSigns(NamedTuple):
    """The length of nearly all lists if they look like samples, else 0; and the largest length.

    Lists look like one target among sampled items under three conditions. At least nine in ten have
    the same length, of more than 20 items. Each contains the single positive of its user. In one of
    them, it is in the lower half: a good model may never rank a positive there, but candidates
    contain their target whatever its rank is.
    """

    length: int
    longest: int

    @classmethod
    def of(cls, ranking: Ranking) -> SampleSigns:
        """Return the signs of a ranking."""
        n_of_length = np.bincount(ranking.groups.sizes, minlength=1)
        n_users, length = ranking.groups.n_groups, int(n_of_length.argmax())
        is_usual = n_users < _LEAST_USERS or length <= _USUAL_LISTS
        if is_usual or n_of_length[length] < _OF_ONE_LENGTH * n_users or not _has_low(ranking):
            length = 0
        return cls(length, n_of_length.size - 1)

    def warn(self, n_items: int, name: str) -> None:
        """Warn if lists look like samples, and none is longer than half of the run's items."""
        if self.length and self.longest <= _SHORT * n_items:
            warn(
                f"{name} lists {self.length} of {n_items} items for each user, always with the "
                "relevant item. Such lists look like sampled candidates. Their measures differ "
                "from those of a ranking of all items, which podium estimate (podium.sampled) "
                "estimates."
            )


def _has_low(ranking: Ranking) -> bool:
    """Return whether lists have the single positives of their users, one in the lower half."""
    offsets = ranking.groups.offsets
    positive = ranking.relevance >= ranking.min_relevance
    if not ((ranking.n_pos == 1).all() and (count_between(positive, offsets) == 1).all()):
        return False
    return bool((2 * (np.flatnonzero(positive) - offsets[:-1]) >= ranking.groups.sizes).any())
