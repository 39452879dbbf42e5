"""Public and bundled data sets: the publishers' own files, and their published figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from podium import data

Need = Callable[[str], Path]


def test_letor_ohsumed_equals_scikit_learns_reader(podium_data: Need) -> None:
    from sklearn.datasets import load_svmlight_file

    path = podium_data("letor-ohsumed/min/S1.txt.gz")
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    got = data.read_features(path)
    assert not sparse.issparse(got.X)
    assert np.array_equal(got.X, X.toarray())
    assert np.array_equal(got.y, y)
    assert np.array_equal(got.qid, qid)


def test_onlineretail_has_its_published_size() -> None:
    shop = data.load_onlineretail()
    assert shop.user.size == 404_909
    assert int((shop.quantity > 0).sum()) == 396_370
    assert int((shop.quantity < 0).sum()) == 8_539
    assert np.unique(shop.user * shop.n_items + shop.item).size == 266_891
    assert (shop.n_users, shop.n_items) == (4_363, 3_676)
    assert np.unique(shop.user[shop.quantity > 0]).size == 4_335
    first_event = np.datetime64(shop.epoch0 + 60 * int(shop.minute.min()), "s")
    assert first_event == np.datetime64("2010-12-01T08:26")
    assert shop.stock_code[0] == "10002"
    assert shop.country[1] == "Iceland"
