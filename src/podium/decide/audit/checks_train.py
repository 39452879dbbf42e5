"""Checks of the training part against the test part: pairs and ids."""

from __future__ import annotations

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Tables
from podium.decide.finding import Facts, finding
from podium.evaluation.finding import Finding
from podium.types import Mask

# A table of distinct pairs has no repeats. A log of purchases has many.
_REPEATS = 0.01


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
    if is_known.all():
        return None
    count, total = int((~is_known).sum()), users.size
    effects = price.of_users(is_known) if is_known.any() else ()
    examples = tables.user_examples(users[~is_known])
    kind = "" if is_known.any() else "all"
    return finding("unknown-users", (count, total), examples, effects, kind=kind)


def unknown_items(price: Pricing) -> Finding | None:
    """Positive test pairs with an item that the training part lacks."""
    tables = price.tables
    is_lost = tables.is_positive & ~tables.in_train[1][tables.truth.item]
    if not is_lost.any():
        return None
    count, total = int(is_lost.sum()), tables.positives.n_rows
    effects = price.of_truth(tables.truth.rows(~is_lost)) if count < total else ()
    lost = tables.truth.item[is_lost]
    of_items: Facts = {
        "n_items": distinct(lost).size,
        "kind": "" if count < total else "all",
    }
    return finding("unknown-items", (count, total), tables.item_examples(lost), effects, **of_items)


def repeated_training(price: Pricing) -> Finding | None:
    """Rows of the training part that occur twice, at the same time if there are times."""
    tables = price.tables
    is_repeat = _repeated_events(tables)
    if not is_repeat.any():
        return None
    count, total = int(is_repeat.sum()), tables.train.n_rows
    events, once = (
        np.bincount(part.item, minlength=tables.n_items)
        for part in (tables.train, tables.train.rows(~is_repeat))
    )
    effects = price.of_counts(once, events)
    examples = tables.pair_examples(tables.train.rows(is_repeat))
    kind = "" if tables.train.time is not None else "untimed"
    return finding("duplicate-train", (count, total), examples, effects, kind=kind)


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
    if not is_faulty.any():
        return None
    tables = price.tables
    of = int(is_faulty.sum()), tables.positives.n_rows
    examples = tables.pair_examples(tables.truth.rows(is_faulty))
    effects = price.of_seen_pairs(tables.truth.rows(~is_faulty))
    return finding(check, of, examples, effects, when=when)


CHECKS = (
    trained_on,
    repeat_consumption,
    repeated_training,
    unknown_users,
    unknown_items,
)
