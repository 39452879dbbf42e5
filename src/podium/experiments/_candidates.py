"""Candidates: for each customer, some hundred products worth scoring, never bought before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.experiments._windows import Ids, Sparse

EACH = 80  # products that each source proposes for each customer


def propose(
    sources: Sequence[NDArray[Any]], bought: Sparse, sold: NDArray[np.float64], n_each: int = EACH
) -> tuple[Ids, Ids]:
    """Return the union of the best products by each source, as (row of the customer, item).

    Parameters
    ----------
    sources : sequence of (n_users, n_items) or (n_items,)
        Higher is better. Equal values: the lower item number first.
    bought : CSR, (n_users, n_items)
        Products that the customers have: never proposed.
    sold : float64, (n_items,)
        Sales so far: what nobody has bought yet is not known to be on offer.

    Returns
    -------
    row, item : int64, (n_rows,)
        Sorted by row, then item.
    """
    closed: NDArray[np.bool_] = bought.toarray() > 0
    closed[:, sold == 0] = True
    chosen = np.zeros_like(closed)
    rows: Ids = np.arange(len(closed), dtype=np.int64)[:, None]
    for source in sources:
        scores = np.where(closed, -np.inf, source)
        chosen[rows, _best(scores, n_each)] = True
    row, item = np.nonzero(chosen & ~closed)
    return row.astype(np.int64), item.astype(np.int64)


def _best(scores: NDArray[np.float64], n: int) -> Ids:
    n = min(n, scores.shape[1] - 1)
    # A falling bonus far below any difference that matters settles ties by item number.
    position: Ids = np.arange(scores.shape[1], dtype=np.int64)
    order = scores - position * 1e-10
    return np.argpartition(-order, n, axis=1)[:, :n]
