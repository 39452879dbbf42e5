"""Checks of the training part against the test part: pairs, ids and times."""

from __future__ import annotations

from functools import partial

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.baselines import first_times
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Tables, present
from podium.decide.finding import fault, finding
from podium.evaluation.finding import Effect, Finding
from podium.types import Mask

# A table of distinct pairs has no repeats. A log of purchases has many.
_REPEATS = 0.01
# Seconds against milliseconds differ by 1000, days against seconds by 86400. The parts of one log
# differ by far less: a factor of 100 between medians would need a test part after centuries.
_OTHER_UNIT = 100


def trained_on(price: Pricing) -> Finding | None:
    """Positive test pairs that the training part has, as the same or a later event."""
    is_leaked, _ = _seen_positives(price.tables)
    when = ", not earlier than TEST" if price.tables.has_times else ""
    return _of_pairs(price, "train-test-overlap", is_leaked, when)


def repeat_consumption(price: Pricing) -> Finding | None:
    """Positive test pairs of which the user has an earlier event in the training part.

    Without times, these are pairs of a training part in which other pairs repeat too.
    """
    _, is_repeat = _seen_positives(price.tables)
    when = ", and TRAIN also repeats other pairs; some of them may be leaks"
    when = ", earlier than TEST" if price.tables.has_times else when
    return _of_pairs(price, "repeat-consumption", is_repeat, when)


def unknown_users(price: Pricing) -> Finding | None:
    """Users of the test part that the training part lacks."""
    tables = price.tables
    users = tables.test_users
    is_known = tables.in_train[0][users]
    effects = partial(price.of_users, is_known) if is_known.any() else tuple
    return fault("unknown-users", ~is_known, tables.examples("user", users[~is_known]), effects)


def unknown_items(price: Pricing) -> Finding | None:
    """Positive test pairs with an item that the training part lacks."""
    tables = price.tables
    is_lost = tables.is_positive & ~tables.in_train[1][tables.truth.item]
    count, total = int(is_lost.sum()), tables.positives.n_rows
    effects = partial(price.of_truth, tables.truth.rows(~is_lost)) if count < total else tuple
    lost = tables.truth.item[is_lost]
    of, n_items = (count, total), distinct(lost).size
    return fault("unknown-items", of, tables.examples("item", lost), effects, n_items=n_items)


def repeated_training(price: Pricing) -> Finding | None:
    """Rows of the training part that occur twice, at the same time if there are times."""
    tables = price.tables
    is_repeat = _repeated_events(tables)

    def effects() -> tuple[Effect, ...]:
        events, once = (
            price.popular(np.bincount(part.item, minlength=tables.n_items))
            for part in (tables.train, tables.train.rows(~is_repeat))
        )
        return price.of_popularity(once, before=events)

    examples = tables.pair_examples(tables.train.rows(is_repeat))
    kind = "" if tables.train.time is not None else "untimed"
    return fault("duplicate-train", is_repeat, examples, effects, kind=kind)


def _repeated_events(tables: Tables) -> Mask:
    """Return which training rows repeat another row."""
    train = tables.train
    is_repeat = np.zeros(train.n_rows, np.bool_)
    sizes = tables.n_events
    rows = tables.train_order[np.repeat(sizes > 1, sizes)]  # the rows of pairs that occur twice
    if not rows.size:
        return is_repeat
    key = tables.key(train)[rows]
    time = np.zeros(rows.size) if train.time is None else train.time[rows]
    order = np.lexsort((rows, time, key))
    is_same = (np.diff(key[order]) == 0) & (np.diff(time[order]) == 0)
    is_repeat[rows[order[1:][is_same]]] = True
    return is_repeat


def _seen_positives(tables: Tables) -> tuple[Mask, Mask]:
    """Return which positives were trained on, and which repeat an earlier training event."""
    is_seen = tables.is_positive & tables.is_seen(tables.truth)
    nothing = np.zeros(is_seen.size, np.bool_)
    if not is_seen.any():
        return nothing, nothing
    if tables.train.time is None or tables.truth.time is None:
        n_repeats = tables.train.n_rows - tables.seen.size
        has_repeats = n_repeats > _REPEATS * tables.train.n_rows
        return (nothing, is_seen) if has_repeats else (is_seen, nothing)
    place = np.searchsorted(tables.seen, tables.key(tables.truth)[is_seen])
    is_earlier = nothing.copy()
    is_earlier[is_seen] = tables.pair_times[1][place] < tables.truth.time[is_seen]
    return is_seen & ~is_earlier, is_earlier


def _of_pairs(price: Pricing, check: str, is_faulty: Mask, when: str) -> Finding | None:
    tables = price.tables
    of = int(is_faulty.sum()), tables.positives.n_rows
    examples = tables.pair_examples(tables.truth.rows(is_faulty))
    effects = partial(price.of_seen_pairs, tables.truth.rows(~is_faulty))
    return fault(check, of, examples, effects, when=when)


def time_units(tables: Tables) -> Finding | None:
    """Times of the parts in different units, such as seconds and milliseconds."""
    train, test = tables.median_times or (0.0, 0.0)
    if not 0 < _OTHER_UNIT * min(train, test) < max(train, test):
        return None
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
    is_tested = present(tables.test.user, tables.n_users)[tables.train.user]
    is_future = is_tested & (tables.train.time > first_times(tables)[tables.train.user])
    users, effects = tables.train.user[is_future], partial(price.of_training, ~is_future)
    n_users, examples = distinct(users).size, tables.examples("user", users)
    return fault("future-of-user", is_future, examples, effects, n_users=n_users)


def future_of_all(price: Pricing) -> Finding | None:
    """Training events after the earliest test event of anybody."""
    tables = price.tables
    if tables.train.time is None or tables.test.time is None:
        return None
    is_future = tables.train.time > tables.test.time.min()
    examples = tables.examples("user", tables.train.user[is_future])
    return fault("future-of-all", is_future, examples, price.of_future)


CHECKS = (
    *(trained_on, repeat_consumption, repeated_training, unknown_users, unknown_items),
    *(no_times, future_of_user, future_of_all),
)
