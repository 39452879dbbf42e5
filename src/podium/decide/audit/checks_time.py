"""Checks of times: training events that are later than test events."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from podium._text import counted
from podium.data.ids import distinct
from podium.decide.audit.finding import Finding, weigh
from podium.decide.audit.lists import first_times
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Tables, present
from podium.types import Mask

_SPLIT = (
    "Split by one moment for all users: split = podium.data.splits.by_time(timestamp, test=0.2), "
    "then train = events[split.train]."
)
# Seconds against milliseconds differ by 1000, days against seconds by 86400. The parts of one log
# differ by far less: a factor of 100 between medians would need a test part after centuries.
_OTHER_UNIT = 100


def differ_in_unit(tables: Tables) -> bool:
    """Return whether the times of the parts are in different units."""
    low, high = sorted(tables.median_times or (0.0, 0.0))
    return low > 0 and high > _OTHER_UNIT * low


def time_units(tables: Tables) -> Finding:
    """Return the finding of times in different units, such as seconds and milliseconds."""
    train, test = tables.median_times or (0.0, 0.0)
    return Finding(
        check="time-units",
        severity="error",
        text=f"The times of TRAIN and TEST have different units: their medians are {train:.4g} "
        f"and {test:.4g}. Leaks in time can't be checked.",
        remedy="Convert the times of one part, for example from milliseconds to seconds: "
        "test.with_columns(pl.col('timestamp') // 1000).",
        count=tables.test.n_rows,
        total=tables.test.n_rows,
        noun="events",
        examples=(),
    )


def no_times(price: Pricing) -> Finding | None:
    """Tables without times, in which leaks in time can't be found."""
    if price.tables.has_times:
        return None
    return Finding(
        check="no-times",
        severity="note",
        text="TRAIN and TEST don't both have times, so leaks in time can't be checked.",
        remedy="Keep the time of each event as a column named timestamp, or name it with "
        "--column timestamp=NAME.",
        count=price.tables.train.n_rows,
        total=price.tables.train.n_rows,
        noun="events",
    )


def future_of_user(price: Pricing) -> Finding | None:
    """Training events of a user after this user's first test event."""
    tables = price.tables
    if tables.train.time is None or tables.test.time is None:
        return None
    is_future = _is_after_first(tables, tables.train.time)
    if not is_future.any():
        return None
    future = tables.train.rows(is_future)
    count, total = future.n_rows, tables.train.n_rows
    effects = price.of_training(~is_future)
    n_users = distinct(future.user).size
    return Finding(
        check="future-of-user",
        severity=weigh("error", count, total, effects),
        text=f"TRAIN has {counted(count, 'events')} after the first test event of the same user, "
        f"for {counted(n_users, 'users')}. Models are trained on the future of the users on whom "
        "they are tested.",
        remedy=_SPLIT,
        count=count,
        total=total,
        noun="events",
        examples=tables.user_examples(future.user),
        effects=effects,
    )


def future_of_all(price: Pricing) -> Finding | None:
    """Training events after the earliest test event of anybody."""
    tables = price.tables
    if tables.train.time is None or tables.test.time is None:
        return None
    is_future = tables.train.time > tables.test.time.min()
    if not is_future.any() or _is_swapped(tables):
        return None
    future = tables.train.rows(is_future)
    count, total = future.n_rows, tables.train.n_rows
    effects = price.of_future()
    return Finding(
        check="future-of-all",
        severity=weigh("warning", count, total, effects),
        text=f"TRAIN has {counted(count, 'events')} after the earliest test event. Models are "
        "trained on later popularity, which is unknown at the time of the recommendation.",
        remedy=_SPLIT,
        count=count,
        total=total,
        noun="events",
        examples=tables.user_examples(future.user),
        effects=effects,
    )


def swapped_parts(price: Pricing) -> Finding | None:
    """A training part that begins after the end of the test part."""
    tables = price.tables
    if not _is_swapped(tables):
        return None
    n_rows = tables.train.n_rows
    return Finding(
        check="swapped-parts",
        severity="error",
        text="All events of TRAIN are later than all events of TEST. The parts may be swapped.",
        remedy="Pass the training part first: podium audit TRAIN TEST.",
        count=n_rows,
        total=n_rows,
        noun="events",
        examples=tables.user_examples(tables.train.user),
    )


def _is_swapped(tables: Tables) -> bool:
    if tables.train.time is None or tables.test.time is None:
        return False
    return bool(tables.train.time.min() > tables.test.time.max())


def _is_after_first(tables: Tables, train: NDArray[Any]) -> Mask:
    """Return which training rows are later than the first test row of their user."""
    user = tables.train.user
    return present(tables.test.user, tables.n_users)[user] & (train > first_times(tables)[user])


CHECKS = (no_times, swapped_parts, future_of_user, future_of_all)
