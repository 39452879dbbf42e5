"""Candidates and features of (customer, product) pairs, from purchases before a given minute.

Times are ages. Counts and similarities are logarithms, because their ratios matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from podium.data import OnlineRetail
from podium.types import Mask, PerRow, RowIndex

DAY = 1440  # minutes
N_PER_SOURCE = 80  # products that each source of candidates proposes per customer

_HALF_LIFE = 60.0  # days after which a purchase has half its weight in the recent taste
_N_NEAREST = 5  # products of a customer's history that a candidate is compared with
_PRIOR = 10.0  # average customers that are added to those of a product, in its share abroad
_TINY = np.float32(1e-9)
_FLAT = 1e-6  # spreads up to this value may be rounding errors

FEATURES: dict[str, str] = {
    "popularity": "customers who ever bought it",
    "popularity_28d": "customers in the last 4 weeks",
    "popularity_56d": "customers in the last 8 weeks",
    "age": "time since its first sale",
    "idle": "time since its last sale",
    "similar_mean": "mean similarity to all products bought",
    "similar_max": "similarity to the nearest product bought",
    "similar_top5": "mean similarity to the 5 nearest products bought",
    "similar_recent": "mean similarity by sales of the last 90 days",
    "same_basket": "sold together with products bought",
    "neighbours": "bought by the 100 most similar customers",
    "neighbours_28d": "bought by these 100 customers in the last 4 weeks",
    "alike_28d": "customers in the last 4 weeks, weighted by similarity",
    "words": "words shared with all products bought",
    "words_recent": "words shared with a recently bought product",
    "abroad": "share of its buyers in the customer's region (UK or abroad)",
    "country_56d": "customers of the same country in the last 8 weeks",
    "wholesale": "its usual quantity times the customer's",
    "quantity_gap": "difference of its usual quantity from the customer's",
    "popularity_gap": "difference of its popularity from the customer's usual one",
    "activity_popularity": "recent popularity times the customer's number of products",
}
"""The features by name, with their meaning, in the order of the columns."""

Dense = NDArray[np.float32]
Sparse = Any  # scipy.sparse.csr_matrix, for which SciPy has no types


class Past:
    """The purchases before a given minute, and the customers whose lists are made."""

    def __init__(self, shop: OnlineRetail, now: int, users: RowIndex) -> None:
        self.shop, self.now, self.users = between(shop, 0, now), now, users
        self.matrix = bought(self.shop)
        self.histories = self.matrix[users]

    def last(self, days: int) -> Sparse:
        """Return the products bought in the last days, CSR (n_all_users, n_items) of 0 and 1."""
        return bought(between(self.shop, self.now - days * DAY, self.now))


def describe(
    shop: OnlineRetail, now: int, users: RowIndex, *, n_per_source: int = N_PER_SOURCE
) -> tuple[RowIndex, RowIndex, dict[str, PerRow]]:
    """Propose candidates for the users and compute their features.

    Only purchases before the minute `now` are used: later ones are dropped first, so that they
    cannot leak. `users` are the numbers, in ascending order, of customers with a purchase before
    `now`. Each of the five sources of candidates proposes `n_per_source` products per customer.

    Returns
    -------
    row, item : int64, (n_rows,)
        The position of each candidate's customer in `users`, and the product; sorted by both.
    features : dict of str to float64 (n_rows,)
        The raw columns, in the order of `FEATURES`.
    """
    past, vocabulary = Past(shop, now, users), words(shop.description)
    similarity = cosines(past.matrix)
    grids = _similarities(past, similarity, vocabulary)
    n_customers = past.matrix.getnnz(axis=0)
    # The best sellers of the last four weeks; ties are ordered by all-time sales.
    recent_sales = past.last(28).getnnz(axis=0) + n_customers / (1 + n_customers.max())
    personal_sources = [grids[name] for name in ("similar_mean", "alike_28d", "words")]
    row, item = propose(
        [n_customers, recent_sales, *personal_sources], past.histories, n_customers, n_per_source
    )

    similarity_columns = {name: grid[row, item].astype(np.float64) for name, grid in grids.items()}
    nearest_similarity, top5 = nearest(similarity, past.histories, row, item)
    similarity_columns |= {"similar_max": nearest_similarity, "similar_top5": top5}
    shared_words: Dense = (vocabulary @ vocabulary.T).toarray()
    np.fill_diagonal(shared_words, 0)
    similarity_columns["words_recent"], _ = nearest(shared_words, _recent_taste(past), row, item)
    features = {
        **{
            name: values if name.startswith("words") else _log(values)
            for name, values in similarity_columns.items()
        },
        **{name: column[item] for name, column in _popularity(past).items()},
        **_fit_to_customer(past, users[row], item),
    }
    return row, item, {name: features[name] for name in FEATURES}


def standardised(features: Mapping[str, PerRow], row: RowIndex) -> Sparse:
    """Return features with mean 0 and variance 1 within each customer's list, CSR.

    The mean of a list changes no ranking, and a season that shifts or scales a whole feature does
    not change its standardised form. Therefore the statistics of the training window are not used.
    A feature that is constant in a list is 0 there.

    The matrix is sparse although few values are 0: products with SciPy's sparse matrices are serial
    and equally fast, so that sums over rows do not depend on the number of threads.
    """
    table = np.stack(list(features.values()), axis=1)
    sizes = np.bincount(row)
    starts, sizes = np.cumsum(sizes) - sizes, sizes[:, None]
    table -= (np.add.reduceat(table, starts) / sizes)[row]
    spread = np.sqrt(np.add.reduceat(table * table, starts) / sizes)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > _FLAT)
    return sp.csr_matrix(table * scale[row])


def between(shop: OnlineRetail, start: int, stop: int) -> OnlineRetail:
    """Return the purchases from minute start on and before minute stop."""
    return select(shop, (shop.minute >= start) & (shop.minute < stop))


def select(shop: OnlineRetail, keep: Mask) -> OnlineRetail:
    """Return some of the purchases; customers and products keep their numbers."""
    user, item, minute, quantity = shop.user, shop.item, shop.minute, shop.quantity
    return replace(
        shop, user=user[keep], item=item[keep], minute=minute[keep], quantity=quantity[keep]
    )


def bought(shop: OnlineRetail) -> Sparse:
    """Return CSR, (n_users, n_items), with 1 if the customer bought the product."""
    return _ones(shop.user, shop.item, (shop.n_users, shop.n_items))


def propose(
    sources: Sequence[NDArray[Any]], histories: Sparse, n_customers: NDArray[Any], n_per_source: int
) -> tuple[RowIndex, RowIndex]:
    """Return the union of the best products by each source, as (row of the customer, item).

    A source is (n_users, n_items) or (n_items,), with higher values for better products. Products
    in the customer's history and products that were never sold are not proposed. Among equal values
    the lower item number comes first.
    """
    is_excluded = (histories.toarray() > 0) | (n_customers == 0)
    is_proposed = np.zeros_like(is_excluded)
    n = min(n_per_source, n_customers.size - 1)
    # A penalty far below any relevant difference orders ties by item number.
    tie_penalty = np.arange(n_customers.size) * 1e-10
    for source in sources:
        scores = np.where(is_excluded, -np.inf, source) - tie_penalty
        np.put_along_axis(is_proposed, np.argpartition(-scores, n, axis=1)[:, :n], True, axis=1)
    row, item = np.nonzero(is_proposed & ~is_excluded)
    return row, item


def _similarities(past: Past, similarity: Dense, vocabulary: Sparse) -> dict[str, Dense]:
    """Return the similarity of all products to the purchases of each customer.

    Each array is (n_users, n_items).
    """
    size = np.asarray(past.histories.sum(axis=1), np.float32)
    recent_purchases = past.last(28)
    customer_similarity, neighbour_similarity = neighbours(past.matrix, past.users, n=100)
    return {
        "similar_mean": (past.histories @ similarity) / size,
        "similar_recent": (past.histories @ cosines(past.last(90), shrink=3)) / size,
        "same_basket": (past.histories @ cosines(baskets(past.shop), shrink=5)) / size,
        "neighbours": (neighbour_similarity @ past.matrix).toarray(),
        "neighbours_28d": (neighbour_similarity @ recent_purchases).toarray(),
        "alike_28d": customer_similarity @ recent_purchases,
        "words": (unit_rows(past.histories @ vocabulary) @ vocabulary.T).toarray(),
    }


def _recent_taste(past: Past) -> Sparse:
    """Return CSR like `histories`: 1 for a purchase just made, halved after each half-life."""
    shop = past.shop
    decay = 0.5 ** ((past.now - shop.minute) / (DAY * _HALF_LIFE))
    recent_weights = np.zeros(past.matrix.shape, np.float32)
    np.maximum.at(recent_weights, (shop.user, shop.item), decay.astype(np.float32))
    return sp.csr_matrix(recent_weights[past.users])


def _popularity(past: Past) -> dict[str, PerRow]:
    """Return the numbers of customers of each product, and the days since its first and last sale.

    Each column is (n_items,) and logarithmic.
    """
    shop = past.shop
    first, last = np.full(shop.n_items, past.now), np.zeros(shop.n_items, np.int64)
    np.minimum.at(first, shop.item, shop.minute)
    np.maximum.at(last, shop.item, shop.minute)
    return {
        "popularity": np.log1p(past.matrix.getnnz(axis=0)),
        "popularity_28d": np.log1p(past.last(28).getnnz(axis=0)),
        "popularity_56d": np.log1p(past.last(56).getnnz(axis=0)),
        "age": np.log1p((past.now - first) / DAY),
        "idle": np.log1p((past.now - last) / DAY),
    }


def _fit_to_customer(past: Past, user: RowIndex, item: RowIndex) -> dict[str, PerRow]:
    """Return how a product's country, quantity and popularity match the customer's usual ones.

    The data have no prices. The usual quantity of a purchase distinguishes cheap bulk goods from
    single pieces, and wholesalers from households.
    """
    shop, matrix = past.shop, past.matrix
    n_customers = matrix.getnnz(axis=0)
    is_abroad = shop.country != "United Kingdom"
    mean_share = float(is_abroad.mean())
    share = (matrix[is_abroad].getnnz(axis=0) + mean_share * _PRIOR) / (n_customers + _PRIOR)
    log_share_abroad, log_share_home = (
        np.log(share / mean_share),
        np.log((1 - share) / (1 - mean_share)),
    )
    country = np.unique(shop.country, return_inverse=True)[1]
    by_country = np.eye(country.max() + 1, dtype=np.float32)[:, country] @ past.last(56)

    log_quantity, log_popularity = np.log(shop.quantity), np.log1p(n_customers)
    item_quantity = _mean(log_quantity, shop.item, shop.n_items)
    user_quantity = _mean(log_quantity, shop.user, shop.n_users)
    user_popularity = _mean(log_popularity[shop.item], shop.user, shop.n_users)
    activity, recent = (
        np.log1p(matrix.getnnz(axis=1)),
        np.log1p(past.last(28).getnnz(axis=0)),
    )
    return {
        "abroad": np.where(is_abroad[user], log_share_abroad[item], log_share_home[item]),
        "country_56d": np.log1p(by_country[country[user], item]).astype(np.float64),
        "wholesale": _product(user_quantity[user], item_quantity[item]),
        "quantity_gap": np.abs(user_quantity[user] - item_quantity[item]),
        "popularity_gap": np.abs(user_popularity[user] - log_popularity[item]),
        "activity_popularity": _product(activity[user], recent[item]),
    }


def cosines(rows: Sparse, shrink: float = 0.0) -> Dense:
    """Return the cosine of every two columns, (n_columns, n_columns), with 0 on the diagonal.

    `shrink` is added to the denominator. It shrinks cosines that few rows support towards 0.
    """
    shared: Dense = (rows.T @ rows).toarray()
    length = np.sqrt(np.diag(shared))
    shared /= np.maximum(np.outer(length, length) + np.float32(shrink), _TINY)
    np.fill_diagonal(shared, 0)
    return shared


def neighbours(matrix: Sparse, users: RowIndex, n: int) -> tuple[Dense, Sparse]:
    """Return the cosines of the users with all customers, and the n nearest customers.

    The first is (n_users, n_all), the second the same as CSR with only the n greatest cosines.
    """
    directions = unit_rows(matrix)
    similarity: Dense = (directions[users] @ directions.T).toarray()
    similarity[np.arange(users.size), users] = 0
    n = min(n, similarity.shape[1] - 1)
    threshold = np.partition(similarity, -n, axis=1)[:, -n][:, None]
    return similarity, sp.csr_matrix(
        np.where(similarity >= np.maximum(threshold, _TINY), similarity, 0)
    )


def nearest(
    similarity: Dense, history: Sparse, row: RowIndex, item: RowIndex
) -> tuple[PerRow, PerRow]:
    """Return each candidate's largest similarity with its customer's history, and the top-5 mean.

    The similarity with a product is multiplied by its weight in the history, in [0, 1].
    """
    largest, top_mean = np.zeros(item.size), np.zeros(item.size)
    offsets = [0, *np.cumsum(np.bincount(row)).tolist()]
    for user, (start, stop) in enumerate(pairwise(offsets)):
        candidates = slice(start, stop)
        entries = slice(history.indptr[user], history.indptr[user + 1])
        block = (
            similarity[np.ix_(history.indices[entries], item[candidates])]
            * history.data[entries][:, None]
        )
        n_top = _N_NEAREST
        top = np.partition(block, -n_top, axis=0)[-n_top:] if len(block) > n_top else block
        largest[candidates] = top.max(axis=0)
        top_mean[candidates] = top.sum(axis=0) / _N_NEAREST
    return largest, top_mean


def baskets(shop: OnlineRetail) -> Sparse:
    """Return CSR, (n_baskets, n_items), with 1 if the basket holds the product.

    A basket is all purchases of a customer in the same minute.
    """
    key = shop.user * (shop.minute.max(initial=0) + 1) + shop.minute
    names, basket = np.unique(key, return_inverse=True)
    return _ones(basket, shop.item, (names.size, shop.n_items))


def words(descriptions: NDArray[np.str_]) -> Sparse:
    """Return CSR, (n_items, n_words): the words of each product by rarity, rows of length 1."""
    per_item = [set(re.findall(r"[a-z0-9]{3,}", text.lower())) for text in descriptions]
    names, column = np.unique(
        [word for item_words in per_item for word in item_words], return_inverse=True
    )
    row = np.repeat(np.arange(len(per_item)), [len(item_words) for item_words in per_item])
    rarity = np.log(len(per_item) / np.bincount(column)).astype(np.float32)
    return unit_rows(_ones(row, column, (len(per_item), names.size)).multiply(rarity))


def _ones(row: RowIndex, column: RowIndex, shape: tuple[int, int]) -> Sparse:
    """Return CSR with 1 in the given cells, which may be repeated."""
    cells: Any = (np.ones(row.size, np.float32), (row, column))
    return sp.csr_matrix(cells, shape=shape).sign()


def unit_rows(matrix: Sparse) -> Sparse:
    """Return the matrix with rows scaled to length 1; empty rows stay empty."""
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).ravel()
    return (sp.diags(1 / np.maximum(length, _TINY)) @ matrix).tocsr().astype(np.float32)


def _log(values: PerRow) -> PerRow:
    """Return the logarithm of values >= 0, to which a hundredth of their mean is added."""
    return np.log(values + max(float(values.mean()) / 100, 1e-12))


def _mean(values: PerRow, key: RowIndex, n: int) -> PerRow:
    """Return the mean of the values per key; 0 if there are none."""
    return np.bincount(key, values, minlength=n) / np.maximum(np.bincount(key, minlength=n), 1)


def _product(a: PerRow, b: PerRow) -> PerRow:
    """Return the product of two centred columns: high if both are high, or both low."""
    return (a - a.mean()) * (b - b.mean())
