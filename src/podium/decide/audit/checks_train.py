"""Checks of the training part against the test part: pairs and ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._text import counted
from podium.data.ids import distinct
from podium.decide.audit.finding import Finding, weigh
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Part, Tables
from podium.types import Mask

# A table of distinct pairs has no repeats. A log of purchases has many.
_REPEATS = 0.01


def trained_on(price: Pricing) -> Finding | None:
    """Positive test pairs that the training part has, as the same or a later event."""
    is_leaked, _ = _seen_positives(price.tables)
    when = ", not earlier than TEST" if price.tables.has_times else ""
    return _of_pairs(
        price,
        is_leaked,
        check="train-test-overlap",
        severity="error",
        text=f"TRAIN has {{}} positive test pairs{when}. Models were trained on these pairs.",
        remedy="Remove the pairs of TEST from TRAIN and train again: train.join(test, "
        "on=['user', 'item'], how='anti').",
    )


def repeat_consumption(price: Pricing) -> Finding | None:
    """Positive test pairs of which the user has an earlier event in the training part.

    Without times, these are pairs of a training part in which other pairs repeat too.
    """
    _, is_repeat = _seen_positives(price.tables)
    which = (
        ", earlier than TEST"
        if price.tables.has_times
        else ", and TRAIN also repeats other pairs; some of them may be leaks"
    )
    return _of_pairs(
        price,
        is_repeat,
        check="repeat-consumption",
        severity="warning",
        text=f"TRAIN has {{}} positive test pairs{which}. The measure also rewards lists "
        "of items that users know already.",
        remedy="Report new pairs separately: podium split --task new. If repeats are part of the "
        "goal, state so with --task all, and keep seen items in the lists.",
    )


def unknown_users(price: Pricing) -> Finding | None:
    """Users of the test part that the training part lacks."""
    tables = price.tables
    users = tables.test_users
    is_known = tables.in_train[0][users]
    if is_known.all():
        return None
    count, total = int((~is_known).sum()), users.size
    effects = price.of_users(is_known) if is_known.any() else ()
    return Finding(
        check="unknown-users",
        severity=weigh("warning", count, total, effects) if is_known.any() else "error",
        text=f"TRAIN lacks {count:,} of the {total:,} users of TEST. "
        + (
            "Models have no data on them, and the mean combines them with users who have a history."
            if is_known.any()
            else "TRAIN and TEST have no user in common. Check their user ids."
        ),
        remedy="Report both groups: podium measure TEST RUN --users KNOWN --by known, or leave "
        "the users out with test.join(train, on='user', how='semi').",
        count=count,
        total=total,
        noun="users",
        examples=tables.user_examples(users[~is_known]),
        effects=effects,
    )


def unknown_items(price: Pricing) -> Finding | None:
    """Positive test pairs with an item that the training part lacks."""
    tables = price.tables
    is_lost = tables.is_positive & ~tables.in_train[1][tables.truth.item]
    if not is_lost.any():
        return None
    count, total = int(is_lost.sum()), tables.positives.n_rows
    effects = price.of_truth(tables.truth.rows(~is_lost)) if count < total else ()
    lost = tables.truth.item[is_lost]
    return Finding(
        check="unknown-items",
        severity=weigh("warning", count, total, effects) if count < total else "error",
        text=f"TRAIN lacks the item of {count:,} of the {total:,} positive test pairs: "
        f"{counted(distinct(lost).size, 'items')}. "
        + (
            "Most models can't recommend them, and so can't reach the highest value."
            if count < total
            else "TRAIN and TEST have no item in common. Check their item ids."
        ),
        remedy="Leave them out with test.join(train, on='item', how='semi'), or use a model with "
        "item features.",
        count=count,
        total=total,
        examples=tables.item_examples(lost),
        effects=effects,
    )


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
    is_timed = tables.train.time is not None
    when = " at the same time" if is_timed else ""
    return Finding(
        check="duplicate-train",
        severity=weigh("warning", count, total, effects) if is_timed else "note",
        text=f"TRAIN has {counted(count, 'repeats')} of other rows with the same pair{when}. "
        "Models that count events give these pairs a higher weight.",
        remedy="Keep one row of each: train.unique()."
        if is_timed
        else "Keep one row of each "
        "pair, train.unique(['user', 'item']), unless repeats are separate events.",
        count=count,
        total=total,
        noun="events",
        examples=tables.pair_examples(tables.train.rows(is_repeat)),
        effects=effects,
    )


def _repeated_events(tables: Tables) -> Mask:
    """Return which training rows repeat another row."""
    train = tables.train
    is_repeat = np.zeros(train.n_rows, np.bool_)
    sizes = np.diff(np.append(tables.first_rows, train.n_rows))
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


def _of_pairs(
    price: Pricing, is_faulty: Mask, *, check: str, severity: Any, text: str, remedy: str
) -> Finding | None:
    if not is_faulty.any():
        return None
    tables = price.tables
    faulty: Part = tables.truth.rows(is_faulty)
    count, total = faulty.n_rows, tables.positives.n_rows
    effects = price.of_seen_pairs(tables.truth.rows(~is_faulty))
    return Finding(
        check=check,
        severity=weigh(severity, count, total, effects),
        text=text.format(f"{count:,} of the {total:,}"),
        remedy=remedy,
        count=count,
        total=total,
        examples=tables.pair_examples(faulty),
        effects=effects,
    )


CHECKS = (
    trained_on,
    repeat_consumption,
    repeated_training,
    unknown_users,
    unknown_items,
)
