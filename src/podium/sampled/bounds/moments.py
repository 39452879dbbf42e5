"""The smallest value of a measure over all distributions of ranks with the same samples."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

from podium.sampled.design import Floats, Ints

_PRICE = 10.0  # of a missed moment; it keeps programmes feasible and their bounds valid
_ROUNDS = 30  # in which ranks are added
_EXCESS_TOLERANCE = 1e-7  # the tolerance, in the measure, of the polynomial's excess at a rank
_BLOCK = 2**14  # ranks


def least_with_moments(probabilities: Floats, worth: Floats, degree: int, start: Ints) -> float:
    """Return a lower bound on a measure over all distributions with the same moments.

    Parameters
    ----------
    probabilities, worth : float64, (n_items,)
        A distribution of ranks, and the value of each rank.
    degree : int
        The degree up to which moments are equal, which is n_negatives.
    start : int64, (n,)
        The ranks at the start of the search.

    Returns
    -------
    float

    Notes
    -----
    The bound comes from a linear programme over a few ranks. The moments are means of Chebyshev
    polynomials, which lose no digits. The prices of the programme define a polynomial that should
    lie below the worth. Ranks at which it does not are added, and the remaining excess is
    subtracted from the bound. The bound therefore holds for all ranks and for any prices.
    """
    n_items = worth.size
    means = _means(probabilities, degree)
    ranks, low = start, float(worth.min())
    for _ in range(_ROUNDS):
        prices = _prices(_polynomials(ranks, n_items, degree), worth[ranks - 1], means)
        if prices is None:
            break
        excess = _series(prices, n_items) - worth
        largest_excess = float(excess.max())
        low = max(low, float(prices @ means) - largest_excess)
        if largest_excess <= _EXCESS_TOLERANCE:
            break
        above_previous = np.concatenate([[True], excess[1:] > excess[:-1]])
        not_below_next = np.concatenate([excess[:-1] >= excess[1:], [True]])
        ranks = np.union1d(
            ranks, np.flatnonzero(above_previous & not_below_next & (excess > 0)) + 1
        )
    return low


def _prices(features: Floats, worth: Floats, means: Floats) -> Floats | None:
    """Solve the programme; return None if the solver fails."""
    n_rows = features.shape[0]
    slack = np.eye(n_rows)[:, 1:]  # none for the sum of the masses, which must hold exactly
    system = np.concatenate([features, slack, -slack], axis=1)
    cost = np.concatenate([worth, np.full(2 * (n_rows - 1), _PRICE)])
    solution = linprog(cost, A_eq=system, b_eq=means, bounds=(0, None), method="highs-ds")
    return np.asarray(solution.eqlin.marginals, np.float64) if solution.status == 0 else None


def _means(probabilities: Floats, degree: int) -> Floats:
    sums = np.zeros(degree + 1)
    support = np.flatnonzero(probabilities)
    for start in range(0, support.size, _BLOCK):
        block = support[start : start + _BLOCK]
        sums += _polynomials(block + 1, probabilities.size, degree) @ probabilities[block]
    return sums


def _scaled_ranks(ranks: Ints, n_items: int) -> Floats:
    return (2.0 * ranks.astype(np.float64) - n_items - 1.0) / (n_items - 1.0)


def _polynomials(ranks: Ints, n_items: int, degree: int) -> Floats:
    table = chebyshev.chebvander(_scaled_ranks(ranks, n_items), degree)
    return np.array(table.T, dtype=np.float64, order="C")


def _series(prices: Floats, n_items: int) -> Floats:
    """Return the sum of prices times polynomials at every rank: (n_items,)."""
    values = np.empty(n_items)
    for start in range(0, n_items, _BLOCK):
        stop = min(start + _BLOCK, n_items)
        scaled_ranks = _scaled_ranks(np.arange(start + 1, stop + 1), n_items)
        values[start:stop] = chebyshev.chebval(scaled_ranks, prices)
    return values
