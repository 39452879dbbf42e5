"""Bounds on a measure from sampled ranks alone, which hold for every estimator."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from podium import _check
from podium._one_thread import one_blas_thread
from podium.errors import arg, warn
from podium.metrics import Measure
from podium.sampled.bounds.ball import ball_of_ranks, distance_of_shares
from podium.sampled.bounds.search import Worth, extremes
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import (
    RankDistribution,
    rank_weights,
    read_measure,
    require_defined,
)
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import spaced_ranks

_DENSE = 16  # ranks per standard deviation of a sampled rank at the start of a search
_DENSEST = 1024  # for larger samples, the start is as dense as for this size
_MOST_UNDRAWN = 2  # items; with more, ranks do not count as known up to that number
_MOST_KNOWN = 1024  # of the first ranks whose values are kept, for as many sizes of catalogues
_TOP = 64  # the number of first ranks, and of ranks around the cutoff, at the start of a search

_KNOWN: WeakKeyDictionary[SampledRanks, dict[tuple[Measure, float], tuple[Bounds, bool]]] = (
    WeakKeyDictionary()
)
"""The bounds that were computed for ranks, and whether some distribution fits these."""


class Bounds(NamedTuple):
    """The smallest and the largest possible value of a measure.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float


def identification_bounds(
    ranks: SampledRanks, measure: str | Measure, *, confidence: float = 0.95
) -> Bounds:
    """Return bounds on a measure from all distributions of ranks that fit the observations.

    A distribution fits if it differs from the observed sampled ranks by no more than the sampling
    error. Users whose catalogues or samples differ in size may have different distributions,
    because users with long histories have different ranks. The data do not determine the value
    between the bounds; every estimator makes assumptions to choose one.

    Parameters
    ----------
    ranks : SampledRanks
        The observed ranks. All users have the same weight.
    measure : str or Measure
        A measure such as ``ndcg@10``, see `RankDistribution.expect`.
    confidence : float
        The smallest probability, above 0 and below 1, that the bounds contain the measure of the
        distribution that the users' ranks come from. It holds for all measures jointly.

    Returns
    -------
    Bounds
        The bounds, which unpack as a pair: ``low, high = identification_bounds(...)``.

    Warns
    -----
    PodiumWarning
        If no distribution fits. The bounds are then those of the distributions that fit best.
        Perhaps the samples were not drawn uniformly.

    Notes
    -----
    The sampling error is measured by about 2 sqrt(n_negatives) functions of the sampled rank. Under
    a distribution that fits, they are uncorrelated and have mean 0 and variance 1. The squared
    distance of their observed means from the expected ones is then approximately
    chi-square / n_users. Several targets of a user count as one observation, which is conservative.
    Each bound is proved by prices (dual variables) of the functions, which are checked at every
    rank of every catalogue. It therefore holds even if the search for the best prices ends early,
    or merges catalogues that differ by 5 % in size.
    The value of a rank is that in the user's own catalogue. If all items, or all but two, were
    drawn, the ranks are known up to that many places. The bounds are then Anderson's bounds for a
    mean over a population of users like these, from the inequality of Dvoretzky, Kiefer and
    Wolfowitz.
    Cost: a tenth of a second. With catalogues of a thousand sizes, about 100 Newton steps on 20 of
    them and a proof for all take a second. Samples of most items take some seconds.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 100 + [50] * 100, 99, 1000)
    >>> low, high = identification_bounds(ranks, "recall@10")
    >>> low < 0.5 < high < 0.7
    True
    """
    parsed = read_measure(measure)
    level = _check.open_fraction(confidence, "confidence")
    known = _KNOWN.setdefault(ranks, {})
    if (parsed, level) not in known:
        worth = _worth(parsed, ranks.fewest_items)
        known[parsed, level] = _range(ranks, parsed, worth, level)
    bounds, some_fit = known[parsed, level]
    if not some_fit:
        warn(
            "no distribution of ranks gives the observed sampled ranks within sampling error "
            f"(confidence {level:g}). Check that candidates were drawn uniformly from "
            f"{arg.n_items}, and that {arg.n_items} and replacement are right."
        )
    return bounds


def _range(
    ranks: SampledRanks, measure: Measure, worth: Worth, level: float
) -> tuple[Bounds, bool]:
    """Return the range of the mean of a worth, and whether some distribution fits."""
    if _are_nearly_whole(ranks):
        low = _least_mean(ranks, worth, level)
        high = -_least_mean(ranks, lambda n_items: -worth(n_items), level)
        return Bounds(low, high), True
    with one_blas_thread:
        low, high, miss = extremes(
            ball_of_ranks(ranks, level), worth, partial(_start_ranks, measure)
        )
    return Bounds(low, high), not miss > 0


