"""The events of an online shop, which are part of podium."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium.data.source import POLARS


@dataclass(frozen=True, eq=False)
class OnlineRetail:
    """Events of an online shop, sorted by user, minute and item.

    Attributes
    ----------
    user, item : int64, (n_events,)
        Positions in the arrays below, from 0.
    minute : int64, (n_events,)
        Minutes since epoch0.
    quantity : int64, (n_events,)
        The number of pieces, negative for cancellations and returns.
    epoch0 : int
        The time of minute 0 in seconds from 1970 (2010-12-01 08:26; the source names no time zone).
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
        """The number of customers; a few have only cancellations."""
        return self.customer_id.size

    @property
    def n_items(self) -> int:
        """The number of products; a few were never bought."""
        return self.stock_code.size


def load_onlineretail() -> OnlineRetail:
    """Load the Online Retail events, which are part of podium.

    They are 404,909 purchases and cancellations of 4,363 customers and 3,676 products, from
    2010-12-01 to 2011-12-09. Most customers are in the UK, and many are wholesalers.

    Returns
    -------
    OnlineRetail
        The events.

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
