"""The best items of each user."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.catalogue import passes
from podium.catalogue.devices import read_on_device
from podium.catalogue.exact import Floats, Ints, Products, Proposed
from podium.catalogue.source import ScoreFunction, Source, read_factors, read_matrix_or_function
from podium.catalogue.sparse import Rows, read_excluded

_BLOCK = 256  # users at a time if there are few items: their scores fit into the cache
_FEW = 2**14  # items up to which the scores of _BLOCK users are computed at a time


def top_k(
    scores: ArrayLike | ScoreFunction,
    k: int,
    *,
    exclude: Any = None,
    block_size: int | None = None,
    device: str | None = None,
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
        The number of users whose scores are read at a time, see `top_k_factors`. It has no effect
        on a device, whose memory determines the blocks.
    device : str, optional
        The device that computes, selects and counts, such as "cuda"; "auto" for a GPU if there is
        one. It requires the extra ``podium[torch]``. Tensors, and arrays with DLPack's protocol,
        are by default read where they are. The result is the same on each device.

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
    width, on_device = _check.cutoff(k), read_on_device(scores, device)
    if on_device is not None:
        return on_device.best(width, read_excluded(exclude, on_device.shape))
    source = read_matrix_or_function(scores)
    return best_of_blocks(source, width, read_excluded(exclude, source.shape), block_size)


def top_k_factors(
    user_factors: ArrayLike,
    item_factors: ArrayLike,
    k: int,
    *,
    exclude: Any = None,
    block_size: int | None = None,
    device: str | None = None,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the k items of each user with the largest products of factors, best first.

    The scores ``user_factors @ item_factors.T`` are computed for one block of users at a time.

    Parameters
    ----------
    user_factors, item_factors : (n_users, n_factors), (n_items, n_factors)
        The factors. Products are computed in float32 if it represents both exactly, else in
        float64, and added in an order that does not depend on other users.
    k : int
        The number of items per user, at least 1.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not returned, see `top_k`.
    block_size : int, optional
        The number of users whose scores are in memory at a time. By default it is chosen from the
        shape: at most 64 MiB, or one user. It does not change the result, and has no effect on a
        device.
    device : str, optional
        The device of torch, see `top_k`.

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
    factors, width = (user_factors, item_factors), _check.cutoff(k)
    size = None if block_size is None else _check.cutoff(block_size, name="block_size")
    on_device = read_on_device(factors, device)
    if on_device is not None:
        return on_device.best(width, read_excluded(exclude, on_device.shape))
    source = read_factors(*factors)
    hidden, products = read_excluded(exclude, source.shape), Products.of(source.users, source.items)
    if products.could_overflow:  # the blocks show whether a score does
        return best_of_blocks(source, width, hidden, size)
    if size is None and source.n_items <= _FEW:
        size = _BLOCK

    def propose(rows: Ints, n: int) -> Proposed:
        some = replace(source, n_users=rows.size, users=source.users[rows])
        return Proposed(*best_of_blocks(some, n, hidden.of(rows), size))

    return products.best(width, propose)


def best_of_blocks(
    scores: Source, k: int, hidden: Rows, block_size: int | None
) -> tuple[Ints, Floats]:
    """Return the best scores of the blocks."""
    items: Ints = np.full((scores.n_users, k), -1)
    best = np.full((scores.n_users, k), scores.limits.below)
    for start, block in scores.blocks(scores.block_size(block_size)):
        stop = start + block.shape[0]
        seen = hidden.block(start, stop)
        passes.best_items(scores, start, block, seen, items[start:stop], best[start:stop])
    return items, best
