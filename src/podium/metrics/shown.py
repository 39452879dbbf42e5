"""Statistics of the items shown, which need no relevance: coverage, novelty, diversity and so on.

The functions take arrays. The metrics of these names compute them from the lists of a run, which
`Shown` holds. To add one, decorate a function of `Shown` with `register_shown`.

Coverage and gini are not means over users. The mean of the values of their users is the measure,
and its standard error is a jackknife standard error, so that intervals and paired tests apply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._kernels import ideal_order, read_only
from podium.errors import ArgumentError, arg
from podium.groups import Groups, encode, find
from podium.metrics import _shown_kernels
from podium.metrics._registry import register_shown
from podium.types import Labels, PerGroup

_UNBOUNDED = (0.0, float("inf"))


class Categories(NamedTuple):
    """The categories of items: item i has ``codes[offsets[i]:offsets[i + 1]]``, increasing."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.int64]


Features: TypeAlias = NDArray[np.float64] | Categories


@dataclass(frozen=True, eq=False)
class Shown:
    """The lists of one run for some users, cut to k, which metrics of the items shown read.

    Attributes
    ----------
    groups : Groups
        The lists, one per user; the list of a user can be empty.
    items : int64, (n_rows,)
        The code of each item shown, in the order of `groups`.
    n_items : int
        The number of items of the catalogue.
    past : int64, (n_interactions,)
        The code of the item of each past interaction.
    clusters : (n_users,), or None
        The cluster of each user; None if each user is one.
    features : callable
        ``features(column)`` returns the row of each item shown in the table of items, -1 if it has
        none, and the features or categories of this table.
    """

    groups: Groups
    items: NDArray[np.int64]
    n_items: int
    past: NDArray[np.int64]
    clusters: Labels | None
    features: Callable[[str], tuple[NDArray[np.int64], Features]]

    def means(self, values: NDArray[Any]) -> PerGroup:
        """Return the mean of the values of the items of each list, nan for an empty list."""
        return _list_means(values, self.groups)


def coverage(items: ArrayLike, n_items: int) -> float:
    """Return the share of the catalogue that appears in at least one list.

    Parameters
    ----------
    items : (n_rows,)
        The ids of the items shown, over all groups, with lists already cut to k.
    n_items : int
        The size of the catalogue.

    Returns
    -------
    float
        The number of distinct items shown over n_items, in [0, 1].

    Raises
    ------
    ArgumentError
        If n_items is not at least the number of distinct items.

    Examples
    --------
    >>> coverage([1, 2, 2, 5], 10)
    0.3
    """
    n_shown = item_counts(items, n_items)
    return n_shown.size / n_items


def gini(items: ArrayLike, n_items: int) -> float:
    """Return the Gini coefficient of the numbers of lists in which items are shown.

    It is 0 if all items of the catalogue are shown equally often, and close to 1 if few items fill
    all lists. Items that are not shown count with 0.

    Parameters
    ----------
    items : (n_rows,)
        The ids of the items shown, over all groups, with lists already cut to k.
    n_items : int
        The size of the catalogue.

    Returns
    -------
    float
        Unitless, in [0, 1 - 1 / n_items]; nan if no item is shown.

    Raises
    ------
    ArgumentError
        If n_items is not at least the number of distinct items.

    Notes
    -----
    For counts c of items, gini = (sum of abs(c_i - c_j) over pairs of items) / (n_items x sum of
    counts). Some authors divide by n_items - 1 instead of n_items.

    References
    ----------
    fleder2009.

    Examples
    --------
    >>> gini(["a", "b", "a", "a"], 2), gini(["a", "b"], 4)
    (0.25, 0.5)
    """
    counts = np.sort(item_counts(items, n_items))
    ranks = np.arange(n_items - counts.size + 1, n_items + 1)
    total = n_items * counts.sum()
    return float(((2 * ranks - n_items - 1) * counts).sum() / total) if total else np.nan


def item_counts(items: ArrayLike, n_items: int) -> NDArray[np.int64]:
    """Return how often each item shown occurs, in the order of the ids.

    Raises
    ------
    ArgumentError
        If n_items is not at least the number of distinct items.
    """
    total = _check.cutoff(n_items, name="n_items")
    codes, distinct = encode(_check.one_dimensional(_check.array(items, "items"), "items"))
    counts = np.bincount(codes, minlength=distinct.size)
    if counts.size > total:
        raise ArgumentError(
            f"{arg.n_items} must be at least the number of distinct items shown, got {total} and "
            f"{counts.size} distinct items."
        )
    return counts


