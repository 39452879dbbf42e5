"""The best items of each user."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.catalogue import passes
from podium.catalogue.source import ScoreFunction, Source, read_factors, read_matrix_or_function
from podium.catalogue.sparse import read_excluded


def top_k(
    scores: ArrayLike | ScoreFunction,
    k: int,
    *,
    exclude: Any = None,
    block_size: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the k best-scored items of each user, best first.

    Parameters
    ----------
    scores : (n_users, n_items), or ScoreFunction
        The scores, higher is better. float32 and float64 are used as they are; other numbers are
        converted.
    k : int
        The number of items per user, at least 1.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not returned for a user: all stored entries, whatever their values. Their
        scores are not used and can have any value.
    block_size : int, optional
        The number of users whose scores are read at a time, see `top_k_factors`.

    Returns
    -------
    items : int64, (n_users, k)
        Column numbers; -1 if a user has fewer than k items.
    scores : float32 or float64, (n_users, k)
        Their scores; -inf where items is -1.

    Raises
    ------
    ArgumentError
        If a score is NaN or infinite (first user and item), shapes differ, or k < 1.

    Notes
    -----
    Ties: the lower item number ranks first.
    Cost: two passes over the scores and a sort of the k best. All items are sorted only if all
    scores are equal.

    Examples
    --------
    >>> items, best = top_k([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], 2)
    >>> items
    array([[1, 2],
           [0, 1]])
    """
    return _top(read_matrix_or_function(scores), k, exclude, block_size)


def top_k_factors(
    user_factors: ArrayLike,
    item_factors: ArrayLike,
    k: int,
    *,
    exclude: Any = None,
    block_size: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the k items of each user with the largest products of factors, best first.

    The scores ``user_factors @ item_factors.T`` are computed for one block of users at a time.

    Parameters
    ----------
    user_factors, item_factors : (n_users, n_factors), (n_items, n_factors)
        The factors. Products are computed in float32 if it represents both exactly, else in
        float64.
    k : int
        The number of items per user, at least 1.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not returned, see `top_k`.
    block_size : int, optional
        The number of users whose scores are in memory at a time. By default it is chosen from the
        shape: at most 64 MiB, or one user. It can change the last bits of a product.

    Returns
    -------
    items, scores
        The items and their scores, see `top_k`.

    Raises
    ------
    ArgumentError
        If `top_k` would raise it, a factor is not finite (first row), or the widths differ.

    Examples
    --------
    >>> top_k_factors([[1.0, 0.0]], [[0.2, 5.0], [0.3, 5.0]], 1)
    (array([[1]]), array([[0.3]]))
    """
    return _top(read_factors(user_factors, item_factors), k, exclude, block_size)


def _top(
    scores: Source, k: int, exclude: Any, block_size: int | None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    width = _check.cutoff(k)
    hidden = read_excluded(exclude, scores.shape)
    items = np.full((scores.n_users, width), -1)
    best = np.full((scores.n_users, width), scores.limits.below)
    for start, block in scores.blocks(scores.block_size(block_size)):
        stop = start + block.shape[0]
        seen = hidden.block(start, stop)
        passes.best_items(scores, start, block, seen, items[start:stop], best[start:stop])
    return items, best
