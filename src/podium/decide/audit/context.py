"""Values that put a measure into context: sizes, and the values of lists without a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.ids import distinct
from podium.decide.audit.pricing import Pricing
from podium.decide.audit.tables import present

PER_USER = "positives per user"
"""The name of this number in the context."""

_TOP = 0.01  # the share of items that are called the most popular


def read_context(price: Pricing) -> dict[str, Any]:
    """Return the sizes of the tables, and the values of runs, popularity and random lists."""
    tables = price.tables
    n_positives = tables.positives.n_rows
    n_users = distinct(tables.positives.user).size
    lists = {name: price.base[name] for name in tables.runs} | price.baseline_values
    lists["a random list"] = price.random
    values = {f"value of {name}": price.summary(values).mean for name, values in lists.items()}
    of_train = {
        "events of TRAIN": tables.train.n_rows,
        "users of TRAIN": int(tables.in_train[0].sum()),
        "items of TRAIN": int(tables.in_train[1].sum()),
    }
    on_top = {"share of positives on the top 1 % of items": _share_on_top(price)}
    has_train = tables.train.n_rows > 0
    return {
        **(of_train if has_train else {}),
        "users of TEST with positives": n_users,
        "positives of TEST": n_positives,
        PER_USER: n_positives / n_users if n_users else float("nan"),
        **(on_top if has_train else {}),
        **values,
    }


def _share_on_top(price: Pricing) -> float:
    """Return the share of positives on the 1 % of training items with the most users."""
    tables = price.tables
    n_top = max(1, round(_TOP * int(tables.in_train[1].sum())))
    top = np.argsort(-tables.n_item_users, kind="stable")[:n_top]
    is_top = present(top, tables.n_items)
    items = tables.positives.item
    return float(is_top[items].mean()) if items.size else float("nan")
