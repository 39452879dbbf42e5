"""All permutations of a few objects, the effect of exchanging two objects, and a loss on all."""

from __future__ import annotations

import copy
import itertools
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss
from podium_studies import checks

LARGEST = 8
"""The largest number of objects: 40,320 permutations."""

Orders = NDArray[np.int64]  # (n!, n): the object at each place, in lexicographic order
Scores = NDArray[np.float64]  # (n,)


def size(n: Any, name: str = "n") -> int:
    """Return n as an int, after a check that it is from 2 to LARGEST."""
    value = checks.cutoff(n, name=name)
    if not 2 <= value <= LARGEST:
        raise ArgumentError(
            f"{name} must be from 2 to {LARGEST}, got {value}. All permutations are enumerated."
        )
    return value


def depth(k: Any, n: int) -> int:
    """Return k as an int, after a check that it is from 1 to n."""
    value = checks.cutoff(k)
    if value > n:
        raise ArgumentError(f"k must be at most the number of objects, got k={value} and n={n}.")
    return value


def objects(i: Any, j: Any, n: int) -> tuple[int, int]:
    """Return two objects, numbered from 0, after a check that they exist and differ."""
    one, other = checks.integer(i, "i"), checks.integer(j, "j")
    if one == other or max(one, other) >= n:
        raise ArgumentError(f"i and j must be two objects from 0 to {n - 1}, got {i} and {j}.")
    return one, other


@cache
def permutations(n: int) -> Orders:
    """Return every order of n objects, in lexicographic order."""
    orders = np.array(list(itertools.permutations(range(n))), np.int64)
    orders.setflags(write=False)
    return orders


@cache
def positions(n: int) -> Orders:
    """Return the place of each object in every order, (n!, n)."""
    places = np.argsort(permutations(n), axis=1)
    places.setflags(write=False)
    return places


@cache
def heads(n: int, k: int) -> Orders:
    """Return every head of k objects, in lexicographic order. Each head is a top-k subgroup."""
    all_heads = np.array(list(itertools.permutations(range(n), k)), np.int64)
    all_heads.setflags(write=False)
    return all_heads


def pairs(n: int) -> list[tuple[int, int]]:
    """Return all unordered pairs of objects."""
    return list(itertools.combinations(range(n), 2))


@lru_cache(maxsize=256)
def exchanged(n: int, k: int, i: int, j: int) -> NDArray[np.int64]:
    """Return for each head of k objects the number of the head with i and j exchanged.

    With k = n, heads are permutations. A head with neither object maps to itself.
    """
    table = np.arange(n)
    table[[i, j]] = j, i
    return number_of(table[heads(n, k)], n)


def number_of(head_rows: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return the index in `heads(n, k)` of each head, a row of `head_rows`."""
    head_number = np.zeros(len(head_rows), np.int64)
    k = head_rows.shape[1]
    for column in range(k):
        is_taken = (head_rows[:, :column, None] == np.arange(n)).any(axis=1)
        is_free_before = (np.arange(n) < head_rows[:, column, None]) & ~is_taken
        head_number = head_number * (n - column) + is_free_before.sum(axis=1)
    return head_number


@lru_cache(maxsize=256)
def is_before(n: int, k: int, i: int, j: int) -> NDArray[np.bool_]:
    """Return the mask of heads that contain object i, with j later in the head or not in it."""
    all_heads = heads(n, k)
    place_i, place_j = (np.where(all_heads == o, np.arange(k), k).min(axis=1) for o in (i, j))
    return place_i < place_j


class PermutationLoss:
    """A loss on each permutation, with relevance n for the object at the top and 1 for the last."""

    def __init__(self, loss: Loss | str, n: int) -> None:
        self.loss, self.n = as_loss(loss), n
        relevance = (n - positions(n)).astype(np.float64)
        groups = Groups.from_sizes(np.full(len(relevance), n))
        self._target: Any = self.loss.prepare(relevance.ravel(), groups)

    def values_and_gradients(
        self, scores: Scores
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the value, (n!,), and the gradient, (n!, n), of every permutation."""
        n_orders = len(permutations(self.n))
        values, grad = self.loss.value_and_grad(np.tile(scores, n_orders), self._target)
        if np.isnan(values).any():
            raise ArgumentError(
                f"loss {self.loss!r} is undefined on permutations of {self.n} objects with "
                f"relevances from {self.n} to 1. Check its parameters."
            )
        return values, grad.reshape(n_orders, self.n) * n_orders

    def held(self, scores: Scores) -> PermutationLoss:
        """Return the loss with the weights of these scores, for a loss that `reweights`."""
        fixed = copy.copy(self)
        n_orders = len(permutations(self.n))
        fixed._target = self.loss.hold(np.tile(scores, n_orders), self._target)
        return fixed

    @cached_property
    def is_scale_free(self) -> bool:
        """Whether the loss depends only on the direction of the scores, tested at one vector."""
        scores = np.sqrt(np.arange(1.0, self.n + 1)) - 2.0
        values, scaled_values = (self.values_and_gradients(c * scores)[0] for c in (1.0, 3.0))
        return bool(np.allclose(values, scaled_values, rtol=1e-12, atol=1e-12))
