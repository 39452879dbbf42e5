"""Probability spaces over the permutations of a few objects, and what theorem 6 asks of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.papers.xia2009.consistency import _orders

Head = tuple[int, ...]
"""The objects at the top k places, from the top; objects are numbered from 0."""

_SUM = 1e-9  # how far probabilities may be from summing to 1
_RAMP = 1e-9  # keeps drawn probabilities apart where the law gives several of 0
_EQUAL = 1e-12  # subgroups whose probabilities differ by less are both the most probable


@dataclass(frozen=True, eq=False)
class Space:
    """How probable each order of n objects is, for an enumerated n of 2 to 8.

    Parameters
    ----------
    probabilities : array of float, (n!,)
        Of the orders in rising order, as `itertools.permutations` lists them: each order names
        the object at each place from the top, objects being numbered from 0.

    Raises
    ------
    ArgumentError
        If their number is no n!, one is negative, or they do not sum to 1.

    References
    ----------
    xia2009, sections 3.2 and 4.1.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> space.probability((1,)), space.bayes(1)
    (0.3, ((0,),))
    >>> space.risk((0, 1, 2), k=3)
    0.6
    """

    probabilities: NDArray[np.float64]

    def __post_init__(self) -> None:
        values = _check.probabilities(self.probabilities, "probabilities")
        if values.size not in [math.factorial(n) for n in range(2, _orders.LARGEST + 1)]:
            raise ArgumentError(
                f"probabilities must have n! values for an n from 2 to {_orders.LARGEST}, "
                f"got {values.size}."
            )
        total = float(values.sum())
        if not abs(total - 1.0) <= _SUM:
            raise ArgumentError(f"probabilities must sum to 1, got a sum of {total:.9g}.")
        own = values / total
        own.setflags(write=False)
        object.__setattr__(self, "probabilities", own)

    @classmethod
    def from_orders(cls, probabilities: Mapping[Any, float]) -> Space:
        """Make a space from the orders (tuples of int) that have a probability above 0.

        Examples
        --------
        >>> Space.from_orders({(1, 0): 1.0}).probabilities
        array([0., 1.])
        """
        rows: list[Head] = [tuple(order) for order in probabilities]
        n = _orders.size(max(map(len, rows), default=0), "the length of an order")
        values = np.zeros(math.factorial(n))
        for row, value in zip(rows, probabilities.values(), strict=True):
            values[_orders.number_of(np.array([_whole(row, n)]), n)[0]] = value
        return cls(values)

    @classmethod
    def uniform(cls, n: int) -> Space:
        """Return the space in which every order of n objects is equally probable."""
        count = math.factorial(_orders.size(n))
        return cls(np.full(count, 1.0 / count))

    @classmethod
    def plackett_luce(cls, scores: ArrayLike) -> Space:
        """Return the Plackett-Luce law: the next place goes to an object by exp(its score).

        It is order preserving at every k for every pair of objects with different scores.
        """
        values = _check.scores(scores)
        orders = _orders.permutations(_orders.size(values.size, "the number of scores"))
        sorted_scores = values[orders]
        rest = np.logaddexp.accumulate(sorted_scores[:, ::-1], axis=1)[:, ::-1]
        return cls(np.exp((sorted_scores - rest).sum(axis=1)))

    @classmethod
    def mallows(cls, order: Sequence[int], dispersion: float) -> Space:
        """Return Mallows' law: exp(-dispersion × pairs ordered otherwise than in `order`)."""
        n = _orders.size(len(order), "the length of order")
        centre = np.argsort(_whole(order, n))
        orders = centre[_orders.permutations(n)]
        beta = _check.number(dispersion, "dispersion", low=0.0)
        wrong = sum((orders[:, i] > orders[:, j]) for i, j in _orders.pairs(n))
        weights = np.exp(-beta * np.asarray(wrong, np.float64))
        return cls(weights / weights.sum())

    @classmethod
    def random(cls, n: int, rng: np.random.Generator, *, concentration: float = 1.0) -> Space:
        """Draw a space from the symmetric Dirichlet law; below 1, a few orders have it all."""
        alpha = _check.number(concentration, "concentration", low=0.0, strict=True)
        return cls(_dirichlet(math.factorial(_orders.size(n)), alpha, rng))

    @classmethod
    def random_order_preserving(
        cls,
        n: int,
        k: int,
        rng: np.random.Generator,
        *,
        pairs: Iterable[tuple[int, int]] | None = None,
        concentration: float = 1.0,
    ) -> Space:
        """Draw a space whose top-k subgroups are order preserving for these pairs.

        Parameters
        ----------
        n, k : int
        rng : numpy.random.Generator
        pairs : iterable of (i, j), optional
            By default the n − 1 pairs of theorem 6, for an order and a tail that are drawn too:
            the least that the theorem asks for.
        concentration : float
            Of the Dirichlet laws of the subgroups' probabilities and of the orders within.

        Raises
        ------
        ArgumentError
            If no space is order preserving for all of these pairs.

        Notes
        -----
        The pairs say which subgroup must be more probable than which. The drawn probabilities
        are given to the subgroups along a random order that keeps to that.
        """
        n = _orders.size(n)
        k = _orders.depth(k, n)
        alpha = _check.number(concentration, "concentration", low=0.0, strict=True)
        asked = _theorem6_pairs(n, k, rng) if pairs is None else list(pairs)
        return cls(_order_preserving(n, k, asked, alpha, rng))

    @property
    def n(self) -> int:
        return int(self.orders.shape[1])

    @property
    def orders(self) -> NDArray[np.int64]:
        """Every order, (n!, n): the object at each place from the top."""
        sizes = {math.factorial(n): n for n in range(2, _orders.LARGEST + 1)}
        return _orders.permutations(sizes[self.probabilities.size])

    def subgroups(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return every top-k subgroup by its head, (n! / (n - k)!, k), and their probabilities."""
        heads = _orders.heads(self.n, _orders.depth(k, self.n))
        return heads, self.probabilities.reshape(len(heads), -1).sum(axis=1)

    def probability(self, head: Sequence[int]) -> float:
        """Return how probable it is that an order starts with this head."""
        row = list(head)
        if not row or len(set(row)) < len(row) or not set(row) <= set(range(self.n)):
            raise ArgumentError(f"head must hold different objects below {self.n}, got {head!r}.")
        number = _orders.number_of(np.array([row]), self.n)[0]
        return float(self.subgroups(len(row))[1][number])

    def bayes(self, k: int) -> tuple[Head, ...]:
        """Return the heads of the most probable top-k subgroups: what Bayes rankers show."""
        heads, found = self.subgroups(k)
        return tuple(
            tuple(map(int, heads[row])) for row in np.flatnonzero(found >= found.max() - _EQUAL)
        )

    def risk(self, order: Sequence[Any], k: int) -> float:
        """Return the expected top-k 0-1 loss of showing this order, or any with its head."""
        return 1.0 - self.probability(order[: _orders.depth(k, self.n)])


def is_order_preserving(space: Space, i: int, j: int, k: int) -> bool:
    """Whether every top-k subgroup with i above j is more probable than that with both exchanged.

    Parameters
    ----------
    space : Space
    i, j : int
        Objects, numbered from 0.
    k : int

    Returns
    -------
    bool
        The subgroups compared are those that the exchange changes: those whose head holds i, with
        j later in it or not in it. The comparison is strict, so a tie is a no.

    References
    ----------
    xia2009, definition 2.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> is_order_preserving(space, 0, 1, k=1), is_order_preserving(space, 0, 1, k=2)
    (True, False)
    """
    i, j = _orders.objects(i, j, space.n)
    k = _orders.depth(k, space.n)
    found = space.subgroups(k)[1]
    held = np.flatnonzero(_orders.is_before(space.n, k, i, j))
    return bool((found[held] > found[_orders.exchanged(space.n, k, i, j)[held]]).all())


def preserved_pairs(space: Space, k: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) for which the space is order preserving, i above j.

    Examples
    --------
    >>> preserved_pairs(Space.plackett_luce([0.0, 2.0, 1.0]), k=2)
    ((1, 0), (1, 2), (2, 0))
    """
    every = itertools.permutations(range(space.n), 2)
    return tuple(pair for pair in every if is_order_preserving(space, *pair, k))


def meets_theorem_6(space: Space, k: int) -> bool:
    """Whether n - 1 of the pairs suffice for theorem 6: it has the Bayes ranker's head found.

    The pairs are those of neighbours in (j1, …, jk+1), and for each further object one with an
    earlier object from jk on. Then (j1, …, jk) is the head of the one most probable subgroup, and
    a loss that is top-k subgroup order sensitive has it at the top when its expectation is least.

    References
    ----------
    xia2009, theorem 6.

    Examples
    --------
    >>> space = Space.from_orders({(0, 1, 2): 0.4, (1, 0, 2): 0.3, (2, 1, 0): 0.3})
    >>> meets_theorem_6(space, k=1), meets_theorem_6(space, k=3)
    (True, False)
    """
    bayes = space.bayes(k)
    head = bayes[0]
    if len(bayes) > 1 or not all(
        is_order_preserving(space, *pair, k) for pair in itertools.pairwise(head)
    ):
        return False
    rest = set(range(space.n)) - set(head)
    reached = [head[-1]]
    while reached:
        above = reached.pop()
        found = {below for below in rest if is_order_preserving(space, above, below, k)}
        rest -= found
        reached.extend(found)
    return not rest


def _whole(order: Sequence[int], n: int) -> Sequence[int]:
    """Return an order that holds each object once."""
    if sorted(order) != list(range(n)):
        raise ArgumentError(f"An order must hold each of 0 to {n - 1} once, got {tuple(order)}.")
    return order


def _dirichlet(size: int, concentration: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw from the symmetric Dirichlet law, by logarithms so that none comes out as nan."""
    # Gamma(a) is Gamma(a + 1) times U ** (1 / a): its logarithm survives any small a.
    log = np.log(rng.standard_gamma(concentration + 1.0, size))
    log += np.log1p(-rng.random(size)) / concentration
    weights = np.exp(log - log.max())
    return weights / weights.sum()


def _theorem6_pairs(n: int, k: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw an order and a tail, and return the n - 1 pairs that theorem 6 names for them."""
    order = [int(o) for o in rng.permutation(n)]
    chain = [(order[i], order[i + 1]) for i in range(min(k, n - 1))]
    tail = [(order[int(rng.integers(k - 1, place))], order[place]) for place in range(k + 1, n)]
    return chain + tail


def _order_preserving(
    n: int,
    k: int,
    pairs: Iterable[tuple[int, int]],
    concentration: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return probabilities of the orders, by subgroups that are order preserving for the pairs."""
    size = len(_orders.heads(n, k))
    falling = _extension(_relations(n, k, pairs), size, rng)
    drawn = (1.0 - _RAMP) * _dirichlet(size, concentration, rng)
    drawn += _RAMP * np.arange(1, size + 1) / (size * (size + 1) / 2)
    by_head = np.empty(size)
    by_head[falling] = np.sort(drawn)[::-1]
    n_within = math.factorial(n - k)
    within = np.stack([_dirichlet(n_within, concentration, rng) for _ in range(size)])
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
