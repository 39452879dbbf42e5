"""Probability spaces over the orders of a few objects, and the condition of theorem 6."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.errors import ArgumentError

Head: TypeAlias = tuple[int, ...]
"""The objects at the top k places, from the top; objects are numbered from 0."""

_SIZES = {math.factorial(n): n for n in range(2, 9)}  # the number of objects by that of orders
_RAMP = 1e-9  # keeps drawn probabilities distinct if several would be 0
_EQUAL = 1e-12  # difference of probabilities up to which subgroups are both the most probable


@cache
def heads(n: int, k: int) -> NDArray[np.int64]:
    """Return every head of k of n objects, in lexicographic order; with k = n, every order."""
    return np.array(list(itertools.permutations(range(n), k)), np.int64)


@cache
def numbers(n: int, k: int) -> dict[Head, int]:
    """Return the number in `heads` of each head."""
    return {head: number for number, head in enumerate(itertools.permutations(range(n), k))}


@cache
def exchanged(n: int, k: int, i: int, j: int) -> NDArray[np.int64]:
    """Return for each head of k objects the number of the head with i and j exchanged."""
    table = {i: j, j: i}
    rows = ([table.get(o, o) for o in head] for head in numbers(n, k))
    return np.array([numbers(n, k)[tuple(row)] for row in rows])


@cache
def with_before(n: int, k: int, i: int, j: int) -> NDArray[np.int64]:
    """Return the numbers of the heads that contain i, with j later in the head or not in it."""
    place_i, place_j = (np.where(heads(n, k) == o, np.arange(k), k).min(axis=1) for o in (i, j))
    return np.flatnonzero(place_i < place_j)


@dataclass(frozen=True, eq=False)
class Space:
    """The probabilities of all orders of n objects, for n from 2 to 8.

    Parameters
    ----------
    probabilities : array of float, (n!,)
        The probabilities of the orders in lexicographic order, as in `itertools.permutations`. An
        order has the object at each place from the top. Objects are numbered from 0.

    Raises
    ------
    ArgumentError
        If they are not n! values >= 0 with a sum of 1.

    References
    ----------
    xia2009, sections 3.2 and 4.1.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> space.probability((1,)), space.bayes(1)
    (0.3, ((0,),))
    """

    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        values = np.asarray(self.probabilities, np.float64)
        if values.size not in _SIZES or values.min() < 0 or not math.isclose(values.sum(), 1.0):
            raise ArgumentError("probabilities must be n! numbers >= 0 with a sum of 1.")
        object.__setattr__(self, "probabilities", values / values.sum())

    @classmethod
    def from_orders(cls, probabilities: Mapping[Head, float]) -> Space:
        """Return a space from the orders (tuples of int) with a probability above 0.

        Examples
        --------
        >>> Space.from_orders({(1, 0): 1.0}).probabilities
        array([0., 1.])
        """
        n = len(next(iter(probabilities)))
        return cls(np.array([probabilities.get(order, 0.0) for order in numbers(n, n)]))

    @classmethod
    def random(cls, n: int, rng: np.random.Generator, *, concentration: float = 1.0) -> Space:
        """Draw a space from the symmetric Dirichlet distribution.

        With a `concentration` far below 1, a few orders have almost all of the probability.
        """
        return cls(_dirichlet(math.factorial(n), concentration, rng))

    @classmethod
    def random_order_preserving(
        cls, n: int, k: int, rng: np.random.Generator, *, concentration: float = 1.0
    ) -> Space:
        """Draw a space whose top-k subgroups are order preserving for the pairs of theorem 6.

        These are the n − 1 pairs of a randomly drawn order and tail, and no others. They imply a
        partial order of the subgroups by probability. Probabilities are drawn from a Dirichlet
        distribution, sorted, and assigned to the subgroups in a random order that extends the
        partial order. The orders within a subgroup have another Dirichlet distribution.
        """
        size = len(heads(n, k))
        descending_heads = _extension(n, k, _theorem6_pairs(n, k, rng), rng)
        head_probabilities = (1.0 - _RAMP) * _dirichlet(size, concentration, rng)
        head_probabilities += _RAMP * np.arange(1, size + 1) / (size * (size + 1) / 2)
        by_head = np.empty(size)
        by_head[descending_heads] = np.sort(head_probabilities)[::-1]
        n_within = math.factorial(n - k)
        within = np.stack([_dirichlet(n_within, concentration, rng) for _ in range(size)])
        return cls((by_head[:, None] * within).ravel())

    @cached_property
    def n(self) -> int:
        """The number of objects."""
        return _SIZES[self.probabilities.size]

    def subgroups(self, k: int) -> NDArray[np.float64]:
        """Return the probabilities of all top-k subgroups, by their heads in `heads(n, k)`."""
        return self.probabilities.reshape(len(heads(self.n, k)), -1).sum(axis=1)

    def probability(self, head: Head) -> float:
        """Return the probability that an order starts with this head."""
        return float(self.subgroups(len(head))[numbers(self.n, len(head))[head]])

    def bayes(self, k: int) -> tuple[Head, ...]:
        """Return the heads of the most probable top-k subgroups, the heads of Bayes rankers."""
        probabilities = self.subgroups(k)
        is_best = probabilities >= probabilities.max() - _EQUAL
        return tuple(head for head, number in numbers(self.n, k).items() if is_best[number])


def preserved_pairs(space: Space, k: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) for which the space is order preserving, i above j.

    Each top-k subgroup with i above j is more probable than the one with i and j exchanged. The
    comparison is of the subgroups that the exchange changes. Their heads contain i, with j later in
    the head or not in it. Equal probabilities are not order preserving.

    References
    ----------
    xia2009, definition 2.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> preserved_pairs(space, k=1), preserved_pairs(space, k=2)
    (((0, 1), (0, 2)), ())
    """
    probabilities, n = space.subgroups(k), space.n

    def is_preserved(i: int, j: int) -> bool:
        rows = with_before(n, k, i, j)
        return bool((probabilities[rows] > probabilities[exchanged(n, k, i, j)[rows]]).all())

    return tuple(pair for pair in itertools.permutations(range(n), 2) if is_preserved(*pair))


