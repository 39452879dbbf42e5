"""Checks of each run: users, lengths, repeats, and items."""

from __future__ import annotations

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.checks_test import apart
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Ints, present
from podium.decide.finding import Facts, finding
from podium.evaluation.finding import Finding


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
    effects = price.effects({name: (np.where(is_lost, np.nan, base), base)})
    of, kind = (lost.size, users.size), "all" if lost.size == users.size else ""
    examples = tables.user_examples(lost)
    return finding("missing-users", of, examples, effects, kind=kind, run=name)


def extra_users(price: Pricing, name: str) -> Finding | None:
    """Users of the run who are not in the test part."""
    tables = price.tables
    users = distinct(tables.runs[name].user)
    extra = users[~np.isin(users, tables.test_users)]
    if not extra.size:
        return None
    of = extra.size, users.size
    return finding("extra-users", of, tables.user_examples(extra), run=name)


def repeated_items(price: Pricing, name: str) -> Finding | None:
    """Items that are twice in a list."""
    tables = price.tables
    run, distinct = tables.runs[name], tables.list_of(name)
    count, total = run.n_rows - distinct.n_rows, run.n_rows
    if not count:
        return None
    with_repeats = price.values(tables.truth, apart(tables, run))
    effects = price.effects({name: (with_repeats, price.base[name])})
    examples = tables.pair_examples(run.rows(tables.repeats(run)))
    return finding("duplicate-run", (count, total), examples, effects, run=name)


def short_lists(price: Pricing, name: str) -> Finding | None:
    """Lists that end before the cutoff although more items are left."""
    if price.request.measure.k is None:
        return None
    tables, needed = price.tables, price.request.depth
    users = tables.test_users
    size = np.bincount(tables.list_of(name).user, minlength=tables.n_users)[users]
    is_short = (size > 0) & (size < np.minimum(needed, _n_left(price, name)))
    if not is_short.any():
        return None
    count, total = int(is_short.sum()), int((size > 0).sum())
    base = price.base[name]
    effects = price.effects({name: (base, np.where(is_short, np.nan, base))})
    examples, measure = tables.user_examples(users[is_short]), price.request.measure
    facts: Facts = {"needed": needed, "shortest": int(size[is_short].min()), "measure": measure}
    return finding("short-lists", (count, total), examples, effects, run=name, **facts)


def _n_left(price: Pricing, name: str) -> Ints:
    """Return the number of items that could be listed for each test user."""
    tables, users = price.tables, price.tables.test_users
    if tables.train.n_rows:  # a list can't be longer without seen items
        n_seen = np.bincount(tables.seen_pairs[0], minlength=tables.n_users)[users]
        return int(tables.in_train[1].sum()) - n_seen
    keys = distinct(np.append(tables.key(tables.truth), tables.key(tables.list_of(name))))
    return np.bincount(keys // tables.n_items, minlength=tables.n_users)[users]


def seen_items(price: Pricing, name: str) -> Finding | None:
    """Rows of a run with items that the user has in the training part."""
    if price.is_repeating or price.request.is_sampled:
        return None  # users consume items again, or checks_candidates reports these rows
    tables = price.tables
    run = tables.tested(name)
    is_seen = tables.is_seen(run) & ~price.is_positive(name)
    if not is_seen.any():
        return None
    count, total = int(is_seen.sum()), tables.list_of(name).n_rows
    effects = price.of_run(name, run.rows(~is_seen))
    examples = tables.pair_examples(run.rows(is_seen))
    return finding("seen-items", (count, total), examples, effects, run=name)


def unknown_run_items(price: Pricing, name: str) -> Finding | None:
    """Items of a run that neither the training nor the test part has."""
    tables = price.tables
    run = tables.list_of(name)
    is_unknown = ~(tables.in_train[1] | tables.item_in_test)[run.item]
    if not is_unknown.any():
        return None
    count, total = int(is_unknown.sum()), run.n_rows
    effects = price.of_run(name, run.rows(~is_unknown)) if count < total else ()
    examples, kind = tables.item_examples(run.item[is_unknown]), "all" if count == total else ""
    return finding("unknown-run-items", (count, total), examples, effects, run=name, kind=kind)


CHECKS = (missing_users, extra_users, repeated_items, short_lists)
OF_TRAIN = (seen_items, unknown_run_items)
