"""How alike products and customers are: cosines of who bought what, and of words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from podium.experiments._windows import Ids, Purchases, Sparse, ones

Dense = NDArray[np.float32]

_TINY = np.float32(1e-9)
_NEAREST = 5  # products of a customer's history that a candidate is compared with


def cosines(rows: Sparse, shrink: float = 0.0) -> Dense:
    """Cosine of every two columns, (n_columns, n_columns), 0 on the diagonal.

    `shrink` is added to the denominator: it draws what few rows support towards 0.
    """
    shared: Dense = (rows.T @ rows).toarray().astype(np.float32, copy=False)
    length = np.sqrt(np.diag(shared))
    shared /= np.maximum(np.outer(length, length) + np.float32(shrink), _TINY)
    np.fill_diagonal(shared, 0)
    return shared


def unit_rows(matrix: Sparse) -> Sparse:
    """Scale every row to length 1; an empty row stays empty."""
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).ravel()
    return (sp.diags(1 / np.maximum(length, _TINY)) @ matrix).tocsr().astype(np.float32)


def baskets(purchases: Purchases) -> Sparse:
    """CSR, (n_baskets, n_items): 1 where a basket (a customer's minute) holds the product."""
    key = purchases.user * (int(purchases.minute.max(initial=0)) + 1) + purchases.minute
    names, basket = np.unique(key, return_inverse=True)
    cells: Any = (np.ones(key.size, np.float32), (basket, purchases.item))
    return ones(sp.csr_matrix(cells, shape=(names.size, purchases.n_items)))


def words(descriptions: NDArray[np.str_]) -> Sparse:
    """CSR, (n_items, n_words): its words, rare ones weighing more, length 1."""
    found = [sorted(set(re.findall(r"[a-z0-9]{3,}", text.lower()))) for text in descriptions]
    vocabulary = {w: i for i, w in enumerate(sorted({w for ws in found for w in ws}))}
    column = np.array([vocabulary[w] for ws in found for w in ws], np.int64)
    row = np.repeat(np.arange(len(found)), [len(ws) for ws in found])
    rarity = np.log(len(found) / np.maximum(np.bincount(column, minlength=len(vocabulary)), 1))
    cells: Any = (rarity[column].astype(np.float32), (row, column))
    return unit_rows(sp.csr_matrix(cells, shape=(len(found), len(vocabulary))))


def neighbours(bought: Sparse, users: Ids, n: int) -> tuple[Dense, Sparse]:
    """Cosine of the users with all customers, (n_users, n_all), and the n nearest as CSR."""
    directions = unit_rows(bought)
    alike: Dense = (directions[users] @ directions.T).toarray()
    alike[np.arange(users.size), users] = 0
    n = min(n, alike.shape[1] - 1)
    edge = np.partition(alike, -n, axis=1)[:, -n][:, None]
    return alike, sp.csr_matrix(np.where(alike >= np.maximum(edge, _TINY), alike, 0))


def nearest(
    similarity: Dense, history: Sparse, offsets: Ids, item: Ids
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest similarity of each candidate with its customer's history, and the mean of the top 5.

    Parameters
    ----------
    similarity : (n_items, n_items)
    history : CSR, (n_users, n_items)
        Weights in [0, 1]; a product's similarity is multiplied by its weight.
    offsets, item : int64, (n_users + 1,) and (n_rows,)
        The candidates of each user.
    """
    best, mean = np.zeros(item.size), np.zeros(item.size)
    for row in range(offsets.size - 1):
        part = slice(offsets[row], offsets[row + 1])
        mine = slice(history.indptr[row], history.indptr[row + 1])
        block = similarity[np.ix_(history.indices[mine], item[part])] * history.data[mine][:, None]
        top = np.partition(block, -_NEAREST, axis=0)[-_NEAREST:] if len(block) > _NEAREST else block
        best[part] = top.max(axis=0)
        mean[part] = top.sum(axis=0) / _NEAREST
    return best, mean
