"""The best products of factors, to the same bits however the products are taken.

A matrix product adds up in an order that depends on its shape and on its threads. So it only
proposes items, a few more than are asked for. Their scores are taken anew in one fixed order, and
a bound on the rounding of both tells whether an item that was not proposed could belong there.
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

_CHUNK = 2**14  # users whose factors are copied at a time, beside the items' biases
_SPARE = 2  # items proposed beyond those asked for, at first
_WIDER = 8  # times as many, for users whom these leave in doubt
_BLOCK = 256  # users at a time while there are few items: their scores stay near the processor
_FEW = 2**14
_MOST = 2**22  # proposals at a time


def best_products(
    users: Floats, items: Floats, k: int, hidden: sparse.csr_array[Any] | None
) -> tuple[Ints, Floats]:
    """Return each user's k best items and their scores; -1 and -inf where there are fewer.

    What a user is shown follows from its own factors and the items' alone: neither from the other
    users nor from the number of threads. Equal scores: the lower item first.
    """
    best_items: Ints = np.full((users.shape[0], k), -1)
    best_scores: Floats = np.full((users.shape[0], k), -np.inf, np.float32)
    best = _best_kernels.Best(best_items, best_scores)
    factors = _best_kernels.Factors(users, items, _slack(users, items))
    doubtful = np.arange(users.shape[0], dtype=np.int64)
    width = k + _SPARE
    while doubtful.size:
        settled = np.empty(doubtful.size, np.bool_)
        step = max(1, _MOST // width)
        for start in range(0, doubtful.size, step):
            part = doubtful[start : start + step]
            proposed, scores = _proposals(users, items, width, hidden, part)
            proposals = _best_kernels.Proposals(part, proposed, scores)
            _best_kernels.settle(factors, proposals, best, settled[start : start + step])
        doubtful = np.compress(~settled, doubtful)
        width = min(_WIDER * width, items.shape[0] + 1)  # one more is one too many: -1 says so
    return best_items, best_scores


def _proposals(
    users: Floats, items: Floats, width: int, hidden: sparse.csr_array[Any] | None, part: Ints
) -> tuple[Ints, Floats]:
    block = _BLOCK if items.shape[0] <= _FEW else None
    if part.size < users.shape[0]:
        users, hidden = users[part], None if hidden is None else hidden[part]
    return top_k_factors(users, items, width, exclude=hidden, block_size=block)


def _slack(users: Floats, items: Floats) -> Floats:
    """Return by how much two ways of adding up a user's score may differ.

    The bound on a dot product's rounding, terms x eps x |u| |v| by Cauchy-Schwarz, for the longest
    item. Each order of adding up is off by at most half of that eps per term.
    """
    longest = np.sqrt(np.einsum("ij,ij->i", items, items).max(initial=0.0))
    lengths = np.sqrt(np.einsum("ij,ij->i", users, users))
    terms = np.count_nonzero(users, axis=1)
    rounding = np.where(terms > 1, terms + 4, 0) * np.finfo(np.float32).eps
    return (rounding * lengths * longest).astype(np.float32)


def with_bias(users: Floats, items: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Return factors whose product alone is the score: a column of ones beside the biases."""
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
    """Return each user's k best items and their scores, of all items or of the candidates."""
    if candidates is not None:
        items, bias = items[candidates], bias[candidates]
    found = np.full((users.shape[0], k), -1)
    scores = np.full((users.shape[0], k), -np.inf, np.float32)
    for start in range(0, users.shape[0], _CHUNK):
        part = slice(start, start + _CHUNK)
        hidden = None if seen is None else seen[part]
        if hidden is not None and candidates is not None:
            hidden = sparse.csr_array(hidden[:, candidates])
        left, right = with_bias(users[part], items, bias)
        found[part], scores[part] = best_products(left, right, k, hidden)
    if candidates is not None:
        found = np.where(found < 0, -1, candidates[found])
    return found, scores


def nearest_items(items: Floats, chosen: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k items of greatest cosine to each chosen one, without itself."""
    lengths = np.linalg.norm(items, axis=1, keepdims=True)
    directions = (items / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    rows = np.arange(chosen.size)
    own = sparse.csr_array(
        (np.ones(chosen.size), (rows, chosen)), shape=(chosen.size, items.shape[0])
    )
    return best_products(directions[chosen], directions, k, own)
