"""Candidates and features of (customer, product), from purchases before one moment.

Times enter as ages, counts and similarities as logarithms: what matters of them is how many times
larger one is than another.
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
N_EACH = 80  # products that each source of candidates proposes for each customer

_HALF_LIFE = 60.0  # days after which a purchase counts half in a customer's recent taste
_N_NEAREST = 5  # products of a customer's history that a candidate is compared with
_PRIOR = 10.0  # customers of average habits that every product's share abroad starts with
_TINY = np.float32(1e-9)
_FLAT = 1e-6  # a spread that rounding alone can make

FEATURES: dict[str, str] = {
    "popularity": "customers who ever bought it",
    "popularity_28d": "customers in the last 4 weeks",
    "popularity_56d": "customers in the last 8 weeks",
    "age": "time since its first sale",
    "idle": "time since its last sale",
    "similar_mean": "similar to all that the customer bought",
    "similar_max": "similar to the nearest product bought",
    "similar_top5": "similar to the 5 nearest products bought",
    "similar_recent": "similar by sales of the last 90 days",
    "same_basket": "sold together with products bought",
    "neighbours": "bought by the 100 most similar customers",
    "neighbours_28d": "bought by them in the last 4 weeks",
    "alike_28d": "last 4 weeks, similar customers count more",
    "words": "words shared with all products bought",
    "words_recent": "words shared with a recently bought one",
    "abroad": "sells where the customer lives (UK or not)",
    "country_56d": "customers of the country in 8 weeks",
    "wholesale": "large quantities, for large buyers",
    "quantity_gap": "its usual quantity is not the customer's",
    "popularity_gap": "its popularity is not the customer's taste",
    "activity_popularity": "popular lately, for who buys many products",
}
"""Features by name, with their meaning; the order is that of the columns."""

Dense = NDArray[np.float32]
Sparse = Any  # scipy.sparse.csr_matrix, of which SciPy ships no types


class Past:
    """The purchases before a moment, for the customers whose lists are made."""

    def __init__(self, shop: OnlineRetail, now: int, users: RowIndex) -> None:
        self.shop, self.now, self.users = between(shop, 0, now), now, users
        self.matrix = bought(self.shop)
        self.own = self.matrix[users]

    def last(self, days: int) -> Sparse:
        """Return who bought what in the last days, CSR (n_all_users, n_items)."""
        return bought(between(self.shop, self.now - days * DAY, self.now))


def describe(
    shop: OnlineRetail, now: int, users: RowIndex, *, n_each: int = N_EACH
) -> tuple[RowIndex, RowIndex, dict[str, PerRow]]:
    """Propose candidates for the users and describe them, from purchases before `now` alone.

    Later purchases are dropped before anything else, so they cannot leak. `users` are numbers,
    rising, of customers with a purchase before `now` (a minute). Each of the five sources of
    candidates proposes `n_each` products for each customer.

    Returns
    -------
    row, item : int64, (n_rows,)
        Position of each candidate's customer in `users`, and the product; sorted by both.
    features : dict of str to float64 (n_rows,)
        Raw columns, in the order of `FEATURES`.
    """
    past, vocabulary = Past(shop, now, users), words(shop.description)
    similarity = cosines(past.matrix)
    grids = _similarities(past, similarity, vocabulary)
    sold = past.matrix.getnnz(axis=0)
    # The best sellers of the last four weeks, and among equals those of all time.
    lately = past.last(28).getnnz(axis=0) + sold / (1 + sold.max())
    personal = [grids[name] for name in ("similar_mean", "alike_28d", "words")]
    row, item = propose([sold, lately, *personal], past.own, sold, n_each)

    similar = {name: grid[row, item].astype(np.float64) for name, grid in grids.items()}
    best, top5 = nearest(similarity, past.own, row, item)
    similar |= {"similar_max": best, "similar_top5": top5}
    shared_words: Dense = (vocabulary @ vocabulary.T).toarray()
    np.fill_diagonal(shared_words, 0)
    similar["words_recent"], _ = nearest(shared_words, _recent_taste(past), row, item)
    features = {
        **{name: v if name.startswith("words") else _log(v) for name, v in similar.items()},
        **{name: column[item] for name, column in _popularity(past).items()},
        **_fit_to_customer(past, users[row], item),
    }
    return row, item, {name: features[name] for name in FEATURES}


def standardised(features: Mapping[str, PerRow], row: RowIndex) -> Sparse:
    """Bring features to mean 0 and variance 1 within each customer's list, CSR.

    A list's mean changes no ranking, and a season that shifts or scales a whole feature does not
    change its standardised form. That is why the training window's statistics are not used. A
    feature that is constant in a list is 0 there.

    The matrix is sparse although few values are 0: SciPy's products with it are serial and as
    fast, so that the number of threads cannot change the last bit of a sum over rows.
    """
    table = np.stack(list(features.values()), axis=1)
    sizes = np.bincount(row)
    starts, sizes = np.cumsum(sizes) - sizes, sizes[:, None]
    table -= (np.add.reduceat(table, starts) / sizes)[row]
    spread = np.sqrt(np.add.reduceat(table * table, starts) / sizes)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > _FLAT)
    return sp.csr_matrix(table * scale[row])


def between(shop: OnlineRetail, start: int, stop: int) -> OnlineRetail:
    """Keep the rows from minute start on, and before minute stop."""
    return select(shop, (shop.minute >= start) & (shop.minute < stop))


def select(shop: OnlineRetail, keep: Mask) -> OnlineRetail:
    """Keep some rows; customers and products keep their numbers."""
    user, item, minute, quantity = shop.user, shop.item, shop.minute, shop.quantity
    return replace(
        shop, user=user[keep], item=item[keep], minute=minute[keep], quantity=quantity[keep]
    )


def bought(shop: OnlineRetail) -> Sparse:
    """CSR, (n_users, n_items): 1 where the customer bought the product."""
    return _ones(shop.user, shop.item, (shop.n_users, shop.n_items))


def propose(
    sources: Sequence[NDArray[Any]], own: Sparse, sold: NDArray[Any], n_each: int
) -> tuple[RowIndex, RowIndex]:
    """Return the union of the best products by each source, as (row of the customer, item).

    A source has higher values for better products, (n_users, n_items) or (n_items,). Products that
    a customer has, `own`, and those never sold are not proposed. Of equal values, the lower item
    number is first.
    """
    closed = (own.toarray() > 0) | (sold == 0)
    chosen = np.zeros_like(closed)
    n = min(n_each, sold.size - 1)
    # A falling bonus far below any difference that matters settles ties by item number.
    bonus = np.arange(sold.size) * 1e-10
    for source in sources:
        scores = np.where(closed, -np.inf, source) - bonus
        np.put_along_axis(chosen, np.argpartition(-scores, n, axis=1)[:, :n], True, axis=1)
    row, item = np.nonzero(chosen & ~closed)
    return row, item


def _similarities(past: Past, similarity: Dense, vocabulary: Sparse) -> dict[str, Dense]:
    """All products to all that the customers bought, each (n_users, n_items)."""
    size = np.asarray(past.own.sum(axis=1), np.float32)
    month = past.last(28)
    alike, near = neighbours(past.matrix, past.users, n=100)
    return {
        "similar_mean": (past.own @ similarity) / size,
        "similar_recent": (past.own @ cosines(past.last(90), shrink=3)) / size,
        "same_basket": (past.own @ cosines(baskets(past.shop), shrink=5)) / size,
        "neighbours": (near @ past.matrix).toarray(),
        "neighbours_28d": (near @ month).toarray(),
        "alike_28d": alike @ month,
        "words": (unit_rows(past.own @ vocabulary) @ vocabulary.T).toarray(),
    }


def _recent_taste(past: Past) -> Sparse:
    """CSR like `own`: 1 for a purchase just made, half of it after each half-life."""
    shop = past.shop
    decay = 0.5 ** ((past.now - shop.minute) / (DAY * _HALF_LIFE))
    newest = np.zeros(past.matrix.shape, np.float32)
    np.maximum.at(newest, (shop.user, shop.item), decay.astype(np.float32))
    return sp.csr_matrix(newest[past.users])


def _popularity(past: Past) -> dict[str, PerRow]:
    """Customers of each product, and the days since its first and last sale: (n_items,)."""
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
    """How a product's country, quantity and popularity fit the customer's usual ones.

    There is no price among the events; the usual quantity of a purchase separates cheap bulk
    goods from single pieces, and wholesalers from households.
    """
    shop, matrix = past.shop, past.matrix
    n_customers = matrix.getnnz(axis=0)
    abroad = shop.country != "United Kingdom"
    usual = float(abroad.mean())
    share = (matrix[abroad].getnnz(axis=0) + usual * _PRIOR) / (n_customers + _PRIOR)
    away, home = np.log(share / usual), np.log((1 - share) / (1 - usual))
    country = np.unique(shop.country, return_inverse=True)[1]
    by_country = np.eye(country.max() + 1, dtype=np.float32)[:, country] @ past.last(56)

    pieces, popular = np.log(shop.quantity), np.log1p(n_customers)
    of_item = _mean(pieces, shop.item, shop.n_items)
    of_user = _mean(pieces, shop.user, shop.n_users)
    taste = _mean(popular[shop.item], shop.user, shop.n_users)
    active, lately = np.log1p(matrix.getnnz(axis=1)), np.log1p(past.last(28).getnnz(axis=0))
    return {
        "abroad": np.where(abroad[user], away[item], home[item]),
        "country_56d": np.log1p(by_country[country[user], item]).astype(np.float64),
        "wholesale": _product(of_user[user], of_item[item]),
        "quantity_gap": np.abs(of_user[user] - of_item[item]),
        "popularity_gap": np.abs(taste[user] - popular[item]),
        "activity_popularity": _product(active[user], lately[item]),
    }


def cosines(rows: Sparse, shrink: float = 0.0) -> Dense:
    """Cosine of every two columns, (n_columns, n_columns), 0 on the diagonal.

    `shrink` is added to the denominator: it draws what few rows support towards 0.
    """
    shared: Dense = (rows.T @ rows).toarray()
    length = np.sqrt(np.diag(shared))
    shared /= np.maximum(np.outer(length, length) + np.float32(shrink), _TINY)
    np.fill_diagonal(shared, 0)
    return shared


def neighbours(matrix: Sparse, users: RowIndex, n: int) -> tuple[Dense, Sparse]:
    """Cosine of the users with all customers, (n_users, n_all), and the n nearest as CSR."""
    directions = unit_rows(matrix)
    alike: Dense = (directions[users] @ directions.T).toarray()
    alike[np.arange(users.size), users] = 0
    n = min(n, alike.shape[1] - 1)
    edge = np.partition(alike, -n, axis=1)[:, -n][:, None]
    return alike, sp.csr_matrix(np.where(alike >= np.maximum(edge, _TINY), alike, 0))


def nearest(
    similarity: Dense, history: Sparse, row: RowIndex, item: RowIndex
) -> tuple[PerRow, PerRow]:
    """Largest similarity of each candidate with its customer's history, and the mean of the top 5.

    A product of the history counts with its weight there, in [0, 1].
    """
    best, mean = np.zeros(item.size), np.zeros(item.size)
    offsets = [0, *np.cumsum(np.bincount(row)).tolist()]
    for user, (start, stop) in enumerate(pairwise(offsets)):
        part = slice(start, stop)
        mine = slice(history.indptr[user], history.indptr[user + 1])
        block = similarity[np.ix_(history.indices[mine], item[part])] * history.data[mine][:, None]
        n = _N_NEAREST
        top = np.partition(block, -n, axis=0)[-n:] if len(block) > n else block
        best[part] = top.max(axis=0)
        mean[part] = top.sum(axis=0) / _N_NEAREST
    return best, mean


def baskets(shop: OnlineRetail) -> Sparse:
    """CSR, (n_baskets, n_items): 1 where a basket (a customer's minute) holds the product."""
    key = shop.user * (shop.minute.max(initial=0) + 1) + shop.minute
    names, basket = np.unique(key, return_inverse=True)
    return _ones(basket, shop.item, (names.size, shop.n_items))


def words(descriptions: NDArray[np.str_]) -> Sparse:
    """CSR, (n_items, n_words): its words, rare ones weighing more, length 1."""
    per_item = [set(re.findall(r"[a-z0-9]{3,}", text.lower())) for text in descriptions]
    names, column = np.unique([w for ws in per_item for w in ws], return_inverse=True)
    row = np.repeat(np.arange(len(per_item)), [len(ws) for ws in per_item])
    rarity = np.log(len(per_item) / np.bincount(column)).astype(np.float32)
    return unit_rows(_ones(row, column, (len(per_item), names.size)).multiply(rarity))


def _ones(row: RowIndex, column: RowIndex, shape: tuple[int, int]) -> Sparse:
    """Return CSR with 1 in the cells, of which some may come more than once."""
    cells: Any = (np.ones(row.size, np.float32), (row, column))
    return sp.csr_matrix(cells, shape=shape).sign()


def unit_rows(matrix: Sparse) -> Sparse:
    """Scale every row to length 1; an empty row stays empty."""
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).ravel()
    return (sp.diags(1 / np.maximum(length, _TINY)) @ matrix).tocsr().astype(np.float32)


def _log(values: PerRow) -> PerRow:
    """Logarithm of values >= 0, which a hundredth of their mean keeps finite."""
    return np.log(values + max(float(values.mean()) / 100, 1e-12))


def _mean(values: PerRow, key: RowIndex, n: int) -> PerRow:
    """Mean of the values by key; 0 where there is none."""
    return np.bincount(key, values, minlength=n) / np.maximum(np.bincount(key, minlength=n), 1)


def _product(a: PerRow, b: PerRow) -> PerRow:
    """Product of two columns, each from its mean: high where both are high, or both low."""
    return (a - a.mean()) * (b - b.mean())
