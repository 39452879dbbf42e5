"""Checks of each run: users, lengths, repeats, and items."""

from __future__ import annotations

import numpy as np

from podium._text import counted
from podium.data.ids import distinct
from podium.decide.audit.checks_test import apart
from podium.decide.audit.finding import Finding, weigh
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import present


def missing_users(price: Pricing, name: str) -> Finding | None:
    """Test users whom the run lacks."""
    tables = price.tables
    users = distinct(tables.positives.user)
    is_present = present(tables.runs[name].user, tables.n_users)
    lost = users[~is_present[users]]
    if not lost.size:
        return None
    base = price.base[name]
    is_lost = ~is_present[
        tables.test_users
    ]  # also users without positives, if the measure counts them
    effects = (price.effect(name, np.where(is_lost, np.nan, base), base),)
    none = lost.size == users.size
    return Finding(
        check="missing-users",
        severity="error" if none else weigh("warning", lost.size, users.size, effects),
        text=f"Run {name} lacks {lost.size:,} of the {users.size:,} users of TEST with positives. "
        + (
            "It has none of them. Check the user ids."
            if none
            else "A mean over the users of the run leaves out the missing ones."
        ),
        remedy="podium measure TEST RUN --missing zero counts them as 0.",
        count=lost.size,
        total=users.size,
        noun="users",
        examples=tables.user_examples(lost),
        effects=effects,
    )


def extra_users(price: Pricing, name: str) -> Finding | None:
    """Users of the run who are not in the test part."""
    tables = price.tables
    users = distinct(tables.runs[name].user)
    extra = users[~np.isin(users, tables.test_users)]
    if not extra.size:
        return None
    return Finding(
        check="extra-users",
        severity="note",
        text=f"Run {name} lists items for {counted(extra.size, 'users')} outside TEST. The measure "
        "ignores these lists.",
        remedy="None, if TEST has only some of the users on purpose.",
        count=extra.size,
        total=users.size,
        noun="users",
        examples=tables.user_examples(extra),
    )


def repeated_items(price: Pricing, name: str) -> Finding | None:
    """Items that are twice in a list."""
    tables = price.tables
    run, distinct = tables.runs[name], tables.list_of(name)
    count, total = run.n_rows - distinct.n_rows, run.n_rows
    if not count:
        return None
    with_repeats = price.values(tables.truth, apart(tables, run))
    effects = (price.effect(name, with_repeats, price.base[name]),)
    return Finding(
        check="duplicate-run",
        severity=weigh("error", count, total, effects),
        text=f"Run {name} has {counted(count, 'repeats')} of items that are already in the list. "
        "podium measure refuses them. Repeats take the places of other items.",
        remedy="Keep the best row of each pair: run.sort('score', descending=True)"
        ".unique(['user', 'item'], keep='first').",
        count=count,
        total=total,
        examples=tables.pair_examples(run.rows(tables.repeats(run))),
        effects=effects,
    )


def short_lists(price: Pricing, name: str) -> Finding | None:
    """Lists that end before the cutoff although more items are left."""
    if price.request.measure.k is None:
        return None
    tables, needed = price.tables, price.request.depth
    users = tables.test_users
    size = np.bincount(tables.list_of(name).user, minlength=tables.n_users)[users]
    n_seen = np.bincount(tables.seen_pairs[0], minlength=tables.n_users)[users]
    n_left = int(tables.in_train[1].sum()) - n_seen  # a list can't be longer without seen items
    is_short = (size > 0) & (size < np.minimum(needed, n_left))
    if not is_short.any():
        return None
    count, total = int(is_short.sum()), int((size > 0).sum())
    base = price.base[name]
    effects = (price.effect(name, base, np.where(is_short, np.nan, base)),)
    return Finding(
        check="short-lists",
        severity="warning",
        text=f"Run {name} has {counted(count, 'lists')} shorter than the {needed} items that "
        f"{price.request.measure} may require; the shortest has {int(size[is_short].min())}. The "
        "missing places count as not relevant.",
        remedy=f"Write at least {needed} items per user: podium recommend MODEL -k {needed}.",
        count=count,
        total=total,
        noun="lists",
        examples=tables.user_examples(users[is_short]),
        effects=effects,
    )


def seen_items(price: Pricing, name: str) -> Finding | None:
    """Rows of a run with items that the user has in the training part."""
    if price.is_repeating or price.request.is_sampled:
        return None  # users consume items again, or checks_candidates reports these rows
    tables = price.tables
    run = tables.list_of(name)
    is_seen = tables.is_seen(run) & ~price.is_positive_row(run)
    is_seen &= present(tables.test_users, tables.n_users)[run.user]
    if not is_seen.any():
        return None
    count, total = int(is_seen.sum()), run.n_rows
    effects = price.of_run(name, run.rows(~is_seen))
    return Finding(
        check="seen-items",
        severity=weigh("warning", count, total, effects),
        text=f"Run {name} uses {count:,} of its {total:,} rows for items that the user has in "
        "TRAIN, and that are not relevant in TEST. They take the places of new items.",
        remedy="Leave seen items out of lists: podium recommend leaves them out, and "
        "run.join(train, on=['user', 'item'], how='anti') removes them.",
        count=count,
        total=total,
        examples=tables.pair_examples(run.rows(is_seen)),
        effects=effects,
    )


def unknown_run_items(price: Pricing, name: str) -> Finding | None:
    """Items of a run that neither the training nor the test part has."""
    tables = price.tables
    run = tables.list_of(name)
    is_unknown = ~(tables.in_train[1] | tables.item_in_test)[run.item]
    if not is_unknown.any():
        return None
    count, total = int(is_unknown.sum()), run.n_rows
    effects = price.of_run(name, run.rows(~is_unknown)) if count < total else ()
    return Finding(
        check="unknown-run-items",
        severity="error" if count == total else weigh("warning", count, total, effects),
        text=f"Run {name} uses {count:,} of its {total:,} rows for items that neither TRAIN nor "
        "TEST has. They can't be relevant, and take the places of other items.",
        remedy="Check the item ids of the run, and the mapping from the model's columns to ids.",
        count=count,
        total=total,
        noun="rows",
        examples=tables.item_examples(run.item[is_unknown]),
        effects=effects,
    )


CHECKS = (
    missing_users,
    extra_users,
    repeated_items,
    short_lists,
    seen_items,
    unknown_run_items,
)
