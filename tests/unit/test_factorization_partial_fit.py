"""New interactions: what a fitted model learns from them, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from podium.errors import ArgumentError
from podium.executors import Threads
from podium.recommenders import Factorization

ONE = Threads(1)


def _tastes(n_users: int = 60, n_items: int = 40, share: float = 0.5) -> NDArray[np.float64]:
    """Return likes of two groups of users: even users like even items."""
    rng = np.random.default_rng(0)
    same = np.arange(n_users)[:, None] % 2 == np.arange(n_items) % 2
    return (same & (rng.random((n_users, n_items)) < share)).astype(float)


def _model() -> Factorization:
    return Factorization(8, n_epochs=40, random_state=1)


def _table(likes: NDArray[np.float64], *, users: str = "u", items: str = "i") -> dict[str, Any]:
    coo = coo_array(likes)
    return {
        "user": np.array([f"{users}{row:03d}" for row in coo.row]),
        "item": np.array([f"{items}{column:03d}" for column in coo.col]),
        "value": coo.data,
    }


def test_new_users_and_items_find_their_taste() -> None:
    likes = _tastes()
    known = likes[:50, :30]
    model = _model().fit(csr_array(known), executor=ONE)
    new = likes.copy()
    new[:50, :30] = 0
    model.partial_fit(csr_array(new), n_epochs=40, executor=ONE)
    assert model.user_factors_.shape == (60, 8)
    assert model.item_factors_.shape == (40, 8)
    items, _ = model.recommend(np.arange(50, 60), k=3)
    assert (items % 2 == np.arange(50, 60)[:, None] % 2).mean() > 0.9
    shown, _ = model.recommend(np.arange(50), k=3, allow=np.arange(30, 40), exclude_seen=False)
    assert (shown % 2 == np.arange(50)[:, None] % 2).mean() > 0.9
    seen = csr_array(likes)
    assert (model.seen_offsets_ == seen.indptr).all()
    assert (model.seen_items_ == seen.indices).all()


def test_known_users_and_items_without_a_new_pair_keep_their_bits() -> None:
    likes = _tastes()
    model = _model().fit(csr_array(likes[:50, :30]), executor=ONE)
    users, items = model.user_factors_.copy(), model.item_factors_.copy()
    new = np.zeros((60, 40))
    new[50:, :30] = likes[50:, :30]
    expected = model.fold_in(csr_array(likes[50:, :30]), executor=ONE)
    model.partial_fit(csr_array(new[:, :30]), executor=Threads(2))
    assert model.user_factors_.tobytes() == users.tobytes() + expected.tobytes()
    assert model.item_factors_.tobytes() == items.tobytes()
    new[:50], new[50:, 30:] = 0, likes[50:, 30:]
    new[50:, :30] = 0
    model.partial_fit(csr_array(new), executor=ONE)
    assert model.user_factors_[:50].tobytes() == users.tobytes()
    assert model.item_factors_[:30].tobytes() == items.tobytes()
    assert np.abs(model.item_factors_[30:]).max() > 0


def test_ids_find_their_rows_wherever_they_sort() -> None:
    likes = _tastes()
    model = _model().fit(_table(likes, users="m", items="m"), executor=ONE)
    before = model.user_factors_.copy()
    n_items = model.item_factors_.shape[0]
    before_items = model.recommend(["m001"], k=n_items, exclude_seen=False)[0][0].tolist()
    model.partial_fit(_table(likes[:4], users="a", items="m"), executor=ONE)
    assert model.user_labels_ is not None
    assert model.user_labels_[:5].tolist() == ["a000", "a001", "a002", "a003", "m000"]
    assert model.user_factors_[4:].tobytes() == before.tobytes()
    model.partial_fit(_table(likes[:4], users="a", items="b"), executor=ONE)
    assert model.item_labels_ is not None
    assert np.char.startswith(model.item_labels_, "b").sum() > 20
    items, _ = model.recommend(["m001"], k=len(model.item_labels_), exclude_seen=False)
    assert items[0][np.char.startswith(items[0], "m")].tolist() == before_items


def test_pair_that_comes_again_adds_its_weight() -> None:
    likes = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 4.0]])
    model = Factorization(2, n_epochs=2).fit(csr_array(likes), executor=ONE)
    model.partial_fit(csr_array([[3.0, 0, 0], [0, 0, 0]]), executor=ONE)
    weights = model.seen_weights_ * model.weight_scale_
    np.testing.assert_allclose(weights, [5, 1, 1, 4], rtol=1e-6)


def test_new_users_without_a_pair_get_the_mean_direction_of_cosines() -> None:
    likes = _tastes()
    model = Factorization(6, n_epochs=4, similarity="cosine").fit(csr_array(likes), executor=ONE)
    _, wanted = model.recommend_new(csr_array((1, 40)), k=5)
    model.partial_fit(csr_array(([1.0], ([62], [3])), shape=(63, 40)), executor=ONE)
    _, scores = model.recommend([61], k=5)
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("known", "new", "options"),
    [
        (csr_array(_tastes()), csr_array((60, 40)), {}),
        (csr_array(_tastes()), _table(_tastes()), {}),
        (_table(_tastes()), csr_array(_tastes()), {}),
        (_table(_tastes()), {"user": [1], "item": [2]}, {}),
        (csr_array(_tastes()), csr_array(_tastes()), {"n_epochs": 0}),
    ],
)
def test_what_does_not_fit_the_model_is_refused(known: Any, new: Any, options: Any) -> None:
    model = Factorization(2, n_epochs=1).fit(known, executor=ONE)
    with pytest.raises(ArgumentError, match=r"user_items|n_epochs"):
        model.partial_fit(new, executor=ONE, **options)


def _places(model: Factorization, users: NDArray[np.int64]) -> set[tuple[int, int]]:
    items, scores = model.recommend(users, k=model.item_factors_.shape[0])
    shown = scores > -np.inf
    return set(
        zip(np.repeat(users, shown.sum(axis=1)).tolist(), items[shown].tolist(), strict=True)
    )


def test_pairs_that_were_only_seen_are_not_learned_from_and_not_shown(tmp_path: Path) -> None:
    likes = _tastes()
    disliked = (np.random.default_rng(3).random(likes.shape) < 0.1).astype(float)
    plain = _model().fit(csr_array(likes), executor=ONE)
    model = _model().fit(csr_array(likes), seen=csr_array(disliked), executor=ONE)
    assert model.user_factors_.tobytes() == plain.user_factors_.tobytes()
    model.save(tmp_path / "m")
    shown = {(u, i) for u, i in np.argwhere((likes == 0) & (disliked == 0)).tolist()}
    everyone = np.arange(60)
    assert (
        _places(model, everyone) == _places(Factorization.load(tmp_path / "m"), everyone) == shown
    )
    new = np.zeros_like(likes)
    new[5, 7] = 1
    for each in (plain, model):
        each.partial_fit(csr_array(new), executor=ONE)
    assert model.user_factors_.tobytes() == plain.user_factors_.tobytes()
    assert _places(model, everyone) == shown - {(5, 7)}
