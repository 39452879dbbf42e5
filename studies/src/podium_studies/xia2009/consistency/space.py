"""Probability spaces over the permutations of a few objects, and the condition of theorem 6."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import ArgumentError
from podium_studies import checks
from podium_studies.xia2009.consistency import _orders

Head = tuple[int, ...]
"""The objects at the top k places, from the top; objects are numbered from 0."""

_SUM = 1e-9  # largest deviation of the sum of probabilities from 1
_RAMP = 1e-9  # keeps drawn probabilities distinct if several would be 0
_EQUAL = 1e-12  # difference of probabilities up to which subgroups are both the most probable


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
        If their number is not n!, one is negative, or they do not sum to 1.

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
        values = checks.scores(self.probabilities, "probabilities")
        if values.size not in [math.factorial(n) for n in range(2, _orders.LARGEST + 1)]:
            raise ArgumentError(
                f"probabilities must have n! values for an n from 2 to {_orders.LARGEST}, "
                f"got {values.size}."
            )
        total = float(values.sum())
        if values.min() < 0:
            raise ArgumentError(f"probabilities must be >= 0, got {values.min():g}.")
        if not abs(total - 1.0) <= _SUM:
            raise ArgumentError(f"probabilities must sum to 1, got a sum of {total:.9g}.")
        normalised = values / total
        normalised.setflags(write=False)
        object.__setattr__(self, "probabilities", normalised)

    @classmethod
    def from_orders(cls, probabilities: Mapping[Any, float]) -> Space:
        """Return a space from the orders (tuples of int) with a probability above 0.

        Examples
        --------
        >>> Space.from_orders({(1, 0): 1.0}).probabilities
        array([0., 1.])
        """
        rows: list[Head] = [tuple(order) for order in probabilities]
        n = _orders.size(max(map(len, rows), default=0), "the length of an order")
        values = np.zeros(math.factorial(n))
        for row, value in zip(rows, probabilities.values(), strict=True):
            values[_orders.number_of(np.array([_checked_order(row, n)]), n)[0]] = value
        return cls(values)

    @classmethod
    def uniform(cls, n: int) -> Space:
        """Return the space in which all orders of n objects are equally probable."""
        count = math.factorial(_orders.size(n))
        return cls(np.full(count, 1.0 / count))

    @classmethod
    def plackett_luce(cls, scores: ArrayLike) -> Space:
        """Return the Plackett-Luce distribution, which fills places in proportion to exp(score).

        It is order preserving at every k for each pair of objects with different scores.
        """
        values = checks.scores(scores)
        orders = _orders.permutations(_orders.size(values.size, "the number of scores"))
        sorted_scores = values[orders]
        log_remaining = np.logaddexp.accumulate(sorted_scores[:, ::-1], axis=1)[:, ::-1]
        return cls(np.exp((sorted_scores - log_remaining).sum(axis=1)))

    @classmethod
    def random(cls, n: int, rng: np.random.Generator, *, concentration: float = 1.0) -> Space:
        """Draw a space from the symmetric Dirichlet distribution.

        With a `concentration` far below 1, a few orders have almost all of the probability.
        """
        alpha = checks.positive(concentration, "concentration")
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
            The number of objects and the cutoff.
        rng : numpy.random.Generator
            The generator of the draws.
        pairs : iterable of (i, j), optional
            The pairs of objects, with i above j. The default is the n − 1 pairs of theorem 6,
            the fewest that the theorem requires, for a randomly drawn order and tail.
        concentration : float
            The concentration of the Dirichlet distributions of the subgroups' probabilities and
            of the orders within a subgroup.

        Returns
        -------
        Space

        Raises
        ------
        ArgumentError
            If no space is order preserving for all of these pairs.

        Notes
        -----
        The pairs imply a partial order of the subgroups by probability. The drawn probabilities
        are sorted and assigned to the subgroups in a random order that extends this partial order.
        """
        n = _orders.size(n)
        k = _orders.depth(k, n)
        alpha = checks.positive(concentration, "concentration")
        checked_pairs = _theorem6_pairs(n, k, rng) if pairs is None else list(pairs)
        return cls(_order_preserving(n, k, checked_pairs, alpha, rng))

    @property
    def n(self) -> int:
        return int(self.orders.shape[1])

    @property
    def orders(self) -> NDArray[np.int64]:
        """Every order as the object at each place from the top, (n!, n)."""
        sizes = {math.factorial(n): n for n in range(2, _orders.LARGEST + 1)}
        return _orders.permutations(sizes[self.probabilities.size])

    def subgroups(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the heads of all top-k subgroups, (n! / (n - k)!, k), and their probabilities."""
        heads = _orders.heads(self.n, _orders.depth(k, self.n))
        return heads, self.probabilities.reshape(len(heads), -1).sum(axis=1)

    def probability(self, head: Sequence[int]) -> float:
        """Return the probability that an order starts with this head."""
        row = list(head)
        if not row or len(set(row)) < len(row) or not set(row) <= set(range(self.n)):
            raise ArgumentError(f"head must hold different objects below {self.n}, got {head!r}.")
        number = _orders.number_of(np.array([row]), self.n)[0]
        return float(self.subgroups(len(row))[1][number])

    def bayes(self, k: int) -> tuple[Head, ...]:
        """Return the heads of the most probable top-k subgroups, the heads of Bayes rankers."""
        heads, probabilities = self.subgroups(k)
        return tuple(
            tuple(map(int, heads[row]))
            for row in np.flatnonzero(probabilities >= probabilities.max() - _EQUAL)
        )

    def risk(self, order: Sequence[Any], k: int) -> float:
        """Return the expected top-k 0-1 loss of this order, which depends only on its head."""
        return 1.0 - self.probability(order[: _orders.depth(k, self.n)])


def is_order_preserving(space: Space, i: int, j: int, k: int) -> bool:
    """Return whether each top-k subgroup with i above j is more probable than the exchanged one.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    i, j : int
        The objects, numbered from 0.
    k : int
        The cutoff.

    Returns
    -------
    bool
        The comparison is of the subgroups that the exchange changes. Their heads contain i, with
        j later in the head or not in it. Equal probabilities give False.

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
    probabilities = space.subgroups(k)[1]
    affected = np.flatnonzero(_orders.is_before(space.n, k, i, j))
    return bool(
        (
            probabilities[affected] > probabilities[_orders.exchanged(space.n, k, i, j)[affected]]
        ).all()
    )


def preserved_pairs(space: Space, k: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) for which the space is order preserving, i above j.

    Examples
    --------
    >>> preserved_pairs(Space.plackett_luce([0.0, 2.0, 1.0]), k=2)
    ((1, 0), (1, 2), (2, 0))
    """
    ordered_pairs = itertools.permutations(range(space.n), 2)
    return tuple(pair for pair in ordered_pairs if is_order_preserving(space, *pair, k))


def meets_theorem_6(space: Space, k: int) -> bool:
    """Return whether a space is order preserving for n - 1 pairs as theorem 6 requires.

    The pairs are the neighbours in (j1, …, jk+1), and for each further object one pair with an
    earlier object from jk on. Then (j1, …, jk) is the head of the only most probable subgroup. It
    is also the head of the minimiser of each loss that is top-k subgroup order sensitive.

    Parameters
    ----------
    space : Space
        The probabilities of the orders.
    k : int
        The cutoff.

    Returns
    -------
    bool

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
    unreached = set(range(space.n)) - set(head)
    reached = [head[-1]]
    while reached:
        above = reached.pop()
        newly_reached = {
            below for below in unreached if is_order_preserving(space, above, below, k)
        }
        unreached -= newly_reached
        reached.extend(newly_reached)
    return not unreached


def _checked_order(order: Sequence[int], n: int) -> Sequence[int]:
    """Return an order, after a check that it contains each object once."""
    if sorted(order) != list(range(n)):
        raise ArgumentError(f"An order must hold each of 0 to {n - 1} once, got {tuple(order)}.")
    return order


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


def _order_preserving(
    n: int,
    k: int,
    pairs: Iterable[tuple[int, int]],
    concentration: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw probabilities of the orders that are order preserving for the pairs."""
    size = len(_orders.heads(n, k))
    descending_heads = _extension(_relations(n, k, pairs), size, rng)
    head_probabilities = (1.0 - _RAMP) * _dirichlet(size, concentration, rng)
    head_probabilities += _RAMP * np.arange(1, size + 1) / (size * (size + 1) / 2)
    by_head = np.empty(size)
    by_head[descending_heads] = np.sort(head_probabilities)[::-1]
    n_within = math.factorial(n - k)
    within = np.stack([_dirichlet(n_within, concentration, rng) for _ in range(size)])
    return (by_head[:, None] * within).ravel()


def _relations(n: int, k: int, pairs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return (more probable head, less probable head) for each relation that the pairs imply."""
    relations: list[NDArray[np.int64]] = [np.empty((0, 2), np.int64)]
    for pair in pairs:
        i, j = _orders.objects(*pair, n)
        more_probable = np.flatnonzero(_orders.is_before(n, k, i, j))
        relations.append(
            np.stack([more_probable, _orders.exchanged(n, k, i, j)[more_probable]], axis=1)
        )
    return np.concatenate(relations)


def _extension(
    relations: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the heads in an order that meets all relations, drawn place by place."""
    below: list[list[int]] = [[] for _ in range(size)]
    n_above = np.zeros(size, np.int64)
    relation_pairs: list[tuple[int, int]] = relations.tolist()
    for more_probable, less_probable in relation_pairs:
        below[more_probable].append(less_probable)
        n_above[less_probable] += 1
    available: list[int] = np.flatnonzero(n_above == 0).tolist()
    order: list[int] = []
    while available:
        head = available.pop(int(rng.integers(len(available))))
        order.append(head)
        for less_probable in below[head]:
            n_above[less_probable] -= 1
            if n_above[less_probable] == 0:
                available.append(less_probable)
    if len(order) < size:
        raise ArgumentError(
            "pairs must not form a cycle, because no space is order preserving for all its pairs."
        )
    return np.array(order)
