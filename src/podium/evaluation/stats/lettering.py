"""Groups of systems that do not differ, as letters."""

from __future__ import annotations

import string

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium import _check
from podium.errors import ArgumentError
from podium.types import Mask


def letters(means: ArrayLike, differs: ArrayLike) -> list[str]:
    """Return the letters of each system; systems share a letter if and only if they don't differ.

    Parameters
    ----------
    means : float, (n_systems,)
        The mean of each system; higher is better. For a measure of which lower values are better,
        pass the negated means. nan is last.
    differs : bool, (n_systems, n_systems)
        Whether two systems differ, such as by a test with corrected p values; symmetric. The
        diagonal is ignored.

    Returns
    -------
    list of str, (n_systems,)
        The letters of each system in alphabetical order. The system with the highest mean has "a".
        After "z" come "a2", "b2" and so on.

    Raises
    ------
    ArgumentError
        If differs is not a symmetric table of true and false with a row per system.

    Notes
    -----
    Definition: no two systems with the same letter differ. A system without this letter differs
    from at least one of them. No letter can be left out.
    Algorithm: the insert-and-absorb algorithm of piepho2004 finds all such groups of systems, of
    which there can be exponentially many. This function adds one group for each pair of systems
    that does not differ and has no letter in common yet, starting with the best systems. It then
    drops the groups that are not needed. The number of letters is not always the smallest possible.
    Cost: O(n_systems²) groups at most, each in O(n_systems²).

    References
    ----------
    piepho2004; gramm2007 for letters as groups that cover all pairs.

    Examples
    --------
    The second system differs from neither of the others, which differ from each other:

    >>> differs = [[False, False, True], [False, False, False], [True, False, False]]
    >>> letters([0.3, 0.2, 0.1], differs)
    ['a', 'ab', 'b']
    """
    mean_values = _check.no_infinity(_check.column(means, "means"), "means")
    order = np.argsort(-mean_values, kind="stable")  # nan sorts last
    alike = ~_symmetric(differs, order.size)[np.ix_(order, order)]
    np.fill_diagonal(alike, True)
    groups = sorted(_needed(_covering(alike), order.size), key=tuple)
    texts = [""] * order.size
    for number, group in enumerate(groups):
        for rank in group:
            texts[order[rank]] += _letter(number)
    return texts


def _covering(alike: Mask) -> list[NDArray[np.int64]]:
    """Return groups of systems that are all alike, such that each pair alike is in some group."""
    groups: list[NDArray[np.int64]] = []
    is_covered = np.zeros_like(alike)
    for first, second in np.argwhere(np.triu(alike)):
        if not is_covered[first, second]:
            group = _grown(alike, first, second)
            groups.append(group)
            is_covered[np.ix_(group, group)] = True
    return groups


def _grown(alike: Mask, first: int, second: int) -> NDArray[np.int64]:
    """Return a group with two systems, to which the best possible systems were added in turn."""
    is_member = np.zeros(len(alike), np.bool_)
    is_member[[first, second]] = True
    is_possible = alike[first] & alike[second]
    for rank in np.flatnonzero(is_possible):
        if is_possible[rank]:
            is_member[rank] = True
            is_possible &= alike[rank]
    return np.flatnonzero(is_member)


def _needed(groups: list[NDArray[np.int64]], n_systems: int) -> list[NDArray[np.int64]]:
    """Return the groups without those whose pairs all are in other groups, the last ones first."""
    n_covering = np.zeros((n_systems, n_systems), np.int64)
    for group in groups:
        n_covering[np.ix_(group, group)] += 1
    needed: list[NDArray[np.int64]] = []
    for group in reversed(groups):
        pairs = np.ix_(group, group)
        if (n_covering[pairs] > 1).all():
            n_covering[pairs] -= 1
        else:
            needed.append(group)
    return needed


def _letter(number: int) -> str:
    """Return a, b, …, z, a2, b2, …."""
    cycle, position = divmod(number, len(string.ascii_lowercase))
    return string.ascii_lowercase[position] + (str(cycle + 1) if cycle else "")


def _symmetric(differs: ArrayLike, n_systems: int) -> Mask:
    """Return a symmetric table of true and false."""
    table = _check.array(differs, "differs")
    if table.shape != (n_systems, n_systems) and table.size + n_systems:
        raise ArgumentError(
            f"differs must have a row and a column per mean ({n_systems}), got shape {table.shape}."
        )
    if table.size and table.dtype != np.bool_:
        raise ArgumentError(f"differs must be true or false, got {table.dtype}.")
    if (table != table.T).any():
        first, second = (int(place) for place in np.argwhere(table != table.T)[0])
        raise ArgumentError(
            f"differs must be symmetric, got {table[first, second]} at {first}, {second} and "
            f"{table[second, first]} at {second}, {first}."
        )
    return table.reshape(n_systems, n_systems).astype(np.bool_)
