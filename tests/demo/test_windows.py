from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from podium.errors import ArgumentError
from podium.experiments._windows import DAY, Purchases, Window, consecutive, new_purchases


def purchases(rows: list[tuple[int, int, int]]) -> Purchases:
    """Rows of (user, item, minute), one piece each, in a shop of 4 customers and 5 products."""
    user, item, minute = (np.array(c, np.int64) for c in zip(*rows, strict=True))
    return Purchases(user, item, minute, np.ones(user.size, np.int64), 4, 5)


def pairs(matrix: object) -> set[tuple[int, int]]:
    user, item = matrix.nonzero()  # type: ignore[attr-defined]
    return set(zip(user.tolist(), item.tolist(), strict=True))


def test_windows_follow_each_other_and_end_with_the_data(shop):
    found = consecutive(Purchases.of(shop), days=56)
    assert list(found) == ["train", "valid", "test"]
    train, valid, test = found.values()
    assert train.stop == valid.start
    assert valid.stop == test.start
    assert test.stop == shop.minute[shop.quantity > 0].max() + 1
    assert {w.stop - w.start for w in found.values()} == {56 * DAY}


def test_windows_without_a_past_are_refused(shop):
    with pytest.raises(ArgumentError, match="days must leave purchases before three windows"):
        consecutive(Purchases.of(shop), days=90)


def test_cancellations_are_no_purchases(shop):
    assert Purchases.of(shop).user.size == np.count_nonzero(shop.quantity > 0)
    assert (shop.quantity < 0).any()


def test_purchases_of_some_customers_have_no_others(shop):
    assert set(Purchases.of(shop, np.array([3, 8])).user) == {3, 8}


def test_new_purchases_are_in_the_window_and_never_bought_before():
    rows = [(0, 0, 1), (0, 0, 12), (0, 1, 12), (0, 1, 15), (0, 2, 20), (1, 3, 9), (1, 4, 10)]
    new = new_purchases(purchases(rows), Window(10, 20))
    assert pairs(new) == {(0, 1), (1, 4)}
    assert set(new.data) == {1.0}


def test_customers_without_an_earlier_purchase_have_no_truth():
    new = new_purchases(purchases([(0, 0, 1), (2, 1, 12), (2, 2, 13)]), Window(10, 20))
    assert new.nnz == 0


def test_row_order_of_purchases_does_not_matter(shop):
    rows = Purchases.of(shop)
    order = np.random.default_rng(0).permutation(rows.user.size)
    columns = {n: getattr(rows, n)[order] for n in ("user", "item", "minute", "quantity")}
    window = Window(100 * DAY, 150 * DAY)
    assert pairs(new_purchases(replace(rows, **columns), window)) == pairs(
        new_purchases(rows, window)
    )