def fits_ranks(distribution: RankDistribution, ranks: SampledRanks, confidence: float) -> bool:
    """Return whether a distribution is one of those whose measures are within the bounds.

    The answer is also no if the bounds are not those of a common distribution of all users: if
    catalogues differ in size, or if ranks are known up to a few places. It takes much less time
    than the bounds.
    """
    designs = [design for design, _ in ranks.designs]
    if len(designs) > 1 or _are_nearly_whole(ranks):
        return False
    masses = np.maximum(distribution.probabilities, 0.0)
    shares = sum(masses[places] @ chances for places, chances in designs[0].blocks())
    with one_blas_thread:
        ball = ball_of_ranks(ranks, confidence)
    return distance_of_shares(ball, np.asarray(shares)) <= ball.radius


def largest_top_part(ranks: SampledRanks, measure: Measure, depth: int, level: float) -> float:
    """Return the largest part of a measure that comes from the first ranks, as an upper bound.

    Parameters
    ----------
    ranks : SampledRanks
    measure : Measure
    depth : int
        The number of first ranks.
    level : float
        The confidence, as in `identification_bounds`.
    """
    full_worth = _worth(measure, ranks.fewest_items)

    def worth(n_items: int) -> Floats:
        rank_values = full_worth(n_items)
        rank_values[depth:] = 0.0
        return rank_values

    return _range(ranks, measure, worth, level)[0].high


def _are_nearly_whole(ranks: SampledRanks) -> bool:
    """Return whether all items but a few are drawn, so that ranks are known up to a few places."""
    designs = [design for design, _ in ranks.designs]
    return not any(
        design.n_items - 1 - design.n_negatives > _MOST_UNDRAWN or design.repeats
        for design in designs
    )


def _least_mean(ranks: SampledRanks, worth: Worth, level: float) -> float:
    """Return a bound on the mean worth of a population, of which users of known ranks are a sample.

    By the inequality of Dvoretzky, Kiefer and Wolfowitz, the share of users below any value differs
    from its expectation by a limited amount. At most this share of users may have the smallest
    value instead, or the largest. The share of weighted users is a sum of weights, and its error is
    that of `n_effective` users.
    """
    lowest_values, lowest_value = np.empty(ranks.n_rows), np.inf
    for design, rows in ranks.design_rows:
        values = worth(design.n_items)
        lowest_value = min(lowest_value, float(values.min()))
        places = ranks.ranks[rows] - 1
        undrawn = np.arange(design.n_items - design.n_negatives)
        lowest_values[rows] = values[places[:, None] + undrawn].min(axis=1)
    shares = np.bincount(ranks.owner, ranks.weights)
    user_values = np.bincount(ranks.owner, lowest_values * ranks.weights) / shares
    order = np.argsort(user_values)
    share_below = np.cumsum(shares[order]) - shares[order]
    moved = float(min(1.0, np.sqrt(np.log(2.0 / (1.0 - level)) / (2.0 * ranks.n_effective))))
    kept_shares = np.clip(1.0 - moved - share_below, 0.0, shares[order])
    return float(kept_shares @ user_values[order]) + moved * lowest_value


def _worth(measure: Measure, smallest: int) -> Worth:
    """Return a function from a number of items, at least `smallest`, to the value of each rank."""
    require_defined([measure], smallest)
    top_of = partial(rank_weights, measure)
    if measure.k is not None and measure.k <= _MOST_KNOWN:
        top_of = lru_cache(maxsize=_MOST_KNOWN)(top_of)

    def worth(n_items: int) -> Floats:
        top = top_of(n_items)
        return np.pad(top, (0, n_items - top.size))

    return worth


def _start_ranks(measure: Measure, design: Design) -> Ints:
    """Return ranks of a design at the start: for its samples, the top and a measure's cutoff."""
    depth = rank_weights(measure, design.n_items).size
    top, around_cutoff = np.arange(1, _TOP), np.arange(depth - _TOP // 2, depth + _TOP // 2)
    near = np.concatenate([top, around_cutoff])
    spaced = spaced_ranks(design.n_items, min(design.n_negatives, _DENSEST), _DENSE)
    return np.union1d(spaced, near[(near >= 1) & (near <= design.n_items)])
