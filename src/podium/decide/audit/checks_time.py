"""Checks of times: training events that are later than test events."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from podium.data.ids import distinct
from podium.decide.audit.lists import first_times
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Tables, present
from podium.decide.finding import finding
from podium.evaluation.finding import Finding
from podium.types import Mask

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
    return finding("time-units", tables.test.n_rows, train=train, test=test)


def no_times(price: Pricing) -> Finding | None:
    """Tables without times, in which leaks in time can't be found."""
    if price.tables.has_times:
        return None
    return finding("no-times", price.tables.train.n_rows)


def future_of_user(price: Pricing) -> Finding | None:
    """Training events of a user after this user's first test event."""
    tables = price.tables
    if tables.train.time is None or tables.test.time is None:
        return None
    is_future = _is_after_first(tables, tables.train.time)
    if not is_future.any():
        return None
    future = tables.train.rows(is_future)
    of, examples = (future.n_rows, tables.train.n_rows), tables.user_examples(future.user)
    n_users = distinct(future.user).size
    return finding("future-of-user", of, examples, price.of_training(~is_future), n_users=n_users)


def future_of_all(price: Pricing) -> Finding | None:
    """Training events after the earliest test event of anybody."""
    tables = price.tables
    if tables.train.time is None or tables.test.time is None:
        return None
    is_future = tables.train.time > tables.test.time.min()
    if not is_future.any() or _is_swapped(tables):
        return None
    future = tables.train.rows(is_future)
    of, examples = (future.n_rows, tables.train.n_rows), tables.user_examples(future.user)
    return finding("future-of-all", of, examples, price.of_future())


def swapped_parts(price: Pricing) -> Finding | None:
    """A training part that begins after the end of the test part."""
    tables = price.tables
    if not _is_swapped(tables):
        return None
    return finding("swapped-parts", tables.train.n_rows, tables.user_examples(tables.train.user))


def _is_swapped(tables: Tables) -> bool:
    if tables.train.time is None or tables.test.time is None:
        return False
    return bool(tables.train.time.min() > tables.test.time.max())


def _is_after_first(tables: Tables, train: NDArray[Any]) -> Mask:
    """Return which training rows are later than the first test row of their user."""
    user = tables.train.user
    return present(tables.test.user, tables.n_users)[user] & (train > first_times(tables)[user])


CHECKS = (no_times, swapped_parts, future_of_user, future_of_all)
