"""For which pairs of objects a space is order preserving, and whether theorem 6 can speak of it."""

from __future__ import annotations

import itertools

import numpy as np

from podium.papers.xia2009.consistency import _orders
from podium.papers.xia2009.consistency.space import Space


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
