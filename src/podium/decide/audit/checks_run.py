"""Checks of each run: users, lengths, repeats, and items."""

from __future__ import annotations

from functools import partial

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.checks_truth import apart
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Ints, present
from podium.decide.finding import Facts, fault
from podium.evaluation.finding import Finding


def missing_users(price: Pricing, name: str) -> Finding | None:
    """Test users whom the run lacks."""
    tables = price.tables
    users = distinct(tables.positives.user)
    is_absent, base = ~present(tables.runs[name].user, tables.n_users), price.base[name]
    # The effect includes users without positives, if the measure counts them.
    without_absent = np.where(is_absent[tables.test_users], np.nan, base)
    effects = partial(price.effects, {name: (without_absent, base)})
    examples = tables.examples("user", users[is_absent[users]])
    return fault("missing-users", is_absent[users], examples, effects, run=name)


def extra_users(price: Pricing, name: str) -> Finding | None:
    """Users of the run who are not in the test part."""
    tables = price.tables
    users = distinct(tables.runs[name].user)
    is_extra = ~np.isin(users, tables.test_users)
    return fault("extra-users", is_extra, tables.examples("user", users[is_extra]), run=name)


def repeated_items(price: Pricing, name: str) -> Finding | None:
    """Items that are twice in a list."""
    tables = price.tables
    run = tables.runs[name]
    is_repeat = tables.repeats(run)
    if not is_repeat.any():
        return None
    with_repeats = price.values(tables.truth, apart(tables, run))
    effects = partial(price.effects, {name: (with_repeats, price.base[name])})
    examples = tables.pair_examples(run.rows(is_repeat))
    return fault("duplicate-run", is_repeat, examples, effects, run=name)


def short_lists(price: Pricing, name: str) -> Finding | None:
    """Lists that end before the cutoff although more items are left."""
    if price.request.measure.k is None:
        return None
    tables, needed = price.tables, price.request.depth
    users = tables.test_users
    size = np.bincount(tables.lists[name].user, minlength=tables.n_users)[users]
    is_short = (size > 0) & (size < np.minimum(needed, _n_left(price, name)))
    base, shortest = price.base[name], size[is_short].min(initial=needed)
    effects = partial(price.effects, {name: (base, np.where(is_short, np.nan, base))})
    examples, measure = tables.examples("user", users[is_short]), price.request.measure
    facts: Facts = {"needed": needed, "shortest": shortest, "measure": measure}
    return fault("short-lists", is_short[size > 0], examples, effects, run=name, **facts)


def _n_left(price: Pricing, name: str) -> Ints:
    """Return the number of items that could be listed for each test user."""
    tables, users = price.tables, price.tables.test_users
    if tables.train.n_rows:  # a list can't be longer without seen items
        n_seen = np.bincount(tables.seen_pairs[0], minlength=tables.n_users)[users]
        return int(tables.in_train[1].sum()) - n_seen
    keys = distinct(np.append(tables.key(tables.truth), tables.key(tables.lists[name])))
    return np.bincount(keys // tables.n_items, minlength=tables.n_users)[users]


def seen_items(price: Pricing, name: str) -> Finding | None:
    """Rows of a run with items that the user has in the training part."""
    is_sampled = price.request.is_sampled
    if price.is_repeating and not is_sampled:
        return None  # users consume items again
    tables, is_positive = price.tables, price.is_positive[name]
    run = tables.tested[name]
    is_seen = tables.is_seen(run) & ~is_positive
    check, total = "seen-items", tables.lists[name].n_rows
    if is_sampled:
        check, total = "negatives-seen", int((~is_positive).sum())
    examples, effects = run.rows(is_seen), partial(price.of_run, name, run.rows(~is_seen))
    of = int(is_seen.sum()), total
    return fault(check, of, tables.pair_examples(examples), effects, run=name)


def unknown_run_items(price: Pricing, name: str) -> Finding | None:
    """Items of a run that neither the training nor the test part has."""
    tables = price.tables
    run = tables.lists[name]
    is_unknown = ~(tables.in_train[1] | tables.item_in_test)[run.item]
    effects = tuple if is_unknown.all() else partial(price.of_run, name, run.rows(~is_unknown))
    examples = tables.examples("item", run.item[is_unknown])
    return fault("unknown-run-items", is_unknown, examples, effects, run=name)


CHECKS = (missing_users, extra_users, repeated_items, short_lists)
OF_TRAIN = (seen_items, unknown_run_items)
