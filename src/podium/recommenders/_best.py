"""The best items of factors with a bias, and the nearest items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from podium.catalogue import top_k

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_CHUNK = 2**14  # users whose factors are copied at a time, with a column for the bias


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
    device: str | None = None,
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
        factors = with_bias(users[part], items, bias)
        columns[part], scores[part] = top_k(factors, k, exclude=excluded, device=device)
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
    return top_k((directions[chosen], directions), k, exclude=diagonal)
