from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from podium.data import OnlineRetail
from podium.demo.features import (
    DAY,
    FEATURES,
    baskets,
    between,
    bought,
    cosines,
    describe,
    nearest,
    neighbours,
    select,
    standardised,
    words,
)
from podium.demo.study import BASELINES

NOW = 150 * DAY


@dataclass
class Lists:
    user: np.ndarray
    row: np.ndarray
    item: np.ndarray
    features: dict[str, Any]


def made(shop: OnlineRetail, users: np.ndarray) -> Lists:
    row, item, features = describe(shop, NOW, users, n_per_source=20)
    return Lists(users[row], row, item, features)


@pytest.fixture(scope="module")
def purchases(shop) -> OnlineRetail:
    return select(shop, shop.quantity > 0)


@pytest.fixture(scope="module")
def users(purchases) -> np.ndarray:
    return np.unique(between(purchases, 0, NOW).user)


@pytest.fixture(scope="module")
def lists(purchases, users) -> Lists:
    return made(purchases, users)


def same(a: Lists, b: Lists) -> bool:
    columns = all(np.array_equal(a.features[n], b.features[n]) for n in FEATURES)
    return columns and np.array_equal(a.row, b.row) and np.array_equal(a.item, b.item)


def test_features_do_not_change_when_the_future_is_shifted(purchases, users, lists):
    later = purchases.minute >= NOW
    shifted = replace(purchases, minute=np.where(later, purchases.minute + 999, purchases.minute))
    assert later.any()
    assert same(made(shifted, users), lists)


def test_features_do_not_change_when_the_future_is_replaced(purchases, users, lists):
    later = purchases.minute >= NOW
    item = np.where(later, (purchases.item * 7 + 3) % purchases.n_items, purchases.item)
    quantity = np.where(later, 10**6, purchases.quantity)
    other = replace(purchases, item=item, quantity=quantity)
    assert same(made(other, users), lists)


def test_features_do_not_change_when_there_is_no_future(purchases, users, lists):
    assert same(made(between(purchases, 0, NOW), users), lists)


def test_features_change_when_the_past_does(purchases, users, lists):
    fewer = between(purchases, 10 * DAY, 10**9)
    users = np.intersect1d(users, between(fewer, 0, NOW).user)
    assert not same(made(fewer, users), lists)


def test_candidates_are_new_to_the_customer_and_on_sale(purchases, lists):
    past = bought(between(purchases, 0, NOW))
    assert not np.asarray(past[lists.user, lists.item]).any()
    assert np.isin(lists.item, past.indices).all()


def test_candidates_come_once_and_sorted(purchases, lists):
    key = lists.row * purchases.n_items + lists.item
    assert (np.diff(key) > 0).all()


def test_every_customer_has_a_list_that_settles_pap_at_10(users, lists):
    assert np.bincount(lists.row, minlength=users.size).min() >= 2 * 10 - 1


def test_every_feature_is_finite_and_described(lists):
    assert list(lists.features) == list(FEATURES)
    assert all(np.isfinite(column).all() for column in lists.features.values())
    assert {form for forms in BASELINES.values() for form in forms} <= set(FEATURES)


def test_lists_are_standardised_one_by_one(lists):
    X = standardised(lists.features, lists.row).toarray()
    for row in (0, 17):
        part = X[lists.row == row]
        assert np.allclose(part.mean(axis=0), 0, atol=1e-9)
        spread = part.std(axis=0)
        assert np.all(np.isclose(spread, 1) | np.isclose(spread, 0, atol=1e-6))


def test_popularity_counts_customers_not_purchases(purchases, lists):
    past = between(purchases, 0, NOW)
    item = int(lists.item[0])
    n_customers = np.unique(past.user[past.item == item]).size
    assert lists.features["popularity"][0] == pytest.approx(np.log(1 + n_customers))


def test_age_and_idle_are_logarithms_of_days(purchases, lists):
    past = between(purchases, 0, NOW)
    minutes = past.minute[past.item == lists.item[5]]
    days = (NOW - np.array([minutes.min(), minutes.max()])) / DAY
    ages = [lists.features[name][5] for name in ("age", "idle")]
    assert ages == pytest.approx(np.log(1 + days))


def test_similar_customers_taste_shows_in_similarity(lists):
    own_taste = lists.user % 2 == lists.item % 2
    for name in ("similar_mean", "neighbours", "words"):
        column = lists.features[name]
        assert column[own_taste].mean() > column[~own_taste].mean()


def test_cosine_is_shared_customers_by_geometric_mean():
    rows = sp.csr_matrix(np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]], np.float32))
    similarity = cosines(rows)
    expected = np.array([[0, 2 / (2 * 2**0.5), 1 / 2], [2 / (2 * 2**0.5), 0, 0], [1 / 2, 0, 0]])
    assert similarity == pytest.approx(expected)
    assert cosines(rows, shrink=2)[0, 2] == pytest.approx(1 / (2 + 2))


def test_nearest_takes_the_largest_and_the_mean_of_five():
    rng = np.random.default_rng(0)
    similarity = rng.random((9, 9)).astype(np.float32)
    history = sp.csr_matrix(np.array([[1] * 7 + [0, 0], [0, 0.5] + [0] * 7], np.float32))
    best, top5 = nearest(similarity, history, np.array([0, 0, 1]), np.array([7, 8, 8]))
    first = np.sort(similarity[:7, [7, 8]], axis=0)
    assert best == pytest.approx([first[-1, 0], first[-1, 1], 0.5 * similarity[1, 8]])
    assert top5[:2] == pytest.approx(first[-5:].sum(axis=0) / 5)
    assert top5[2] == pytest.approx(0.5 * similarity[1, 8] / 5)


def test_neighbours_leave_the_customer_out():
    bought = sp.csr_matrix(np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]], np.float32))
    alike, near = neighbours(bought, np.array([0]), n=1)
    assert alike[0] == pytest.approx([0, 1, 1 / 2, 0])
    assert near.toarray()[0] == pytest.approx([0, 1, 0, 0])


def test_a_basket_is_what_a_customer_bought_in_one_minute():
    names, one = np.array(["?"] * 3), np.ones(4, np.int64)
    columns = ([0, 0, 0, 1], [0, 1, 2, 0], [5, 5, 6, 5])
    user, item, minute = (np.array(c, np.int64) for c in columns)
    shop = OnlineRetail(user, item, minute, one, 0, names, names, np.arange(2), names[:2])
    assert sorted(baskets(shop).toarray().tolist()) == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]


def test_words_are_unit_rows_that_rare_words_dominate():
    vectors = words(np.array(["RED MUG", "RED TIN", "RED TEA TIN"])).toarray()
    assert (vectors**2).sum(axis=1) == pytest.approx([1, 1, 1])
    # In alphabetical order: mug, red, tea, tin; "red" is everywhere and tells nothing.
    assert vectors[0] == pytest.approx([1, 0, 0, 0])
    assert vectors[2, 2] > vectors[2, 3] > vectors[2, 1] == 0
