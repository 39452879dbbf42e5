"""The best items of users and the nearest items of items, through `podium.catalogue`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.errors import ArgumentError
from podium.recommenders.factorization._settled import best_products
from podium.types import Mask

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_CHUNK = 2**14  # users whose factors are copied at a time, beside the items' biases


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


def candidates(allow: Ints | None, deny: Ints | None, n_items: int) -> Ints | None:
    """Return the items that may be shown, rising; None where all may."""
    if allow is None and deny is None:
        return None
    chosen: Mask = np.zeros(n_items, np.bool_)
    chosen[slice(None) if allow is None else allow] = True
    if deny is not None:
        chosen[deny] = False
    if not chosen.any():
        raise ArgumentError("allow and deny leave no item to show. Allow more, or deny fewer.")
    return np.flatnonzero(chosen)


def nearest_items(items: Floats, chosen: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the k items of greatest cosine to each chosen one, without itself."""
    lengths = np.linalg.norm(items, axis=1, keepdims=True)
    directions = (items / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    rows = np.arange(chosen.size)
    own = sparse.csr_array(
        (np.ones(chosen.size), (rows, chosen)), shape=(chosen.size, items.shape[0])
    )
    return best_products(directions[chosen], directions, k, own)