def meets_theorem_6(space: Space, k: int) -> bool:
    """Return whether a space is order preserving for n - 1 pairs as theorem 6 requires.

    The pairs are the neighbours in (j1, …, jk+1), and for each further object one pair with an
    earlier object from jk on. Then (j1, …, jk) is the head of the only most probable subgroup. It
    is also the head of the minimiser of each loss that is top-k subgroup order sensitive.

    References
    ----------
    xia2009, theorem 6.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> meets_theorem_6(space, k=1), meets_theorem_6(space, k=3)
    (True, False)
    """
    (head, *others), pairs = space.bayes(k), preserved_pairs(space, k)
    reached = {head[-1]}
    for _ in range(space.n - k):
        reached |= {below for above, below in pairs if above in reached and below not in head}
    is_chain = set(itertools.pairwise(head)) <= {*pairs}
    return not others and is_chain and len(reached) == space.n - k + 1


def _dirichlet(size: int, concentration: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw from the symmetric Dirichlet distribution, by logarithms so that none is nan."""
    # Gamma(a) is Gamma(a + 1) times U ** (1 / a), whose logarithm is finite for any small a.
    log = np.log(rng.standard_gamma(concentration + 1.0, size))
    log += np.log1p(-rng.random(size)) / concentration
    weights = np.exp(log - log.max())
    return weights / weights.sum()


def _theorem6_pairs(n: int, k: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw an order and a tail, and return their n - 1 pairs in theorem 6."""
    order = [int(o) for o in rng.permutation(n)]
    chain = [(order[i], order[i + 1]) for i in range(min(k, n - 1))]
    tail = [(order[int(rng.integers(k - 1, place))], order[place]) for place in range(k + 1, n)]
    return chain + tail


def _extension(
    n: int, k: int, pairs: Iterable[tuple[int, int]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the heads in falling order of probability as the pairs imply, drawn one by one."""
    size = len(heads(n, k))
    below: list[list[int]] = [[] for _ in range(size)]
    n_above = np.zeros(size, np.int64)
    for i, j in pairs:
        heads_above: list[int] = with_before(n, k, i, j).tolist()
        heads_below: list[int] = exchanged(n, k, i, j)[heads_above].tolist()
        n_above[heads_below] += 1
        for more, less in zip(heads_above, heads_below, strict=True):
            below[more].append(less)
    available: list[int] = np.flatnonzero(n_above == 0).tolist()
    order: list[int] = []
    while available:
        order.append(available.pop(int(rng.integers(len(available)))))
        for less in below[order[-1]]:
            n_above[less] -= 1
            if n_above[less] == 0:
                available.append(less)
    return np.array(order)
