"""What a function of the outcome is expected to be, for a target of each rank of a catalogue."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from podium.sampled.design import Design

_BLOCK = 2**14  # ranks: what a step reads and writes stays in the processor's cache
_LONGEST = 800  # sample whose smallest chances, and whose counts of orders, are still doubles

Floats = NDArray[np.float64]


def expected(design: Design, values: Floats) -> Floats:
    """Return the sum over outcomes of value times probability, for every rank.

    Parameters
    ----------
    design : Design
    values : float64, (n_outcomes,)

    Returns
    -------
    float64, (n_items,)

    Notes
    -----
    A polynomial in the odds of being beaten, summed from the end where the odds are at most 1:
    2 operations a rank and outcome (5 without replacement) and no table of probabilities.
    Designs that grow, and samples that are a large part of the catalogue, go by blocks of
    probabilities instead, some 20 times slower.
    """
    n, size = design.n_items, design.n_negatives
    out = np.empty(n)
    if not is_swept(design):
        for places, chances in design.blocks():
            out[places] = chances @ values
        return out
    ways = np.exp(_log_ways(size))
    ahead = np.arange(n - 1, -1, -1.0)  # items worse than the target
    half = n // 2
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        middle = min(max(half, start), stop)
        for low, high, flip in ((start, middle, 1), (middle, stop, -1)):
            if low < high:
                worse = ahead[low:high]
                many, few = (worse, n - 1 - worse)[::flip]
                sums = _powers if design.replacement else _factorials
                out[low:high] = sums(few, many, (values * ways)[::flip])
    return out


def is_swept(design: Design) -> bool:
    """Whether sums are taken without a table of probabilities."""
    size, n = design.n_negatives, design.n_items
    return not design.grows and size <= _LONGEST and (design.replacement or 8 * size <= n)


def at_places(better: Floats, worse: Floats, values: Floats, *, replacement: bool) -> Floats:
    """Return the sum over outcomes of value times probability at ranks, or places between them.

    Parameters
    ----------
    better, worse : float64, (n,)
        Items before and after the target, of a catalogue of any size each.
    values : float64, (n_outcomes,)
    replacement : bool
    """
    terms = values * np.exp(_log_ways(values.size - 1))
    sums = _powers if replacement else _factorials
    out = np.empty(better.size)
    for start in range(0, better.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        ahead = worse[part] >= better[part]
        for some, flip in ((ahead, 1), (~ahead, -1)):
            many, few = (worse[part][some], better[part][some])[::flip]
            out[part][some] = sums(few, many, terms[::flip])
    return out


def _log_ways(size: int) -> Floats:
    above = np.arange(size + 1)
    return gammaln(size + 1) - gammaln(above + 1) - gammaln(size - above + 1)


def _powers(few: Floats, many: Floats, terms: Floats) -> Floats:
    """Return the sum of terms[j] few**j many**(size - j) / (few + many)**size, few <= many."""
    odds = few / many
    total = np.full(few.size, terms[-1])
    for term in terms[-2::-1].tolist():
        total *= odds
        total += term
    return total * np.exp((terms.size - 1) * -np.log1p(odds))


def _factorials(few: Floats, many: Floats, terms: Floats) -> Floats:
    """Return the same with falling factorials in place of powers."""
    size = terms.size - 1
    chance = np.ones(few.size)
    for i in range(size):
        chance *= (many - i) / (few + many - i)
    total = terms[0] * chance
    for j, term in enumerate(terms[1:].tolist()):
        chance *= few - j
        chance /= many - size + j + 1
        total += term * chance
    return total
