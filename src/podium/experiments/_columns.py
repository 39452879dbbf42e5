"""Raw feature columns, a family a function: each reads purchases that end at the moment.

Times enter as ages before `now`, counts and similarities as logarithms, because what matters of
them is how many times larger one is than another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from podium.experiments._similarity import (
    Dense,
    baskets,
    cosines,
    nearest,
    neighbours,
    unit_rows,
)
from podium.experiments._windows import DAY, Ids, Purchases, Sparse

Column = NDArray[np.float64]
Columns = dict[str, Column]

_HALF_LIFE = 60.0  # days after which a purchase counts half in a customer's recent taste
_N_NEIGHBOURS = 100
_PRIOR = 10.0  # customers of average habits that every product's share abroad starts with


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What does not change with time: where customers live, and the words of products.

    Attributes
    ----------
    country : str, (n_users,)
    words : CSR, (n_items, n_words), rows of length 1
    """

    country: NDArray[np.str_]
    words: Sparse

    @cached_property
    def country_code(self) -> Ids:
        return np.unique(self.country, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def abroad(self) -> NDArray[np.bool_]:
        return self.country != "United Kingdom"

    @cached_property
    def word_similarity(self) -> Dense:
        similarity: Dense = (self.words @ self.words.T).toarray()
        np.fill_diagonal(similarity, 0)
        return similarity


@dataclass(frozen=True, eq=False)
class Past:
    """What is known at a moment, and the customers that ask.

    Attributes
    ----------
    purchases : Purchases
        All before `now`.
    now : int
    users : int64, (n_users,)
        Customer numbers, rising.
    catalogue : Catalogue
    """

    purchases: Purchases
    now: int
    users: Ids
    catalogue: Catalogue

    def last(self, days: int) -> Sparse:
        """Return who bought what in the last days, CSR (n_all_users, n_items)."""
        return self.purchases.between(self.now - days * DAY, self.now).matrix

    @cached_property
    def bought(self) -> Sparse:
        """CSR, (n_users, n_items): what the customers that ask have bought."""
        return self.purchases.matrix[self.users]

    @cached_property
    def similarity(self) -> Dense:
        """Cosine of products by the customers that they share, (n_items, n_items)."""
        return cosines(self.purchases.matrix)

    @cached_property
    def month(self) -> Sparse:
        return self.last(28)


def customers(matrix: Sparse) -> Column:
    """Number of customers of each product."""
    return np.asarray(matrix.sum(axis=0), np.float64).ravel()


def grids(past: Past) -> dict[str, Dense]:
    """Scores of all products for all customers that ask, each (n_users, n_items)."""
    bought, history = past.bought, past.purchases.matrix
    size = np.asarray(bought.sum(axis=1), np.float32)
    alike, nearest_customers = neighbours(history, past.users, _N_NEIGHBOURS)
    words = past.catalogue.words
    return {
        "similar_mean": (bought @ past.similarity) / size,
        "similar_recent": (bought @ cosines(past.last(90), shrink=3)) / size,
        "same_basket": (bought @ cosines(baskets(past.purchases), shrink=5)) / size,
        "neighbours": (nearest_customers @ history).toarray(),
        "neighbours_28d": (nearest_customers @ past.month).toarray(),
        "alike_28d": alike @ past.month,
        "words": (unit_rows(bought @ words) @ words.T).toarray(),
    }


def of_grids(scores: Mapping[str, Dense], row: Ids, item: Ids) -> Columns:
    """Look the candidates up, and take logarithms of all but the words' cosine."""
    found = {name: grid[row, item].astype(np.float64) for name, grid in scores.items()}
    return {name: v if name == "words" else _log(v) for name, v in found.items()}


def of_products(past: Past, item: Ids) -> Columns:
    """Popularity of each product, and its first and last sale."""
    rows = past.purchases
    first = np.full(rows.n_items, past.now, np.int64)
    last = np.zeros(rows.n_items, np.int64)
    np.minimum.at(first, rows.item, rows.minute)
    np.maximum.at(last, rows.item, rows.minute)
    return {
        "popularity": np.log1p(customers(rows.matrix))[item],
        "popularity_28d": np.log1p(customers(past.month))[item],
        "popularity_56d": np.log1p(customers(past.last(56)))[item],
        "age": np.log1p((past.now - first) / DAY)[item],
        "idle": np.log1p((past.now - last) / DAY)[item],
    }


def of_nearest(past: Past, row: Ids, item: Ids) -> Columns:
    """Similarity to single products of the customer's history."""
    offsets = np.searchsorted(row, np.arange(past.users.size + 1)).astype(np.int64)
    best, top5 = nearest(past.similarity, past.bought, offsets, item)
    words = past.catalogue.word_similarity
    recent, _ = nearest(words, _recent_taste(past), offsets, item)
    return {"similar_max": _log(best), "similar_top5": _log(top5), "words_recent": recent}


def of_countries(past: Past, user: Ids, item: Ids) -> Columns:
    """What is bought in the customer's country, and at home or abroad."""
    catalogue, history = past.catalogue, past.purchases.matrix
    usual = float(catalogue.abroad.mean())
    share = (customers(history[catalogue.abroad]) + usual * _PRIOR) / (customers(history) + _PRIOR)
    away, home = np.log(share / usual), np.log((1 - share) / (1 - usual))
    code = catalogue.country_code
    cells: Any = (np.ones(code.size, np.float32), (code, np.arange(code.size)))
    by_country: Dense = (sp.csr_matrix(cells) @ past.last(56)).toarray()
    return {
        "abroad": np.where(catalogue.abroad[user], away[item], home[item]),
        "country_56d": np.log1p(by_country[code[user], item]).astype(np.float64),
    }


def of_taste(past: Past, user: Ids, item: Ids) -> Columns:
    """How the product's quantity and popularity fit the customer's usual ones.

    There is no price among the events; the usual quantity of a purchase tells cheap bulk goods
    from single pieces, and wholesalers from households.
    """
    rows = past.purchases
    pieces = np.log(rows.quantity)
    of_item, of_user = (
        _mean(pieces, rows.item, rows.n_items),
        _mean(pieces, rows.user, rows.n_users),
    )
    popular = np.log1p(customers(rows.matrix))
    taste = _mean(popular[rows.item], rows.user, rows.n_users)
    active = np.log1p(np.diff(rows.matrix.indptr))
    lately = np.log1p(customers(past.month))
    return {
        "wholesale": _product(of_user[user], of_item[item]),
        "quantity_gap": np.abs(of_user[user] - of_item[item]),
        "popularity_gap": np.abs(taste[user] - popular[item]),
        "activity_popularity": _product(active[user], lately[item]),
    }


def _recent_taste(past: Past) -> Sparse:
    """CSR like `bought`: 1 for a purchase just made, half of it after each half-life."""
    rows = past.purchases
    decay = 0.5 ** ((past.now - rows.minute) / (DAY * _HALF_LIFE))
    order = np.lexsort((-rows.minute, rows.item, rows.user))
    user, item = rows.user[order], rows.item[order]
    newest = np.append(True, (user[1:] != user[:-1]) | (item[1:] != item[:-1]))
    kept = order[newest]
    cells: Any = (decay[kept].astype(np.float32), (rows.user[kept], rows.item[kept]))
    return sp.csr_matrix(cells, shape=(rows.n_users, rows.n_items))[past.users]


def _log(values: Column) -> Column:
    """Logarithm of values >= 0, which a hundredth of their mean keeps finite."""
    return np.log(values + max(float(values.mean()) / 100, 1e-12))


def _mean(values: Column, key: Ids, n: int) -> Column:
    """Mean of the values by key; 0 where there is none."""
    counts = np.bincount(key, minlength=n)
    return np.bincount(key, values, minlength=n) / np.maximum(counts, 1)


def _product(a: Column, b: Column) -> Column:
    """Product of two columns, each from its mean: high where both are high, or both low."""
    return (a - a.mean()) * (b - b.mean())
