"""Random spaces: probabilities of orders, free or held to what pairs of objects demand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError
from podium.papers.xia2009.consistency import _orders

_RAMP = 1e-9  # keeps drawn probabilities apart where the law gives several of 0


def dirichlet(size: int, concentration: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw from the symmetric Dirichlet law, by logarithms so that none comes out as nan."""
    # Gamma(a) is Gamma(a + 1) times U ** (1 / a): its logarithm survives any small a.
    log = np.log(rng.standard_gamma(concentration + 1.0, size))
    log += np.log1p(-rng.random(size)) / concentration
    weights = np.exp(log - log.max())
    return weights / weights.sum()


def theorem6_pairs(n: int, k: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw an order and a tail, and return the n - 1 pairs that theorem 6 names for them."""
    order = [int(o) for o in rng.permutation(n)]
    chain = [(order[i], order[i + 1]) for i in range(min(k, n - 1))]
    tail = [(order[int(rng.integers(k - 1, place))], order[place]) for place in range(k + 1, n)]
    return chain + tail


def order_preserving(
    n: int,
    k: int,
    pairs: Iterable[tuple[int, int]],
    concentration: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return probabilities of the orders, by subgroups that are order preserving for the pairs."""
    size = len(_orders.heads(n, k))
    falling = _extension(_relations(n, k, pairs), size, rng)
    drawn = (1.0 - _RAMP) * dirichlet(size, concentration, rng)
    drawn += _RAMP * np.arange(1, size + 1) / (size * (size + 1) / 2)
    by_head = np.empty(size)
    by_head[falling] = np.sort(drawn)[::-1]
    n_within = math.factorial(n - k)
    within = np.stack([dirichlet(n_within, concentration, rng) for _ in range(size)])
    return (by_head[:, None] * within).ravel()


def _relations(n: int, k: int, pairs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return (more probable head, less probable head) for every demand of the pairs."""
    found: list[NDArray[np.int64]] = [np.empty((0, 2), np.int64)]
    for asked in pairs:
        i, j = _orders.pair(asked, n)
        more = np.flatnonzero(_orders.is_before(n, k, i, j))
        found.append(np.stack([more, _orders.exchanged(n, k, i, j)[more]], axis=1))
    return np.concatenate(found)


def _extension(
    relations: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return heads in an order that keeps every relation, drawn place by place."""
    below: list[list[int]] = [[] for _ in range(size)]
    n_above = np.zeros(size, np.int64)
    demands: list[tuple[int, int]] = relations.tolist()
    for more, less in demands:
        below[more].append(less)
        n_above[less] += 1
    free: list[int] = np.flatnonzero(n_above == 0).tolist()
    found: list[int] = []
    while free:
        head = free.pop(int(rng.integers(len(free))))
        found.append(head)
        for less in below[head]:
            n_above[less] -= 1
            if n_above[less] == 0:
                free.append(less)
    if len(found) < size:
        raise ArgumentError("pairs must not run in a circle: no space can be so for all of them.")
    return np.array(found)
