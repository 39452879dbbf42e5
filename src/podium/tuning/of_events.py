"""The portfolio of recommenders and their blends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.catalogue.lists import measured as of_catalogue
from podium.data.interactions import Interactions, opened
from podium.errors import DataError
from podium.recommenders import REGISTRY, Factorization, Recommender
from podium.recommenders.blend import blended
from podium.registry import Models
from podium.tuning.of_pairs import Parts, divided_by_time, divided_pairs, known_pairs, measured
from podium.tuning.portfolio import Candidate, Family, Portfolio
from podium.types import PerGroup

_MOST_USERS = 5000  # with validation pairs
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)  # of the model that joins a blend
_MOST_MODELS = 3  # of a blend
_LEAST_SHARE = 0.92  # of the measure of the choice that a joining model must have, without times
_LEAST_GAIN = 0.01  # of a blend, as a share of the measure of the model that it extends
_HALF_LIVES = (14, 60, 180)  # days
_MOST_PASSES = 30  # of the factorization: more gain nothing beyond noise on small data
_BLOCK = 2**22  # scores of a model in memory at a time
_EASE = "ease(l2={},user_power=0.5,precision=single)"
_DOT = "factorization(similarity=dot,l2=0.1,n_epochs={passes})"  # better on some dense data

FAMILIES = (
    Family(("popularity", "recent", "recent(window=none,half_life=auto)")),
    Family(("own-history",)),
    Family(tuple(f"item-knn(k={k},user_power=0.5)" for k in (5, 10, 20, 50, 100, 200, 500)), 4),
    Family(tuple(_EASE.format(l2) for l2 in (10, 30, 100, 250, 600, 1500, 4000)), 4),
    Family(("factorization(n_epochs={passes})", _DOT), 0),
    Family(("factorization(loss=robirank,l2=0.1,n_epochs=40)",)),
)
"""The recommenders that are tried, from the simplest to the most complicated."""


@dataclass(eq=False, kw_only=True)
class OfEvents(Portfolio):
    """The portfolio of models that learn from pairs of users and items.

    Attributes
    ----------
    parts : Parts
        The pairs of the trials.
    user_items, seen
        All pairs, to which the choice is fitted.
    excludes : bool
        Whether items with which a user has a pair are left out of the lists.
    """

    registry: ClassVar[Models[Any]] = REGISTRY

    parts: Parts
    user_items: Any
    seen: Any
    excludes: bool

    @property
    def families(self) -> tuple[Family, ...]:
        """The families, without models that lack times, or that would repeat items."""
        passes = min(vars(Factorization().for_data(self.parts.train))["n_epochs"], _MOST_PASSES)
        suited: list[Family] = []
        for family in FAMILIES:
            texts = (text.format(passes=passes) for text in family.settings)
            suited.append(Family(tuple(filter(self._is_suited, texts)), family.start))
        return tuple(family for family in suited if family.settings)

    def cost(self, text: str) -> tuple[float, float]:
        """Return the model's own estimates."""
        return REGISTRY.parse(text).cost(self.parts.train)

    def fitted(self, text: str) -> Recommender:
        """Return a model that is fitted to the training pairs."""
        model = REGISTRY.parse(text)
        timed = self.parts.events is not None and model.needs_times
        return model.fit(self.parts.events if timed else self.parts.train, seen=self.parts.seen)

    def settled(self, text: str, model: Recommender) -> str:
        """Return the text with the prior that was chosen.

        The last fit chooses windows and half-lives that are "auto" again, by later events.
        """
        changes = {"prior": model.prior_} if isinstance(model, Factorization) else {}
        return self.changed(text, changes)

    def values(self, model: Recommender) -> PerGroup:
        """Return the measure of each user with validation pairs, among all other items."""
        return measured(model, self.parts, self.measure, excludes=self.excludes)

    def final(self, chosen: Candidate) -> Recommender:
        """Return the chosen model or blend, fitted to all pairs."""
        return REGISTRY.parse(chosen.text).fit(self.user_items, seen=self.seen)

    def axes(self, text: str) -> dict[str, tuple[Any, ...]]:
        """Return weights of pairs, of users, and of pairs that fall with time."""
        model = REGISTRY.parse(text)
        axes: dict[str, tuple[Any, ...]] = {}
        if model.reads_gain and (self.parts.train.data != 1.0).any():
            axes["gain"] = ("log", "one")
        if "user_power" in model.get_params():
            axes["user_power"] = (0.0,)
        if model.reads_times and not model.auto_values.keys() - {"half_life"} and self._has_times:
            axes["half_life"] = _HALF_LIVES
        return axes

    @property
    def _has_times(self) -> bool:
        return self.parts.events is not None

    def _is_suited(self, text: str) -> bool:
        model = REGISTRY.parse(text)
        if model.repeats:
            return not self.excludes
        return self._has_times or not model.needs_times

    def combined(self, chosen: Candidate) -> Candidate:
        """Add models to the choice as long as that gains enough."""
        while len(chosen.models) < _MOST_MODELS:
            start = time.process_time()
            others = (c for c in self.best if self._can_join(c, chosen))
            blends = [blend for other in others for blend in self._blends(chosen, other)]
            if not blends:
                break
            best = max(blends, key=lambda blend: blend.mean)
            self.record(best.text, start, best)
            if best.mean <= (1.0 + _LEAST_GAIN) * chosen.mean or not best.is_better(chosen):
                break
            chosen = best
        return chosen

    def _can_join(self, added: Candidate, chosen: Candidate) -> bool:
        """Return whether a model is good enough to join, with time for the last fit of all.

        Random validation pairs favour blends. On Gowalla, item neighbours, which have 77 % of the
        measure, gain 3 % on such pairs and lose 7 % on the test part. By time, any model may join.
        """
        texts = [*chosen.models, *added.models]
        is_weak = not self._has_times and added.mean < _LEAST_SHARE * chosen.mean
        if is_weak or len(set(texts)) < len(texts):
            return False
        return sum(self.cost(text)[0] for text in texts) < self.left

    def _blends(self, chosen: Candidate, added: Candidate) -> Iterator[Candidate]:
        """Yield the blends of a choice with a further model, one for each of its shares."""
        users, valid, known = known_pairs(self.parts)
        step = max(1, _BLOCK // valid.shape[1])
        blocks: list[list[PerGroup]] = []
        for first in range(0, users.size, step):
            rows = slice(first, first + step)
            scores, further = (
                blended(c.weights, c.models.values(), users[rows]) for c in (chosen, added)
            )
            mixed = ((1.0 - share) * scores + share * further for share in _SHARES)
            excluded = known[rows] if self.excludes else None
            blocks.append([of_catalogue(m, valid[rows], excluded, self.measure) for m in mixed])
        of_shares: Any = np.concatenate(blocks, axis=1)
        for share, values in zip(_SHARES, of_shares, strict=True):
            weights = (*((1.0 - share) * weight for weight in chosen.weights), share)
            yield Candidate(chosen.models | added.models, values, weights)


def divided(
    user_items: Any, eval_set: Any, seen: Any, share: float, seed: int, split: str | None
) -> Parts:
    """Return the parts of the trials: the last events are set aside if there are times.

    Without times, or if none of the last events is of known users and items, a share of each user's
    pairs is drawn.
    """
    events = opened(user_items)
    source = events, eval_set, seen
    is_timed = isinstance(events, Interactions) and events.timestamp is not None
    if split is not None or (is_timed and eval_set is None):
        try:
            source = divided_by_time(events, seen, share, split or "time")
        except DataError:
            if split is not None:
                raise
    return divided_pairs(*source, share, seed, most_users=_MOST_USERS)
