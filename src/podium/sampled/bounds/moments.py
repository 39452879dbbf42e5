"""The least value of a measure over all distributions of ranks that no sample tells apart."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

from podium.sampled.design import Floats, Ints

_PRICE = 10.0  # of a moment that is missed: it keeps programmes feasible, and bounds on their side
_ROUNDS = 30  # of ranks that join
_ENOUGH = 1e-7  # of the measure: by which a rank may break what the prices promise
_BLOCK = 2**14  # ranks


def least_of_alike(probabilities: Floats, worth: Floats, degree: int, start: Ints) -> float:
    """Return a value that no distribution with the same moments falls below.

    Parameters
    ----------
    probabilities, worth : float64, (n_items,)
        A distribution of ranks, and what each rank is worth.
    degree : int
        Moments up to this one are equal: n_negatives.
    start : int64
        Ranks that the search begins with.

    Notes
    -----
    A linear programme over a few ranks, as means of Chebyshev polynomials, which moments of that
    degree are without the loss of digits. Its prices make a polynomial below the worth; ranks
    where it is not below join, and what is left of the excess is taken off the bound. So the
    bound holds for all ranks, and for any prices.
    """
    n_items = worth.size
    means = _means(probabilities, degree)
    ranks, low = start, float(worth.min())
    for _ in range(_ROUNDS):
        prices = _prices(_polynomials(ranks, n_items, degree), worth[ranks - 1], means)
        if prices is None:
            break
        excess = _series(prices, n_items) - worth
        most = float(excess.max())
        low = max(low, float(prices @ means) - most)
        if most <= _ENOUGH:
            break
        before = np.concatenate([[True], excess[1:] > excess[:-1]])
        after = np.concatenate([excess[:-1] >= excess[1:], [True]])
        ranks = np.union1d(ranks, np.flatnonzero(before & after & (excess > 0)) + 1)
    return low


def _prices(features: Floats, worth: Floats, means: Floats) -> Floats | None:
    """Solve the programme; None where the solver gives up."""
    n_rows = features.shape[0]
    miss = np.eye(n_rows)[:, 1:]  # the sum of the masses may not be missed
    system = np.concatenate([features, miss, -miss], axis=1)
    cost = np.concatenate([worth, np.full(2 * (n_rows - 1), _PRICE)])
    found = linprog(cost, A_eq=system, b_eq=means, bounds=(0, None), method="highs-ds")
    return np.asarray(found.eqlin.marginals, np.float64) if found.status == 0 else None


def _means(probabilities: Floats, degree: int) -> Floats:
    total = np.zeros(degree + 1)
    held = np.flatnonzero(probabilities)
    for start in range(0, held.size, _BLOCK):
        some = held[start : start + _BLOCK]
        total += _polynomials(some + 1, probabilities.size, degree) @ probabilities[some]
    return total


def _places(ranks: Ints, n_items: int) -> Floats:
    return (2.0 * ranks.astype(np.float64) - n_items - 1.0) / (n_items - 1.0)


def _polynomials(ranks: Ints, n_items: int, degree: int) -> Floats:
    table = chebyshev.chebvander(_places(ranks, n_items), degree)
    return np.array(table.T, dtype=np.float64, order="C")


def _series(prices: Floats, n_items: int) -> Floats:
    """Return the prices' sum of the polynomials, for every rank: (n_items,)."""
    found = np.empty(n_items)
    for start in range(0, n_items, _BLOCK):
        stop = min(start + _BLOCK, n_items)
        places = _places(np.arange(start + 1, stop + 1), n_items)
        found[start:stop] = chebyshev.chebval(places, prices)
    return found
