"""What sampled ranks leave open about a measure, whatever the estimator."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from podium import _check
from podium._one_thread import one_blas_thread
from podium.errors import ArgumentError, PodiumWarning
from podium.metrics import Measure
from podium.sampled.bounds.ball import around, ball
from podium.sampled.bounds.moments import least_of_alike
from podium.sampled.bounds.search import Places, Worth, extremes
from podium.sampled.design import Design, Floats, Ints
from podium.sampled.distribution import (
    RankDistribution,
    all_rank_weights,
    rank_weights,
    read_measure,
)
from podium.sampled.ranks import SampledRanks
from podium.sampled.sums import spaced

_DENSE = 16  # ranks in each standard deviation of a sampled rank that a search begins with
_DENSEST = 1024  # sample size beyond which ranks are as dense as for it: more join where needed
_LEFT = 2  # items not drawn, at most, for ranks to be taken for known but for so many places
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
    error. Users of catalogues or samples of several sizes may have different distributions: users
    of long histories do rank otherwise. Between the bounds the data do not decide: an estimator
    does, by what it assumes.

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
    are checked at every rank of every catalogue, so that it holds even where the search for the
    best prices ends early, or goes by catalogues of 5 % more or fewer items.
    A rank is worth what it is in the user's own catalogue. Where all items were drawn, or all but
    two, ranks are known to that many places: the bounds are then of a mean over more users like
    these (Anderson's, by the inequality of Dvoretzky, Kiefer and Wolfowitz).
    Cost: a tenth of a second; with catalogues of a thousand sizes, some 100 Newton steps on
    20 of them and a proof for all, a second. Samples of most items, some seconds.

    Examples
    --------
    >>> ranks = SampledRanks([1] * 100 + [50] * 100, 99, 1000)
    >>> low, high = identification_bounds(ranks, "recall@10")
    >>> low < 0.5 < high < 0.7
    True
    """
    wanted = read_measure(measure, k)
    level = _check.open_fraction(confidence, "confidence")
    worth = _worth(wanted, int(np.min(ranks.n_items)))
    if all(_is_nearly_whole(design) for design, _ in ranks.designs):
        return _of_known(ranks, worth, level)
    with one_blas_thread:
        low, high, miss = extremes(ball(ranks, level), worth, _places(wanted))
    if miss > 0:
        warnings.warn(
            f"no distribution of ranks gives the observed sampled ranks within sampling error "
            f"(confidence {level:g}). Check that candidates were drawn uniformly from n_items, "
            "and that n_items and replacement are right.",
            PodiumWarning,
            stacklevel=2,
        )
    return Bounds(low, high)


def most_of_first(ranks: SampledRanks, measure: Measure, depth: int, level: float) -> float:
    """Return the largest part of a measure that the first ranks may have, as a bound on it.

    Parameters
    ----------
    ranks : SampledRanks
    measure : Measure
    depth : int
        How many ranks are the first.
    level : float
        Confidence, as in `identification_bounds`.
    """
    whole = _worth(measure, int(np.min(ranks.n_items)))

    def worth(n_items: int) -> Floats:
        found = whole(n_items)
        found[depth:] = 0.0
        return found

    if all(_is_nearly_whole(design) for design, _ in ranks.designs):
        return _of_known(ranks, worth, level).high
    with one_blas_thread:
        return extremes(ball(ranks, level), worth, _places(measure))[1]


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
    worth, places = _worth(wanted, n_items), _places(wanted)
    if users is None:
        values, start = worth(n_items), places(design)
        low, high = (
            least_of_alike(mass, sign * values, design.n_negatives, start) for sign in (1.0, -1.0)
        )
        return Bounds(max(low, float(values.min())), min(-high, float(values.max())))
    shares = sum(mass[places] @ chances for places, chances in design.blocks())
    with one_blas_thread:
        inside = around(np.asarray(shares), ((design, 1.0),), mass, users, level)
        return Bounds(*extremes(inside, worth, places)[:2])


def _is_nearly_whole(design: Design) -> bool:
    """Whether all items are drawn but a few, so that ranks are known but for a few places."""
    left = design.n_items - 1 - design.n_negatives
    return left <= _LEFT and not design.replacement and not design.grows


def _of_known(ranks: SampledRanks, worth: Worth, level: float) -> Bounds:
    """Bound the mean of values of which the users are a sample, by the largest gap of shares.

    The share of users below any value is no further from its expectation than the inequality of
    Dvoretzky, Kiefer and Wolfowitz says: so many users may have the least value, or the greatest.
    """
    low = _least_mean(ranks, worth, level)
    return Bounds(low, -_least_mean(ranks, lambda n_items: -worth(n_items), level))


def _least_mean(ranks: SampledRanks, worth: Worth, level: float) -> float:
    rows, least = np.empty(ranks.n_rows), np.inf
    for design, mine in ranks.design_rows:
        values = worth(design.n_items)
        least = min(least, float(values.min()))
        places = ranks.ranks[mine] - 1
        left = np.arange(design.n_items - design.n_negatives)
        rows[mine] = values[places[:, None] + left].min(axis=1)
    shares = rows * ranks.weights * ranks.n_users
    n_users = ranks.n_users
    rising = np.sort(np.bincount(ranks.owner, shares, n_users))
    moved = float(min(1.0, np.sqrt(np.log(2.0 / (1.0 - level)) / (2.0 * n_users))))
    kept = np.clip(1.0 - moved - np.arange(n_users) / n_users, 0.0, 1.0 / n_users)
    return float(kept @ rising) + moved * least


def _worth(measure: Measure, smallest: int) -> Worth:
    """Return what gives the worth of each rank of a catalogue, of so many items or more."""
    if np.isnan(rank_weights(measure, smallest)).any():
        raise ArgumentError(
            f"{measure} is undefined in a catalogue of {smallest} items. Lower its cutoff."
        )
    return lambda n_items: all_rank_weights(measure, n_items)


def _places(measure: Measure) -> Places:
    """Return what gives ranks that resolve a design's samples, the top, and a measure's cutoff."""

    def places(design: Design) -> Ints:
        depth = rank_weights(measure, design.n_items).size
        top, around = np.arange(1, _TOP), np.arange(depth - _TOP // 2, depth + _TOP // 2)
        near = np.concatenate([top, around])
        inside = near[(near >= 1) & (near <= design.n_items)]
        return np.union1d(spaced(design.n_items, min(design.n_negatives, _DENSEST), _DENSE), inside)

    return places
