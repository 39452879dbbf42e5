"""Ranks and lists by counting and on devices of torch: the same as from the exact scores."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.raised import raises
from tests.ranked import rank_all

from podium.catalogue import ScoreFunction, devices, target_ranks, top_k
from podium.catalogue import source as sources
from podium.errors import ArgumentError

Floats = NDArray[Any]
Factors = tuple[Floats, Floats]
TIES = ("worst", "best", "average", "id", "random")


def close_factors(dtype: Any, n_users: int = 20, n_items: int = 700, width: int = 17) -> Factors:
    """Draw factors with groups of items that are equal, or differ by a few roundings."""
    rng = np.random.default_rng(5)
    users = rng.standard_normal((n_users, width)).astype(dtype)
    items = rng.standard_normal((n_items // 7, width)).astype(dtype).repeat(7, axis=0)
    items[::3] += (3 * np.finfo(dtype).eps * rng.standard_normal((len(items[::3]), width))).astype(
        dtype
    )
    return users, items


def drawn_pairs(n_users: int, n_items: int, share: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 4, (n_users, n_items)) * (rng.random((n_users, n_items)) < share)
    return csr_array(values.astype(float))


def exact_scores(users: Floats, items: Floats) -> Floats:
    rows, columns = np.indices((len(users), len(items)))
    scores = sources.read_factors(users, items).scores(rows.ravel(), columns.ravel())[0]
    return scores.reshape(rows.shape)


def tensors(factors: Factors) -> Any:
    return tuple(map(torch.tensor, factors))


def function(values: Any) -> ScoreFunction:
    return ScoreFunction(lambda users: values[users[0] : users[-1] + 1], *values.shape)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A device with memory for 2,000 scores at a time; the list has the sizes that were tried."""
    tried: list[int] = []
    multiply = devices.product

    def product(users: Any, items: Any) -> Any:
        full = tried and tried[-1] == 0
        tried.append(0 if full else len(users) * len(items))
        if full or tried[-1] > 2_000:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return multiply(users, items)

    monkeypatch.setattr(devices, "product", product)
    return tried


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_are_those_of_the_exact_scores_on_each_device(
    dtype: Any, ties: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors = close_factors(dtype)
    targets = drawn_pairs(20, 700, 0.03, 1)
    seen = drawn_pairs(20, 700, 0.05, 2)
    options: Any = {"exclude": seen, "overlap": "drop", "ties": ties, "seed": 3}
    scores = exact_scores(*factors)
    expected = target_ranks(scores, targets, **options)
    assert np.unique(scores[0]).size < 600  # there are ties
    for source in (factors, tensors(factors), torch.tensor(scores)):
        np.testing.assert_array_equal(target_ranks(source, targets, **options), expected)
    for block_size in (1, 7):
        monkeypatch.setattr(sources.Factors, "block_size", block_size)
        monkeypatch.setattr(devices.ProductScores, "block_size", block_size)
        np.testing.assert_array_equal(target_ranks(factors, targets, **options), expected)
        np.testing.assert_array_equal(target_ranks(tensors(factors), targets, **options), expected)


@pytest.mark.parametrize("k", [1, 10, 699, 750])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_are_those_of_the_exact_scores_on_each_device(dtype: Any, k: int) -> None:
    factors, seen = close_factors(dtype), drawn_pairs(20, 700, 0.05, 2)
    scores = exact_scores(*factors)
    items, best = top_k(scores, k, exclude=seen)
    on_device = torch.tensor(scores)
    results: list[tuple[Floats, Floats]] = [
        top_k(factors, k, exclude=seen),
        top_k(tensors(factors), k, exclude=seen),
        top_k(on_device, k, exclude=seen),
        top_k(function(on_device), k, exclude=seen, device="auto"),
    ]
    for got in results:
        np.testing.assert_array_equal(got[0], items)
        np.testing.assert_array_equal(got[1], best)


@pytest.mark.parametrize("depth", [1, 60, None])
@pytest.mark.parametrize("ties", TIES)
def test_lists_by_counting_are_those_of_the_exact_scores(ties: Any, depth: int | None) -> None:
    factors, seen = close_factors(np.float32), drawn_pairs(20, 700, 0.05, 2)
    truth = drawn_pairs(20, 700, 0.03, 1)
    options: Any = {"exclude": seen, "overlap": "drop", "ties": ties, "depth": depth}
    scores = exact_scores(*factors)
    expected = rank_all(scores, truth, **options)
    sources = factors, tensors(factors), torch.tensor(scores), function(torch.tensor(scores))
    for source in sources:
        counted = rank_all(source, truth, **options)
        for name in ("relevance", "ideal", "ideal_offsets", "n_items", "tied"):
            np.testing.assert_array_equal(getattr(counted, name), getattr(expected, name))
        np.testing.assert_array_equal(counted.groups.offsets, expected.groups.offsets)


def test_shorter_products_that_a_program_allows_are_not_used() -> None:
    factors = close_factors(np.float32)
    expected = top_k(factors, 5)
    torch.set_float32_matmul_precision("medium")
    try:
        got = top_k(tensors(factors), 5)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    np.testing.assert_array_equal(got[0], expected[0])


def test_full_memory_makes_tiles_smaller_and_changes_nothing(memory: list[int]) -> None:
    factors, targets = close_factors(np.float32), drawn_pairs(20, 700, 0.03, 1)
    np.testing.assert_array_equal(
        target_ranks(tensors(factors), targets), target_ranks(factors, targets)
    )
    assert memory[0] > 2_000 >= memory[-1]
    for got, expected in zip(top_k(tensors(factors), 5), top_k(factors, 5), strict=True):
        np.testing.assert_array_equal(got, expected)
    memory.append(0)  # no tile at all
    with raises(ArgumentError, "device"):
        top_k(tensors(factors), 5)


def test_other_libraries_arrays_are_read_by_their_protocol() -> None:
    class Shared:
        """An array of another library."""

        def __init__(self, values: Floats) -> None:
            self._values = values

        def __dlpack__(self, **options: Any) -> Any:
            return self._values.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self._values.__dlpack_device__()

    factors = close_factors(np.float32)
    users, items = (cast("Any", Shared(factor)) for factor in factors)
    got = top_k((users, items), 5)
    np.testing.assert_array_equal(got[0], top_k(factors, 5)[0])


def test_half_precision_and_gradients_are_read() -> None:
    scores = torch.tensor([[1.0, 3.0, 2.0]], dtype=torch.float16, requires_grad=True)
    assert top_k(scores, 2)[0].tolist() == [[1, 2]]
    assert target_ranks(scores, csr_array([[1.0, 0, 0]])).tolist() == [3.0]


def test_score_that_is_not_finite_is_named_unless_it_is_excluded() -> None:
    scores = torch.zeros(3, 4)
    scores[1, 2] = torch.nan
    targets = csr_array(([1.0], ([1], [0])), shape=(3, 4))
    seen = csr_array(([1.0], ([1], [2])), shape=(3, 4))
    for call in (lambda: target_ranks(scores, targets), lambda: top_k(scores, 2)):
        with pytest.raises(ArgumentError, match="user 1 and item 2"):
            call()
    assert top_k(scores, 4, exclude=seen)[0][1].tolist() == [0, 1, 3, -1]
    assert bool(scores[1, 2].isnan())  # the caller's tensor is only read


LARGE = torch.full((1, 1), 1e30)


@pytest.mark.parametrize(
    ("scores", "device", "text"),
    [
        (np.zeros((2, 3)), "tpu7", "device"),
        (np.zeros((2, 3)), "cuda:99", "device"),
        (torch.zeros(2, 3, dtype=torch.int64), None, "floating-point"),
        (torch.zeros(3), None, "two dimensions"),
        ((LARGE, LARGE), None, "too large"),
        (ScoreFunction(lambda users: torch.zeros(users.size, 2), 4, 3), "cpu", "4 x 3"),
    ],
)
def test_bad_devices_and_tensors_are_refused(scores: Any, device: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        top_k(scores, 1, device=device)


@pytest.mark.parametrize("n", [0, 1])
def test_no_users_or_items_are_no_error(n: int) -> None:
    empty = torch.zeros(n, 0), torch.zeros(0, 0)
    assert top_k(empty, 2)[0].shape == (n, 2)
    assert top_k(torch.zeros(0, 3), 2)[0].shape == (0, 2)
    assert target_ranks(torch.zeros(0, 3), csr_array((0, 3))).size == 0
