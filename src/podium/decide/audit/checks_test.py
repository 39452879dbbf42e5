"""Checks of the test part alone: repeated pairs and relevances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Part, Tables
from podium.decide.finding import Facts, finding
from podium.evaluation.finding import Finding
from podium.evaluation.stats import paired

_HIGH = 0.8  # share of the highest rating from which a rating is positive: 4 of 5
_FEW = 0.001  # share of users without positives that needs no warning
_SIZE = 0.05  # of a test
_WIDE = 0.1  # share of the mean; a difference of half of it can't be seen with wider errors


def repeated_pairs(price: Pricing) -> Finding | None:
    """Pairs of the test part that occur twice."""
    tables = price.tables
    count, total = tables.test.n_rows - tables.truth.n_rows, tables.test.n_rows
    if not count:
        return None
    is_repeat = tables.repeats(tables.test)
    counted_twice = apart(tables, tables.test)
    effects = price.effects(
        {
            name: (price.values(counted_twice, price.list_of(name)), base)
            for name, base in price.base.items()
        }
    )
    examples = tables.pair_examples(tables.test.rows(is_repeat))
    return finding("duplicate-test", (count, total), examples, effects)


def ratings(price: Pricing) -> Finding | None:
    """Ratings without a threshold, so that low ratings count as positive."""
    tables, request = price.tables, price.request
    if not request.is_rating or request.has_threshold:
        return None
    high = _HIGH * float(tables.truth.values.max())
    is_low = tables.is_positive & (tables.truth.values < high)
    without_low = tables.truth.rows(tables.truth.values >= high)
    of = int(is_low.sum()), tables.truth.n_rows
    examples = tables.pair_examples(tables.truth.rows(is_low)) if is_low.any() else ()
    return finding("ratings", of, examples, price.of_truth(without_low), high=high)


def low_grades(price: Pricing) -> Finding | None:
    """Test pairs with a relevance above 0 that is below the threshold."""
    tables, request = price.tables, price.request
    is_low = (tables.truth.values > 0) & ~tables.is_positive
    if not is_low.any():
        return None
    count, total = int(is_low.sum()), tables.truth.n_rows
    effects = price.of_truth(tables.truth.rows(~is_low)) if tables.is_positive.any() else ()
    use = "still counts their grades" if request.keeps_low_grades else "counts them as not relevant"
    examples = tables.pair_examples(tables.truth.rows(is_low))
    facts: Facts = {"measure": request.measure, "threshold": request.threshold, "use": use}
    kind = "chosen" if request.has_threshold else ""
    return finding("low-grades", (count, total), examples, effects, kind=kind, **facts)


def users_without_positives(price: Pricing) -> Finding | None:
    """Users of the test part without a positive for whom the measure is undefined."""
    tables = price.tables
    users = tables.test_users
    is_lost = ~price.has_relevant(tables.truth)
    if not is_lost.any():
        return None
    count, total = int(is_lost.sum()), users.size
    effects = price.effects(
        {
            name: (np.where(is_lost, np.nan, base), np.where(is_lost, 0.0, base))
            for name, base in price.base.items()
        }
    )
    examples, threshold = tables.user_examples(users[is_lost]), price.request.threshold
    kind = "graded" if price.request.keeps_low_grades else ""
    of = count, total
    result = finding(
        "users-without-positives", of, examples, effects, kind=kind, threshold=threshold
    )
    severity = "note" if count < _FEW * total else "warning" if count < total else "error"
    return replace(result, severity=severity)


def few_users(price: Pricing) -> Finding | None:
    """Too few users for the differences that are usual between models."""
    name, base = next(iter(price.base.items()))
    runs = [*price.tables.runs]
    summary = price.summary(base)
    width, n = 2 * summary.std_error, summary.n_groups
    smallest = 2.0 ** (1 - n)
    if not n or (smallest <= _SIZE and not width > _WIDE * summary.mean > 0):
        return None
    facts: Facts = {"measure": price.request.measure, "name": name, "smallest": smallest}
    if smallest > _SIZE:
        return finding("few-users", n, kind="none", **facts)
    detectable = ""
    if len(runs) > 1:
        test = paired(base, price.base[runs[1]], n_permutations=None)
        detectable = f" A true difference of {runs[1]} from {name} below {test.detectable:.3f} "
        detectable += "would probably not be significant."
    return finding("few-users", n, width=width / summary.mean, detectable=detectable, **facts)


def apart(tables: Tables, part: Part) -> Part:
    """Return the rows with a new item code for each repeat of a pair, so that all of them count."""
    is_repeat = tables.repeats(part)
    item = part.item.copy()
    item[is_repeat] = tables.n_items + np.arange(int(is_repeat.sum()))
    return Part(part.user, item, part.value, part.time)


CHECKS = (repeated_pairs, ratings, low_grades, users_without_positives, few_users)
