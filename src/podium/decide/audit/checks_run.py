"""Checks of each run: users, lengths, ties, seen items, and the order of scores."""

from __future__ import annotations

import numpy as np

from podium.decide.audit.checks_test import apart
from podium.decide.audit.finding import Finding, weigh
from podium.decide.audit.pricing import POPULARITY, Pricing
from podium.decide.audit.tables import Ints, Part, distinct
from podium.types import Mask

# A list that is worse than its reverse by this many standard errors is in the wrong order: chance
# does that to one in 30,000 lists without any information.
_SURE = 4.0
_SATURATED = 0.05  # share of lists; a few ties at the highest score are chance
_SAME = 0.9  # share of users with the same list from which a run is not personal


def missing_users(price: Pricing, name: str) -> Finding | None:
    """Test users whom the run lacks."""
    tables = price.tables
    users = distinct(tables.positives.user)
    is_listed = _has(tables.runs[name].user, tables.n_users)[users]
    if is_listed.all():
        return None
    lost = users[~is_listed]
    base = price.base[name]
    is_lost = np.isin(tables.test_users, lost)
    effects = (price.effect(name, np.where(is_lost, np.nan, base), base),)
    none = lost.size == users.size
    return Finding(
        check="missing-users",
        severity="error" if none else weigh("warning", lost.size, users.size, effects),
        text=f"Run {name} lacks {lost.size} of the {users.size} users of TEST with positives. "
        + (
            "They have no user in common. Check the user ids."
            if none
            else "A mean over its own users leaves out those that it can't serve."
        ),
        remedy="podium measure TEST RUN --missing zero counts them as 0.",
        run=name,
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
        text=f"Run {name} lists items for {extra.size} users who are not in TEST. The measure "
        "ignores them.",
        remedy="Nothing, if TEST holds a part of the users on purpose.",
        run=name,
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
        text=f"{count} of the {total} rows of run {name} repeat an item of the same list. podium "
        "measure refuses them. Repeats take places that other items could have.",
        remedy="Keep the best row of each pair: run.sort('score', descending=True)"
        ".unique(['user', 'item'], keep='first').",
        run=name,
        count=count,
        total=total,
        examples=tables.pair_examples(run.rows(tables.repeats(run))),
        effects=effects,
    )


def short_lists(price: Pricing, name: str) -> Finding | None:
    """Lists that end before the cutoff although more items are left."""
    tables, k = price.tables, price.request.measure.k
    if k is None:
        return None
    needed = 2 * k - 1 if price.request.measure.name == "pap" else k
    users = tables.test_users
    size = np.bincount(tables.list_of(name).user, minlength=tables.n_users)[users]
    n_seen = np.bincount(tables.seen // tables.n_items, minlength=tables.n_users)[users]
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
        text=f"{count} of the {total} lists of run {name} have fewer than the {needed} items that "
        f"{price.request.measure} compares, the shortest {int(size[is_short].min())}. The missing "
        "places count as not relevant.",
        remedy=f"Write at least {needed} items per user: podium recommend MODEL -k {needed}.",
        run=name,
        count=count,
        total=total,
        noun="lists",
        examples=tables.user_examples(users[is_short]),
        effects=effects,
    )


def tied_scores(price: Pricing, name: str) -> Finding | None:
    """Lists whose value depends on the order of equal scores."""
    tables = price.tables
    best = price.values(tables.truth, tables.list_of(name), ties="best")
    worst = price.base[name]
    is_tied = best != worst
    is_tied &= ~(np.isnan(best) | np.isnan(worst))
    if not is_tied.any():
        return None
    count, total = int(is_tied.sum()), int((~np.isnan(worst)).sum())
    effects = (price.effect(name, best, worst),)
    return Finding(
        check="ties",
        severity=weigh("warning", count, total, effects),
        text=f"The value of {count} of the {total} lists of run {name} depends on the order of "
        "equal scores. An evaluator that places positives first reports the value with the fault; "
        "podium places them last.",
        remedy="Write scores with more digits, or break ties in the model. podium measure TEST "
        "RUN --ties average reports the mean over orders.",
        run=name,
        count=count,
        total=total,
        noun="lists",
        examples=tables.user_examples(tables.test_users[is_tied]),
        effects=effects,
    )


