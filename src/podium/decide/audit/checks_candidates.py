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
from podium.decide.audit.finding import Finding
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Floats, Ints, present

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
    return Finding(
        check="sampled-lists",
        severity="note" if price.request.is_sampled else "error",
        text=f"Run {name} lists {length} of {n_items:,} items for almost every user, and "
        f"almost all relevant items. The lists are probably samples. Their {price.request.measure} "
        "is not that of a ranking of all items, and can order models differently.",
        remedy=f"Rank all items. If that is impossible, add a column target to RUN, and estimate "
        f"the value among all items with podium estimate RUN --items {n_items}.",
        count=lists.users.size,
        total=lists.users.size,
        noun="lists",
        effects=effects,
    )


def seen_negatives(price: Pricing, name: str) -> Finding | None:
    """Sampled negatives that are training items of the user."""
    if not price.request.is_sampled:
        return None
    tables, lists = price.tables, lists_of(price, name)
    is_seen = tables.is_seen(lists.rows) & ~lists.is_positive
    if not is_seen.any():
        return None
    effects = price.of_run(name, lists.rows.rows(~is_seen))
    return Finding(
        check="negatives-seen",
        severity="error",
        text=f"TRAIN has {int(is_seen.sum()):,} of the {lists.negatives.n_rows:,} negatives of run "
        f"{name} as items of the same user. Models often rank these items above the targets, so "
        "that the ranks of the targets are too low.",
        remedy="Draw negatives without seen items: podium.sampled.draw_candidates(..., "
        "exclude=train), or podium estimate --seen TRAIN --drop-seen.",
        count=int(is_seen.sum()),
        total=lists.negatives.n_rows,
        examples=tables.pair_examples(lists.rows.rows(is_seen)),
        effects=effects,
    )


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
    more = "more" if mean > expected else "less"
    count = int((rank[negatives.item] > expected).sum())
    return Finding(
        check="negatives-popular" if mean > expected else "negatives-unpopular",
        severity="error",
        text=f"The negatives of run {name} are {more} popular than uniform draws: on average, "
        f"they are more popular than {100 * mean:.0f} % of the items, and uniform draws would be "
        f"more popular than {100 * expected:.0f} %. Ranks among them can't be converted to ranks "
        "among all items.",
        remedy="Draw negatives with equal probabilities: podium.sampled.draw_candidates without "
        "popularity.",
        count=count,
        total=negatives.n_rows,
        noun="negatives above the expected popularity",
        examples=tables.item_examples(_most_drawn(negatives.item)),
        effects=effect_of_popularity(price, name, lists),
    )


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
    return Finding(
        check="number-of-negatives",
        severity="error",
        text=f"In {count:,} of its {total:,} lists, run {name} does not have {n_drawn:,} "
        f"negatives: the numbers range from {int(n_listed.min()):,} to {int(n_listed.max()):,}. "
        "Targets among fewer items have better ranks.",
        remedy=f"Draw {n_drawn:,} distinct negatives for each user, or pass the true number with "
        "--negatives.",
        count=count,
        total=total,
        noun="lists",
        examples=price.tables.user_examples(lists.users[is_other]),
        effects=(price.effect(name, base, np.where(is_user, np.nan, base)),),
    )


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
    return Finding(
        check="targets-not-listed",
        severity="error",
        text=f"Run {name} lacks {lost.n_rows:,} of the {listed.size:,} positives in its lists of "
        "candidates. They count as missed, although the model could not rank them.",
        remedy="Add each target to its list of candidates.",
        count=lost.n_rows,
        total=listed.size,
        examples=tables.pair_examples(lost),
        effects=(price.effect(name, base, price.values(listed_truth, tables.list_of(name))),),
    )


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
    return Finding(
        check="negatives-few-items",
        severity="error",
        text=f"The negatives of run {name} are only {n_drawn:,} of {n_items:,} items, and uniform "
        f"draws would give about {n_items - n_never:.0f}. The same items were drawn for many "
        "users, or a part of the catalogue was left out.",
        remedy="Draw negatives anew for each user, from all items: podium.sampled.draw_candidates.",
        count=n_items - n_drawn,
        total=n_items,
        noun="items that were never drawn",
        examples=tables.item_examples(never),
    )


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
