"""Checks of sampled candidates: whether lists are samples, and whether they were drawn as said."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Floats, Ints, Part, present
from podium.decide.finding import Facts, fault, finding
from podium.evaluation.finding import Effect, Finding
from podium.types import Mask

_LEAST_USERS = 20  # with fewer users, all positives may be in short lists by chance
_OF_ONE_LENGTH = 0.9  # share of lists of one length; some lists lose repeated draws
_SHORT = 0.5  # share of the catalogue; a longer list may be a catalogue without seen items
_ALL_LISTED = 0.99  # share of positives that are listed; no model finds all of them
# Draws differ from uniform ones if the mean popularity rank of negatives is off by so many standard
# errors, and by so much of the range: a smaller difference changes a measure by less than 1 %.
_SURE = 5.0
_UNEVEN = 0.02


@dataclass(frozen=True, eq=False)
class Candidates:
    """The lists of the test users: which rows are positives, and the number of rows per user."""

    rows: Part
    is_positive: Mask
    users: Ints
    sizes: Ints

    @property
    def negatives(self) -> Part:
        return self.rows.rows(~self.is_positive)


def lists_of(price: Pricing, name: str) -> Candidates:
    """Return the lists of the users with positives."""
    tables = price.tables
    run, is_positive = tables.tested[name], price.is_positive[name]
    keep = present(tables.positives.user, tables.n_users)[run.user]
    run, is_positive = run.rows(keep), is_positive[keep]
    sizes = np.bincount(run.user, minlength=tables.n_users)
    users = np.flatnonzero(sizes)
    return Candidates(run, is_positive, users, sizes[users])


def sampled_lists(price: Pricing, name: str) -> Finding | None:
    """Lists of one length that contain all positives: sampled candidates, not a catalogue."""
    lists, n_items = lists_of(price, name), int(price.tables.in_train[1].sum())
    if lists.users.size < _LEAST_USERS:
        return None
    counts = np.bincount(lists.sizes)
    length = int(counts.argmax())
    is_sampled = (
        1 < length <= _SHORT * n_items
        and counts.max() >= _OF_ONE_LENGTH * lists.users.size
        and lists.is_positive.sum() >= _ALL_LISTED * price.tables.positives.n_rows
    )
    if not is_sampled:
        return None
    facts: Facts = {"length": length, "n_items": n_items, "measure": price.request.measure}
    kind = "stated" if price.request.is_sampled else ""
    return finding("sampled-lists", lists.users.size, kind=kind, run=name, **facts)


def uneven_negatives(price: Pricing, name: str) -> Finding | None:
    """Negatives said to be uniform that are more, or less, popular than unseen items are."""
    if price.request.candidates != "uniform":
        return None
    tables, lists = price.tables, lists_of(price, name)
    negatives = lists.negatives
    if not negatives.n_rows:
        return None
    ranks, mean, expected = popularity_of_negatives(price, lists)
    error = float(ranks.std()) / np.sqrt(negatives.n_rows)
    if abs(mean - expected) < max(_UNEVEN, _SURE * error):
        return None
    count = int((ranks[negatives.item] > expected).sum())
    check = "negatives-popular" if mean > expected else "negatives-unpopular"
    n_drawn = np.bincount(negatives.item)
    third = np.sort(n_drawn)[::-1][min(2, n_drawn.size - 1)]
    examples = tables.examples("item", np.flatnonzero(n_drawn >= third))
    facts: Facts = {"mean": mean, "expected": expected, "run": name}
    return finding(check, (count, negatives.n_rows), examples, **facts)


def number_of_negatives(price: Pricing, name: str) -> Finding | None:
    """Lists with another number of uniform negatives than most lists."""
    lists = lists_of(price, name)
    if price.request.candidates != "uniform" or not lists.users.size:
        return None
    tables, base = price.tables, price.base[name]
    n_listed = np.bincount(lists.negatives.user, minlength=tables.n_users)[lists.users]
    n_drawn = int(np.bincount(n_listed).argmax())
    is_other = n_listed != n_drawn
    if 2 * is_other.sum() >= is_other.size:  # no number is that of most lists
        return None
    is_user = np.isin(tables.test_users, lists.users[is_other])
    effects = partial(price.effects, {name: (base, np.where(is_user, np.nan, base))})
    examples = tables.examples("user", lists.users[is_other])
    facts: Facts = {"n_drawn": n_drawn, "least": n_listed.min(), "most": n_listed.max()}
    return fault("number-of-negatives", is_other, examples, effects, run=name, **facts)


def unlisted_targets(price: Pricing, name: str) -> Finding | None:
    """Positives that are missing in lists of sampled candidates, which always contain them."""
    if not price.request.is_sampled:
        return None
    tables, lists = price.tables, lists_of(price, name)
    listed = np.isin(tables.key(tables.positives), tables.key(lists.rows))
    lost, base = tables.positives.rows(~listed), price.base[name]

    def effects() -> tuple[Effect, ...]:
        listed_truth = tables.truth.rows(~np.isin(tables.key(tables.truth), tables.key(lost)))
        return price.effects({name: (base, price.values(listed_truth, tables.lists[name]))})

    return fault("targets-not-listed", ~listed, tables.pair_examples(lost), effects, run=name)


def popularity_of_negatives(price: Pricing, lists: Candidates) -> tuple[Floats, float, float]:
    """Return the popularity rank of items, its mean over negatives, and that of uniform draws.

    The rank is the share of items that are less popular; ties count half. Uniform draws are those
    from each user's unseen items.
    """
    tables, negatives, in_train = price.tables, lists.negatives, price.tables.in_train[1]
    counts = tables.n_item_users[in_train]
    levels, n_equal = np.unique(counts, return_counts=True)
    share = (np.cumsum(n_equal) - n_equal / 2) / counts.size
    place = np.searchsorted(levels, tables.n_item_users)
    ranks = np.where(in_train, share[np.minimum(place, share.size - 1)], 0.0)
    # Seen items and positives can't be drawn.
    keys = distinct(np.concatenate([tables.seen, tables.key(tables.positives)]))
    users, items = keys // tables.n_items, keys % tables.n_items
    users, items = users[in_train[items]], items[in_train[items]]
    n_owned = np.bincount(users, minlength=tables.n_users)
    sums = ranks[in_train].sum() - np.bincount(users, ranks[items], tables.n_users)
    means = sums / np.maximum(in_train.sum() - n_owned, 1)
    return ranks, float(ranks[negatives.item].mean()), float(means[negatives.user].mean())


CHECKS = (sampled_lists, uneven_negatives, number_of_negatives, unlisted_targets)
