"""Checks of the test part alone: repeated pairs and relevances."""

from __future__ import annotations

import numpy as np

from podium._text import counted
from podium.decide.audit.finding import Finding, weigh
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Part, Tables

_HIGH = 0.8  # share of the highest rating from which a rating is positive: 4 of 5
_FEW = 0.001  # share of users without positives that needs no warning
_WIDE = 0.1  # share of the mean; a difference of half of it can't be seen with wider errors


def repeated_pairs(price: Pricing) -> Finding | None:
    """Pairs of the test part that occur twice."""
    tables = price.tables
    count, total = tables.test.n_rows - tables.truth.n_rows, tables.test.n_rows
    if not count:
        return None
    is_repeat = tables.repeats(tables.test)
    counted_twice = apart(tables, tables.test)
    effects = tuple(
        price.effect(name, price.values(counted_twice, price.list_of(name)), base)
        for name, base in price.base.items()
    )
    return Finding(
        check="duplicate-test",
        severity=weigh("error", count, total, effects),
        text=f"TEST has {counted(count, 'repeats')} of other pairs. podium measure refuses them. "
        "Programs that count rows expect these items several times, but a list has each item once.",
        remedy="Keep one row of each pair: test.unique(['user', 'item']).",
        count=count,
        total=total,
        examples=tables.pair_examples(tables.test.rows(is_repeat)),
        effects=effects,
    )


def ratings(price: Pricing) -> Finding | None:
    """Ratings without a threshold, so that low ratings count as positive."""
    tables, request = price.tables, price.request
    if not request.is_rating or request.has_threshold:
        return None
    high = _HIGH * float(tables.truth.values.max())
    is_low = tables.is_positive & (tables.truth.values < high)
    without_low = tables.truth.rows(tables.truth.values >= high)
    return Finding(
        check="ratings",
        severity="error",
        text=f"The relevance of TEST is a rating, and min_relevance is missing. All ratings from 1 "
        f"count as positive, {int(is_low.sum()):,} of them below {high:g}.",
        remedy=f"Pass the lowest rating of a positive item, such as --min-relevance {high:g}.",
        count=int(is_low.sum()),
        total=tables.truth.n_rows,
        examples=tables.pair_examples(tables.truth.rows(is_low)) if is_low.any() else (),
        effects=price.of_truth(without_low),
    )


def low_grades(price: Pricing) -> Finding | None:
    """Test pairs with a relevance above 0 that is below the threshold."""
    tables, request = price.tables, price.request
    is_low = (tables.truth.values > 0) & ~tables.is_positive
    if not is_low.any():
        return None
    count, total = int(is_low.sum()), tables.truth.n_rows
    effects = price.of_truth(tables.truth.rows(~is_low)) if tables.is_positive.any() else ()
    use = (
        f"{request.measure} still counts their grades"
        if request.keeps_low_grades
        else f"{request.measure} counts them as not relevant"
    )
    # With a threshold, the caller decided this. Without one, nobody did.
    severity = "note" if request.has_threshold else "warning"
    return Finding(
        check="low-grades",
        severity=weigh(severity, count, total, effects),
        text=f"TEST has {counted(count, 'relevances')} above 0 and below min_relevance="
        f"{request.threshold:g}: {use}.",
        remedy="Choose the threshold with --min-relevance, and remove pairs that are not relevant "
        "from TEST.",
        count=count,
        total=total,
        examples=tables.pair_examples(tables.truth.rows(is_low)),
        effects=effects,
    )


def users_without_positives(price: Pricing) -> Finding | None:
    """Users of the test part without a positive for whom the measure is undefined."""
    tables = price.tables
    users = tables.test_users
    is_lost = ~price.has_relevant(tables.truth)
    if not is_lost.any():
        return None
    count, total = int(is_lost.sum()), users.size
    effects = tuple(
        price.effect(name, np.where(is_lost, np.nan, base), np.where(is_lost, 0.0, base))
        for name, base in price.base.items()
    )
    keeps_low = price.request.keeps_low_grades
    needed = "above 0" if keeps_low else f"of at least {price.request.threshold:g}"
    remedy = "Count these users as 0 with podium measure TEST RUN --undefined zero."
    if not keeps_low:
        remedy = (
            "Lower --min-relevance, or count these users as 0 with podium measure TEST RUN "
            "--undefined zero."
        )
    return Finding(
        check="users-without-positives",
        severity="note" if count < _FEW * total else "warning" if count < total else "error",
        text=f"TEST has no pair with a relevance {needed} for {count:,} of its {total:,} users. "
        "Means leave them out.",
        remedy=remedy,
        count=count,
        total=total,
        noun="users",
        examples=tables.user_examples(users[is_lost]),
        effects=effects,
    )


def few_users(price: Pricing) -> Finding | None:
    """Too few users for the differences that are usual between models."""
    name = next(iter(price.base))
    summary = price.summary(price.base[name])
    width, users = 2 * summary.std_error, counted(summary.n_groups, "users")
    if not summary.mean > 0 or width <= _WIDE * summary.mean:
        return None
    text = f"With {users}, the {price.request.measure} of {name} has no standard error."
    if not np.isnan(width):
        text = (
            f"With {users}, the {price.request.measure} of {name} is known only to within "
            f"{100 * width / summary.mean:.0f} % of its value (two standard errors)."
        )
    return Finding(
        check="few-users",
        severity="note",
        text=text,
        remedy="Compare runs on the same users with podium compare TEST RUN_A RUN_B. Paired "
        "differences usually have smaller standard errors than separate means.",
        count=summary.n_groups,
        total=summary.n_groups,
        noun="users",
    )


def apart(tables: Tables, part: Part) -> Part:
    """Return the rows with a new item code for each repeat of a pair, so that all of them count."""
    is_repeat = tables.repeats(part)
    item = part.item.copy()
    item[is_repeat] = tables.n_items + np.arange(int(is_repeat.sum()))
    return Part(part.user, item, part.value, part.time)


CHECKS = (repeated_pairs, ratings, low_grades, users_without_positives, few_users)
