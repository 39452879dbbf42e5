"""All permutations of a few objects, what exchanging two does to each, and a loss on all."""

from __future__ import annotations

import itertools
import operator
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.groups import Groups
from podium.losses import Loss, as_loss

LARGEST = 8
"""Objects that are still enumerated: 40,320 permutations."""

Orders = NDArray[np.int64]  # (n!, n): the object at each place, permutations in rising order
Scores = NDArray[np.float64]  # (n,)


def size(n: Any, name: str = "n") -> int:
    """Return n as an int from 2 to the largest that is enumerated."""
    value = _check.cutoff(n, name=name)
    if not 2 <= value <= LARGEST:
        raise ArgumentError(
            f"{name} must be from 2 to {LARGEST}, got {value}. All permutations are enumerated."
        )
    return value


def depth(k: Any, n: int) -> int:
    """Return k as an int from 1 to n."""
    value = _check.cutoff(k)
    if value > n:
        raise ArgumentError(f"k must be at most the number of objects, got k={value} and n={n}.")
    return value


def objects(i: Any, j: Any, n: int) -> tuple[int, int]:
    """Return two different objects, numbered from 0."""
    found = [_object(i, "i", n), _object(j, "j", n)]
    if found[0] == found[1]:
        raise ArgumentError(f"i and j must be two objects, got {found[0]} twice.")
    return found[0], found[1]


def pair(value: Any, n: int) -> tuple[int, int]:
    """Return one of several pairs of objects."""
    try:
        i, j = value
    except (TypeError, ValueError):
        raise ArgumentError(f"pairs must hold pairs (i, j) of objects, got {value!r}.") from None
    return objects(i, j, n)


def _object(value: Any, name: str, n: int) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < n:
        raise ArgumentError(f"{name} must be an object from 0 to {n - 1}, got {value!r}.")
    return number


@cache
def permutations(n: int) -> Orders:
    """Return every order of n objects, in rising order."""
    found = np.array(list(itertools.permutations(range(n))), np.int64)
    found.setflags(write=False)
    return found


@cache
def positions(n: int) -> Orders:
    """Return the place of each object in every order."""
    found = np.argsort(permutations(n), axis=1)
    found.setflags(write=False)
    return found


@cache
def heads(n: int, k: int) -> Orders:
    """Return every head of k objects, in rising order: the top-k subgroups."""
    found = np.array(list(itertools.permutations(range(n), k)), np.int64)
    found.setflags(write=False)
    return found


def pairs(n: int) -> list[tuple[int, int]]:
    """Return all unordered pairs of objects."""
    return list(itertools.combinations(range(n), 2))


@lru_cache(maxsize=256)
def exchanged(n: int, k: int, i: int, j: int) -> NDArray[np.int64]:
    """Return for each head of k objects the number of that with i and j exchanged.

    With k = n, heads are permutations. A head with neither object is its own.
    """
    table = np.arange(n)
    table[[i, j]] = j, i
    return number_of(table[heads(n, k)], n)


def number_of(found: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return the row of `heads(n, k)` that each row of `found` is."""
    rank = np.zeros(len(found), np.int64)
    k = found.shape[1]
    for place in range(k):
        before = (found[:, :place, None] == np.arange(n)).any(axis=1)
        free = (np.arange(n) < found[:, place, None]) & ~before
        rank = rank * (n - place) + free.sum(axis=1)
    return rank


@lru_cache(maxsize=256)
def is_before(n: int, k: int, i: int, j: int) -> NDArray[np.bool_]:
    """Return which heads hold object i, with j later in the head or not in it."""
    every = heads(n, k)
    place_i, place_j = (np.where(every == o, np.arange(k), k).min(axis=1) for o in (i, j))
    return place_i < place_j


class Reading:
    """What a loss says of each permutation: the object at the top has relevance n, the last 1."""

    def __init__(self, loss: Loss | str, n: int) -> None:
        self.loss, self.n = as_loss(loss), n
        relevance = (n - positions(n)).astype(np.float64)
        groups = Groups.from_sizes(np.full(len(relevance), n))
        self._target: Any = self.loss.prepare(relevance.ravel(), groups)

    def values_and_gradients(
        self, scores: Scores
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the value of every permutation, (n!,), and each one's gradient, (n!, n)."""
        n_orders = len(permutations(self.n))
        values, grad = self.loss.value_and_grad(np.tile(scores, n_orders), self._target)
        if np.isnan(values).any():
            raise ArgumentError(
                f"loss {self.loss!r} is undefined on permutations of {self.n} objects, whose "
                f"relevances are {self.n} to 1. Check its parameters."
            )
        return values, grad.reshape(n_orders, self.n) * n_orders

    @cached_property
    def is_scale_free(self) -> bool:
        """Whether the loss reads the direction of the scores alone, tried at one vector."""
        scores = np.sqrt(np.arange(1.0, self.n + 1)) - 2.0
        here, there = (self.values_and_gradients(c * scores)[0] for c in (1.0, 3.0))
        return bool(np.allclose(here, there, rtol=1e-12, atol=1e-12))
