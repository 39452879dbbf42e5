"""The rivals: the numbers of their packages, and errors of parameters."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from podium.errors import ArgumentError
from podium.recommenders import Recommender
from podium_studies.rivals.with_implicit import ALS, BPR
from podium_studies.rivals.with_lightfm import WARP

RNG = np.random.default_rng(5)
PAIRS = (RNG.random((70, 45)) < np.linspace(0.03, 0.5, 45)).astype(np.float64)
PAIRS[np.arange(70), np.arange(70) % 45] = 1.0
LIKES = sparse.csr_array(PAIRS)


def needs(package: str) -> Any:
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"{package} is not installed")


@needs("implicit")
@pytest.mark.parametrize(
    "model",
    [
        BPR(n_factors=4, learning_rate=1e6),
        ALS(n_factors=4, alpha=1e38),
        ALS(n_factors=4, alpha=1e38, l2_power=1.0),
    ],
)
def test_fit_that_diverges_is_refused(model: Recommender) -> None:
    with pytest.raises(ArgumentError):
        model.fit(LIKES)


@pytest.mark.parametrize("weights", [1.0, 4.0])
def test_als_is_implicits(weights: float) -> None:
    package = pytest.importorskip("implicit.cpu.als", reason="implicit is not installed")
    pairs = sparse.csr_matrix(PAIRS * weights, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of BLAS's threads
        peer = package.AlternatingLeastSquares(
            factors=6, regularization=2.0, alpha=3.0, iterations=4, random_state=9, num_threads=1
        )
    peer.fit(pairs, show_progress=False)
    model = ALS(6, l2=2.0, alpha=3.0, n_epochs=4, random_state=9).fit(pairs)
    np.testing.assert_allclose(model.user_factors_, peer.user_factors, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(model.item_factors_, peer.item_factors, rtol=1e-3, atol=1e-5)
    assert not model.item_bias_.any()


def test_bpr_is_implicits_with_its_bias_apart() -> None:
    package = pytest.importorskip("implicit.cpu.bpr", reason="implicit is not installed")
    pairs = sparse.csr_matrix(PAIRS, dtype=np.float32)
    peer = package.BayesianPersonalizedRanking(
        factors=5, learning_rate=0.05, regularization=0.02, iterations=20, random_state=3,
        num_threads=1,
    )  # fmt: skip
    peer.fit(pairs, show_progress=False)
    model = BPR(5, learning_rate=0.05, l2=0.02, n_epochs=20, random_state=3).fit(LIKES)
    assert model.item_factors_.shape == (45, 5)
    assert model.item_bias_.any()
    expected = peer.user_factors @ peer.item_factors.T
    np.testing.assert_allclose(model.scores(), expected, rtol=1e-4, atol=1e-5)
    items, best = peer.recommend(np.arange(70), pairs, N=3)
    model_items, scores = model.recommend(k=3)
    np.testing.assert_allclose(scores, best, rtol=1e-4, atol=1e-5)
    assert (model_items == items).mean() > 0.95  # all but near ties


def test_warp_ranks_as_lightfm_does() -> None:
    package = pytest.importorskip("lightfm", reason="lightfm-next is not installed")
    peer = package.LightFM(
        no_components=5, loss="warp", learning_rate=0.1, user_alpha=1e-4, item_alpha=1e-4,
        max_sampled=7, random_state=np.random.RandomState(4),
    )  # fmt: skip
    peer.fit(sparse.coo_matrix(PAIRS, dtype=np.float32), epochs=6, num_threads=1)
    model = WARP(5, learning_rate=0.1, l2=1e-4, max_sampled=7, n_epochs=6, random_state=4).fit(
        LIKES
    )
    user, item = np.divmod(np.arange(70 * 45), 45)
    expected = peer.predict(user, item).reshape(70, 45)
    gap = expected - model.scores()  # LightFM's bias of the user, which is left out
    np.testing.assert_allclose(gap, np.repeat(peer.user_biases[:, None], 45, 1), atol=1e-5)
    held_out = sparse.csr_matrix((np.ones(1), ([3], [0])), shape=PAIRS.shape)
    held_out[3, 0] = 1.0
    rank = peer.predict_rank(held_out.astype(np.float32)).toarray()[3, 0] + 1.0
    assert model.ranks(held_out, exclude_seen=False, ties="best").tolist() == [rank]


def test_scaled_penalties_solve_the_equations_of_each_user() -> None:
    pytest.importorskip("implicit")
    rng = np.random.default_rng(0)
    likes = sparse.csr_array((rng.random((60, 40)) < np.linspace(0.05, 0.5, 40)).astype(np.float32))
    alpha, l2, power = 5.0, 0.05, 0.8
    model = ALS(6, alpha=alpha, l2=l2, l2_power=power, n_epochs=300).fit(likes)
    items = model.item_factors_.astype(float)
    for user in range(60):
        own = items[likes.indices[likes.indptr[user] : likes.indptr[user + 1]]]
        penalty = l2 * (alpha * len(own) + 40) ** power
        left = items.T @ items + (alpha - 1.0) * own.T @ own + penalty * np.eye(6)
        expected = np.linalg.solve(left, alpha * own.sum(axis=0))
        # penalties of neighbouring rows are rounded to 2 %
        assert model.user_factors_[user] == pytest.approx(expected, abs=0.01)


def test_a_power_of_almost_0_is_the_penalty_of_implicit() -> None:
    pytest.importorskip("implicit")
    rng = np.random.default_rng(1)
    likes = sparse.csr_array((rng.random((60, 40)) < np.linspace(0.05, 0.5, 40)).astype(np.float32))
    options = {"alpha": 4.0, "l2": 3.0, "n_epochs": 60}
    plain, scaled = (ALS(6, l2_power=p, **options).fit(likes) for p in (0.0, 1e-9))
    scores = [m.user_factors_ @ m.item_factors_.T for m in (plain, scaled)]
    assert scores[1] == pytest.approx(scores[0], abs=0.01)
