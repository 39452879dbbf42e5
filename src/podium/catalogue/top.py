"""The best items of each user."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.catalogue.devices import read_on_device
from podium.catalogue.source import Scores, read
from podium.catalogue.sparse import read_excluded


def top_k(
    scores: Scores, k: int, *, exclude: Any = None, device: str | None = None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the k best-scored items of each user, best first.

    Parameters
    ----------
    scores : (n_users, n_items), pair (user_factors, item_factors), or ScoreFunction
        The scores, higher is better. float32 and float64 are used as they are; other numbers are
        converted. The scores of a pair are ``user_factors @ item_factors.T``, in float32 if it
        represents both factors exactly, else in float64.
    k : int
        The number of items per user, at least 1.
    exclude : scipy.sparse matrix, (n_users, n_items), optional
        The items that are not returned for a user: all stored entries, whatever their values. Their
        scores are not used and can have any value.
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
        If a score is NaN or infinite (first user and item), a factor is (first row), shapes differ,
        or k < 1.

    Notes
    -----
    Ties: the lower item number ranks first.
    Products of factors are added in an order that does not depend on other users.
    Cost: two passes over the scores and a sort of the k best. All items are sorted only if all
    scores are equal. The scores of one block of users are in memory at a time: at most 64 MiB, or
    one user.

    Examples
    --------
    >>> items, best = top_k([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], 2)
    >>> items
    array([[1, 2],
           [0, 1]])
    >>> user_factors, item_factors = [[1.0, 0.0]], [[0.2, 5.0], [0.3, 5.0]]
    >>> top_k((user_factors, item_factors), 1)
    (array([[1]]), array([[0.3]]))
    """
    width = _check.cutoff(k)
    table = read_on_device(scores, device) or read(scores)
    return table.best(width, read_excluded(exclude, table.shape))
