"""The bundled data: Online Retail, a year of purchases from a gift shop."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data._pool import POLARS


@dataclass(frozen=True, eq=False)
class OnlineRetail:
    """Events of the shop: rows sorted by user, minute and item.

    Attributes
    ----------
    user, item : int64, (n_events,)
        From 0; positions in the arrays below.
    minute : int64, (n_events,)
        Minutes since epoch0.
    quantity : int64, (n_events,)
        Pieces; negative for what was cancelled or returned.
    epoch0 : int
        Seconds from 1970 of minute 0 (2010-12-01 08:26; the source names no time zone).
    stock_code, description : str, (n_items,)
    customer_id : int64, (n_users,)
    country : str, (n_users,)
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    minute: NDArray[np.int64]
    quantity: NDArray[np.int64]
    epoch0: int
    stock_code: NDArray[np.str_]
    description: NDArray[np.str_]
    customer_id: NDArray[np.int64]
    country: NDArray[np.str_]

    @property
    def n_users(self) -> int:
        """Customers; a few have cancellations only."""
        return self.customer_id.size

    @property
    def n_items(self) -> int:
        """Products; a few were never bought."""
        return self.stock_code.size


def load_onlineretail() -> OnlineRetail:
    """Load the Online Retail events that come with podium.

    404,909 purchases and cancellations of 4,363 customers and 3,676 products, 2010-12-01 to
    2011-12-09. Customers are in the UK mostly, many of them wholesalers.

    References
    ----------
    chen2012.

    Examples
    --------
    >>> shop = load_onlineretail()
    >>> shop.user.size, shop.n_users, shop.n_items
    (404909, 4363, 3676)
    """
    folder = files("podium.data") / "onlineretail"
    with (folder / "events.npz").open("rb") as file, np.load(file) as events:
        user, item, minute, quantity = (
            events[name].astype(np.int64) for name in ("user", "item", "minute", "quantity")
        )
        epoch0 = int(events["epoch0"][0])
    items = _table("items.csv.gz").sort("item")
    customers = _table("customers.csv.gz").sort("user")
    return OnlineRetail(
        user,
        item,
        minute,
        quantity,
        epoch0,
        items["stock_code"].to_numpy().astype(np.str_),
        items["description"].to_numpy().astype(np.str_),
        customers["customer_id"].to_numpy().astype(np.int64),
        customers["country"].to_numpy().astype(np.str_),
    )


def _table(name: str) -> pl.DataFrame:
    POLARS.enter()
    packed = (files("podium.data") / "onlineretail" / name).read_bytes()
    types = {"stock_code": pl.String, "customer_id": pl.Int64}
    return pl.read_csv(gzip.decompress(packed), schema_overrides=types)
