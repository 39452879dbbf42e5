"""Factorization: what it learns, what it shows, when it stops, and every error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from tests.raised import raises

from podium.errors import ArgumentError, ConvergenceWarning
from podium.executors import Threads
from podium.recommenders import EASE, Factorization
from podium.recommenders.factorization import LOSSES, _passes
from podium.recommenders.factorization._descent import Factors
from podium.recommenders.factorization._parts import Block, Part

ONE = Threads(1)


def _dense_tastes(n_users: int = 60, n_items: int = 40, share: float = 0.5) -> NDArray[np.float64]:
    """Return likes of two groups of users: even users like even items."""
    rng = np.random.default_rng(0)
    same = np.arange(n_users)[:, None] % 2 == np.arange(n_items) % 2
    return (same & (rng.random((n_users, n_items)) < share)).astype(float)


def _tastes(share: float = 0.7) -> csr_array[Any]:
    return csr_array(_dense_tastes(40, 24, share))


def _fitted(**changes: Any) -> Factorization:
    plain = {"n_factors": 8, "n_epochs": 60, "random_state": 1}
    return Factorization(**{**plain, **changes}).fit(_tastes(), executor=ONE)


def test_user_who_has_seen_everything_and_user_without_pairs() -> None:
    likes = _tastes().toarray()
    likes[6], likes[7] = 1, 0
    model = Factorization(4, n_epochs=5, similarity="dot").fit(csr_array(likes), executor=ONE)
    items, scores = model.recommend([6, 7], k=3)
    assert items[0].tolist() == [-1, -1, -1]
    assert (scores[0] == -np.inf).all()
    assert not model.user_factors_[7].any()
    assert items[1].tolist() == np.argsort(-model.item_bias_, kind="stable")[:3].tolist()


def test_model_of_a_table_uses_its_ids() -> None:
    table = {"user": ["b", "b", "a", "a"], "item": [30, 10, 20, 10]}
    model = Factorization(3, n_epochs=5).fit(table, executor=ONE)
    assert model.user_labels_ is not None
    assert model.user_labels_.tolist() == ["a", "b"]
    assert model.recommend(["b"], 2)[0].tolist() == [[20, -1]]
    assert sorted(model.similar_items([30], 2)[0][0]) == [10, 20]
    items, _ = model.recommend_new({"user": ["z"], "item": [20]}, 1, deny=[10])
    assert items.tolist() == [[30]]
    with pytest.raises(ArgumentError, match="users 'c'"):
        model.recommend(["c"])
    with pytest.raises(ArgumentError, match="item of user_items 99"):
        model.fold_in({"user": ["z"], "item": [99]})


def test_weights_have_no_unit() -> None:
    likes = _tastes()
    doubled = _fitted().user_factors_
    same = Factorization(8, n_epochs=60, random_state=1).fit(4 * likes, executor=ONE)
    assert same.user_factors_.tobytes() == doubled.tobytes()


def _held_out() -> tuple[csr_array[Any], csr_array[Any]]:
    likes = _tastes(share=0.9).toarray()
    hidden = likes * (np.random.default_rng(3).random(likes.shape) < 0.3)
    return csr_array(likes - hidden), csr_array(hidden)


def test_best_pass_on_held_out_pairs_is_kept() -> None:
    train, hidden = _held_out()
    plain = {"n_factors": 8, "random_state": 1, "decay": "none", "eval_metric": "ndcg@5"}
    model = Factorization(n_epochs=20, **plain).fit(train, eval_set=hidden, executor=ONE)
    validation = model.history_["validation"]
    assert validation.size == 20
    assert model.n_epochs_ == int(np.argmax(validation)) + 1
    refitted = Factorization(n_epochs=model.n_epochs_, **plain).fit(train, executor=ONE)
    assert refitted.user_factors_.tobytes() == model.user_factors_.tobytes()


def test_validation_measures_the_lists_of_recommend() -> None:
    train, hidden = _held_out()
    is_other = (train + hidden).toarray() == 0
    seen = csr_array(1.0 * is_other * (np.random.default_rng(4).random(is_other.shape) < 0.5))
    model = Factorization(8, n_epochs=1, eval_metric="precision@3", random_state=1)
    model.fit(train, seen=seen, eval_set=hidden, executor=ONE)
    items, _ = model.recommend(k=3)
    likes = np.pad(hidden.toarray(), ((0, 0), (0, 1)))  # the place -1 of an item that is missing
    hits = np.take_along_axis(likes, items, axis=1).sum(axis=1) / 3
    assert model.history_["validation"] == pytest.approx(hits[likes.any(axis=1)].mean())


def test_eval_set_of_a_table_and_one_that_does_not_fit() -> None:
    table = {"user": ["a", "a", "b"], "item": [1, 2, 3]}
    model = Factorization(2, n_epochs=2, eval_metric="rr")
    model.fit(table, eval_set={"user": ["b", "a"], "item": [1, 3]}, executor=ONE)
    assert model.history_["validation"].size == 2
    with pytest.raises(ArgumentError, match="user of eval_set 'c'"):
        model.fit(table, eval_set={"user": ["c"], "item": [1]})
    with raises(ArgumentError, "eval_set", "eval_metric"):
        model.fit(table, eval_set=table, executor=ONE)
    with pytest.raises(ArgumentError, match="eval_set"):
        Factorization().fit(_tastes(), eval_set=csr_array((3, 24)))


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_interrupt_or_divergence_keeps_the_last_whole_pass(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None
) -> None:
    step, calls = Part.step, []

    def stopping(self: Part, block_number: int, block: Block) -> Block:
        calls.append(block_number)
        made = step(self, block_number, block)
        if len(calls) == 2 * 4 + 3:  # in the middle of the third pass
            if error is not None:
                raise error
            made.rows[0, 0] = np.inf
        return made

    model = Factorization(4, n_epochs=5, n_blocks=2, decay="none", learning_rate=0.1)
    ends = pytest.warns(ConvergenceWarning, match=r"pass 3\. .* learning_rate=0\.025")
    with monkeypatch.context() as patch, ends if error is None else pytest.raises(error):
        patch.setattr(Part, "step", stopping)
        model.fit(_tastes(), executor=ONE)
    assert model.stop_reason_ == ("diverged" if error is None else "interrupted")
    assert model.n_epochs_ == 2
    two = clone(model).set_params(n_epochs=2).fit(_tastes(), executor=ONE)
    assert model.user_factors_.tobytes() == two.user_factors_.tobytes()
    assert model.item_factors_.tobytes() == two.item_factors_.tobytes()


SMALL = csr_array([[5.0, 4, 1, 0], [5, 0, 4, 0], [0, 5, 2, 5], [4, 5, 0, 0]])


@pytest.mark.parametrize(
    ("params", "likes", "named"),
    [
        *(({"learning_rate": rate}, SMALL, "learning_rate") for rate in (1e2, 1e6, 1e8, 1e300)),
        ({}, csr_array([[1.0], [1.0]]), "user_items"),
        ({"n_blocks": 24}, _tastes(), "n_blocks"),
        ({"negatives": "unseen"}, csr_array(np.ones((3, 4))), "negatives"),
        *(({}, csr_array([[0, 1.0], [1.0, bad]]), "user 1 and item 1") for bad in (np.nan, -2.0)),
        ({}, {"user": [0, 1], "item": [0, 1], "value": [1.0, np.inf]}, "value"),
        ({}, csr_array([[1e308, 1e308, 1e308, 0.0]]), "a mean of inf"),
        *(({}, csr_array([[v, 0.0], [0.0, v]]), "single precision") for v in (1e200, 1e-200)),
        ({}, coo_array(np.array([1.0, 0.0, 2.0])), "two axes"),
        ({}, coo_array(([-1.0, 3.0, 1.0], ([0, 0, 1], [1, 1, 0]))), "got -1 for user 0 and item 1"),
        ({"gain": "exp2"}, SMALL, "gain"),
        ({"prior": "best"}, SMALL, "prior"),
    ],
)
def test_fit_that_could_not_learn_is_refused(params: Any, likes: Any, named: str) -> None:
    model: Any = Factorization(**{"n_factors": 4, "n_epochs": 3, **params})
    if named == "single precision":  # a factorization takes weights by their mean
        model = EASE()
    with pytest.raises(ArgumentError, match=named):
        model.fit(likes)


def test_interrupted_copy_of_the_best_pass_leaves_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = csr_array((_tastes().toarray() == 0).astype(float))
    values = iter([0.1, 0.2, 0.3])
    monkeypatch.setattr(_passes, "_measured", lambda *_: next(values))
    copy, calls = Factors.copy, []

    def interrupted(self: Factors) -> Factors:
        calls.append(self)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return copy(self)

    model = Factorization(4, n_epochs=5, n_blocks=2, decay="none")
    with monkeypatch.context() as patch:
        patch.setattr(Factors, "copy", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(_tastes(), eval_set=held, executor=ONE)
    two = Factorization(4, n_epochs=2, n_blocks=2, decay="none").fit(_tastes(), executor=ONE)
    assert model.n_epochs_ == 2
    assert model.item_factors_.tobytes() == two.item_factors_.tobytes()


def test_repeated_pairs_are_added_up_in_double_precision() -> None:
    pairs = [0, 0, 1], [1, 1, 0]
    small = coo_array((np.array([100, 100, 1], np.int8), pairs), shape=(2, 3))
    model = Factorization(2, n_epochs=1).fit(small, executor=ONE)
    np.testing.assert_allclose(model.seen_weights_ * model.weight_scale_, [200, 1], rtol=1e-6)


N_TASTES, N_ITEMS = 5, 80


def _likes(n_users: int, seed: int) -> NDArray[np.bool_]:
    """Return likes of users with one taste each, and some likes of other items."""
    rng = np.random.default_rng(seed)
    is_taste: NDArray[np.bool_] = np.equal.outer(
        np.arange(n_users) % N_TASTES, np.arange(N_ITEMS) % N_TASTES
    )
    return rng.random((n_users, N_ITEMS)) < np.where(is_taste, 0.6, 0.04)


def _model(**changes: Any) -> Factorization:
    plain = Factorization(8, n_epochs=40, similarity="cosine", random_state=2)
    return plain.set_params(**changes)


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


COSINES: dict[str, Any] = {"n_factors": 8, "n_epochs": 6, "n_negatives": 16, "similarity": "cosine"}


def _popular(n_users: int) -> csr_array[Any]:
    shares = 1.0 / np.arange(1, 61) ** 0.8
    return csr_array((np.random.default_rng(0).random((n_users, 60)) < shares).astype(float))


def test_held_out_pairs_choose_the_prior_but_not_the_factors(tmp_path: Path) -> None:
    likes = _popular(600)
    model, other = (Factorization(**COSINES).fit(likes, executor=Threads(n)) for n in (1, 2))
    assert model.prior_ == model.history_["prior"][4] > 0
    plain, given = (Factorization(**COSINES, prior=p).fit(likes) for p in (0.0, model.prior_))
    assert model.user_factors_.tobytes() == plain.user_factors_.tobytes()
    assert model.item_bias_.tobytes() == other.item_bias_.tobytes() == given.item_bias_.tobytes()
    bias = model.prior_ * np.log1p(np.diff(likes.tocsc().indptr))
    assert model.scores([3])[0] == pytest.approx(plain.scores([3])[0] + bias, rel=1e-5)
    model.save(tmp_path / "model")
    loaded = Factorization.load(tmp_path / "model")
    assert loaded.fold_in(likes[:3]).tobytes() == plain.fold_in(likes[:3]).tobytes()
    loaded.partial_fit(csr_array(([1.0, 1.0], ([0, 1], [60, 60])), shape=(600, 61)))
    assert loaded.item_bias_[:60].tobytes() == model.item_bias_.tobytes()
    assert loaded.item_bias_[60] == pytest.approx(model.prior_ * np.log(3))


def test_eval_set_chooses_the_prior_of_the_best_pass() -> None:
    model = Factorization(**COSINES).fit(_popular(600), eval_set=_popular(700)[100:], executor=ONE)
    tried, passes = (model.history_[name] for name in ("prior_validation", "validation"))
    assert tried[0] == pytest.approx(passes.max())


@pytest.mark.parametrize(("changes", "n_users"), [({}, 150), ({"similarity": "dot"}, 600)])
def test_prior_of_few_users_or_of_products_is_zero(changes: Any, n_users: int) -> None:
    model = Factorization(**{**COSINES, **changes}).fit(_popular(n_users), executor=ONE)
    assert model.prior_ == 0.0
    assert model.history_.keys() == {"cost"}


def test_interrupt_while_the_prior_is_chosen_keeps_the_factors(tmp_path: Path) -> None:
    def stopping(done: int, total: int, note: str) -> None:
        if "prior" in note:
            raise KeyboardInterrupt

    likes, path = _popular(600), tmp_path / "checkpoint"
    model = Factorization(**COSINES)
    with pytest.raises(KeyboardInterrupt):
        model.fit(likes, executor=ONE, progress=stopping, checkpoint=path)
    assert (model.prior_, model.n_epochs_) == (0.0, 6)
    resumed = Factorization(**COSINES).fit(likes, executor=ONE, checkpoint=path, resume=True)
    assert resumed.item_bias_.tobytes() == Factorization(**COSINES).fit(likes).item_bias_.tobytes()


def _plain() -> Factorization:
    return Factorization(8, n_epochs=40, random_state=1)


def _table(likes: NDArray[np.float64], *, users: str = "u", items: str = "i") -> dict[str, Any]:
    coo = coo_array(likes)
    return {
        "user": np.array([f"{users}{row:03d}" for row in coo.row]),
        "item": np.array([f"{items}{column:03d}" for column in coo.col]),
        "value": coo.data,
    }


def test_new_users_and_items_find_their_taste() -> None:
    likes = _dense_tastes()
    known = likes[:50, :30]
    model = _plain().fit(csr_array(known), executor=ONE)
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
    likes = _dense_tastes()
    model = _plain().fit(csr_array(likes[:50, :30]), executor=ONE)
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
    likes = _dense_tastes()
    model = _plain().fit(_table(likes, users="m", items="m"), executor=ONE)
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
    likes = _dense_tastes()
    model = Factorization(6, n_epochs=4, similarity="cosine").fit(csr_array(likes), executor=ONE)
    _, wanted = model.recommend_new(csr_array((1, 40)), k=5)
    model.partial_fit(csr_array(([1.0], ([62], [3])), shape=(63, 40)), executor=ONE)
    _, scores = model.recommend([61], k=5)
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("known", "new", "options"),
    [
        (csr_array(_dense_tastes()), csr_array((60, 40)), {}),
        (csr_array(_dense_tastes()), _table(_dense_tastes()), {}),
        (_table(_dense_tastes()), csr_array(_dense_tastes()), {}),
        (_table(_dense_tastes()), {"user": [1], "item": [2]}, {}),
        (csr_array(_dense_tastes()), csr_array(_dense_tastes()), {"n_epochs": 0}),
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
    likes = _dense_tastes()
    disliked = (np.random.default_rng(3).random(likes.shape) < 0.1).astype(float)
    plain = _plain().fit(csr_array(likes), executor=ONE)
    model = _plain().fit(csr_array(likes), seen=csr_array(disliked), executor=ONE)
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
