"""Laws of every registered recommender, on one data set and on random matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from podium import recommenders
from podium.catalogue import rank_blocks
from podium.errors import ArgumentError, MissingExtraError
from podium.evaluation import evaluate
from podium.recommenders import EASE, REGISTRY, ItemKNN, Recommender

QUICK: dict[str, dict[str, Any]] = {
    "factorization": {"n_factors": 4, "n_epochs": 50},
    "ease": {"l2": 20.0},
    "item-knn": {"k": 30},  # all neighbours: ties at the last one depend on numbers
    "als": {"n_factors": 8, "l2": 1.0, "alpha": 5.0},
    "bpr": {"n_factors": 8, "learning_rate": 0.1},
    "warp": {"n_factors": 8, "n_epochs": 20},
    "multi-vae": {
        "n_factors": 4, "hidden": 8, "batch_size": 20, "learning_rate": 0.02, "n_epochs": 40
    },
    "neumf": {"layers": (8, 4), "batch_size": 256, "learning_rate": 0.05, "n_epochs": 10},
}  # fmt: skip
"""Parameters for few pairs; recommenders that are not listed have their defaults."""

WITHOUT_FILES = ("multi-vae", "neumf")
"""Recommenders whose fitted state is in objects of another library."""

EACH = [
    pytest.param(name, marks=pytest.mark.long if name in WITHOUT_FILES else ()) for name in REGISTRY
]
"""All recommenders; fits of the other library's neural models take seconds."""

SETTLED = [name for name in REGISTRY if "random_state" not in REGISTRY[name]().get_params()]
"""Recommenders without random numbers, whose scores depend only on the pairs."""

N_USERS, N_ITEMS = 60, 40


def two_tastes() -> NDArray[np.float64]:
    """Return pairs mostly of even users and items or odd ones; the last items are popular."""
    rng = np.random.default_rng(0)
    same = (np.arange(N_USERS)[:, None] + np.arange(N_ITEMS)) % 2 == 0
    popular = np.linspace(0.05, 0.8, N_ITEMS)
    return (rng.random(same.shape) < popular * np.where(same, 1.0, 0.1)).astype(np.float64)


PAIRS = two_tastes()
PAIRS[7] = 0.0  # a user without a pair
PAIRS[:, 11] = 0.0  # an item without a pair
LIKES = sparse.csr_array(PAIRS)


def make(name: str) -> Recommender:
    try:
        return recommenders.get(name, **QUICK.get(name, {}))
    except ArgumentError as wrong:
        pytest.fail(f"{wrong} Enter parameters of {name} in QUICK of {Path(__file__).name}.")


def fit(name: str, pairs: Any) -> Recommender:
    try:
        return make(name).fit(pairs)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@functools.cache
def fitted(name: str) -> Recommender:
    """Return a cached model of `LIKES`, for tests that do not change it."""
    return fit(name, LIKES)


def scores(name: str, table: NDArray[Any]) -> NDArray[np.float32]:
    return fit(name, sparse.csr_array(table)).scores()


def named(pairs: NDArray[np.float64]) -> dict[str, Any]:
    """Return pairs as a table whose ids have the order of the rows and columns."""
    user, item = np.nonzero(pairs)
    return {
        "user": np.char.add("u", np.char.zfill(user.astype(str), 3)),
        "item": 1000 + 7 * item,
        "value": pairs[user, item],
    }


