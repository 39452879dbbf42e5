"""Recommenders: what each of them does, what podium's own compute, and every error."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

from podium.catalogue import rank_blocks
from podium.errors import ArgumentError, DataError, MissingExtraError
from podium.evaluation import evaluate
from podium.executors import Threads
from podium.recommenders import (
    ALS,
    BPR,
    EASE,
    WARP,
    Factorization,
    FactorRecommender,
    ItemKNN,
    MultiVAE,
    NeuMF,
    Popularity,
    Recommender,
)

N_USERS, N_ITEMS = 60, 40


def two_tastes() -> NDArray[np.float64]:
    """Return pairs of even users with even items and odd with odd, most with the last items."""
    rng = np.random.default_rng(0)
    same = (np.arange(N_USERS)[:, None] + np.arange(N_ITEMS)) % 2 == 0
    popular = np.linspace(0.05, 0.8, N_ITEMS)
    return (rng.random(same.shape) < popular * np.where(same, 1.0, 0.1)).astype(np.float64)


PAIRS = two_tastes()
PAIRS[7] = 0.0  # a user without a pair
PAIRS[:, 11] = 0.0  # an item without one
LIKES = sparse.csr_array(PAIRS)


def needs(package: str) -> Any:
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=f"{package} is not installed")


MADE: dict[str, tuple[Callable[[], Any], Any]] = {
    "popularity": (Popularity, ()),
    "ease": (lambda: EASE(l2=20.0), ()),
    "ease, single": (lambda: EASE(l2=20.0, precision="single"), ()),
    "itemknn": (lambda: ItemKNN(k=5), ()),
    "als": (lambda: ALS(8, l2=1.0, alpha=5.0), needs("implicit")),
    "bpr": (lambda: BPR(8, learning_rate=0.1), needs("implicit")),
    "warp": (lambda: WARP(8, n_epochs=20), needs("lightfm")),
    "multivae": (
        lambda: MultiVAE(4, 8, batch_size=20, learning_rate=0.02, n_epochs=40),
        needs("cornac"),
    ),
    "neumf": (
        lambda: NeuMF((8, 4), batch_size=256, learning_rate=0.05, n_epochs=10),
        needs("cornac"),
    ),
}
OTHERS = {
    "als": ("implicit", "baselines"),
    "bpr": ("implicit", "baselines"),
    "warp": ("lightfm", "warp"),
    "multivae": ("cornac", "baselines"),
    "neumf": ("cornac", "baselines"),
}
EACH = [pytest.param(make, marks=marks, id=name) for name, (make, marks) in MADE.items()]


@pytest.mark.parametrize("make", EACH)
class TestEveryRecommender:
    """What holds for any of them."""

    def test_scores_are_finite_float32_of_all_items(self, make: Callable[[], Recommender]) -> None:
        model = make().fit(LIKES)
        scores = model.scores()
        assert scores.shape == (model.n_users_, model.n_items_) == (N_USERS, N_ITEMS)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(model.scores([9, 2]), scores[[9, 2]], rtol=1e-5, atol=1e-6)

    def test_recommended_are_the_best_scores_without_seen(
        self, make: Callable[[], Recommender]
    ) -> None:
        model = make().fit(LIKES)
        for seen in (True, False):
            items, best = model.recommend([4, 5, 7], k=6, exclude_seen=seen)
            scores = np.where((PAIRS[[4, 5, 7]] > 0) & seen, -np.inf, model.scores([4, 5, 7]))
            np.testing.assert_allclose(best, -np.sort(-scores, axis=1)[:, :6], rtol=1e-5, atol=1e-6)
            taken = np.take_along_axis(scores, items, axis=1)
            np.testing.assert_allclose(taken, best, rtol=1e-5, atol=1e-6)

    def test_allow_and_deny_are_heard(self, make: Callable[[], Recommender]) -> None:
        model = make().fit(LIKES)
        items, _ = model.recommend(None, k=4, allow=[2, 3, 5, 8, 11], deny=[8])
        shown = set(items.ravel().tolist())
        assert shown <= {-1, 2, 3, 5, 11}
        unseen = PAIRS[:, [2, 3, 5, 11]] == 0
        assert ((items >= 0).sum(axis=1) == unseen.sum(axis=1)).all()
        assert not any(
            PAIRS[user, item] for user, row in enumerate(items) for item in row[row >= 0]
        )

    def test_ranks_count_the_unseen_items_above(self, make: Callable[[], Recommender]) -> None:
        model = make().fit(LIKES)
        held_out = np.zeros_like(PAIRS)
        held_out[0, np.flatnonzero(PAIRS[0] == 0)[:2]] = 1.0
        held_out[7, 3] = 1.0
        found = model.ranks(sparse.csr_array(held_out))
        scores = model.scores()
        user, item = np.nonzero(held_out)
        others = (PAIRS[user] == 0) & (np.arange(N_ITEMS) != item[:, None])
        at_least = (scores[user] >= scores[user, item][:, None]) & others
        above = (scores[user] > scores[user, item][:, None] + 1e-5) & others
        assert (above.sum(1) + 1 <= found).all()
        near = (np.abs(scores[user] - scores[user, item][:, None]) <= 1e-5) & others
        assert (found <= (at_least | near).sum(1) + 1).all()

    def test_fit_again_gives_the_same(self, make: Callable[[], Recommender]) -> None:
        model = make().fit(LIKES)
        first = model.scores()
        assert np.array_equal(model.fit(LIKES).scores(), first)
        assert np.array_equal(make().fit(LIKES.tocsc()).scores(), first)

    def test_order_of_pairs_and_stored_zeros_do_not_matter(
        self, make: Callable[[], Recommender]
    ) -> None:
        user, item = np.nonzero(PAIRS)
        order = np.random.default_rng(1).permutation(user.size)
        values = np.concatenate([np.ones(user.size), [0.0]])
        rows = np.concatenate([user[order], [7]])
        columns = np.concatenate([item[order], [11]])
        shuffled = sparse.coo_array((values, (rows, columns)), shape=PAIRS.shape)
        assert np.array_equal(make().fit(shuffled).scores(), make().fit(LIKES).scores())

    def test_matrix_is_left_alone(self, make: Callable[[], Recommender]) -> None:
        given = sparse.csr_array(PAIRS)
        make().fit(given)
        assert given.dtype == np.float64
        assert np.array_equal(given.toarray(), PAIRS)

    def test_it_finds_better_items_than_chance(self, make: Callable[[], Recommender]) -> None:
        rng = np.random.default_rng(2)
        held_out = (PAIRS > 0) & (rng.random(PAIRS.shape) < 0.3)
        train = sparse.csr_array(PAIRS * ~held_out)
        truth = sparse.csr_array(held_out.astype(np.float64))
        model = make().fit(train)
        found = evaluate(
            rank_blocks(model.as_scores(), truth, exclude=train, depth=5), "precision@5"
        )
        n_unseen = (PAIRS * ~held_out == 0).sum()
        assert found.means["precision@5"] > 1.2 * held_out.sum() / n_unseen


@pytest.mark.parametrize("make", EACH)
@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (PAIRS, "or a sparse matrix, got ndarray"),
        (sparse.csr_array((3, 4)), "at least one positive pair, got none in 3 users x 4 items"),
        (sparse.csr_array([[0, -1.0]]), "got -1 for user 0 and item 1"),
        (sparse.csr_array([[1, 0], [np.nan, 1]]), "got nan for user 1 and item 0"),
    ],
)
def test_pairs_that_are_none_are_refused(
    make: Callable[[], Recommender], pairs: Any, text: str
) -> None:
    with pytest.raises(ArgumentError, match=text):
        make().fit(pairs)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda model: model.scores([60]), r"users must lie in \[0, 60\), got 60"),
        (lambda model: model.recommend([-1]), "users must lie in"),
        (lambda model: model.recommend([0.5]), "users must be a list of integers"),
        (lambda model: model.recommend([0], k=0), "k must be an integer >= 1"),
        (lambda model: model.recommend([0], exclude_seen=1), "exclude_seen must be"),
        (lambda model: model.recommend([0], allow=[40]), r"allow must lie in \[0, 40\), got 40"),
        (lambda model: model.recommend([0], allow=[3], deny=[3]), "leave no item to show"),
        (lambda model: model.ranks(PAIRS), "held_out must be a sparse matrix, as user_items is"),
        (lambda model: model.ranks(LIKES), "held_out"),
        (lambda model: model.ranks(LIKES[:, :5]), "held_out must have the model's users and items"),
        (lambda model: model.recommend([0], k=41), "k must be at most the model's 40 items"),
        (lambda model: model.score_pairs([0, 1], [2]), "user and item must have equal length"),
        (lambda model: model.score_pairs([0.5], [2]), "user must hold ids, integers or text"),
    ],
)
@pytest.mark.parametrize("make", [Popularity, ItemKNN])
def test_what_may_not_be_asked_is_told(
    make: Callable[[], Recommender], ask: Callable[[Recommender], Any], text: str
) -> None:
    with pytest.raises(ArgumentError, match=text):
        ask(make().fit(LIKES))


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (EASE(l2=0.0), "l2 must be"),
        (EASE(precision="half"), "precision must be"),
        (ItemKNN(k=0), "k must be an integer >= 1"),
        pytest.param(ALS(0), "n_factors must be", marks=needs("implicit")),
        pytest.param(ALS(alpha=0.0), "alpha must be", marks=needs("implicit")),
        pytest.param(ALS(l2=-1.0), "l2 must be", marks=needs("implicit")),
        pytest.param(ALS(n_epochs=0), "n_epochs must be", marks=needs("implicit")),
        pytest.param(ALS(random_state=-1), "random_state must be", marks=needs("implicit")),
        pytest.param(BPR(learning_rate=0.0), "learning_rate must be", marks=needs("implicit")),
        pytest.param(BPR(n_threads=0), "n_threads must be", marks=needs("implicit")),
        pytest.param(WARP(schedule="adam"), "schedule must be", marks=needs("lightfm")),
        pytest.param(WARP(max_sampled=0), "max_sampled must be", marks=needs("lightfm")),
        pytest.param(WARP(learning_rate=-1), "learning_rate must be", marks=needs("lightfm")),
        pytest.param(WARP(l2=-1), "l2 must be", marks=needs("lightfm")),
        pytest.param(MultiVAE(hidden=0), "hidden must be", marks=needs("cornac")),
        pytest.param(MultiVAE(beta=-1), "beta must be", marks=needs("cornac")),
        pytest.param(NeuMF(layers=()), "layers must begin with an even", marks=needs("cornac")),
        pytest.param(NeuMF(layers=(8, 0)), "layers must be", marks=needs("cornac")),
        pytest.param(NeuMF(n_negatives=0), "n_negatives must be", marks=needs("cornac")),
    ],
)
def test_parameter_out_of_range_is_named(model: Recommender, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        model.fit(LIKES)


@pytest.mark.parametrize("make", EACH)
def test_model_that_is_not_fitted_says_so(make: Callable[[], Recommender]) -> None:
    for ask in (make().scores, make().recommend):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            ask()


@pytest.mark.parametrize("make", [*EACH, Factorization])
def test_factorization_and_recommender_tell_alike_that_they_are_not_fitted(
    make: Callable[[], Any],
) -> None:
    model = make()
    calls = (model.recommend, model.as_scores, lambda: model.ranks(LIKES), lambda: model.save("m"))
    for call in (*calls, lambda: model.score_pairs([0], [0])):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize("name", OTHERS)
def test_missing_package_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra = OTHERS[name]

    def absent(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr("podium._check.importlib.import_module", absent)
    with pytest.raises(MissingExtraError, match=rf"{package}.*pip install 'podium\[{extra}\]'"):
        MADE[name][0]().fit(LIKES)


def test_other_packages_are_loaded_by_fit_alone() -> None:
    code = (
        "import sys, podium.recommenders as r; r.ALS(), r.WARP(), r.NeuMF(), r.EASE(); "
        "print(sorted({'implicit', 'lightfm', 'cornac', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_popularity_is_the_number_of_users() -> None:
    scores = Popularity().fit(LIKES).scores([0, 7])
    assert scores.tolist() == [(PAIRS > 0).sum(axis=0).tolist()] * 2


@pytest.mark.parametrize("weights", [1.0, 3.0])
@pytest.mark.parametrize(("precision", "near"), [("double", 1e-6), ("single", 1e-4)])
def test_ease_minimises_its_objective(weights: float, precision: str, near: float) -> None:
    """The gradient of the penalised squared error is 0 off the diagonal, and the diagonal is 0."""
    X = PAIRS * (1.0 + (weights - 1.0) * (np.arange(N_ITEMS) % 3 == 0))
    model = EASE(l2=7.0, precision=precision).fit(sparse.csr_array(X))
    B = model.weights_.astype(np.float64)
    gradient = X.T @ (X @ B - X) + 7.0 * B
    assert (np.diag(B) == 0.0).all()
    off = ~np.eye(N_ITEMS, dtype=bool)
    assert np.abs(gradient[off]).max() < near * np.abs(X.T @ X).max()
    np.testing.assert_allclose(model.scores(), X @ B, rtol=1e-4, atol=1e-5)


def test_ease_is_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = EASE(l2=5.0).fit(LIKES).weights_
    for size in (1, 7 * N_ITEMS):
        monkeypatch.setattr("podium.recommenders._similar._BLOCK", size)
        np.testing.assert_allclose(EASE(l2=5.0).fit(LIKES).weights_, whole, atol=1e-7)


def test_ease_without_an_inverse_says_what_to_change() -> None:
    with pytest.raises(ArgumentError, match="l2 is too small for these pairs"):
        EASE(l2=1e-12, precision="single").fit(sparse.csr_array(np.full((9, 3), 1000.0)))


@pytest.mark.parametrize("k", [1, 3, N_ITEMS, 500])
@pytest.mark.parametrize("block", [1, 3 * N_ITEMS, 10**6])
def test_itemknn_is_what_its_definition_says(
    k: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.recommenders._similar._BLOCK", block)
    X = PAIRS * (1 + np.arange(N_ITEMS) % 2)
    lengths = np.sqrt((X**2).sum(axis=0))
    cosine = (X.T @ X) / np.outer(*[np.where(lengths > 0, lengths, 1.0)] * 2)
    wanted = np.zeros_like(cosine)
    for item in range(N_ITEMS):
        others = [other for other in range(N_ITEMS) if other != item and cosine[item, other] > 0]
        for other in sorted(others, key=lambda o: (-round(cosine[item, o], 12), o))[:k]:
            wanted[item, other] = cosine[item, other]
    model = ItemKNN(k=k).fit(sparse.csr_array(X))
    ties = np.diff(np.sort(np.round(cosine, 12), axis=1), axis=1) == 0
    assert ties.any()
    np.testing.assert_allclose(model.weights_.sum(axis=1), wanted.sum(axis=1), rtol=1e-6)
    if k >= N_ITEMS:
        np.testing.assert_allclose(model.weights_.toarray(), wanted, rtol=1e-6)
        np.testing.assert_allclose(model.scores(), X @ wanted, rtol=1e-5)


def test_factors_are_read_as_factors() -> None:
    users, items = Popularity().fit(LIKES).as_scores(np.array([1, 3]), np.array([5, 2]))
    counts = (PAIRS > 0).sum(axis=0)
    assert users @ items.T == pytest.approx(np.array([counts[[5, 2]]] * 2))
    assert issubclass(ALS, FactorRecommender)


def robirank() -> Factorization:
    return Factorization(4, n_epochs=3, random_state=1).fit(LIKES, executor=Threads(1))


@pytest.mark.parametrize("make", [robirank, lambda: EASE().fit(LIKES)])
def test_one_function_serves_robirank_and_recommenders(make: Callable[[], Any]) -> None:
    """The same calls: best items, the rank of a held-out item, and a stream of rankings."""
    model = make()
    items, scores = model.recommend([3, 7], k=5, exclude_seen=True, allow=None, deny=[2])
    assert items.shape == scores.shape == (2, 5)
    assert not (items == 2).any()
    user = 3
    held_out = sparse.csr_array(PAIRS == 0).astype(np.float64)
    held_out = sparse.csr_array(held_out.toarray() * (np.arange(N_USERS) == user)[:, None])
    ranks = model.ranks(held_out, ties="id")
    listed, _ = model.recommend([user], k=held_out.nnz, exclude_seen=True)
    assert sorted(ranks) == list(range(1, held_out.nnz + 1))
    assert held_out.indices[np.argmin(ranks)] == listed[0, 0]
    stream = rank_blocks(model.as_scores(), held_out, exclude=LIKES, depth=3)
    assert evaluate(stream, "precision@3").values["precision@3"][user] == 1.0


class Mine(Recommender):
    """A recommender of a user's own: two methods."""

    def _fit(self, pairs: Any) -> None:
        self.table_ = np.array([[3, 2, 1], [1, 2, 3]], np.float32)

    def _score(self, users: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.table_[users]


def test_a_model_of_ones_own_is_ranked_too() -> None:
    model = Mine().fit(sparse.csr_array([[1, 0, 0], [1, 0, 0]]))
    held_out = sparse.csr_array([[0, 0, 1], [0, 1, 0]])
    assert model.ranks(held_out, exclude_seen=False).tolist() == [3.0, 2.0]
    assert model.ranks(held_out).tolist() == [2.0, 2.0]
    assert model.recommend(k=1)[0].tolist() == [[1], [2]]
    assert model.score_pairs([1, 0], [2, 1]).tolist() == [3.0, 2.0]
    with pytest.raises(
        ArgumentError, match=r"1 of 2 pairs that the model was fitted to.*_seen=Fal"
    ):
        model.ranks(sparse.csr_array([[1, 0, 1], [0, 0, 0]]))
    with pytest.raises(ArgumentError, match="a Mine can't be saved"):
        model.save("never")


def named(pairs: NDArray[np.float64]) -> dict[str, Any]:
    """Return pairs as a table of ids whose order is that of the rows and columns."""
    user, item = np.nonzero(pairs)
    return {
        "user": np.char.add("u", np.char.zfill(user.astype(str), 3)),
        "item": 1000 + 7 * item,
        "value": pairs[user, item],
    }


@pytest.mark.parametrize("make", EACH)
def test_table_gives_what_its_matrix_gives(make: Callable[[], Recommender]) -> None:
    pairs = PAIRS.copy()
    pairs[7, 11] = 1.0  # a table holds no user and no item without a pair
    by_row, by_id = make().fit(sparse.csr_array(pairs)), make().fit(named(pairs))
    assert np.array_equal(by_row.scores(), by_id.scores())
    items, best = by_id.recommend(["u007", "u003"], k=4, deny=[1000])
    rows, scores = by_row.recommend([7, 3], k=4, deny=[0])
    assert np.array_equal(items, np.where(rows < 0, -1, 1000 + 7 * rows))
    assert np.array_equal(best, scores)
    held_out = np.where(pairs == 0, np.arange(N_ITEMS) % 5 == 0, False).astype(np.float64)
    assert np.array_equal(by_id.ranks(named(held_out)), by_row.ranks(sparse.csr_array(held_out)))


@pytest.mark.parametrize("make", EACH)
def test_score_of_a_pair_is_its_score_among_all(make: Callable[[], Recommender]) -> None:
    model, rng = make().fit(LIKES), np.random.default_rng(8)
    user, item = rng.integers(0, N_USERS, 200), rng.integers(0, N_ITEMS, 200)
    found = model.score_pairs(user, item)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, model.scores()[user, item], rtol=1e-5, atol=1e-6)
    assert np.isnan(model.score_pairs([0, N_USERS, -1], [N_ITEMS, 0, 0])).all()


