"""Laws of podium's own recommenders, on drawn matrices of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from podium.recommenders import EASE, ItemKNN, Popularity, Recommender

MADE: dict[str, Callable[[], Recommender]] = {
    "popularity": Popularity,
    "ease": lambda: EASE(l2=2.0),
    "itemknn": lambda: ItemKNN(k=30),  # of all: ties at the last neighbour go by number
}


@st.composite
def pairs(draw: st.DrawFn) -> NDArray[np.float64]:
    """Return weights of users x items, many of them 0 and at least one above."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = rng.integers(1, 4, shape) * (rng.random(shape) < draw(st.floats(0.1, 0.9)))
    table[rng.integers(shape[0]), rng.integers(shape[1])] = 2
    return table.astype(np.float64)


def scores(make: Callable[[], Recommender], table: NDArray[Any]) -> NDArray[np.float32]:
    return make().fit(sparse.csr_array(table)).scores()


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=40, deadline=None)
@given(table=pairs(), seed=st.integers(0, 2**32))
def test_numbers_of_users_and_items_do_not_matter(
    name: str, table: NDArray[np.float64], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    users, items = (rng.permutation(n) for n in table.shape)
    left = scores(MADE[name], table[users][:, items])
    right = scores(MADE[name], table)[users][:, items]
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=40, deadline=None)
@given(table=pairs())
def test_users_without_pairs_change_nothing_for_others(
    name: str, table: NDArray[np.float64]
) -> None:
    more = np.vstack([table, np.zeros((2, table.shape[1]))])
    assert np.array_equal(scores(MADE[name], more)[:-2], scores(MADE[name], table))


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=40, deadline=None)
@given(table=pairs())
def test_item_without_pairs_scores_0_and_changes_nothing(
    name: str, table: NDArray[np.float64]
) -> None:
    more = np.hstack([table, np.zeros((table.shape[0], 1))])
    found = scores(MADE[name], more)
    np.testing.assert_array_equal(found[:, -1], 0.0)
    np.testing.assert_allclose(found[:, :-1], scores(MADE[name], table), rtol=1e-4, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(table=pairs(), scale=st.sampled_from([0.25, 4.0]))
def test_cosines_ignore_the_scale_of_weights(table: NDArray[np.float64], scale: float) -> None:
    left, right = (ItemKNN(k=4).fit(sparse.csr_array(t)).weights_ for t in (table, scale * table))
    assert np.array_equal(left.toarray(), right.toarray())


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=40, deadline=None)
@given(table=pairs())
def test_ranks_are_places_in_the_list(name: str, table: NDArray[np.float64]) -> None:
    """Ranks by item number among equal scores, of all unseen items: each place once."""
    model = MADE[name]().fit(sparse.csr_array(table))
    unseen = sparse.csr_array((table == 0).astype(np.float64))
    found = model.ranks(unseen, ties="id")
    for user in range(table.shape[0]):
        part = found[unseen.indptr[user] : unseen.indptr[user + 1]]
        assert sorted(part) == list(range(1, part.size + 1))