# --- Fits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
class TestFit:
    """Laws of fits."""

    def test_fit_again_gives_the_same(self, name: str) -> None:
        first = fitted(name).scores()
        model = fit(name, LIKES)
        assert np.array_equal(model.fit(LIKES).scores(), first)
        assert np.array_equal(fit(name, LIKES.tocsc()).scores(), first)

    def test_order_of_pairs_and_stored_zeros_do_not_matter(self, name: str) -> None:
        user, item = np.nonzero(PAIRS)
        order = np.random.default_rng(1).permutation(user.size)
        values = np.concatenate([np.ones(user.size), [0.0]])
        rows = np.concatenate([user[order], [7]])
        columns = np.concatenate([item[order], [11]])
        shuffled = sparse.coo_array((values, (rows, columns)), shape=PAIRS.shape)
        assert np.array_equal(fit(name, shuffled).scores(), fitted(name).scores())

    def test_weights_have_an_effect_as_declared(self, name: str) -> None:
        weights = np.random.default_rng(5).integers(1, 6, PAIRS.shape)
        is_same = np.array_equal(scores(name, PAIRS * weights), fitted(name).scores())
        assert is_same != fitted(name).reads_weights

    def test_matrix_is_left_alone(self, name: str) -> None:
        matrix = sparse.csr_array(PAIRS)
        fit(name, matrix)
        assert matrix.dtype == np.float64
        assert np.array_equal(matrix.toarray(), PAIRS)

    def test_it_finds_better_items_than_chance(self, name: str) -> None:
        rng = np.random.default_rng(2)
        held_out = (PAIRS > 0) & (rng.random(PAIRS.shape) < 0.3)
        train = sparse.csr_array(PAIRS * ~held_out)
        truth = sparse.csr_array(held_out.astype(np.float64))
        model = fit(name, train)
        evaluation = evaluate(
            rank_blocks(model.as_scores(), truth, exclude=train, depth=5), "precision@5"
        )
        n_unseen = (PAIRS * ~held_out == 0).sum()
        assert evaluation.means["precision@5"] > 1.2 * held_out.sum() / n_unseen

    def test_table_gives_what_its_matrix_gives(self, name: str) -> None:
        pairs = PAIRS.copy()
        pairs[7, 11] = 1.0  # a table contains no user and no item without a pair
        by_row, by_id = fit(name, sparse.csr_array(pairs)), fit(name, named(pairs))
        assert np.array_equal(by_row.scores(), by_id.scores())
        items, best = by_id.recommend(["u007", "u003"], k=4, deny=[1000])
        rows, scores = by_row.recommend([7, 3], k=4, deny=[0])
        assert np.array_equal(items, np.where(rows < 0, -1, 1000 + 7 * rows))
        assert np.array_equal(best, scores)
        held_out = np.where(pairs == 0, np.arange(N_ITEMS) % 5 == 0, False).astype(np.float64)
        ranks = by_row.ranks(sparse.csr_array(held_out))
        assert np.array_equal(by_id.ranks(named(held_out)), ranks)

    @pytest.mark.parametrize(
        ("pairs", "text"),
        [
            (PAIRS, "or a sparse matrix, got ndarray"),
            (sparse.csr_array((3, 4)), "at least one positive pair, got none in 3 users x 4 items"),
            (sparse.csr_array([[0, -1.0]]), "got -1 for user 0 and item 1"),
            (sparse.csr_array([[1, 0], [np.nan, 1]]), "got nan for user 1 and item 0"),
        ],
    )
    def test_invalid_pairs_raise(self, name: str, pairs: Any, text: str) -> None:
        with pytest.raises(ArgumentError, match=text):
            make(name).fit(pairs)