def saturated_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that begin with several items of the highest score of the whole run."""
    tables = price.tables
    run = tables.list_of(name)
    run = run.rows(_has(tables.test_users, tables.n_users)[run.user])
    if not run.n_rows:
        return None
    is_highest = run.values == run.values.max()
    n_highest = np.bincount(run.user[is_highest], minlength=tables.n_users)
    users = np.flatnonzero(n_highest > 1)
    n_lists = distinct(run.user).size
    if users.size < _SATURATED * n_lists:
        return None
    best = price.values(tables.truth, tables.list_of(name), ties="best")
    base = price.base[name]
    is_affected = np.isin(tables.test_users, users)
    effects = (price.effect(name, np.where(is_affected, best, base), base),)
    return Finding(
        check="saturated-scores",
        severity=weigh("warning", users.size, n_lists, effects),
        text=f"{users.size} of the {n_lists} lists of run {name} begin with several items of the "
        f"highest score of the run, {run.values.max():g}. Scores that reach a limit lose the order "
        "of the best items.",
        remedy="Write scores before the sigmoid, clipping or rounding.",
        run=name,
        count=users.size,
        total=n_lists,
        noun="lists",
        examples=tables.user_examples(users),
        effects=effects,
    )


def seen_items(price: Pricing, name: str) -> Finding | None:
    """Rows of a run with items that the user has in the training part."""
    if price.is_repeating or price.request.is_sampled:
        return None  # users consume items again, or checks_candidates reports these rows
    tables = price.tables
    run = tables.list_of(name)
    is_seen = tables.is_seen(run) & ~price.is_positive_row(run)
    is_seen &= _has(tables.test_users, tables.n_users)[run.user]
    if not is_seen.any():
        return None
    count, total = int(is_seen.sum()), run.n_rows
    effects = price.of_run(name, run.rows(~is_seen))
    return Finding(
        check="seen-items",
        severity=weigh("warning", count, total, effects),
        text=f"{count} of the {total} rows of run {name} are items that the user has in TRAIN, and "
        "that are not relevant in TEST. They take places of new items.",
        remedy="Leave seen items out of lists: podium recommend leaves them out, and "
        "run.join(train, on=['user', 'item'], how='anti') removes them.",
        run=name,
        count=count,
        total=total,
        examples=tables.pair_examples(run.rows(is_seen)),
        effects=effects,
    )


def unknown_run_items(price: Pricing, name: str) -> Finding | None:
    """Items of a run that neither the training nor the test part has."""
    tables = price.tables
    run = tables.list_of(name)
    is_unknown = ~(tables.in_train[1] | _has(tables.test.item, tables.n_items))[run.item]
    if not is_unknown.any():
        return None
    count, total = int(is_unknown.sum()), run.n_rows
    effects = price.of_run(name, run.rows(~is_unknown)) if count < total else ()
    return Finding(
        check="unknown-run-items",
        severity="error" if count == total else weigh("warning", count, total, effects),
        text=f"{count} of the {total} rows of run {name} have items that neither TRAIN nor TEST "
        "has. They can't be relevant, and take places of other items.",
        remedy="Check the item ids of the run, and the mapping from the model's columns to ids.",
        run=name,
        count=count,
        total=total,
        noun="rows",
        examples=tables.item_examples(run.item[is_unknown]),
        effects=effects,
    )


def reversed_scores(price: Pricing, name: str) -> Finding | None:
    """Lists that are better in reverse, such as distances that were read as scores."""
    tables = price.tables
    run = tables.list_of(name)
    reverse = price.values(tables.truth, Part(run.user, run.item, -run.values))
    base = price.base[name]
    gain = price.summary(reverse - base)
    sign = 1 if price.request.measure.metric.higher_is_better else -1
    if not sign * gain.mean > _SURE * gain.std_error:
        return None
    return Finding(
        check="reversed-scores",
        severity="error",
        text=f"Run {name} is better in reverse order. Its scores may be distances or ranks, of "
        "which the lowest is the best.",
        remedy="Negate the scores, or name the column --rank-col.",
        run=name,
        count=gain.n_groups,
        total=gain.n_groups,
        noun="lists",
        effects=(price.effect(name, base, reverse),),
    )


def below_popularity(price: Pricing, name: str) -> Finding | None:
    """A run that is no better than a list of the most popular items."""
    values, popular = price.base[name], price.base[POPULARITY]
    if price.request.is_sampled or name == POPULARITY:
        return None  # a list of sampled candidates is easier than a list of all items
    sign = 1 if price.request.measure.metric.higher_is_better else -1
    run, other = price.summary(values).mean, price.summary(popular).mean
    if not sign * (run - other) <= 0:
        return None
    n_users = price.summary(values).n_groups
    return Finding(
        check="below-popularity",
        severity="warning",
        text=f"Run {name} has {price.request.measure} {run:.4f}, and the list of the most popular "
        f"unseen items {other:.4f}. The run is no better than a list that ignores the user.",
        remedy="Check the model, its training, and the ids of its lists. "
        "podium.recommenders.Popularity makes the other list.",
        run=name,
        count=n_users,
        total=n_users,
        noun="users",
    )


def same_lists(price: Pricing, name: str) -> Finding | None:
    """A run that lists the same best item for almost every user."""
    run = price.tables.list_of(name)
    best = _best_items(run, price.tables.n_users)
    if best.size < 2:
        return None
    share = np.bincount(best).max() / best.size
    if share < _SAME:
        return None
    return Finding(
        check="same-lists",
        severity="note",
        text=f"Run {name} has the same first item for {share:.0%} of its users: its lists are not "
        "personal.",
        remedy="Check that the run was written for each user's own row of the model.",
        run=name,
        count=int(np.bincount(best).max()),
        total=best.size,
        noun="users",
        examples=price.tables.item_examples(best[best == np.bincount(best).argmax()]),
    )


def _best_items(run: Part, n_users: int) -> Ints:
    """Return the first item of each list; of equal scores, the lower id."""
    best = np.full(n_users, -np.inf)
    np.maximum.at(best, run.user, run.values)
    is_best = run.values == best[run.user]
    item = np.full(n_users, np.iinfo(np.int64).max)
    np.minimum.at(item, run.user[is_best], run.item[is_best])
    return item[np.isfinite(best)]


def _has(codes: Ints, size: int) -> Mask:
    present = np.zeros(size, np.bool_)
    present[codes] = True
    return present


CHECKS = (
    missing_users,
    extra_users,
    repeated_items,
    short_lists,
    tied_scores,
    saturated_scores,
    seen_items,
    unknown_run_items,
    reversed_scores,
    below_popularity,
    same_lists,
)