def novelty(items: ArrayLike, groups: Groups, interactions: ArrayLike) -> PerGroup:
    """Return the mean surprise, in bits, of the items in each group's list.

    The surprise of an item is -log2 of its share of all interactions. An item without interactions
    is treated as if it had half of one.

    Parameters
    ----------
    items : (n_rows,)
        The ids of the items shown, in group order, with lists already cut to k.
    groups : Groups
        The groups of those rows.
    interactions : (n_interactions,)
        The item of each past interaction.

    Returns
    -------
    float64, (n_groups,)
        Values in bits, >= 0; nan for an empty list.

    Examples
    --------
    >>> novelty(["a", "b"], Groups.single(2), ["a", "a", "b", "c"])
    array([1.5])
    """
    codes, counts, n_interactions = _past_counts(items, groups, interactions)
    surprise = -np.log2(np.where(counts == 0, 0.5, counts) / n_interactions)
    return _list_means(surprise[codes], groups)


def popularity(items: ArrayLike, groups: Groups, interactions: ArrayLike) -> PerGroup:
    """Return the mean number of past interactions of the items in each group's list.

    Parameters
    ----------
    items : (n_rows,)
        The ids of the items shown, in group order, with lists already cut to k.
    groups : Groups
        The groups of those rows.
    interactions : (n_interactions,)
        The item of each past interaction.

    Returns
    -------
    float64, (n_groups,)
        Numbers of interactions, >= 0; nan for an empty list.

    References
    ----------
    yin2012.

    Examples
    --------
    >>> popularity(["a", "b"], Groups.single(2), ["a", "a", "b", "c"])
    array([1.5])
    """
    codes, counts, _ = _past_counts(items, groups, interactions)
    return _list_means(counts[codes].astype(np.float64), groups)


def diversity(
    items: ArrayLike, groups: Groups, features: NDArray[np.float64] | Categories
) -> PerGroup:
    """Return the mean distance between two items of each group's list (intra-list diversity).

    Parameters
    ----------
    items : int, (n_rows,)
        The position of each item shown among the items of `features`, in group order; -1 for an
        unknown item. Lists are already cut to k.
    groups : Groups
        The groups of those rows.
    features : float64 (n_items, n_features), or Categories
        The features, whose distance is 1 - cosine, or the categories, whose distance is Jaccard's:
        1 - number of common categories / number of categories that at least one item has.

    Returns
    -------
    float64, (n_groups,)
        Unitless: in [0, 1] for categories and for features >= 0, and in [0, 2] for other features;
        nan for a list with fewer than two known items.

    Raises
    ------
    ArgumentError
        If lengths differ, or a position is outside of the items of `features`.

    Notes
    -----
    Unknown: an item without a category, with a feature that is not finite, or with zeros only.
    Pairs with an unknown item are left out.
    Cost: for features, one pass over the items shown; for categories, over the pairs of each list.

    References
    ----------
    ziegler2005, whose intra-list similarity is the sum of the pairs' similarities.

    Examples
    --------
    >>> diversity([0, 1, 2], Groups.single(3), np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))
    array([0.66666667])
    >>> one_common_of_three = Categories(np.array([0, 2, 4]), np.array([5, 6, 6, 7]))
    >>> diversity([0, 1], Groups.single(2), one_common_of_three)
    array([0.66666667])
    """
    is_categorical = isinstance(features, Categories)
    n_items = features.offsets.size - 1 if is_categorical else len(features)
    rows = _in_order(_rows_of(items, groups), groups).astype(np.int64)
    if rows.size and not -1 <= rows.min() <= rows.max() < n_items:
        raise ArgumentError(
            f"{arg.items} must be positions from -1 to {n_items - 1} in features, got {rows.min()} "
            f"to {rows.max()}."
        )
    values = np.empty(groups.n_groups)
    lists = read_only(groups.offsets), read_only(rows)
    if is_categorical:
        offsets, codes = (np.asarray(part, np.int64) for part in features)
        _shown_kernels.jaccard_distances(*lists, read_only(offsets), read_only(codes), values)
    else:
        unit, is_known = _unit_rows(features)
        _shown_kernels.cosine_distances(*lists, read_only(unit), read_only(is_known), values)
    return values


