"""Factorization by cosines: defaults from the data, new users, and users without pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from podium.executors import Threads
from podium.recommenders import Factorization
from podium.recommenders.factorization import LOSSES

ONE = Threads(1)
N_TASTES, N_ITEMS = 5, 80


def _likes(n_users: int, seed: int) -> NDArray[np.bool_]:
    """Return likes of users with one taste each, and some likes of other items."""
    rng = np.random.default_rng(seed)
    is_taste: NDArray[np.bool_] = np.equal.outer(
        np.arange(n_users) % N_TASTES, np.arange(N_ITEMS) % N_TASTES
    )
    return rng.random((n_users, N_ITEMS)) < np.where(is_taste, 0.6, 0.04)


def _share_of_taste(items: NDArray[Any]) -> float:
    """Return the share of recommended items that are of the user's taste."""
    tastes = np.arange(items.shape[0]) % N_TASTES
    is_of_taste: NDArray[np.bool_] = np.equal(items % N_TASTES, tastes[:, None])
    return float(is_of_taste.mean())


def _model(**changes: Any) -> Factorization:
    plain = Factorization(8, n_epochs=40, similarity="cosine", random_state=2)
    return plain.set_params(**changes)


@pytest.mark.parametrize("loss", ["softmax", "sl@20"])
def test_new_users_get_lists_as_good_as_those_of_fitted_users(loss: str) -> None:
    shares: list[tuple[float, float]] = []
    for seed in (0, 2, 4):
        known, new = _likes(200, seed), _likes(100, seed + 1)
        folded = _model(loss=loss).fit(csr_array(known.astype(float)), executor=ONE)
        both = _model(loss=loss).fit(csr_array(np.concatenate([known, new]).astype(float)))
        of_folded = folded.recommend_new(csr_array(new.astype(float)), 4)[0]
        of_fitted = both.recommend(np.arange(200, 300), 4)[0]
        shares.append((_share_of_taste(of_folded), _share_of_taste(of_fitted)))
    share_of_folded, share_of_fitted = np.mean(shares, axis=0)
    assert share_of_fitted > 0.85
    assert share_of_folded > share_of_fitted - 0.03


def test_fitted_users_get_nearly_the_same_lists_by_folding_in() -> None:
    likes = csr_array(_likes(100, 0).astype(float))
    model = _model().fit(likes, executor=ONE)
    cosines = (model.fold_in(likes) * model.user_factors_).sum(axis=1)
    assert np.median(cosines) > 0.95
    assert np.linalg.norm(model.fold_in(likes), axis=1) == pytest.approx(1.0, rel=1e-5)


def test_users_without_pairs_get_the_mean_direction() -> None:
    likes = _likes(60, 0).astype(float)
    likes[7] = 0.0
    model = _model().fit(csr_array(likes), executor=ONE)
    others = np.delete(model.user_factors_, 7, axis=0).mean(axis=0)
    assert model.user_factors_[7] == pytest.approx(others / np.linalg.norm(others), abs=1e-5)
    folded = model.fold_in(csr_array(np.zeros((2, N_ITEMS))))
    assert folded == pytest.approx(np.tile(model.user_factors_[7], (2, 1)), abs=0.05)


def test_a_new_user_of_opposite_items_has_a_direction() -> None:
    model = _model().fit(csr_array(_likes(20, 0).astype(float)), executor=ONE)
    model.item_factors_[1] = -model.item_factors_[0]
    new = np.zeros((1, N_ITEMS))
    new[0, :2] = 1.0
    assert np.linalg.norm(model.fold_in(csr_array(new))) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(
    ("n_items", "density", "temperature"),
    [
        (100, 50.0, 0.16),  # at most
        (10_000, 50.0, 12 / 10_000**0.5),
        (10_000, 6.0, 0.8 / 6.0),  # few pairs
        (10**6, 50.0, 0.08),  # at least
    ],
)
def test_default_temperature_follows_from_the_data(
    n_items: float, density: float, temperature: float
) -> None:
    loss = LOSSES.parse("softmax").for_data(n_items, density, cosine=True)
    assert loss == LOSSES.parse(f"softmax(temperature={temperature:.3g})")
    assert LOSSES.parse("softmax").for_data(n_items, density, cosine=False) == LOSSES.parse(
        "softmax(temperature=1)"
    )


def test_defaults_of_a_copy_fit_the_same_model() -> None:
    likes = csr_array(_likes(30, 0).astype(float))
    model = _model()
    copy = model.for_data(likes)
    assert (copy.learning_rate, copy.l2) == (0.3, 0.002)
    given = _model(loss="softmax(temperature=0.16)", similarity="cosine", learning_rate=0.3)
    fits = [m.fit(likes, executor=ONE).user_factors_ for m in (model, copy, given)]
    assert fits[0].tobytes() == fits[1].tobytes() == fits[2].tobytes()


@pytest.mark.parametrize("loss", ["softmax", "bpr", "robirank"])
def test_short_vectors_are_compared_by_products(loss: str) -> None:
    assert LOSSES.parse(loss).suits_cosines == (loss == "softmax")  # of long vectors
    likes = csr_array(_likes(10, 0).astype(float))
    models = (Factorization(4, loss=loss, n_epochs=2, similarity=s) for s in (None, "dot"))
    one, two = (model.fit(likes, executor=ONE) for model in models)
    assert one.item_factors_.tobytes() == two.item_factors_.tobytes()
