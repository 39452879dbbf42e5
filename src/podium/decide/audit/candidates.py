"""Lists of sampled candidates: their negatives, what uniform draws would give, and effects."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import Floats, Ints, Part, present
from podium.errors import PodiumError, PodiumWarning
from podium.evaluation.finding import Effect
from podium.types import Mask


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
    run, is_positive = tables.tested(name), price.is_positive(name)
    keep = present(tables.positives.user, tables.n_users)[run.user]
    if not keep.all():
        run, is_positive = run.rows(keep), is_positive[keep]
    sizes = np.bincount(run.user, minlength=tables.n_users)
    users = np.flatnonzero(sizes)
    return Candidates(run, is_positive, users, sizes[users])


def catalogue_size(price: Pricing) -> int:
    """Return the number of items of the training part."""
    return int(price.tables.in_train[1].sum())


def effect_of_sampling(price: Pricing, name: str, lists: Candidates) -> tuple[Effect, ...]:
    """Return the effect of sampling, if each user has one target; estimated from its ranks."""
    from podium import sampled

    n_targets = np.bincount(lists.rows.user[lists.is_positive], minlength=price.tables.n_users)
    is_usable = (n_targets[lists.users] == 1) & (lists.sizes > 1)
    users = lists.users[is_usable]
    if not users.size or (n_targets[lists.users] > 1).any():
        return ()
    target = np.full(price.tables.n_users, np.inf)
    target[lists.rows.user[lists.is_positive]] = lists.rows.values[lists.is_positive]
    negatives = lists.negatives
    is_above = negatives.values >= target[negatives.user]
    n_above = np.bincount(negatives.user[is_above], minlength=price.tables.n_users)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        try:
            ranks = sampled.SampledRanks(
                n_above[users] + 1,
                lists.sizes[is_usable] - 1,
                catalogue_size(price),
                replacement=False,
            )
            estimate = sampled.evaluate(ranks, price.request.measure, bounds=False)
        except PodiumError:  # such as a measure that ranks don't determine
            return ()
    base = price.summary(price.base[name])
    text = str(price.request.measure)
    return (Effect(name, text, base.mean, estimate.means[text], base.std_error),)


def effect_of_popularity(price: Pricing, name: str, lists: Candidates) -> tuple[Effect, ...]:
    """Return the effect of uneven draws: negatives are drawn again with weights that even them.

    The weight of a listed item is the number of users who could have drawn it over the number of
    lists that contain it. Items that were never drawn stay unknown.
    """
    negatives = lists.negatives
    negatives = negatives.rows(np.lexsort((negatives.item, negatives.user)))
    n_lists = np.bincount(negatives.item, minlength=price.tables.n_items)
    n_drawers = np.maximum(_n_drawers(price, lists), n_lists)
    ends = np.cumsum((n_drawers / np.maximum(n_lists, 1))[negatives.item])
    _, first, size = np.unique(negatives.user, return_index=True, return_counts=True)
    starts = np.where(first > 0, ends[first - 1], 0.0)
    total = ends[first + size - 1] - starts
    draw = np.random.default_rng(0).random(negatives.n_rows)
    drawn = np.searchsorted(ends, np.repeat(starts, size) + draw * np.repeat(total, size))
    drawn = np.clip(drawn, np.repeat(first, size), np.repeat(first + size - 1, size))
    new_items = price.tables.n_items + np.arange(drawn.size)  # repeats count as other items
    targets = lists.rows.rows(lists.is_positive)
    redrawn = Part(
        np.concatenate([targets.user, negatives.user]),
        np.concatenate([targets.item, new_items]),
        np.concatenate([targets.values, negatives.values[drawn]]),
    )
    return price.of_run(name, redrawn)


def popularity_rank(price: Pricing) -> Floats:
    """Return the share of items that are less popular; ties count half."""
    counts = price.tables.n_item_users[price.tables.in_train[1]]
    levels, n_equal = np.unique(counts, return_counts=True)
    share = (np.cumsum(n_equal) - n_equal / 2) / counts.size
    place = np.searchsorted(levels, price.tables.n_item_users)
    return np.where(price.tables.in_train[1], share[np.minimum(place, share.size - 1)], 0.0)


def expected_rank(price: Pricing, lists: Candidates, rank: Floats) -> float:
    """Return the mean popularity rank of uniform draws from each user's unseen items."""
    tables = price.tables
    in_train = tables.in_train[1]
    excluded = distinct(np.concatenate([tables.seen, tables.key(tables.positives)]))
    excluded = excluded[in_train[excluded % tables.n_items]]
    user = excluded // tables.n_items
    n_excluded = np.bincount(user, minlength=tables.n_users)
    excluded_sum = np.bincount(
        user, weights=rank[excluded % tables.n_items], minlength=tables.n_users
    )
    mean = (rank[in_train].sum() - excluded_sum) / np.maximum(in_train.sum() - n_excluded, 1)
    return float(mean[lists.negatives.user].mean())


def expected_never(price: Pricing, lists: Candidates) -> float:
    """Return the expected number of items that uniform draws of unseen items never draw."""
    n_drawers = _n_drawers(price, lists)[price.tables.in_train[1]]
    mean_draws = lists.negatives.n_rows * n_drawers / max(int(n_drawers.sum()), 1)
    return float(np.exp(-mean_draws).sum())


def _n_drawers(price: Pricing, lists: Candidates) -> Ints:
    """Return the number of users who don't own each item, so that it could be drawn for them."""
    tables = price.tables
    excluded = distinct(np.concatenate([tables.seen, tables.key(tables.positives)]))
    excluded = excluded[present(lists.users, tables.n_users)[excluded // tables.n_items]]
    return lists.users.size - np.bincount(excluded % tables.n_items, minlength=tables.n_items)