def known_items(features: NDArray[np.float64] | Categories) -> NDArray[np.bool_]:
    """Return which items have features or a category, (n_items,); see `diversity`."""
    if isinstance(features, Categories):
        return np.diff(features.offsets) > 0
    return np.isfinite(features).all(axis=1) & (features != 0).any(axis=1)


def _unit_rows(features: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the features of each item with length 1, and whether the item has any."""
    is_known = known_items(features)
    known = np.where(is_known[:, None], features, 1.0)
    known = known / np.abs(known).max(axis=1, keepdims=True)  # no square overflows
    return known / np.linalg.norm(known, axis=1, keepdims=True), is_known


def _rows_of(items: ArrayLike, groups: Groups) -> NDArray[Any]:
    ids = _check.array(items, "items")
    if ids.shape != (groups.n_rows,):
        raise ArgumentError(
            f"{arg.items} must have one id per row of groups ({groups.n_rows}), got shape "
            f"{ids.shape}."
        )
    return ids


def _past_counts(
    items: ArrayLike, groups: Groups, interactions: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return a code of each item shown, the past interactions of each code, and their number."""
    ids, past = _rows_of(items, groups), np.asarray(interactions)
    if (ids.dtype.kind in "iu") != (past.dtype.kind in "iu") and past.size:
        raise ArgumentError(
            f"items and interactions must be ids of the same kind, got {ids.dtype} and "
            f"{past.dtype}."
        )
    if not past.size:
        raise ArgumentError("interactions must hold at least one past interaction, got none.")
    past_codes, past_items = encode(past)
    past_counts = np.bincount(past_codes)
    codes, shown_items = encode(ids)
    positions = find(past_items, shown_items)
    return codes, np.where(positions < 0, 0, past_counts[positions]), past.size


def _in_order(values: NDArray[Any], groups: Groups) -> NDArray[np.float64]:
    """Return the values of each list in decreasing order.

    The sum over a list then has the same bits for any order of its items.
    """
    ordered = np.empty(values.size)
    ideal_order(groups.offsets, read_only(values.astype(np.float64)), ordered)
    return ordered


def _list_means(values: NDArray[np.float64], groups: Groups) -> PerGroup:
    values = _in_order(values, groups)
    means = np.full(groups.n_groups, np.nan)
    has_rows = groups.sizes > 0
    starts = groups.offsets[:-1][has_rows]
    if starts.size:
        means[has_rows] = np.add.reduceat(values, starts) / groups.sizes[has_rows]
    return means


def coverage_values(
    users: NDArray[np.int64],
    items: NDArray[Any],
    n_users: int,
    n_items: int,
    clusters: Labels | None = None,
) -> PerGroup:
    """Return jackknife values of the coverage, one value per user.

    Parameters
    ----------
    users : int64, (n_rows,)
        The user to whom an item is shown, from 0 to n_users - 1.
    items : (n_rows,)
        The id of the item.
    n_users, n_items : int
        The number of all users, and of the items of the catalogue.
    clusters : (n_users,), optional
        The label of the cluster of each user. Default: each user is a cluster.

    Returns
    -------
    float64, (n_users,)
        The values, which can lie outside of [0, 1]. Their mean is the coverage. The standard error
        of this mean over clusters is exactly that of leaving out one cluster at a time. It tends to
        be too large.

    References
    ----------
    efron1981.

    Examples
    --------
    >>> coverage_values(np.array([0, 1, 2]), np.array([7, 7, 8]), 3, 4)
    array([0.33333333, 0.33333333, 0.83333333])
    """
    item_codes, distinct = encode(items)
    if clusters is None:
        codes, sizes = np.arange(n_users), np.ones(n_users)
        showing = users
    else:
        _, codes, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
        # An item that one cluster shows to several users is still in its lists only.
        pairs = np.unique(codes[users] * max(distinct.size, 1) + item_codes)
        showing, item_codes = np.divmod(pairs, max(distinct.size, 1))
    is_alone = np.bincount(item_codes)[item_codes] == 1
    # Without a cluster, the coverage loses the items that are in no list of the others.
    n_lost = np.bincount(showing, is_alone, minlength=sizes.size).astype(np.float64)
    n_others = n_users - sizes
    n_lost -= np.average(n_lost, weights=n_others) if n_others.any() else n_lost.mean()
    return (distinct.size + (n_others / sizes * n_lost)[codes]) / n_items


def gini_values(
    users: NDArray[np.int64], items: NDArray[Any], n_users: int, n_items: int
) -> PerGroup:
    """Return values of the Gini coefficient of the items shown, one value per user.

    The value of a user is the coefficient plus n_users times its derivative with respect to the
    weight of the user (the infinitesimal jackknife).

    Parameters
    ----------
    users : int64, (n_rows,)
        The user to whom an item is shown, from 0 to n_users - 1.
    items : (n_rows,)
        The id of the item.
    n_users, n_items : int
        The number of all users, and of the items of the catalogue.

    Returns
    -------
    float64, (n_users,)
        The values, which can lie outside of [0, 1]; nan if no item is shown. Their mean is the
        coefficient. The standard error of this mean, over users or over any clusters of them, is
        about that of leaving out one user or cluster at a time.

    Notes
    -----
    For counts c of items, gini = D / (n_items C) with D = sum of abs(c_i - c_j) over pairs of items
    and C = sum of counts. The derivative of D with respect to c_i is the number of items with
    smaller counts minus the number of those with larger ones. For ties, 0 is one of its
    subgradients.

    References
    ----------
    efron1982, the infinitesimal jackknife.

    Examples
    --------
    >>> values = gini_values(np.array([0, 1, 2]), np.array([7, 7, 8]), 3, 4)
    >>> float(values.mean()) == gini([7, 7, 8], 4)
    True
    """
    codes, distinct = encode(items)
    counts = np.bincount(codes, minlength=distinct.size)
    total = counts.sum()
    if not total:
        return np.full(n_users, np.nan)
    ordered = np.sort(counts)
    n_hidden = n_items - counts.size
    n_smaller = np.searchsorted(ordered, counts, "left") + n_hidden
    n_larger = counts.size - np.searchsorted(ordered, counts, "right")
    slopes = n_smaller - n_larger
    coefficient = (slopes * counts).sum() / (n_items * total)
    # The derivative of D / (n_items C) is (dD / n_items - coefficient dC) / C. dD and dC are
    # integers, so that the order of the items of a list has no effect on their sums.
    d_slopes = np.bincount(users, slopes[codes], minlength=n_users)
    d_counts = np.bincount(users, minlength=n_users)
    moves = (d_slopes / n_items - coefficient * d_counts) / total
    return coefficient + n_users * moves


@register_shown(
    "coverage",
    reads="catalogue",
    aliases=("item_coverage", "itemcoverage", "catalogcoverage"),
    is_mean=False,
)
def _coverage(shown: Shown, *, k: int) -> PerGroup:
    groups = shown.groups
    lists = groups.index, shown.items, groups.n_groups
    return coverage_values(*lists, shown.n_items, shown.clusters)


@register_shown("novelty", reads="catalogue", bounds=_UNBOUNDED)
def _novelty(shown: Shown, *, k: int) -> PerGroup:
    return novelty(shown.items, shown.groups, shown.past)


@register_shown(
    "gini",
    reads="catalogue",
    aliases=("gini_index", "giniindex"),
    is_mean=False,
    higher_is_better=False,
)
def _gini(shown: Shown, *, k: int) -> PerGroup:
    return gini_values(shown.groups.index, shown.items, shown.groups.n_groups, shown.n_items)


@register_shown(
    "popularity",
    reads="catalogue",
    aliases=("arp", "average_popularity", "averagepopularity", "avgrecpopularity"),
    bounds=_UNBOUNDED,
    higher_is_better=False,
)
def _popularity(shown: Shown, *, k: int) -> PerGroup:
    return popularity(shown.items, shown.groups, shown.past)


@register_shown(
    "diversity",
    reads="items",
    aliases=("ild", "intra_list_diversity", "intralistdiversity"),
    bounds=(0.0, 2.0),
)
def _diversity(shown: Shown, *, k: int, column: str = "") -> PerGroup:
    rows, features = shown.features(column)
    return diversity(rows, shown.groups, features)
