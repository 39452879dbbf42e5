"""Checks of sampled candidates: whether lists are samples, and whether they were drawn as said."""

from __future__ import annotations

import numpy as np

from podium.decide.audit.candidates import (
    Candidates,
    catalogue_size,
    effect_of_popularity,
    effect_of_sampling,
    expected_never,
    expected_rank,
    lists_of,
    popularity_rank,
)
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Floats, Ints, present
from podium.decide.finding import Facts, finding
from podium.evaluation.finding import Finding

_LEAST_USERS = 20  # with fewer users, all positives may be in short lists by chance
_OF_ONE_LENGTH = 0.9  # share of lists of one length; some lists lose repeated draws
_SHORT = 0.5  # share of the catalogue; a longer list may be a catalogue without seen items
_ALL_LISTED = 0.99  # share of positives that are listed; no model finds all of them
# Draws differ from uniform ones if the mean popularity rank of negatives is off by so many standard
# errors, and by so much of the range: a smaller difference changes a measure by less than 1 %.
_SURE = 5.0
_UNEVEN = 0.02


def sampled_lists(price: Pricing, name: str) -> Finding | None:
    """Lists of one length that contain all positives: sampled candidates, not a catalogue."""
    lists = lists_of(price, name)
    if not _looks_sampled(price, lists):
        return None
    length, n_items = int(np.bincount(lists.sizes).argmax()), catalogue_size(price)
    effects = effect_of_sampling(price, name, lists) if _looks_uniform(price, lists) else ()
    facts: Facts = {"length": length, "n_items": n_items, "measure": price.request.measure}
    kind = "stated" if price.request.is_sampled else ""
    return finding("sampled-lists", lists.users.size, (), effects, kind=kind, run=name, **facts)


def seen_negatives(price: Pricing, name: str) -> Finding | None:
    """Sampled negatives that are training items of the user."""
    if not price.request.is_sampled:
        return None
    tables, lists = price.tables, lists_of(price, name)
    is_seen = tables.is_seen(lists.rows) & ~lists.is_positive
    if not is_seen.any():
        return None
    effects = price.of_run(name, lists.rows.rows(~is_seen))
    of = int(is_seen.sum()), lists.negatives.n_rows
    examples = tables.pair_examples(lists.rows.rows(is_seen))
    return finding("negatives-seen", of, examples, effects, run=name)


def uneven_negatives(price: Pricing, name: str) -> Finding | None:
    """Negatives said to be uniform that are more, or less, popular than unseen items are."""
    if price.request.candidates != "uniform":
        return None
    tables, lists = price.tables, lists_of(price, name)
    negatives = lists.negatives
    if not negatives.n_rows:
        return None
    rank = popularity_rank(price)
    mean, expected = float(rank[negatives.item].mean()), expected_rank(price, lists, rank)
    if not _is_uneven(mean - expected, rank, negatives.n_rows):
        return None
    count = int((rank[negatives.item] > expected).sum())
    check = "negatives-popular" if mean > expected else "negatives-unpopular"
    examples = tables.item_examples(_most_drawn(negatives.item))
    facts: Facts = {"mean": mean, "expected": expected, "run": name}
    effects = effect_of_popularity(price, name, lists)
    return finding(check, (count, negatives.n_rows), examples, effects, **facts)


def number_of_negatives(price: Pricing, name: str) -> Finding | None:
    """Lists with another number of negatives than was said."""
    n_drawn = price.request.n_negatives
    if n_drawn is None:
        return None
    lists = lists_of(price, name)
    n_users = price.tables.n_users
    n_listed = np.bincount(lists.negatives.user, minlength=n_users)[lists.users]
    is_other = n_listed != n_drawn
    if not is_other.any():
        return None
    count, total = int(is_other.sum()), lists.users.size
    base = price.base[name]
    is_user = np.isin(price.tables.test_users, lists.users[is_other])
    examples = price.tables.user_examples(lists.users[is_other])
    facts: Facts = {"n_drawn": n_drawn, "least": n_listed.min(), "most": n_listed.max()}
    effects = price.effects({name: (base, np.where(is_user, np.nan, base))})
    return finding("number-of-negatives", (count, total), examples, effects, run=name, **facts)


def unlisted_targets(price: Pricing, name: str) -> Finding | None:
    """Positives that are missing in lists of sampled candidates, which always contain them."""
    if not price.request.is_sampled:
        return None
    tables, lists = price.tables, lists_of(price, name)
    listed = np.isin(tables.key(tables.positives), tables.key(lists.rows))
    if listed.all():
        return None
    lost = tables.positives.rows(~listed)
    listed_truth = tables.truth.rows(~np.isin(tables.key(tables.truth), tables.key(lost)))
    base = price.base[name]
    of, examples = (lost.n_rows, listed.size), tables.pair_examples(lost)
    effects = price.effects({name: (base, price.values(listed_truth, tables.list_of(name)))})
    return finding("targets-not-listed", of, examples, effects, run=name)


def few_candidates(price: Pricing, name: str) -> Finding | None:
    """Negatives said to be uniform that come from a part of the catalogue only."""
    if price.request.candidates != "uniform":
        return None
    tables, lists = price.tables, lists_of(price, name)
    n_items, negatives = catalogue_size(price), lists.negatives
    if not negatives.n_rows:
        return None
    is_negative = present(negatives.item, tables.n_items)
    n_drawn = int((is_negative & tables.in_train[1]).sum())
    n_never = expected_never(price, lists)
    # The number of items that are never drawn is almost a Poisson number.
    if n_items - n_drawn <= n_never + _SURE * np.sqrt(n_never + 1):
        return None
    never = np.flatnonzero(tables.in_train[1] & ~is_negative)
    of, examples = (n_items - n_drawn, n_items), tables.item_examples(never)
    facts: Facts = {"n_drawn": n_drawn, "expected": n_items - n_never}
    return finding("negatives-few-items", of, examples, run=name, **facts)


def _is_uneven(difference: float, rank: Floats, n_negatives: int) -> bool:
    """Return whether the mean popularity rank of negatives differs too much for uniform draws."""
    error = float(rank.std()) / np.sqrt(n_negatives)
    return abs(difference) >= max(_UNEVEN, _SURE * error)


def _looks_uniform(price: Pricing, lists: Candidates) -> bool:
    """Return whether the negatives may be uniform draws of unseen items, which can be corrected."""
    rank, negatives = popularity_rank(price), lists.negatives
    if not negatives.n_rows:
        return False
    difference = float(rank[negatives.item].mean()) - expected_rank(price, lists, rank)
    is_uneven = _is_uneven(difference, rank, negatives.n_rows)
    return not (is_uneven or price.tables.is_seen(negatives).any())


def _looks_sampled(price: Pricing, lists: Candidates) -> bool:
    if lists.users.size < _LEAST_USERS:
        return False
    counts = np.bincount(lists.sizes)
    length = int(counts.argmax())
    positives = price.tables.positives
    n_listed, n_positives = int(lists.is_positive.sum()), positives.n_rows
    return (
        1 < length <= _SHORT * catalogue_size(price)
        and counts.max() >= _OF_ONE_LENGTH * lists.users.size
        and n_listed >= _ALL_LISTED * n_positives
    )


def _most_drawn(items: Ints) -> Ints:
    counts = np.bincount(items)
    return np.flatnonzero(counts >= np.sort(counts)[::-1][min(2, counts.size - 1)])


CHECKS = (
    sampled_lists,
    seen_negatives,
    uneven_negatives,
    few_candidates,
    number_of_negatives,
    unlisted_targets,
)
