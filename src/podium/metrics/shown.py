"""Statistics of the items shown, which need no relevance: coverage, novelty, diversity and so on.

The functions take arrays. The metrics of these names compute them from the lists of a run
(`podium.evaluation.shown`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium._kernels import ideal_order, read_only
from podium.errors import ArgumentError, arg
from podium.groups import Groups, encode, find
from podium.metrics import _shown_kernels
from podium.metrics._registry import SHOWN, Metric, error_of_shown
from podium.ranking import Ranking
from podium.types import PerGroup


class Categories(NamedTuple):
    """The categories of items: item i has ``codes[offsets[i]:offsets[i + 1]]``, increasing."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.int64]


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


def _enter(name: str, function: Callable[..., PerGroup], *aliases: str, **properties: Any) -> None:
    SHOWN.enter(name, Metric(name, function, "required", **properties), aliases)


def _refusing(name: str) -> Callable[..., PerGroup]:
    """Return the function of a metric that reads the catalogue."""

    def refuse(_ranking: Ranking, *, k: int) -> PerGroup:
        raise error_of_shown(f"{name}@{k}", "catalogue")

    return refuse


def _refuse_diversity(_ranking: Ranking, *, k: int, column: str = "") -> PerGroup:
    text = f"diversity(column={column})@{k}" if column else f"diversity@{k}"
    raise error_of_shown(text, "items")


_UNBOUNDED = (0.0, float("inf"))
_enter(
    *("coverage", _refusing("coverage"), "item_coverage", "itemcoverage", "catalogcoverage"),
    reads="catalogue",
    is_mean=False,
)
_enter("novelty", _refusing("novelty"), reads="catalogue", bounds=_UNBOUNDED)
_enter(
    *("gini", _refusing("gini"), "gini_index", "giniindex"),
    reads="catalogue",
    is_mean=False,
    higher_is_better=False,
)
_enter(
    *("popularity", _refusing("popularity")),
    *("arp", "average_popularity", "averagepopularity", "avgrecpopularity"),
    reads="catalogue",
    bounds=_UNBOUNDED,
    higher_is_better=False,
)
_enter(
    *("diversity", _refuse_diversity, "ild", "intra_list_diversity", "intralistdiversity"),
    reads="items",
    bounds=(0.0, 2.0),
)
