"""What sampled ranks leave open about a measure, whatever the estimator."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium import _check
from podium.errors import ArgumentError, PodiumWarning
from podium.metrics import Measure
from podium.sampled import _bounds_ball, _bounds_moments
from podium.sampled._likelihood_grid import spaced
from podium.sampled._measures import all_rank_weights, rank_weights, read_measure
from podium.sampled.design import Design
from podium.sampled.distribution import RankDistribution
from podium.sampled.ranks import SampledRanks

_DENSE = 16  # ranks in each standard deviation of a sampled rank that a search begins with
_TOP = 64  # first ranks, and ranks around the cutoff, that it begins with too


class Bounds(NamedTuple):
    """The smallest and the largest value that a measure may have.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float


def identification_bounds(
    ranks: SampledRanks, measure: str | Measure, k: int | None = None, *, confidence: float = 0.95
) -> Bounds:
    """Bound a measure by all distributions of ranks that fit what was observed.

    A distribution fits if it differs from the observed sampled ranks by no more than sampling
    error. Between the bounds the data do not decide: an estimator does, by what it assumes.

    Parameters
    ----------
    ranks : SampledRanks
        Every user counts once.
    measure : str or Measure
        As ``ndcg@10``, or a name together with k; see `RankDistribution.expect`.
    k : int, optional
        Cutoff in items, where the text has none.
    confidence : float
        Chance, at least, that the bounds hold the measure of the distribution that the users'
        ranks come from: above 0, below 1. It is the same for all measures together.

    Returns
    -------
    Bounds
        As a pair too: ``low, high = identification_bounds(...)``.

    Warns
    -----
    PodiumWarning
        If no distribution fits. The bounds are then those of the ones that fit best; samples may
        not have been drawn uniformly.

    Notes
    -----
    Sampling error: some 2 sqrt(n_negatives) functions of the sampled rank, with mean 0 and
    variance 1 and uncorrelated under a distribution that fits, have a squared distance from
    their means that is chi-square / n_users, nearly. Several targets of a user are counted as one
    observation, which is on the safe side. Each bound is proved by prices of the functions that
    are checked at every rank of the catalogue, so that it holds even where the search for the
    best prices ends early.
    Cost: a second or less, some hundred small least-squares problems.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 100 + [50] * 100, 99, 1000)
    >>> low, high = identification_bounds(ranks, "recall@10")
    >>> low < 0.5 < high < 0.7
    True
    """
    wanted = read_measure(measure, k)
    level = _check.open_fraction(confidence, "confidence")
    worth = all_rank_weights(wanted, ranks.most_items)
    inside = _bounds_ball.ball(ranks, level)
    size = max(design.n_negatives for design, _ in ranks.designs)
    start = _start(ranks.most_items, size, rank_weights(wanted, ranks.most_items).size)
    low, miss = _bounds_ball.least(inside, worth, start)
    high, _ = _bounds_ball.least(inside, -worth, start)
    if miss > 0:
        warnings.warn(
            f"no distribution of ranks gives the observed sampled ranks within sampling error "
            f"(confidence {level:g}). Check that candidates were drawn uniformly from n_items, "
            "and that n_items and replacement are right.",
            PodiumWarning,
            stacklevel=2,
        )
    return _ordered(low, -high, worth)


def population_bounds(
    distribution: RankDistribution,
    measure: str | Measure,
    k: int | None = None,
    *,
    n_negatives: int,
    n_users: int | None = None,
    confidence: float = 0.95,
) -> Bounds:
    """Bound a measure by all distributions that samples of one size cannot tell from a given one.

    Parameters
    ----------
    distribution : RankDistribution
        Proper: without negative probabilities.
    measure, k
        As in `identification_bounds`.
    n_negatives : int
        Sampled items beside the target, below n_items; they are drawn with replacement.
    n_users : int, optional
        How many users are observed; without it infinitely many, so that nothing but the sample
        size leaves the measure open.
    confidence : float
        As in `identification_bounds`; for a number of users.

    Returns
    -------
    Bounds
        For a number of users, those of observed shares that are just what they are expected to
        be.

    Notes
    -----
    The chances of the sampled ranks are polynomials in the rank of degree n_negatives, with and
    without replacement: infinitely many users determine that many moments of the rank, and
    nothing else. The bounds are the least and the largest measure for these moments, by linear
    programmes whose prices are checked at every rank. High moments hardly show in the shares of
    users: for a power law over 3,706 items and 99 negatives, the bounds of recall@10 are twice as
    wide with 1e10 users as with infinitely many.
    Cost: some ten linear programmes in n_negatives + 1 equations and a few hundred ranks; a
    second for 99 negatives.

    Examples
    --------
    >>> half = RankDistribution.of_ranks([1, 500], 1000)
    >>> low, high = population_bounds(half, "recall@10", n_negatives=99)
    >>> round(low, 2), round(high, 2)
    (0.5, 0.5)
    >>> low, high = population_bounds(half, "recall@10", n_negatives=99, n_users=1000)
    >>> round(low, 2), round(high, 2)
    (0.41, 0.59)
    """
    wanted = read_measure(measure, k)
    n_items = distribution.n_items
    level = _check.open_fraction(confidence, "confidence")
    users = _check.cutoff(n_users, name="n_users", required=False)
    design = Design(n_negatives, n_items)
    if not distribution.proper:
        raise ArgumentError(
            "distribution has negative probabilities: no users have such ranks. Use one from mle."
        )
    mass = np.maximum(distribution.probabilities, 0.0)
    worth = all_rank_weights(wanted, n_items)
    start = _start(n_items, design.n_negatives, rank_weights(wanted, n_items).size)
    if users is None:
        low, high = (
            _bounds_moments.least(mass, sign * worth, design.n_negatives, start)
            for sign in (1.0, -1.0)
        )
        return _ordered(low, -high, worth)
    shares = sum(mass[places] @ chances for places, chances in design.blocks())
    inside = _bounds_ball.around(np.asarray(shares), ((design, 1.0),), mass, users, level)
    low, high = (_bounds_ball.least(inside, sign * worth, start)[0] for sign in (1.0, -1.0))
    return _ordered(low, -high, worth)


def _start(n_items: int, n_negatives: int, depth: int) -> NDArray[np.int64]:
    """Return ranks that resolve samples of a size, the top, and the measure's cutoff."""
    top = np.arange(1, _TOP)
    around = np.arange(depth - _TOP // 2, depth + _TOP // 2)
    near = np.concatenate([top, around])
    inside = near[(near >= 1) & (near <= n_items)]
    return np.union1d(spaced(n_items, n_negatives, _DENSE), inside)


def _ordered(low: float, high: float, worth: NDArray[np.float64]) -> Bounds:
    """Return bounds that are possible values."""
    return Bounds(max(low, float(worth.min())), min(high, float(worth.max())))