def test_ids_of_a_pair_may_be_numbers_where_the_model_has_text() -> None:
    model = Popularity().fit({"user": ["9", "10", "10"], "item": [3, 3, 4]})
    found = model.score_pairs([10, 9, 8], ["3", "4", "3"])
    np.testing.assert_array_equal(found, [2.0, 1.0, np.nan])


@pytest.mark.parametrize("make", EACH)
@pytest.mark.parametrize("pairs", [LIKES, named(PAIRS)], ids=["matrix", "table"])
def test_saved_model_is_the_same(
    make: Callable[[], Recommender], pairs: Any, tmp_path: Path
) -> None:
    model = make().fit(pairs)
    if isinstance(model, MultiVAE | NeuMF):
        with pytest.raises(ArgumentError, match="can't be saved: it declares no arrays"):
            model.save(tmp_path / "m")
        return
    model.save(tmp_path / "m")
    again = type(model).load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.scores(), model.scores())
    assert np.array_equal(again.recommend(k=3)[0], model.recommend(k=3)[0])


def test_file_of_another_model_is_refused(tmp_path: Path) -> None:
    Popularity().fit(LIKES).save(tmp_path / "m")
    with pytest.raises(DataError, match="class must be one of 'EASE', got 'Popularity'"):
        EASE.load(tmp_path / "m")


def test_parameters_are_those_that_the_class_documents() -> None:
    for make in (EASE, ItemKNN, ALS, BPR, WARP, MultiVAE, NeuMF):
        text = make.__doc__ or ""
        for field in fields(make):
            assert f"{field.name} : " in text or f"{field.name}, " in text, field.name
