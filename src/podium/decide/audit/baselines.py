"""Lists without a model: popular items of all or the last days, own items, and random items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.lists import top_rows
from podium.decide.audit.tables import Ints, Part, Tables, present
from podium.groups import Groups

_WINDOWS = (7.0, 14.0, 30.0, 3.0, 1.0)  # days; the first one of equal ones is taken
_HELD_OUT = 0.1  # share of the training pairs on which the window is chosen, the last ones
_SEED = 0
_N_MOMENTS = 20  # a popularity list changes little within a twentieth of the test users


def popularity_list(
    tables: Tables,
    counts: Ints,
    length: int,
    *,
    with_seen: bool = False,
    users: Ints | None = None,
) -> Part:
    """Return the most popular items for each user of the test part.

    Parameters
    ----------
    tables : Tables
    counts : int64, (n_items,)
        The popularity of each item. Items with 0 are not listed.
    length : int
        The number of items per user.
    with_seen : bool
        Whether items that the user has in the training part may be listed.
    users : int64, (n,), optional
        Some of the users, in increasing order.

    Notes
    -----
    Cost: one pass over the training pairs of the test users, and length numbers per user.
    """
    order = np.argsort(-counts, kind="stable")  # the lower id comes first among equal counts
    n_listed = int((counts > 0).sum())
    users = tables.test_users if users is None else users
    position = np.tile(np.arange(length), (users.size, 1))
    if not with_seen:
        position += _n_seen_before(tables, order, length, users)
    is_item = position < n_listed
    rows = np.repeat(np.arange(users.size), length).reshape(position.shape)[is_item]
    return Part(users[rows], order[position[is_item]], -position[is_item].astype(float))


def recent_counts(tables: Tables, length: int) -> tuple[float, Ints] | None:
    """Return a number of days, and the users of each item in these last days of training.

    Among the windows that contain some of the events, but not all, it is the one whose list before
    the last tenth of the pairs has the highest dcg on these. None without times or such a window.
    """
    ages, items = tables.pair_ages, tables.seen_pairs[1]
    if ages is None or not ages.size:
        return None
    end = np.quantile(ages, _HELD_OUT)
    held_out = items[ages <= end]
    best, window = -1.0, None
    for days in _WINDOWS:
        in_window = (ages > end) & (ages <= end + days)
        counts = np.bincount(items[in_window], minlength=tables.n_items)
        top = np.argsort(-counts, kind="stable")[:length]
        gains = np.zeros(tables.n_items)
        gains[top] = (counts[top] > 0) / np.log2(2 + np.arange(top.size))
        gain = float(gains[held_out].sum())
        if gain > best and not (ages < days).all():
            best, window = gain, days
    if window is None:
        return None
    return window, np.bincount(items[ages < window], minlength=tables.n_items)


def own_history(tables: Tables, counts: Ints, length: int) -> Part:
    """Return the training items of each test user, most frequent and latest first, then others.

    Parameters
    ----------
    tables : Tables
    counts : int64, (n_items,)
        The popularity of the items that follow the user's own.
    length : int
        The number of items per user; users with some own items, but fewer, have more.
    """
    user, item = tables.seen_pairs
    rows = np.flatnonzero(present(tables.test_users, tables.n_users)[user])
    user, item, time = user[rows], item[rows], tables.pair_times[1][rows].astype(float)
    span = time.max() - time.min() + 1 if time.size else 1.0
    score = tables.n_events[rows] + (time - time.max(initial=-np.inf)) / span
    best = top_rows(Groups.from_qid(user), score, item, length)[1]
    history = Part(user[best], item[best], score[best])
    n_own = np.bincount(history.user, minlength=tables.n_users)[tables.test_users]
    others = popularity_list(tables, counts, length, users=tables.test_users[n_own < length])
    return Part.joined([history, others])


def popularity_before(tables: Tables, length: int, *, with_seen: bool = False) -> Part:
    """Return the items that were the most popular before each user's first test event.

    The users are divided into at most 20 groups by the time of their first test event. The
    popularity is that of training events that are not later than the earliest of the group.

    References
    ----------
    ji2020.
    """
    first = first_times(tables)[tables.test_users]
    order = np.lexsort((tables.test_users, first))
    groups = np.array_split(order, min(_N_MOMENTS, order.size))
    by_time = np.argsort(tables.pair_times[0])
    moments = [first[group[0]] for group in groups]
    ends = np.searchsorted(tables.pair_times[0][by_time], moments, side="right")
    items = tables.seen_pairs[1][by_time]
    counts = np.zeros(tables.n_items, np.int64)
    lists: list[Part] = []
    for group, new in zip(groups, np.split(items, ends)[:-1], strict=True):
        counts += np.bincount(new, minlength=tables.n_items)
        users = np.sort(tables.test_users[group])
        lists.append(popularity_list(tables, counts, length, with_seen=with_seen, users=users))
    return Part.joined(lists)


def first_times(tables: Tables) -> NDArray[Any]:
    """Return the time of the first test event of each user; the latest time for other users."""
    time: Any = tables.test.time
    first = np.full(tables.n_users, time.max(), dtype=time.dtype)
    np.minimum.at(first, tables.test.user, time)
    return first


def _n_seen_before(tables: Tables, order: Ints, length: int, users: Ints) -> Ints:
    """Return the number of seen items before each user's j-th unseen item, j < length."""
    n_items, seen_user, seen_item = tables.n_items, *tables.seen_pairs
    position = np.empty(n_items, np.int64)
    position[order] = np.arange(n_items)
    start, end = (np.searchsorted(seen_user, users, side=side) for side in ("left", "right"))
    n_seen = end - start
    row = np.repeat(np.arange(users.size), n_seen)
    place = position[seen_item[np.arange(row.size) + np.repeat(end - np.cumsum(n_seen), n_seen)]]
    # An item after length + n_seen places cannot come before the last of `length` unseen items.
    is_early = place < length + n_seen[row]
    key = np.sort(row[is_early] * n_items + place[is_early])
    row, place = key // n_items, key % n_items
    first_row = np.searchsorted(row, np.arange(users.size))
    n_unseen_before = place - (np.arange(row.size) - first_row[row])
    is_before = n_unseen_before < length
    cells = row[is_before] * length + n_unseen_before[is_before]
    counts = np.bincount(cells, minlength=users.size * length).reshape(users.size, length)
    return np.cumsum(counts, axis=1)


def random_list(tables: Tables, length: int) -> Part:
    """Return items that are drawn uniformly for each user of the test part, without repeats."""
    users, n_items = tables.test_users, tables.n_items
    rng = np.random.default_rng(_SEED)
    order, start = rng.permutation(n_items), rng.integers(n_items, size=users.size)
    place = np.arange(min(length, n_items))
    items = order[(start[:, None] + place) % n_items]
    scores = np.broadcast_to(-place.astype(float), items.shape)
    return Part(np.repeat(users, place.size), items.ravel(), scores.ravel().copy())
