"""The best products of factors: the same bits however they are taken, and ties by item."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from podium.catalogue import _best_kernels, top_k

Floats = NDArray[np.float32]


def drawn(n_users: int, n_items: int, width: int = 33, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    users = rng.standard_normal((n_users, width), dtype=np.float32)
    return users, rng.standard_normal((n_items, width), dtype=np.float32)


def seen_by(n_users: int, n_items: int, share: float) -> csr_array[Any]:
    rng = np.random.default_rng(7)
    return csr_array((rng.random((n_users, n_items)) < share).astype(np.int8))


def same(a: tuple[NDArray[Any], ...], b: tuple[NDArray[Any], ...]) -> bool:
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("n_items", [90, 20_000])
def test_user_is_shown_the_same_alone_and_among_others(n_items: int) -> None:
    users, items = drawn(40, n_items)
    seen = seen_by(40, n_items, 0.1)
    ranked, best = top_k((users, items), 10, exclude=seen)
    for part in (slice(0, 1), slice(5, 7), slice(3, 36)):
        alone = top_k((users[part], items), 10, exclude=seen[part])
        assert same(alone, (ranked[part], best[part]))


def test_threads_of_the_matrix_product_change_nothing() -> None:
    users, items = drawn(300, 2_000)
    with threadpool_limits(1):
        expected = top_k((users, items), 10)
    for threads in (2, 4):
        with threadpool_limits(threads):
            assert same(top_k((users, items), 10), expected)


@pytest.mark.parametrize("k", [1, 3, 10, 60, 61])
def test_equal_items_stand_by_number_wherever_they_lie(k: int) -> None:
    users, items = drawn(9, 6)
    copies = np.tile(items, (10, 1))  # item i equals item i - 6: more equal ones than are proposed
    ranked, best = top_k((users, copies), k)
    order = top_k((users, items), 6)[0]
    for u in range(9):
        expected = [int(i) + 6 * n for i in order[u] for n in range(10)][:k]
        assert ranked[u, :60].tolist() == expected
        assert (ranked[u, 60:] == -1).all()
        assert (best[u, 60:] == -np.inf).all()


def test_items_whose_scores_differ_by_rounding_are_all_scored() -> None:
    users, items = drawn(1, 1)
    rng = np.random.default_rng(3)
    close = (items + 1e-7 * rng.standard_normal((3_000, 33))).astype(np.float32)
    every = top_k((users, close), 3_000)
    assert np.unique(every[1]).size > 1
    for k in (1, 10, 100):
        assert same(top_k((users, close), k), tuple(x[:, :k].copy() for x in every))


def test_proposals_of_few_users_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    users, items = drawn(9, 6)
    copies, seen = np.tile(items, (10, 1)), seen_by(9, 60, 0.3)
    whole = top_k((users, copies), 3, exclude=seen)
    monkeypatch.setattr("podium.catalogue.counting._MOST", 12)
    assert same(top_k((users, copies), 3, exclude=seen), whole)


def test_user_of_zeros_is_shown_items_by_number_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []
    best_items = _best_kernels.best_items

    def count(*args: Any) -> Any:
        widths.append(args[3])
        return best_items(*args)

    monkeypatch.setattr(_best_kernels, "best_items", count)
    _, items = drawn(1, 5_000)
    ranked, best = top_k((np.zeros((4, 33), np.float32), items), 3)
    assert ranked.tolist() == [[0, 1, 2]] * 4
    assert np.unique(best).tolist() == [0.0]
    assert widths == [5]