# --- Results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
class TestAnswers:
    """Scores, lists, ranks and files of a model agree."""

    def test_scores_are_finite_float32_of_all_items(self, name: str) -> None:
        model = fitted(name)
        scores = model.scores()
        assert scores.shape == (model.n_users_, model.n_items_) == (N_USERS, N_ITEMS)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(model.scores([9, 2]), scores[[9, 2]], rtol=1e-5, atol=1e-6)

    def test_recommended_are_the_best_scores_without_seen(self, name: str) -> None:
        model = fitted(name)
        for exclude_seen in (True, False, None):
            items, best = model.recommend([4, 5, 7], k=6, exclude_seen=exclude_seen)
            seen = not model.repeats if exclude_seen is None else exclude_seen
            scores = np.where((PAIRS[[4, 5, 7]] > 0) & seen, -np.inf, model.scores([4, 5, 7]))
            np.testing.assert_allclose(best, -np.sort(-scores, axis=1)[:, :6], rtol=1e-5, atol=1e-6)
            item_scores = np.take_along_axis(scores, items, axis=1)
            np.testing.assert_allclose(item_scores, best, rtol=1e-5, atol=1e-6)

    def test_allow_and_deny_are_heard(self, name: str) -> None:
        allow = [2, 3, 5, 8, 11]
        items, _ = fitted(name).recommend(None, 4, exclude_seen=True, allow=allow, deny=[8])
        shown = set(items.ravel().tolist())
        assert shown <= {-1, 2, 3, 5, 11}
        unseen = PAIRS[:, [2, 3, 5, 11]] == 0
        assert ((items >= 0).sum(axis=1) == unseen.sum(axis=1)).all()
        assert not any(
            PAIRS[user, item] for user, row in enumerate(items) for item in row[row >= 0]
        )

    def test_score_of_a_pair_is_its_score_among_all(self, name: str) -> None:
        model, rng = fitted(name), np.random.default_rng(8)
        user, item = rng.integers(0, N_USERS, 200), rng.integers(0, N_ITEMS, 200)
        pair_scores = model.score_pairs(user, item)
        assert pair_scores.dtype == np.float64
        np.testing.assert_allclose(pair_scores, model.scores()[user, item], rtol=1e-5, atol=1e-6)
        assert np.isnan(model.score_pairs([0, N_USERS, -1], [N_ITEMS, 0, 0])).all()

    def test_ranks_count_the_unseen_items_above(self, name: str) -> None:
        model = fitted(name)
        held_out = np.zeros_like(PAIRS)
        held_out[0, np.flatnonzero(PAIRS[0] == 0)[:2]] = 1.0
        held_out[7, 3] = 1.0
        ranks = model.ranks(sparse.csr_array(held_out), exclude_seen=True)
        scores = model.scores()
        user, item = np.nonzero(held_out)
        others = (PAIRS[user] == 0) & (np.arange(N_ITEMS) != item[:, None])
        at_least = (scores[user] >= scores[user, item][:, None]) & others
        above = (scores[user] > scores[user, item][:, None] + 1e-5) & others
        assert (above.sum(1) + 1 <= ranks).all()
        near = (np.abs(scores[user] - scores[user, item][:, None]) <= 1e-5) & others
        assert (ranks <= (at_least | near).sum(1) + 1).all()

    def test_ranks_lists_and_streams_of_rankings_agree(self, name: str) -> None:
        model, user = fitted(name), 3
        held_out = sparse.csr_array((PAIRS == 0) * (np.arange(N_USERS) == user)[:, None] * 1.0)
        ranks = model.ranks(held_out, exclude_seen=True, ties="id")
        items, _ = model.recommend([user], k=held_out.nnz, exclude_seen=True)
        assert sorted(ranks) == list(range(1, held_out.nnz + 1))
        assert held_out.indices[np.argmin(ranks)] == items[0, 0]
        stream = rank_blocks(model.as_scores(), held_out, exclude=LIKES, depth=3)
        assert evaluate(stream, "precision@3").values["precision@3"][user] == 1.0

    @pytest.mark.parametrize("pairs", [LIKES, named(PAIRS)], ids=["matrix", "table"])
    def test_saved_model_is_the_same(self, name: str, pairs: Any, tmp_path: Path) -> None:
        model = fit(name, pairs)
        if name in WITHOUT_FILES:
            with pytest.raises(ArgumentError, match="can't be saved, because it declares no"):
                model.save(tmp_path / "m")
            return
        try:
            model.save(tmp_path / "m")
        except ArgumentError as wrong:
            pytest.fail(f"{wrong} Declare _learned, or enter it in WITHOUT_FILES.")
        for loaded in (recommenders.load(tmp_path / "m"), type(model).load(tmp_path / "m")):
            assert type(loaded) is type(model)
            assert loaded.get_params() == model.get_params()
            assert np.array_equal(loaded.scores(), model.scores())
            assert np.array_equal(loaded.recommend(k=3)[0], model.recommend(k=3)[0])

    @pytest.mark.parametrize(
        ("ask", "text"),
        [
            (lambda model: model.scores([60]), r"users must lie in \[0, 60\), got 60"),
            (lambda model: model.recommend([-1]), "users must lie in"),
            (
                lambda model: model.recommend([0.5]),
                "users: id must hold integers or strings, got 0.5",
            ),
            (lambda model: model.recommend([0], k=0), "k must be an integer >= 1"),
            (lambda model: model.recommend([0], exclude_seen=1), "exclude_seen must be"),
            (lambda model: model.recommend([0], allow=[40]), r"allow must lie in \[0, 40\), got"),
            (lambda model: model.recommend([0], allow=[3], deny=[3]), "leave no item to recommend"),
            (lambda model: model.ranks(PAIRS), "held_out must be a sparse matrix, like user_items"),
            (lambda model: model.ranks(LIKES, exclude_seen=True), "held_out"),
            (lambda model: model.ranks(LIKES[:, :5]), "held_out must have the shape of the model"),
            (lambda model: model.recommend([0], k=41), "k must be at most 40, the number of items"),
            (lambda model: model.score_pairs([0, 1], [2]), "user and item must have equal length"),
            (lambda model: model.score_pairs([0.5], [2]), "user: id must hold integers or strings"),
        ],
    )
    def test_invalid_requests_raise(
        self, name: str, ask: Callable[[Recommender], Any], text: str
    ) -> None:
        with pytest.raises(ArgumentError, match=text):
            ask(fitted(name))

    def test_unfitted_model_raises(self, name: str, tmp_path: Path) -> None:
        model = make(name)
        calls = (model.scores, model.recommend, model.as_scores, lambda: model.ranks(LIKES))
        others = (lambda: model.score_pairs([0], [0]), lambda: model.save(tmp_path / "m"))
        for call in (*calls, *others):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                call()


