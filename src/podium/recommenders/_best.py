"""The best products of factors, with the same bits in every order of computation.

The summation order of a matrix product depends on its shape and on the number of threads.
Therefore the product only proposes items, a few more than requested. Their scores are then
computed again in a fixed order. A bound on the rounding errors of both computations shows whether
an item that was not proposed could be among the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.catalogue import top_k_factors
from podium.recommenders import _best_kernels

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_CHUNK = 2**14  # users whose factors are copied at a time, with a column for the bias
_SPARE = 2  # items that are first proposed in addition to k
_WIDER = 8  # growth of the number of proposals for users that are not settled
_BLOCK = 256  # users at a time if there are few items: their scores fit into the cache
_FEW = 2**14  # items up to which users are scored in blocks of _BLOCK
_MOST = 2**22  # proposals at a time


def best_products(
    users: Floats, items: Floats, k: int, excluded: sparse.csr_array[Any] | None
) -> tuple[Ints, Floats]:
    """Return each user's k best items and their scores; -1 and -inf if there are fewer.

    The result for a user depends only on the user's factors and the items' factors, not on other
    users or the number of threads. Among equal scores the lower item number is first.
    """
    best_items: Ints = np.full((users.shape[0], k), -1)
    best_scores: Floats = np.full((users.shape[0], k), -np.inf, np.float32)
    best = _best_kernels.Best(best_items, best_scores)
    factors = _best_kernels.Factors(users, items, _slack(users, items))
    unsettled = np.arange(users.shape[0], dtype=np.int64)
    width = k + _SPARE
    while unsettled.size:
        is_settled = np.empty(unsettled.size, np.bool_)
        step = max(1, _MOST // width)
        for start in range(0, unsettled.size, step):
            part = unsettled[start : start + step]
            proposed, scores = _proposals(users, items, width, excluded, part)
            proposals = _best_kernels.Proposals(part, proposed, scores)
            _best_kernels.settle(factors, proposals, best, is_settled[start : start + step])
        unsettled = np.compress(~is_settled, unsettled)
        # If all items and one more are proposed, the last one is -1, which settles the user.
        width = min(_WIDER * width, items.shape[0] + 1)
    return best_items, best_scores


def _proposals(
    users: Floats, items: Floats, width: int, excluded: sparse.csr_array[Any] | None, rows: Ints
) -> tuple[Ints, Floats]:
    block = _BLOCK if items.shape[0] <= _FEW else None
    if rows.size < users.shape[0]:
        users, excluded = users[rows], None if excluded is None else excluded[rows]
    return top_k_factors(users, items, width, exclude=excluded, block_size=block)


def _slack(users: Floats, items: Floats) -> Floats:
    """Return a bound on the difference of a user's score between two summation orders.

    The rounding error of a dot product is at most terms x eps x |u| |v| (Cauchy-Schwarz). It is
    taken at the longest item. Each order of summation errs by at most half of eps per term.
    """
    longest = np.sqrt(np.einsum("ij,ij->i", items, items).max(initial=0.0))
    lengths = np.sqrt(np.einsum("ij,ij->i", users, users))
    n_terms = np.count_nonzero(users, axis=1)
    rounding = np.where(n_terms > 1, n_terms + 4, 0) * np.finfo(np.float32).eps
    return (rounding * lengths * longest).astype(np.float32)


def with_bias(users: Floats, items: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Return factors whose product is the score: a column of ones meets a column of biases."""
    return (
        np.column_stack([users, np.ones(users.shape[0], np.float32)]),
        np.column_stack([items, bias]),
    )


def best_items(
    users: Floats,
    items: Floats,
    bias: Floats,
    k: int,
    seen: sparse.csr_array[Any] | None,
    candidates: Ints | None,
) -> tuple[Ints, Floats]:
    """Return each user's k best items and their scores.

    `candidates` restricts the items; None means all of them. Items in `seen` are left out.
    """
    if candidates is not None:
        items, bias = items[candidates], bias[candidates]
    columns = np.full((users.shape[0], k), -1)
    scores = np.full((users.shape[0], k), -np.inf, np.float32)
    for start in range(0, users.shape[0], _CHUNK):
        part = slice(start, start + _CHUNK)
        excluded = None if seen is None else seen[part]
        if excluded is not None and candidates is not None:
            excluded = sparse.csr_array(excluded[:, candidates])
        users_with_one, items_with_bias = with_bias(users[part], items, bias)
        columns[part], scores[part] = best_products(users_with_one, items_with_bias, k, excluded)
    if candidates is not None:
        columns = np.where(columns < 0, -1, candidates[columns])
    return columns, scores


def nearest_items(items: Floats, chosen: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k items with the greatest cosine to each chosen item, without the item itself."""
    lengths = np.linalg.norm(items, axis=1, keepdims=True)
    directions = (items / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    rows = np.arange(chosen.size)
    diagonal = sparse.csr_array(
        (np.ones(chosen.size), (rows, chosen)), shape=(chosen.size, items.shape[0])
    )
    return best_products(directions[chosen], directions, k, diagonal)
