"""MovieLens as the paper prepared it: which ratings become rows, and what their features are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from podium.data import Interactions
from podium_studies.archive import movielens as read_movielens
from podium_studies.hiranandani2020 import movielens
from podium_studies.hiranandani2020.movielens import factorise, prepare
from podium_studies.rows import drawn


def made_up(n_ratings: int = 60, n_users: int = 4, seed: int = 0) -> Interactions:
    """Return users with as many ratings each, of one pool of items, in shuffled rows."""
    rng = np.random.default_rng(seed)
    pool = 2 * n_ratings
    item = np.concatenate([rng.permutation(pool)[:n_ratings] for _ in range(n_users)]) + 100
    user = np.repeat(np.arange(n_users) + 7, n_ratings)
    time = np.tile(np.arange(n_ratings), n_users) + 1000
    rows = rng.permutation(user.size)
    rating = rng.integers(1, 6, user.size).astype(np.float64)
    return Interactions(user[rows], item[rows], rating[rows], time[rows])


def test_rows_are_later_ratings_of_items_among_anyones_first() -> None:
    ratings = made_up()
    columns = (ratings.user, ratings.item, ratings.timestamp)
    user, item, time = (np.asarray(column) for column in columns)
    first = {(u, i) for u, i, t in zip(user, item, time, strict=True) if t < 1020}
    items = {i for _, i in first}
    later = {(u, i) for u, i, t in zip(user, item, time, strict=True) if t >= 1020}
    sizes = {u: sum(1 for v, i in later if v == u and i in items) for u in set(user.tolist())}
    expected = {(u, i) for u, i in later if i in items and sizes[u] >= 20}
    assert 0 < len({u for u, _ in expected}) < len(sizes)  # some user has too few

    rows: Any = prepare(ratings, rank=3, max_iter=5)
    pairs = [*zip(rows.qid, rows.item, strict=True)]
    assert set(pairs) == expected
    value: Any = ratings.value
    rating_of = {(u, i): r for u, i, r in zip(user, item, value, strict=True)}
    assert [rating_of[pair] for pair in pairs] == rows.y.tolist()


def test_factors_recover_a_product_from_some_of_its_cells() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.uniform(0.5, 2, (30, 1)), rng.uniform(0.5, 2, (20, 1))
    matrix = left @ right.T
    row, column = np.nonzero(rng.random(matrix.shape) < 0.5)
    actual = factorise(row, column, matrix[row, column], rank=1, max_iter=1000)
    assert np.allclose(actual[0] @ actual[1].T, matrix, rtol=1e-3)


def test_the_papers_counts(podium_data: Callable[[str], Path]) -> None:
    podium_data("ml-100k/u.data.gz")
    ratings = read_movielens(podium_data("ml-100k"), "100k")
    actual = prepare(ratings, max_iter=2)
    assert actual.X.shape == (69_903, 3 * movielens.RANK)
    assert np.unique(actual.qid).size == 638
    assert np.count_nonzero(actual.y == 5) == 15_486
    # The reference code's stream: the factors' start, a shuffle of all rows, then the split.
    stream = np.random.RandomState(movielens.SEED)
    stream.rand(943, movielens.RANK)
    stream.shuffle(np.arange(actual.qid.size))
    parts = drawn(actual, stream)
    assert [part.y.size for part in parts] == [41_662, 14_182, 14_059]