# --- Random matrices ----------------------------------------------------------------------------


@st.composite
def pairs(draw: st.DrawFn) -> NDArray[np.float64]:
    """Draw weights, (n_users, n_items): many are 0, and at least one is positive."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = rng.integers(1, 4, shape) * (rng.random(shape) < draw(st.floats(0.1, 0.9)))
    table[rng.integers(shape[0]), rng.integers(shape[1])] = 2
    return table.astype(np.float64)


@pytest.mark.parametrize("name", SETTLED)
@given(table=pairs(), seed=st.integers(0, 2**32))
def test_numbers_of_users_and_items_do_not_matter(
    name: str, table: NDArray[np.float64], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    users, items = (rng.permutation(n) for n in table.shape)
    left = scores(name, table[users][:, items])
    right = scores(name, table)[users][:, items]
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["popularity", "ease", "item-knn"])
@given(table=pairs())
def test_users_without_pairs_change_nothing_for_others(
    name: str, table: NDArray[np.float64]
) -> None:
    extended = np.vstack([table, np.zeros((2, table.shape[1]))])
    assert np.array_equal(scores(name, extended)[:-2], scores(name, table))


@pytest.mark.parametrize("name", ["popularity", "ease", "item-knn"])
@given(table=pairs())
def test_item_without_pairs_scores_0_and_changes_nothing(
    name: str, table: NDArray[np.float64]
) -> None:
    extended = np.hstack([table, np.zeros((table.shape[0], 1))])
    extended_scores = scores(name, extended)
    np.testing.assert_array_equal(extended_scores[:, -1], 0.0)
    np.testing.assert_allclose(extended_scores[:, :-1], scores(name, table), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SETTLED)
@given(table=pairs())
def test_ranks_are_places_in_the_list(name: str, table: NDArray[np.float64]) -> None:
    """The ranks of all unseen items, with ties by item number, contain every rank once."""
    model = fit(name, sparse.csr_array(table))
    unseen = sparse.csr_array((table == 0).astype(np.float64))
    ranks = model.ranks(unseen, exclude_seen=True, ties="id")
    for user in range(table.shape[0]):
        part = ranks[unseen.indptr[user] : unseen.indptr[user + 1]]
        assert sorted(part) == list(range(1, part.size + 1))


@given(table=pairs(), scale=st.sampled_from([0.25, 4.0]))
def test_cosines_ignore_the_scale_of_weights(table: NDArray[np.float64], scale: float) -> None:
    left, right = (ItemKNN(k=4).fit(sparse.csr_array(t)).weights_ for t in (table, scale * table))
    assert np.array_equal(left.toarray(), right.toarray())


@pytest.mark.parametrize("model", [ItemKNN(k=4), EASE(l2=3.0)])
@given(table=pairs(), power=st.floats(0.1, 1.0))
def test_users_of_unit_norm_count_alike(
    model: Recommender, table: NDArray[np.float64], power: float
) -> None:
    """With user_power=1, the rows have equal norms; other powers don't change equal norms."""
    norms = np.sqrt((table**2).sum(axis=1))
    used = table[norms > 0] / norms[norms > 0, None] * np.sqrt((norms**2).sum() / (norms > 0).sum())
    equal, as_given = (sparse.csr_array(t) for t in (used, table[norms > 0]))
    expected = clone(model).fit(equal).weights_
    by_power = (clone(model).set_params(user_power=1.0), as_given), (
        clone(model).set_params(user_power=power), equal
    )  # fmt: skip
    for balanced, source in by_power:
        found = balanced.fit(source).weights_
        np.testing.assert_allclose(np.asarray(found.sum(0)), np.asarray(expected.sum(0)), rtol=1e-3)
