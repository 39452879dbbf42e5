"""Candidates and features of (customer, product), from what is known before a moment.

Everything here is given purchases that end at the moment: what comes later cannot leak, because
it is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.experiments import _columns
from podium.experiments._candidates import EACH, propose
from podium.experiments._columns import Catalogue, Column, Past
from podium.experiments._windows import Ids, Purchases

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
"""Features by name, with what each says in words; the order is that of the columns."""

BASELINES = {
    "popularity": ("popularity", "popularity_28d", "popularity_56d"),
    "item similarity": ("similar_mean", "similar_top5", "similar_recent"),
}
"""Features that rank by themselves, by the name of the baseline of which one is the form."""

_FLAT = 1e-6  # a spread that rounding alone can make


@dataclass(frozen=True, eq=False)
class Lists:
    """Candidates with their features, customer after customer.

    Attributes
    ----------
    users : int64, (n_users,)
        Customer numbers, rising.
    row, item : int64, (n_rows,)
        Position of each candidate's customer in `users`, and the product.
    features : dict of str to float64 (n_rows,)
        Raw columns, in the order of `FEATURES`.
    """

    users: Ids
    row: Ids
    item: Ids
    features: Mapping[str, Column]

    @property
    def user(self) -> Ids:
        """Customer number of each candidate."""
        return self.users[self.row]

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """Features standardised within each customer's list, float64 (n_rows, n_features).

        A list's mean changes no ranking, and a season that shifts or scales a whole feature
        does not change its standardised form. That is why the training window's statistics are
        not used. A feature that is constant in a list is 0 there.
        """
        table = np.stack([self.features[name] for name in FEATURES], axis=1)
        starts = np.searchsorted(self.row, np.arange(self.users.size))
        sizes = np.bincount(self.row, minlength=self.users.size)[:, None]
        table -= (np.add.reduceat(table, starts) / sizes)[self.row]
        spread = np.sqrt(np.add.reduceat(table * table, starts) / sizes)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > _FLAT)
        return table * scale[self.row]


def build(
    purchases: Purchases, now: int, users: Ids, catalogue: Catalogue, *, n_each: int = EACH
) -> Lists:
    """Propose candidates for the users and describe them, from purchases before `now` alone.

    Parameters
    ----------
    purchases : Purchases
        Of any time; those from `now` on are dropped before anything else.
    now : int
        Minute.
    users : int64, (n_users,)
        Customers with a purchase before `now`, rising.
    catalogue : Catalogue
    n_each : int
        Products that each of the five sources of candidates proposes to each customer.
    """
    past = Past(purchases.between(0, now), now, users, catalogue)
    scores = _columns.grids(past)
    sold = _columns.customers(past.purchases.matrix)
    # The best sellers of the last four weeks, and among equals those of all time.
    lately = _columns.customers(past.month) + sold / (1 + sold.max())
    personal = [scores[name] for name in ("similar_mean", "alike_28d", "words")]
    row, item = propose([sold, lately, *personal], past.bought, sold, n_each)
    found = {
        **_columns.of_grids(scores, row, item),
        **_columns.of_products(past, item),
        **_columns.of_nearest(past, row, item),
        **_columns.of_countries(past, users[row], item),
        **_columns.of_taste(past, users[row], item),
    }
    return Lists(users, row, item, {name: found[name] for name in FEATURES})
