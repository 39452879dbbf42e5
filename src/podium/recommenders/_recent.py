"""Lists of recent events: the popular items of the last days, and what a user has already."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from podium import _check
from podium.recommenders._auto import AUTO, HALF_LIVES, or_auto
from podium.recommenders._base import MatrixRecommender
from podium.recommenders._factors import Popularity
from podium.recommenders._files import Axes
from podium.recommenders._pairs import ONCE, Floats, Ints

_WINDOWS = (None, 365.0, 90.0, 30.0, 14.0, 7.0, 3.0, 1.0)
"""The windows that "auto" compares."""
_WEIGHTS = (0.01, 1.0, 3.0, 10.0, 30.0)
"""The weights of recently popular items that "auto" compares."""


@dataclass(eq=False)
class Recent(Popularity):
    """The same ranking for all users: an item's score is its number of users in the last days.

    A user counts once per item, at the last event of both. The values of events are ignored, except
    0, which is no pair. The last event of the table ends the last day.

    Parameters
    ----------
    window : float, str or None
        The days, such as 7 or "7d", in which users are counted; None is all time. With "auto", the
        list before the last tenth of the events is measured on these events (ndcg@10 of new items)
        for all time and for each of seven windows from a year to a day. Without times, or if
        "auto" has no events to measure on, all users count.
    half_life : float, str or None
        The days after which a user counts half; None is never. "auto" chooses it after the window,
        among None and eight half-lives from a year to 6 hours.

    Attributes
    ----------
    window_, half_life_ : float or None
        The days that were used.

    Examples
    --------
    >>> times = ["2024-01-01", "2024-01-02", "2024-03-01"]
    >>> events = {"user": [1, 2, 3], "item": [5, 5, 6], "time": times}
    >>> Recent(window="7d").fit(events).recommend([4], k=1)[0]
    array([[6]])
    """

    reads_times: ClassVar[bool] = True
    auto_values: ClassVar[dict[str, tuple[float | None, ...]]] = {
        "window": _WINDOWS,
        "half_life": HALF_LIVES,
    }
    constraints: ClassVar[_check.Constraints] = dict.fromkeys(
        ("window", "half_life"), partial(or_auto, required=False)
    )

    window: float | str | None = AUTO
    half_life: float | str | None = None

    @property
    def _gain(self) -> str:
        return ONCE


@dataclass(eq=False)
class OwnHistory(MatrixRecommender):
    """The user's own items, most frequent and latest first, and recently popular items after them.

    The score is the weight of the user's pair, by default its number of events, plus `recent` times
    the share of all users who took the item in the last days. Seen items are therefore recommended,
    unless `exclude_seen` is True. Users without a pair get the popular items.

    Parameters
    ----------
    half_life : float, str or None
        The days, such as 90 or "90d", in which the weight of a pair falls by half, from its last
        event to the last event of the table. With "auto", lists from the events without the last
        tenth are measured on this tenth (ndcg@10 of all items), for eight half-lives and for none.
    recent : float or "auto"
        The weight of popularity, > 0, in events of the user. With 0.01, it orders only the items
        that the user lacks, and ties. "auto" chooses from 0.01 to 30, after the half-life.
    window : float, str or None
        The last days of popularity, see `Recent`. "auto" chooses them last.
    gain : {"value", "log", "one"}
        The weight of a pair: its value, ``log2(1 + value)``, or 1.

    Attributes
    ----------
    popularity_ : float32, (n_items,)
        The second term of the scores.
    half_life_, recent_, window_ : float or None
        The parameters that were used. Without times, "auto" is None, and 0.01 for `recent`.

    Examples
    --------
    >>> events = {"user": [1, 1, 1, 2], "item": [5, 5, 6, 7]}
    >>> OwnHistory().fit(events).recommend([1, 2], k=2)[0]
    array([[5, 6],
           [7, 5]])
    """

    reads_gain: ClassVar[bool] = True
    reads_times: ClassVar[bool] = True
    repeats: ClassVar[bool] = True
    serves_unknown: ClassVar[bool] = True
    auto_values: ClassVar[dict[str, tuple[float | None, ...]]] = {
        "half_life": HALF_LIVES,
        "recent": _WEIGHTS,
        "window": _WINDOWS,
    }
    default_space: ClassVar[tuple[dict[str, Any], ...]] = ({"gain": ["value", "one"]},)
    constraints: ClassVar[_check.Constraints] = {
        "half_life": partial(or_auto, required=False),
        "recent": partial(or_auto, check=_check.positive),
        "window": partial(or_auto, required=False),
    }
    _learned: ClassVar[Axes] = {"popularity_": (np.float32, "items")}

    half_life: float | str | None = AUTO
    recent: float | str = AUTO
    window: float | str | None = AUTO
    gain: str = "value"

    def _settle(self, user_items: Any) -> dict[str, Any]:
        chosen = super()._settle(user_items)
        popular = Recent(window=chosen["window"]).fit(user_items)
        self.popularity_ = popular.item_bias_ * np.float32(chosen["recent"] / popular.n_users_)
        return {"half_life": chosen["half_life"]}

    def _fit(self, pairs: sparse.csr_array[Any]) -> None:
        """Learn nothing more: the pairs are the first term of the scores."""

    def _score(self, users: Ints) -> Floats:
        return self.pairs_of(users).toarray() + self.popularity_
