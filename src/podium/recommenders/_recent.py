"""The list of the most popular items of the last days, which is the same for all users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from podium import _check
from podium.recommenders._auto import AUTO, HALF_LIVES, or_auto
from podium.recommenders._factors import Popularity
from podium.recommenders._pairs import ONCE

WINDOWS = (None, 365.0, 90.0, 30.0, 14.0, 7.0, 3.0, 1.0)
"""The windows that "auto" compares."""


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
        "window": WINDOWS,
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
