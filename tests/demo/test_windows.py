from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from podium.data import OnlineRetail
from podium.demo.features import DAY
from podium.demo.study import new_purchases, windows
from podium.errors import ArgumentError


def bare(rows: list[tuple[int, int, int]]) -> OnlineRetail:
    """Rows of (user, item, minute), one piece each, in a shop of 4 customers and 5 products."""
    user, item, minute = (np.array(c, np.int64) for c in zip(*rows, strict=True))
    ones = np.ones(user.size, np.int64)
    names = np.array(["?"] * 5)
    return OnlineRetail(user, item, minute, ones, 0, names, names, np.arange(4), names[:4])


def pairs(shop: OnlineRetail, start: int, stop: int) -> set[tuple[int, int]]:
    users, truth = new_purchases(shop, start, stop)
    row, item = truth.nonzero()
    assert set(truth.data) <= {1.0}
    return set(zip(users[row].tolist(), item.tolist(), strict=True))


def test_windows_follow_each_other_and_end_with_the_data(shop):
    spans = windows(shop, days=56)
    assert list(spans) == ["train", "valid", "test"]
    train, valid, test = spans.values()
    assert train[1] == valid[0]
    assert valid[1] == test[0]
    assert test[1] == shop.minute.max() + 1
    assert {stop - start for start, stop in spans.values()} == {56 * DAY}


def test_windows_without_a_past_are_refused(shop):
    with pytest.raises(ArgumentError, match="days must be small enough to leave purchases"):
        windows(shop, days=90)


def test_new_purchases_are_in_the_window_and_never_bought_before():
    rows = [(0, 0, 1), (0, 0, 12), (0, 1, 12), (0, 1, 15), (0, 2, 20), (1, 3, 9), (1, 4, 10)]
    assert pairs(bare(rows), 10, 20) == {(0, 1), (1, 4)}


def test_customers_without_an_earlier_purchase_have_no_truth():
    users, truth = new_purchases(bare([(0, 0, 1), (2, 1, 12), (2, 2, 13)]), 10, 20)
    assert users.size == truth.nnz == 0


def test_row_order_of_purchases_does_not_matter(shop):
    order = np.random.default_rng(0).permutation(shop.user.size)
    columns = {n: getattr(shop, n)[order] for n in ("user", "item", "minute", "quantity")}
    window = (100 * DAY, 150 * DAY)
    assert pairs(replace(shop, **columns), *window) == pairs(shop, *window)
