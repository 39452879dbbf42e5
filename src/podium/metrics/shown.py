"""Statistics of the items in a run that need no relevance: coverage and novelty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups, find
from podium.types import PerGroup


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

    Examples
    --------
    >>> coverage([1, 2, 2, 5], 10)
    0.3
    """
    total = _check.cutoff(n_items, name="n_items")
    distinct = np.unique(_check.one_dimensional(np.asarray(items), "items")).size
    if distinct > total:
        raise ArgumentError(
            f"n_items must be at least the number of distinct items shown, got {total} "
            f"and {distinct} distinct items."
        )
    return distinct / total


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
    shown, past = np.asarray(items), np.asarray(interactions)
    if shown.shape != (groups.n_rows,):
        raise ArgumentError(
            f"items must have one id per row of groups ({groups.n_rows}), got shape {shown.shape}."
        )
    if (shown.dtype.kind in "iu") != (past.dtype.kind in "iu") and past.size:
        raise ArgumentError(
            f"items and interactions must be ids of the same kind, got {shown.dtype} and "
            f"{past.dtype}."
        )
    surprise = _surprise(shown, past)
    total = np.concatenate([[0.0], np.cumsum(surprise)])
    with np.errstate(invalid="ignore"):
        return (total[groups.offsets[1:]] - total[groups.offsets[:-1]]) / groups.sizes


def _surprise(items: NDArray[Any], interactions: NDArray[Any]) -> NDArray[np.float64]:
    if not interactions.size:
        raise ArgumentError("interactions must hold at least one past interaction, got none.")
    unique_items, unique_counts = np.unique(interactions, return_counts=True)
    positions = find(unique_items, items)
    item_counts = np.where(positions < 0, 0.5, unique_counts[positions])
    return -np.log2(item_counts / interactions.size)
