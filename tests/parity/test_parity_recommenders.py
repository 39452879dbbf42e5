"""Recommenders against cornac and implicit: the same numbers, and known differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from podium.recommenders import EASE, ItemKNN

RNG = np.random.default_rng(5)
PAIRS = (RNG.random((70, 45)) < np.linspace(0.03, 0.5, 45)).astype(np.float64)
PAIRS[np.arange(70), np.arange(70) % 45] = 1.0  # cornac knows no user and no item without pairs
LIKES = sparse.csr_array(PAIRS)


def cornac_set() -> Any:
    """Return the pairs as cornac's, in the order in which it counts users and items up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = pytest.importorskip("cornac.data", reason="cornac is not installed")
    user, item = np.nonzero(PAIRS)
    maps = {"global_uid_map": dict(_same(70)), "global_iid_map": dict(_same(45))}
    return data.Dataset.build([*zip(user, item, np.ones(user.size), strict=True)], **maps)


def _same(n: int) -> list[tuple[int, int]]:
    return [(number, number) for number in range(n)]


@pytest.mark.parametrize("l2", [1.0, 30.0, 500.0])
def test_ease_has_cornacs_scores(l2: float) -> None:
    data = cornac_set()
    from cornac import models

    peer = models.EASE(lamb=l2, posB=False, verbose=False).fit(data)
    scores = EASE(l2=l2).fit(LIKES).scores()
    expected = np.array([np.ravel(peer.score(user)) for user in range(70)])
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("k", [1, 7, 45])
def test_itemknn_has_implicits_cosines(k: int) -> None:
    package = pytest.importorskip("implicit.nearest_neighbours", reason="implicit is not installed")
    peer = package.CosineRecommender(K=k + 1, num_threads=1)  # it counts the item itself
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a conversion inside implicit
        peer.fit(sparse.csr_matrix(PAIRS), show_progress=False)
    expected = peer.similarity.toarray()
    np.fill_diagonal(expected, 0.0)
    cosines = ItemKNN(k=k).fit(LIKES).weights_.toarray()
    np.testing.assert_allclose(cosines.sum(axis=1), expected.sum(axis=1), rtol=1e-5)
    full = ItemKNN(k=45).fit(LIKES).weights_.toarray()
    at_edge = np.sort(full, axis=1)[:, ::-1][:, min(k, 44) - 1]
    inside = full > at_edge[:, None] * (1 + 1e-6)  # of equal cosines at the edge, any may be kept
    np.testing.assert_allclose(cosines[inside], expected[inside], rtol=1e-5)


def test_known_difference_cornacs_itemknn_divides_by_the_weights() -> None:
    """It predicts the mean rating of neighbours: where all are 1, so is every score."""
    data = cornac_set()
    from cornac import models

    peer = models.ItemKNN(k=45, similarity="cosine", verbose=False).fit(data)
    scores = np.asarray(peer.score(3))
    assert np.ptp(scores) < 1e-6
    assert np.ptp(ItemKNN(k=45).fit(LIKES).scores([3])) > 1e-2
