"""Signs that the lists of a run are sampled candidates, such as 1 target + 99 items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.errors import warn
from podium.ranking import Ranking, count_between

_LEAST_USERS = 20  # with fewer users, short lists may contain all targets by chance
_OF_ONE_LENGTH = 0.9  # share of equally long lists; some lists lose repeated draws or the target
_USUAL_LISTS = 20  # top-5, top-10 and top-20 lists with all answers come from a good model
_SHORT = 0.5  # share of the run's items; longer lists may be a catalogue without seen items


class SampleSigns(NamedTuple):
    """The lengths of lists, and whether each list contains the single positive of its user.

    `is_low` states whether a positive is in the lower half of its list. A model that never ranks
    one there is successful. Candidates contain their target whatever its rank is.
    """

    n_of_length: NDArray[np.int64]
    with_target: bool
    is_low: bool

    @classmethod
    def of(cls, ranking: Ranking) -> SampleSigns:
        """Return the signs of a ranking."""
        positive = np.zeros(0, np.bool_)
        with_target = bool((ranking.n_pos == 1).all())
        if with_target:
            positive = ranking.relevance >= ranking.min_relevance
            with_target = bool((count_between(positive, ranking.groups.offsets) == 1).all())
        is_low = False
        if with_target:
            rank = np.flatnonzero(positive) - ranking.groups.offsets[:-1]
            is_low = bool((2 * rank >= ranking.groups.sizes).any())
        return cls(np.bincount(ranking.groups.sizes), with_target, is_low)

    @classmethod
    def joined(cls, parts: Iterable[SampleSigns]) -> SampleSigns:
        """Return the signs of all users, given those of disjoint parts of them."""
        signs = list(parts)
        counts = np.zeros(max(part.n_of_length.size for part in signs), np.int64)
        for part in signs:
            counts[: part.n_of_length.size] += part.n_of_length
        return cls(
            counts, all(part.with_target for part in signs), any(part.is_low for part in signs)
        )

    def warn(self, n_items: int, name: str) -> None:
        """Warn if the lists of a run look like one target among sampled items.

        This is the case if at least nine in ten lists have the same length, of more than 20 items,
        no list is longer than half of the `n_items` items of the run, and each list contains its
        target, in one of them in the lower half.
        """
        n_users, longest = int(self.n_of_length.sum()), self.n_of_length.size - 1
        if n_users < _LEAST_USERS or not 1 < longest <= _SHORT * n_items:
            return
        if self.n_of_length.argmax() <= _USUAL_LISTS or not self.is_low:
            return
        if self.with_target and self.n_of_length.max() >= _OF_ONE_LENGTH * n_users:
            warn(
                f"{name} lists {self.n_of_length.argmax()} of {n_items} items for each user, "
                "always with the relevant item. Such lists look like sampled candidates. Their "
                "measures differ from those of a ranking of all items, which podium estimate "
                "(podium.sampled) estimates."
            )
